"""Manifests, a store and a server for the tests of the stand-in's API."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp.test_utils import TestServer
from kubernetes_asyncio import client

from detailedspawner.demo.api import make_app
from detailedspawner.demo.store import Store

Object = dict[str, Any]
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def new_store(**options: Any) -> Store:
    """Return a store in which it is always `NOW`."""
    return Store(clock=lambda: NOW, **options)


def pod(name: str = "a", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """Return the smallest manifest of a pod, with what a test adds to it."""
    spec = {"containers": [{"name": "main", "image": "busybox:1"}], **spec}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def container(name: str = "main", image: str = "busybox:1", **more: Any) -> Object:
    """Return a container with what a test adds to it."""
    return {"name": name, "image": image, **more}


def create(store: Store, *pods: Object) -> None:
    """Create pods in the namespace `default`."""
    for body in pods:
        store.create("pods", "default", body)


def names(objects: list[Object]) -> list[str]:
    """Return the objects' names, in their order."""
    return [obj["metadata"]["name"] for obj in objects]


def uid_of(store: Store, name: str = "a") -> str:
    """Return the uid of a pod in the namespace `default`."""
    uid: str = store.get("pods", "default", name)["metadata"]["uid"]
    return uid


def run_on_a_node(store: Store, name: str = "a", **status: Any) -> None:
    """Write what the node writes when a pod runs."""

    def change(obj: Object) -> None:
        obj["spec"]["nodeName"] = "node"
        obj["status"] = {**obj["status"], "phase": "Running", **status}

    store.update("pods", "default", name, change)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until a condition holds."""

    async def poll() -> None:
        while not condition():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(poll(), 10)


@contextlib.asynccontextmanager
async def serving(store: Store, token: str = "") -> AsyncIterator[str]:
    """Serve a store, as the default of all clients; the logs are what was asked for."""

    def logs(*asked: object) -> str:
        return f"{' '.join(map(str, asked))}\n"

    server = TestServer(make_app(store, logs, token))
    await server.start_server(shutdown_timeout=0.1)  # a watch does not end by itself
    configuration = client.Configuration()
    credentials = f"demo:{token}@" if token else ""
    configuration.host = f"http://{credentials}127.0.0.1:{server.port}"
    client.Configuration.set_default(configuration)
    yield configuration.host
    await server.close()
    client.Configuration.set_default(None)
