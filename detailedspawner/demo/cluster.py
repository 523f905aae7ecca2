"""The stand-in as a whole: store, API server, scheduler and one node, on this machine only.

`python -m detailedspawner.demo.cluster --state DIR` runs it alone and prints the path of a
kubeconfig. It is not Kubernetes: it does what KubeSpawner and a few `kubectl` commands need.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from .api import make_app
from .images import Image
from .node import Node
from .scheduler import Scheduler
from .store import Store


class Cluster:
    """A running stand-in: `async with Cluster(directory) as cluster`.

    `port` 0 takes a free one. `catalogue`, `time_scale` and `allocatable` are the node's.
    """

    def __init__(
        self,
        state_dir: Path,
        port: int = 0,
        *,
        catalogue: Mapping[str, Image] | None = None,
        time_scale: float = 1.0,
        allocatable: Mapping[str, str] | None = None,
    ) -> None:
        self.url = ""
        self._port = port
        self._state_dir = state_dir
        self._node_options: dict[str, Any] = {
            "catalogue": catalogue,
            "time_scale": time_scale,
            "allocatable": allocatable,
        }

    async def __aenter__(self) -> Cluster:
        self._state_dir.mkdir(parents=True, exist_ok=True)
        self.store = Store()
        self.scheduler = Scheduler(self.store)
        self.node = Node(self.store, self._state_dir, **self._node_options)
        # A watch never ends by itself, so closing must not wait for it.
        self._runner = web.AppRunner(make_app(self.store, self.node.logs), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        await self.node.start()
        await self.scheduler.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.scheduler.close()
        await self.node.close()
        await self._runner.cleanup()

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for this cluster; return its path."""
        context = {"cluster": "demo", "user": "demo", "namespace": "default"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "demo", "cluster": {"server": self.url}}],
            "users": [{"name": "demo", "user": {}}],
            "contexts": [{"name": "demo", "context": context}],
            "current-context": "demo",
        }
        path.write_text(json.dumps(config, indent=2))
        return path


@contextlib.contextmanager
def start_in_thread(state_dir: Path, port: int = 0, **options: Any) -> Iterator[Cluster]:
    """Run a cluster in a thread with an event loop of its own, for callers that have theirs.

    Its store belongs to that loop: from outside, use the API.
    """
    cluster = Cluster(state_dir, port, **options)
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    problems: list[BaseException] = []

    async def run() -> None:
        async with cluster:
            started.set()
            await stop.wait()

    def target() -> None:
        try:
            loop.run_until_complete(run())
        except BaseException as error:
            problems.append(error)
        finally:
            started.set()
            loop.close()

    thread = threading.Thread(target=target, name="demo-cluster", daemon=True)
    thread.start()
    started.wait()
    try:
        if problems:
            raise problems[0]
        yield cluster
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)
        thread.join()


async def _main(port: int, state_dir: Path) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Cluster(state_dir, port) as cluster:
        print(cluster.kubeconfig(state_dir / "kubeconfig"), flush=True)
        await stop.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m detailedspawner.demo.cluster")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--state", type=Path, required=True, help="directory for logs and volumes")
    options = parser.parse_args()
    asyncio.run(_main(options.port, options.state))
