"""A running Hub, driven through its REST API as any program would."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from httpx_sse import connect_sse

if TYPE_CHECKING:
    from .cluster import Kubernetes

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(
    condition: Callable[[], Any],
    what: str,
    seconds: float = 60,
    pause: float = 0.1,
    *,
    raises: bool = True,
) -> Any:
    """Return the first true result of `condition`; fails with `what` after `seconds`.

    Without `raises` it returns the last result then, to be judged by the test.
    """
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            if not raises:
                return result
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(pause)
    return result


def until_answers(
    process: subprocess.Popen[bytes], url: str, log: Path, seconds: float = 60
) -> None:
    """Wait for the first answer of what a process serves; fails with its log if it ended."""

    def answers() -> bool:
        assert process.poll() is None, f"it ended:\n{log.read_text()[-4000:]}"
        try:
            return httpx.get(url).status_code == 200
        except httpx.TransportError:
            return False

    eventually(answers, f"{url} answers", seconds)


@dataclass
class Run:
    """What a client saw of one start."""

    events: list[dict[str, Any]] = field(default_factory=list)
    snapshot: dict[str, Any] = field(default_factory=dict)
    answer: int = 0

    @property
    def statuses(self) -> list[dict[str, Any]]:
        """The statuses in the order in which they came."""
        return [event["status"] for event in self.events if "status" in event]

    @property
    def last(self) -> dict[str, Any]:
        """The event that ended the stream."""
        return self.events[-1]

    def sequences(self) -> dict[str, list[str]]:
        """The statuses that each step went through, without repetition."""
        seen: dict[str, list[str]] = {}
        for status in self.statuses:
            for step in status["details"]:
                words = seen.setdefault(step["step"], [])
                if words[-1:] != [step["status"]]:
                    words.append(step["status"])
        return seen


class Hub:
    """The Hub under test."""

    def __init__(
        self,
        url: str,
        token: str,
        launch: Callable[[], subprocess.Popen[bytes]],
        log: Path,
        proxy_api: int,
    ) -> None:
        self.url = url
        self.log = log
        self._token = token
        self._proxy_api = f"http://127.0.0.1:{proxy_api}"
        self._launch = launch
        self._process = launch()
        self.client = httpx.Client(
            base_url=f"{url}/hub/api",
            headers={"Authorization": f"token {token}"},
            timeout=httpx.Timeout(60),
        )

    def wait_until_up(self) -> None:
        """Wait for the Hub's first answer; fails with its log if it ended."""

        until_answers(self._process, f"{self.url}/hub/api/", self.log, 180)

    def restart(self, how: signal.Signals) -> None:
        """End the Hub by a signal and start it again; it need not answer yet."""
        self._process.send_signal(how)
        self._process.wait(60)
        self._process = self._launch()

    @property
    def pid(self) -> int:
        """The number of the Hub's process."""
        return self._process.pid

    def wait(self) -> int:
        """Wait for the end of a Hub that ends by itself; returns its exit status."""
        return self._process.wait(60)

    def close(self) -> None:
        """End the Hub."""
        self.client.close()
        self._process.terminate()
        self._process.wait(60)

    def path(self, user: str, server: str = "") -> str:
        """Return the path of a server in the API."""
        return f"/users/{user}/servers/{server}" if server else f"/users/{user}/server"

    def start(self, user: str, profile: str, server: str = "") -> int:
        """Ask for a start; returns the status code of the answer."""
        self.client.post(f"/users/{user}")
        return self.client.post(self.path(user, server), json={"profile": profile}).status_code

    def stop(self, user: str, server: str = "") -> None:
        """Stop a server and wait until the Hub says so."""
        self.client.delete(self.path(user, server))

        def stopped() -> bool:
            servers = self.client.get(f"/users/{user}").json()["servers"]
            model = servers.get(server)
            return not model or not (model["ready"] or model["pending"])

        eventually(stopped, f"{user}/{server} is stopped")

    def stream(self, user: str, server: str = "") -> Iterator[dict[str, Any]]:
        """Yield the events of the progress stream until it ends."""
        with connect_sse(self.client, "GET", f"{self.path(user, server)}/progress") as source:
            for event in source.iter_sse():
                yield json.loads(event.data)

    def snapshot(self, user: str, server: str = "") -> dict[str, Any]:
        """Return the status of a server."""
        path = f"/detailedspawner{self.path(user, server)}/status"
        answer = self.client.get(path)
        answer.raise_for_status()
        result: dict[str, Any] = answer.json()
        return result

    def model(self, user: str, server: str = "") -> dict[str, Any]:
        """Return what the Hub's own API says of a server; a stopped one is neither."""
        servers = self.client.get(f"/users/{user}", params={"include_stopped_servers": 1})
        model: dict[str, Any] = servers.json()["servers"].get(server, {})
        return {"pending": None, "ready": False, **model}

    def routes(self) -> list[str]:
        """Return the paths that the proxy has routes for."""
        answer = httpx.get(
            f"{self._proxy_api}/api/routes", headers={"Authorization": f"token {self._token}"}
        )
        answer.raise_for_status()
        return [path.rstrip("/") + "/" for path in answer.json()]

    def visit(self, user: str) -> httpx.Response:
        """Ask for a server through the proxy, and follow no redirect."""
        return httpx.get(f"{self.url}/user/{user}/api", timeout=30)

    def tokens(self, user: str) -> list[str]:
        """Return what the tokens of a user's servers are for."""
        answer = self.client.get(f"/users/{user}/tokens")
        answer.raise_for_status()
        return [token["note"] for token in answer.json()["api_tokens"]]

    def sign_in(self, user: str) -> httpx.Client:
        """Return a client that is signed in as a person's browser is."""
        browser = httpx.Client(base_url=self.url, follow_redirects=True, timeout=30)
        browser.get("/hub/login")
        form = {"username": user, "password": "x", "_xsrf": browser.cookies["_xsrf"]}
        browser.post("/hub/login", data=form, headers={"Sec-Fetch-Mode": "navigate"})
        return browser

    def run(self, user: str, profile: str, server: str = "") -> Run:
        """Start a server, follow it to the end, and stop it."""
        run = Run()
        run.answer = self.start(user, profile, server)
        run.events.extend(self.stream(user, server))
        run.snapshot = self.snapshot(user, server)
        if run.last.get("ready"):
            self.stop(user, server)
        return run


