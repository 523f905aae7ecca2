"""The log of a container is read from a cluster as it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubernetes_asyncio import client, config

from detailedspawner.kubeapi import read_log
from detailedspawner.models.status import shown_log

from .cases import BUSYBOX
from .cluster import Kubernetes

SECONDS = 60
INIT = "printf '\\033[31mfirst\\033[0m token=abcdefgh12345\\n'; sleep 3"


def pod() -> dict:
    """Return a pod whose init container writes, and then its main one."""
    containers = {
        "git-clone": ["sh", "-c", INIT],
        "notebook": ["sh", "-c", "echo started; sleep 60"],
    }
    init, main = [
        {"name": name, "image": BUSYBOX, "command": command} for name, command in containers.items()
    ]
    return {
        "metadata": {"name": "writes"},
        "spec": {
            "automountServiceAccountToken": False,
            "initContainers": [init],
            "containers": [main],
        },
    }


async def test_a_log_is_read_while_its_container_runs(kubernetes: Kubernetes) -> None:
    await config.load_kube_config(str(kubernetes.kubeconfig))
    async with client.ApiClient() as connection:
        api = client.CoreV1Api(connection)

        async def shown(name: str) -> str:
            return shown_log(await read_log(api, kubernetes.namespace, "writes", name))

        async def until(name: str, right: Callable[[str], bool]) -> None:
            while not right(await shown(name)):
                await asyncio.sleep(0.2)

        assert await shown("notebook") == ""
        kubernetes.create("pods", pod()).raise_for_status()
        await asyncio.wait_for(until("git-clone", "first token=(hidden)".__eq__), SECONDS)
        assert await shown("notebook") == ""
        await asyncio.wait_for(until("notebook", "started".__eq__), SECONDS)
