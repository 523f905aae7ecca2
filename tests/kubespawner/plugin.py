"""Runs KubeSpawner's own tests with DetailedKubeSpawner in its place.

A pytest plugin, for `scripts/kubespawner_tests` only. It swaps the class, and fits what the
tests take for granted to the cluster at hand: images of Docker Hub, and a Hub as a pod.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import jupyterhub
import jupyterhub.app
import kubespawner
import kubespawner.spawner
import pytest
import yaml
from traitlets import default

from detailedspawner import DetailedKubeSpawner

# with python3 and jupyterhub-singleuser in it
IMAGE = os.environ.get("KUBESPAWNER_TEST_IMAGE", "127.0.0.1:5000/singleuser:1")

PLAIN = bool(os.environ.get("PLAIN"))
EXCEPTIONS = Path(__file__).with_name("exceptions.yaml")
# tries until a server has come up after its pod; those tests take three
PATIENCE = 20

# of the Hub, servers ask only its version while they start
STAND_IN_HUB = f"""
import http.server

class Hub(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{{"version": "{jupyterhub.__version__}"}}')

    do_POST = do_GET

http.server.ThreadingHTTPServer(("", 8081), Hub).serve_forever()
"""


class Replacement(DetailedKubeSpawner):  # type: ignore[misc]
    """DetailedKubeSpawner where there is no proxy to ask a server through."""

    health_enabled = False

    @default("image")
    def _image(self) -> str:
        return IMAGE


class JupyterHub(jupyterhub.app.JupyterHub):
    """A Hub that makes its certificates in a loop, which version 6 asks for."""

    def init_internal_ssl(self) -> None:
        async def init() -> None:
            super(JupyterHub, self).init_internal_ssl()

        loop = asyncio.new_event_loop()
        loop.run_until_complete(init())
        loop.close()


@pytest.hookimpl(tryfirst=True)
def pytest_plugin_registered(plugin: Any) -> None:
    """Fit the conftest of those tests."""
    create_resource = getattr(plugin, "create_resource", None)
    if create_resource is None:
        return
    exec_python = plugin._exec_python_in_pod

    async def create(client: Any, namespace: str, kind: str, manifest: Any, **options: Any) -> Any:
        for container in manifest.spec.containers if kind == "pod" else ():
            container["image"] = IMAGE
            if container["args"][0] == "jupyterhub":
                container.update(command=["python3", "-c", STAND_IN_HUB], args=[])
        return await create_resource(client, namespace, kind, manifest, **options)

    async def exec_patiently(*args: Any, _retries: int = 0, **options: Any) -> Any:
        for _ in range(PATIENCE if _retries else 0):
            try:
                return await exec_python(*args, **options)
            except plugin.ExecError:
                await asyncio.sleep(1)
        return await exec_python(*args, **options)

    plugin.create_resource = create
    plugin._exec_python_in_pod = exec_patiently
    plugin.JupyterHub = JupyterHub


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the tests that are named in exceptions.yaml to fail, and no others."""
    reasons = {} if PLAIN else yaml.safe_load(EXCEPTIONS.read_text())
    for item in items:
        name = f"{item.path.name}::{item.name}"
        whole = name.partition("[")[0]
        reason = reasons.get(name) or reasons.get(whole)
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


# to compare: what fails with KubeSpawner itself is not for us to mend
if PLAIN:
    kubespawner.KubeSpawner.image.default_value = IMAGE
else:
    kubespawner.KubeSpawner = kubespawner.spawner.KubeSpawner = Replacement
