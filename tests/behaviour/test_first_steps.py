"""docs/first-steps.md leads from a Hub with KubeSpawner to the page with the steps.

Every block is taken from the page and run as it stands there, on a real cluster, with the built
wheel, and with no more rights than the page asks for.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.async_api import expect

from ..browser.acting import sign_in
from ..browser.conftest import chromium
from ..clones import fresh_clone
from ..docblocks import texts
from . import cases
from .cluster import Kubernetes
from .hub import free_port, until_answers

pytestmark = [pytest.mark.cluster, pytest.mark.browser]

INSTALL, CHECK = texts("first-steps.md", "sh")
(LINES,) = texts("first-steps.md", "python")
(ROLE,) = texts("first-steps.md", "yaml")
SECONDS = 1000  # in milliseconds, Playwright's unit

# what the admin had before: a Hub with plain KubeSpawner
CONFIG = """
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_bind_url = "http://{address}:{hub_port}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
c.JupyterHub.authenticator_class = "jupyterhub.auth.DummyAuthenticator"
c.Authenticator.allow_all = True
c.KubeSpawner.namespace = "{namespace}"
c.KubeSpawner.image = "{image}"
# the image brings no page that its server could show
c.KubeSpawner.cmd = ["sh", "-c", "cd /tmp; echo It works. >page.txt; exec jupyterhub-singleuser"]
c.KubeSpawner.default_url = "/files/page.txt"
c.KubeSpawner.init_containers = [
    {{"name": "git-clone", "image": "{busybox}", "command": ["sleep", "3"]}},
]
"""


class Admin:
    """A folder with a configuration, an environment, and a kubeconfig with few rights."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.venv = folder / "venv"
        proxy = shutil.which("configurable-http-proxy")
        assert proxy
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "PATH": os.pathsep.join(
                [str(self.venv / "bin"), str(Path(proxy).parent), os.environ["PATH"]]
            ),
            "KUBECONFIG": str(kubeconfig),
        }

    def run(self, command: str) -> str:
        """Run what a person types; returns the output of a command that succeeds."""
        done = subprocess.run(
            ["sh", "-ec", command], cwd=self.folder, env=self.environment, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def rights(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubeconfig of an account that may do what the page asks for, and nothing else."""
    file = tmp_path_factory.mktemp("rights") / "kubeconfig"
    role = yaml.safe_load(ROLE)
    # the namespace may have another of the page's name
    role["metadata"]["name"] = "first-steps"
    kubernetes.account(role, file)
    return file


@pytest.fixture(scope="module")
def admin(rights: Path, kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Admin:
    """Somebody who has a Hub, installed the wheel, and added the lines of the page."""
    folder = tmp_path_factory.mktemp("admin")
    source = folder / "source"
    fresh_clone(source)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
    subprocess.run([*build, source], check=True, capture_output=True)
    shutil.rmtree(source)
    admin = Admin(folder, rights)
    admin.run(f"{sys.executable} -m venv {admin.venv}")
    links = [str(folder), *os.environ.get("PIP_FIND_LINKS", "").split()]
    admin.environment["PIP_FIND_LINKS"] = " ".join(links)
    admin.run(INSTALL)
    config = CONFIG.format(
        port=admin.port,
        hub_port=free_port(),
        api_port=free_port(),
        address=kubernetes.reachable_address(),
        namespace=kubernetes.namespace,
        image=cases.SINGLEUSER,
        busybox=cases.BUSYBOX,
    )
    (folder / "jupyterhub_config.py").write_text(config + LINES)
    return admin


@pytest.fixture(scope="module")
def hub(admin: Admin) -> Iterator[str]:
    """The address of the Hub, started with that configuration."""
    log = admin.folder / "hub.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [admin.venv / "bin" / "jupyterhub"], cwd=admin.folder, env=admin.environment,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    address = f"http://127.0.0.1:{admin.port}"

    try:
        until_answers(process, f"{address}/hub/api/", log)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def test_what_is_installed_is_the_wheel(admin: Admin) -> None:
    where = admin.run("python -c 'import detailedspawner; print(detailedspawner.__file__)'")
    assert where.startswith(str(admin.venv))


def test_the_check_of_the_page_finds_everything_right(admin: Admin) -> None:
    said = admin.run(CHECK).splitlines()
    assert [line for line in said if not line.startswith("ok ")] == []
    assert {"right on pods", "right on events", "right on persistentvolumeclaims"} <= {
        line.removeprefix("ok").partition(":")[0].strip() for line in said
    }


async def test_the_page_lists_the_named_step_and_leads_to_the_server(hub: str) -> None:
    async with chromium() as browser:
        page = await browser.new_page()
        await page.goto(hub)
        await sign_in(page, "alice", "any")
        await page.wait_for_url("**/hub/spawn-pending/alice**")
        steps = page.get_by_role("list", name="Steps of the start").locator("> li")
        cloning = steps.filter(has_text="Cloning the repository")
        await expect(cloning).to_contain_text("In progress", timeout=30 * SECONDS)
        await expect(page.get_by_text("0 of 2 containers ready")).to_be_visible()
        await page.wait_for_url("**/user/alice/files/page.txt**", timeout=60 * SECONDS)
        await expect(page.get_by_text("It works.")).to_be_visible(timeout=30 * SECONDS)
