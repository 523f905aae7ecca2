"""The stand-in's node: one task per pod that is scheduled to it (Linux, no root needed).

Like a kubelet it runs what the pods say and reports it in their status and in events. Unlike
one it isolates nothing: containers are processes of this machine, under this user, with this
machine's programs. Each pod has a loopback address of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from .errors import ApiError, Object
from .images import DEFAULT_CATALOGUE, Image, Images
from .processes import Guard
from .recorder import Recorder, now
from .store import Store
from .worker import PodWorker


class Node:
    """Run the pods of one node of a store.

    `catalogue` adds to the default images. `time_scale` multiplies what the node waits for:
    back-offs, pulls, and the delays and periods of probes; not grace periods and timeouts.
    """

    address = "127.0.0.1"

    def __init__(
        self,
        store: Store,
        state_dir: Path,
        catalogue: Mapping[str, Image] | None = None,
        *,
        name: str = "demo-node",
        time_scale: float = 1.0,
        allocatable: Mapping[str, str] | None = None,
    ) -> None:
        self.store, self.state_dir, self.name, self.time_scale = store, state_dir, name, time_scale
        self.claims = state_dir / "claims"
        self.recorder = Recorder(store, "kubelet", name)
        self.images = Images({**DEFAULT_CATALOGUE, **(catalogue or {})}, time_scale)
        self._mark = secrets.token_hex(8)
        self.variables = {
            "DEMO_NODE": self._mark,
            "JUPYTER_CONFIG_PATH": str(state_dir / "jupyter"),
        }
        self._allocatable = {**_machine(), **(allocatable or {})}
        self._workers: dict[str, PodWorker] = {}
        # Several stand-ins on one machine must not share addresses.
        self._network = f"127.{16 + secrets.randbelow(230)}"
        self._addresses = secrets.randbelow(200) << 8
        self._task: asyncio.Task[None] | None = None
        self._guard: Guard | None = None

    async def start(self) -> None:
        """Register the node and take over the pods that are scheduled to it."""
        for folder in ("pods", "claims", "jupyter"):
            (self.state_dir / folder).mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            # A notebook server refuses to run as root, as which its image would never run it.
            config = {"ServerApp": {"allow_root": True}}
            file = self.state_dir / "jupyter" / "jupyter_server_config.json"
            file.write_text(json.dumps(config))
        self._guard = Guard(f"DEMO_NODE={self._mark}")
        with contextlib.suppress(ApiError):
            self.store.create("nodes", None, self._object())
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End everything that runs. The pods stay in the store as they were."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in self._workers.values()))
        self._workers.clear()
        if self._guard:
            self._guard.close()

    def logs(
        self, namespace: str, pod: str, container: str, previous: bool, tail: int | None
    ) -> str:
        """Return what a container has written, its last `tail` lines, or raise ApiError."""
        uid = self.store.get("pods", namespace, pod)["metadata"]["uid"]
        worker = self._workers.get(uid)
        found = [c for c in worker.containers if c.name == container] if worker else []
        if not worker or not found:
            raise ApiError(400, "BadRequest", f"container {container} is not valid for pod {pod}")
        if previous and found[0].attempts < 2:
            text = f'previous terminated container "{container}" in pod "{pod}" not found'
            raise ApiError(400, "BadRequest", text)
        if not found[0].attempts:
            reason = found[0].state["waiting"]["reason"]
            text = f'container "{container}" in pod "{pod}" is waiting to start: '
            raise ApiError(400, "BadRequest", text + _WAITING.get(reason, reason))
        file = worker.log_file(found[0], previous)
        lines = file.read_text(errors="replace").splitlines(keepends=True) if file.exists() else []
        return "".join(lines if tail is None else lines[len(lines) - min(tail, len(lines)) :])

    def new_address(self) -> str:
        """Return a loopback address that no pod of this node has had."""
        self._addresses += 1
        while self._addresses % 256 in (0, 255):
            self._addresses += 1
        return f"{self._network}.{(self._addresses >> 8) % 256}.{self._addresses % 256}"

    async def _run(self) -> None:
        async for change, pod in self.store.watch("pods"):
            uid = pod["metadata"]["uid"]
            worker = self._workers.get(uid)
            if change == "DELETED":
                if worker:
                    await self._workers.pop(uid).close()
                continue
            if worker is None:
                if pod["spec"].get("nodeName") != self.name:
                    continue
                worker = self._workers[uid] = PodWorker(self, pod)
                worker.start()
            if "deletionTimestamp" in pod["metadata"]:
                worker.delete(pod["metadata"].get("deletionGracePeriodSeconds") or 0)

    def _object(self) -> Object:
        condition = {"lastHeartbeatTime": now(), "lastTransitionTime": now()}
        condition |= {"reason": "KubeletReady", "message": "kubelet is posting ready status"}
        labels = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}
        return {
            "metadata": {"name": self.name, "labels": labels},
            "spec": {},
            "status": {
                "capacity": dict(self._allocatable),
                "allocatable": dict(self._allocatable),
                "addresses": [{"type": "InternalIP", "address": self.address}],
                "conditions": [{"type": "Ready", "status": "True", **condition}],
                "nodeInfo": {"kubeletVersion": "v1.36.3", "operatingSystem": "linux"},
            },
        }


_WAITING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def _machine() -> dict[str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
    return {"cpu": str(os.cpu_count() or 1), "memory": f"{memory}Ki", "pods": "110"}