@contextlib.contextmanager
def running_hub(
    kubernetes: Kubernetes, config: Path, folder: Path, more: Mapping[str, str] | None = None
) -> Iterator[Hub]:
    """Run a real Hub with a real configurable-http-proxy in front of a cluster."""
    token = secrets.token_hex(16)
    proxy, proxy_api = free_port(), free_port()
    environment = {
        **os.environ,
        **(more or {}),
        "KUBECONFIG": str(kubernetes.kubeconfig),
        "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HUB_ADDRESS": kubernetes.reachable_address(),
        "HUB_PORT": str(free_port()),
        "PROXY_PORT": str(proxy),
        "PROXY_API_PORT": str(proxy_api),
        "CONFIGPROXY_AUTH_TOKEN": token,
        "SUITE_TOKEN": token,
        "SUITE_NAMESPACE": kubernetes.namespace,
    }
    command = [sys.executable, "-m", "jupyterhub", "-f", str(config), "--debug"]
    with (folder / "hub.log").open("wb") as log, own_proxy(environment, log):

        def launch() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
            )

        hub = Hub(f"http://127.0.0.1:{proxy}", token, launch, folder / "hub.log", proxy_api)
        try:
            hub.wait_until_up()
            yield hub
        finally:
            hub.close()


@contextlib.contextmanager
def own_proxy(environment: Mapping[str, str], log: Any) -> Iterator[None]:
    """Run the proxy beside the Hub if the environment asks for one that outlives it."""
    if "SUITE_OWN_PROXY" not in environment:
        yield
        return
    command = [
        "configurable-http-proxy", "--ip", "127.0.0.1", "--port", environment["PROXY_PORT"],
        "--api-ip", "127.0.0.1", "--api-port", environment["PROXY_API_PORT"],
        "--default-target", f"http://{environment['HUB_ADDRESS']}:{environment['HUB_PORT']}",
        "--error-target",
        f"http://{environment['HUB_ADDRESS']}:{environment['HUB_PORT']}/hub/error",
    ]  # fmt: skip
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)
