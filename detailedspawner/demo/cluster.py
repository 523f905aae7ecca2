"""The stand-in as a whole: store, API server, scheduler and one node, on this machine only.

It is not Kubernetes: it does what KubeSpawner and a few `kubectl` commands need.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from .api import make_app
from .node import Node
from .scheduler import Scheduler
from .store import Store


class Cluster:
    """A running stand-in: `async with Cluster(directory) as cluster`; options are the node's."""

    def __init__(self, state_dir: Path, **node_options: Any) -> None:
        self.url = ""
        self._state_dir, self._node_options = state_dir, node_options
        # Whoever may create pods may run commands, so that is not for others on this machine.
        self._token = secrets.token_hex(32)

    async def __aenter__(self) -> Cluster:
        self._state_dir.mkdir(parents=True, exist_ok=True)
        self.store = Store()
        self.scheduler = Scheduler(self.store)
        self.node = Node(self.store, self._state_dir, **self._node_options)
        app = make_app(self.store, self.node.logs, self._token)
        # A watch never ends by itself, so closing must not wait for it.
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://demo:{self._token}@127.0.0.1:{self._runner.addresses[0][1]}"
        await self.node.start()
        await self.scheduler.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.scheduler.close()
        await self.node.close()
        await self._runner.cleanup()

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for this cluster, which only this user can read; return its path."""
        context = {"cluster": "demo", "user": "demo", "namespace": "default"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "demo", "cluster": {"server": self.url}}],
            "users": [{"name": "demo", "user": {}}],
            "contexts": [{"name": "demo", "context": context}],
            "current-context": "demo",
        }
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(json.dumps(config, indent=2))
        return path


@contextlib.contextmanager
def start_in_thread(state_dir: Path, **options: Any) -> Iterator[Cluster]:
    """Run a cluster in a thread with an event loop of its own; from outside, use its API."""
    cluster, loop = Cluster(state_dir, **options), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(cluster.__aenter__(), loop).result()
        yield cluster
    finally:
        asyncio.run_coroutine_threadsafe(cluster.__aexit__(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
