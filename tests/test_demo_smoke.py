"""The demo starts from a fresh clone with one command, works, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from .behaviour.hub import free_port
from .clones import downloads, fresh_clone

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(420)]

ANSWER_SECONDS = 120
STOP_SECONDS = 30


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone")
    fresh_clone(folder)
    return folder


class Demo:
    """One `make demo`, started as a terminal starts it: in a process group of its own."""

    def __init__(self, clone: Path, home: Path) -> None:
        self.port = free_port()
        self.state = home / "state"
        self.state.mkdir(parents=True)
        self.log = home / "demo.log"
        # Inherited by every process of the demo, so that each can be found afterwards.
        self.mark = uuid.uuid4().hex
        self.clone = clone
        environment = {
            "PATH": os.pathsep.join(
                folder for folder in os.environ["PATH"].split(os.pathsep) if ".venv" not in folder
            ),
            "HOME": str(home / "empty"),
            "PORT": str(self.port),
            "DEMO_STATE": str(self.state),
            "DEMO_MARK": self.mark,
            **downloads(),
        }
        (home / "empty").mkdir()
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                ["make", "demo"],
                cwd=clone,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def until(self, seconds: float, reached: Callable[[], object], what: str) -> None:
        end = time.monotonic() + seconds
        while not reached():
            assert self.process.poll() is None, f"ended before {what}:\n{self.output()}"
            assert time.monotonic() < end, f"not {what} after {seconds} s:\n{self.output()}"
            time.sleep(0.2)

    def answers(self) -> bool:
        """Whether the Hub said so, and really does."""
        if "The Hub answers" not in self.output():
            return False
        return "version" in httpx.get(f"{self.url}/hub/api/").raise_for_status().json()

    def processes(self) -> dict[psutil.Process, str]:
        """All that belongs to this demo, with its command lines."""
        return {
            process: " ".join(process.info["cmdline"] or [process.info["name"]])
            for process in psutil.process_iter(["cmdline", "environ", "name"])
            if (process.info["environ"] or {}).get("DEMO_MARK") == self.mark
            or any(str(self.clone) in word for word in process.info["cmdline"] or [])
        }

    def end(self) -> None:
        """Kill what a failed test has left; nothing is left after a good one."""
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()


@pytest.fixture
def demo(clone: Path, tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(clone, tmp_path)
    yield demo
    demo.end()


@contextlib.contextmanager
def signed_in(demo: Demo) -> Iterator[httpx.Client]:
    """Sign in as the demo's own words say."""
    words = re.search(r"for example\s+(\w+)\s+(\w+)", demo.output())
    assert words
    with httpx.Client(base_url=demo.url, follow_redirects=True, timeout=30) as client:
        client.get("/hub/login").raise_for_status()
        form = {"username": words[1], "password": words[2], "_xsrf": xsrf(client)}
        client.post("/hub/login", data=form).raise_for_status()
        yield client


def xsrf(client: httpx.Client) -> str:
    return client.cookies.get("_xsrf", path="/hub/") or ""


def test_make_demo(demo: Demo) -> None:
    demo.until(ANSWER_SECONDS, demo.answers, "answering")
    assert any("configurable-http-proxy" in line for line in demo.processes().values())

    with signed_in(demo) as client:
        # A server must run at the end, so that its processes would be seen if they stayed.
        headers = {"X-XSRFToken": xsrf(client)}
        started = client.post("/hub/api/users/alice/server", headers=headers)
        assert started.status_code in (201, 202), started.text
        demo.until(
            60,
            lambda: client.get("/hub/api/users/alice").json()["servers"][""]["ready"],
            "running a server",
        )
        page = client.get("/user/alice/lab").raise_for_status()
        assert "<title>JupyterLab</title>" in page.text

    os.killpg(demo.process.pid, signal.SIGINT)
    demo.process.wait(STOP_SECONDS)

    assert demo.processes() == {}
    assert list(demo.state.iterdir()) == []


def test_sigterm_ends_it_too_even_before_it_answers(demo: Demo) -> None:
    demo.until(
        ANSWER_SECONDS,
        lambda: any("jupyterhub_config" in line for line in demo.processes().values()),
        "starting the Hub",
    )

    demo.process.terminate()
    demo.process.wait(STOP_SECONDS)

    assert demo.processes() == {}
    assert list(demo.state.iterdir()) == []
