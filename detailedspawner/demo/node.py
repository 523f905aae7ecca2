"""The stand-in's node: what a kubelet does with the pods that are scheduled to it (Linux, no root).

Unlike a kubelet it isolates nothing: containers are processes of this machine, under this user,
with this machine's programs. Each pod has a loopback address of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from .containers import Container
from .defaults import format_quantity
from .errors import ApiError, Object, bad_request
from .events import now
from .images import CATALOGUE, Image
from .scheduler import total
from .store import Store

_MIN_GRACE = 2.0  # seconds that the kubelet always leaves a container to end
_ADDRESS, _NAME = "127.0.0.1", "demo-node"


class Node:
    """Run the pods of a store. `catalogue` adds to the default images.

    `time_scale` multiplies what the node waits for: back-offs, pulls, and the delays and periods
    of probes; not grace periods and timeouts.
    """

    def __init__(
        self,
        store: Store,
        state_dir: Path,
        catalogue: Mapping[str, Image] | None = None,
        time_scale: float = 1.0,
        allocatable: Mapping[str, str] | None = None,
    ) -> None:
        self.store, self.state_dir, self.time_scale = store, state_dir, time_scale
        self.catalogue = {**CATALOGUE, **(catalogue or {})}
        self.pulled: set[str] = set()
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
        self._allocatable = {"cpu": str(os.cpu_count() or 1), "memory": f"{memory}Ki"}
        self._allocatable |= allocatable or {}
        self._pods: dict[str, Pod] = {}
        # Several stand-ins on one machine must not share addresses.
        self._network, self._addresses = f"127.{16 + secrets.randbelow(230)}", 0

    async def start(self) -> None:
        """Register the node and take over the pods that are scheduled to it."""
        # A notebook server refuses to run as root, as which its image would never run it.
        config = {"ServerApp": {"allow_root": os.geteuid() == 0}}
        self.state_dir.mkdir(parents=True, exist_ok=True)
        (self.state_dir / "jupyter_server_config.json").write_text(json.dumps(config))
        status = {
            "allocatable": self._allocatable,
            "addresses": [{"type": "InternalIP", "address": _ADDRESS}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        metadata = {"name": _NAME, "labels": {"kubernetes.io/os": "linux"}}
        self.store.create("nodes", None, {"metadata": metadata, "spec": {}, "status": status})
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End everything that runs."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(pod.close() for pod in self._pods.values()))

    def logs(
        self, namespace: str, pod: str, container: str, previous: bool, tail: int | None
    ) -> str:
        """Return what a container has written, its last `tail` lines, or raise ApiError."""
        uid = self.store.get("pods", namespace, pod)["metadata"]["uid"]
        there = self._pods[uid].containers if uid in self._pods else []
        for found in (one for one in there if one.name == container):
            file = found.files / f"{found.runs - previous}.log"
            if file.exists():
                lines = file.read_text(errors="replace").splitlines(keepends=True)
                return "".join(lines if tail is None else lines[max(0, len(lines) - tail) :])
        if previous:
            text = f'previous terminated container "{container}" in pod "{pod}" not found'
            raise bad_request(text)
        raise bad_request(f'container "{container}" in pod "{pod}" is waiting to start')

    def new_address(self) -> str:
        """Return a loopback address that no pod of this node has had."""
        self._addresses += 1
        return f"{self._network}.{self._addresses // 250 % 256}.{self._addresses % 250 + 1}"

    async def _run(self) -> None:
        async for change, found in self.store.watch("pods"):
            metadata, uid = found["metadata"], found["metadata"].get("uid")
            if change == "DELETED" and uid in self._pods:
                await self._pods.pop(uid).close()
            elif change in ("ADDED", "MODIFIED") and found["spec"].get("nodeName"):
                if uid not in self._pods:
                    self._pods[uid] = Pod(self, found)
                if "deletionTimestamp" in metadata:
                    self._pods[uid].delete(metadata["deletionGracePeriodSeconds"])


class Pod:
    """Runs a pod's containers and reports its status, until it is deleted and gone."""

    def __init__(self, node: Node, pod: Object) -> None:
        self.node, self.store, self.pod, self.spec = node, node.store, pod, pod["spec"]
        self._namespace, self._name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        self._uid = pod["metadata"]["uid"]
        self.title = f"{self._name}_{self._namespace}({self._uid})"
        self.directory: Path = node.state_dir / "pods" / self._uid
        self.volumes = {one["name"]: self._volume(one) for one in self.spec.get("volumes") or ()}
        self.grace = float(self.spec["terminationGracePeriodSeconds"])
        self.ip, self.starting, self._over = "", asyncio.Lock(), False
        self._inits = [
            Container(self, spec, "sidecar" if spec.get("restartPolicy") == "Always" else "init")
            for spec in self.spec.get("initContainers") or ()
        ]
        self._mains = [Container(self, spec, "main") for spec in self.spec["containers"]]
        self.containers = self._inits + self._mains
        self._tasks: set[asyncio.Task[Any]] = set()
        self._removing: asyncio.Task[Any] | None = None
        self.spawn(self._run())

    def delete(self, grace: float) -> None:
        """End the pod's containers, `grace` seconds for each, and remove the pod."""
        self._removing = self._removing or self.spawn(self._remove(grace))

    async def close(self) -> None:
        """Let go of the pod: kill its processes and remove its files."""
        await self._cancel()
        for container in self.containers:
            await container.stop(0)
        shutil.rmtree(self.directory, ignore_errors=True)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin something that ends with the pod."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def sleep(self, seconds: float) -> None:
        """Wait as long as so many seconds are on this node."""
        await asyncio.sleep(seconds * self.node.time_scale)

    def publish(self) -> None:
        """Report how the pod is."""

        def change(stored: Object) -> None:
            if stored["metadata"]["uid"] == self._uid:
                stored["status"] |= self._status(stored["status"])

        with contextlib.suppress(ApiError):  # it has been deleted meanwhile
            self.store.update("pods", self._namespace, self._name, change)

    def _volume(self, volume: Object) -> Path:
        """Return a volume's directory; what is no claim is empty at first."""
        if claim := volume.get("persistentVolumeClaim"):
            claims: Path = self.node.state_dir / "claims" / self._namespace
            return claims / str(claim["claimName"])
        return self.directory / "volumes" / str(volume["name"])

    async def _run(self) -> None:
        self.publish()
        self.ip = self.node.new_address()
        self.publish()
        for container in self._inits:
            if container.kind == "sidecar":
                self.spawn(container.keep())
                await container.started.wait()
            else:
                await container.keep()
                if container.code:
                    break
        else:
            await asyncio.gather(*(container.keep() for container in self._mains))
        await self._end(self.grace)

    async def _cancel(self) -> None:
        while others := self._tasks - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.wait(others, timeout=1)  # Python < 3.12 may miss a cancellation

    async def _end(self, grace: float) -> None:
        """End what runs, the sidecars last and in reverse order; then the pod is over."""
        await self._cancel()
        for container in self.containers:
            if "running" in container.state:
                container.say("Killing", f"Stopping container {container.name}")
        sidecars = [container for container in self._inits if container.kind == "sidecar"]
        others = [container for container in self.containers if container not in sidecars]
        grace = max(grace, _MIN_GRACE)
        await asyncio.gather(*(container.stop(grace) for container in others))
        for container in reversed(sidecars):
            await container.stop(grace)
        self._over = True
        self.publish()

    async def _remove(self, grace: float) -> None:
        await self._end(grace)
        with contextlib.suppress(ApiError):
            self.store.delete("pods", self._namespace, self._name, 0, self._uid)

    def _phase(self) -> str:
        inits = [container for container in self._inits if container.kind == "init"]
        running = [one for one in self.containers if "running" in one.state]
        if any(one.code and not one.restarts_after(one.code) for one in inits):
            return "Failed"
        if not self._over:
            unborn = [one for one in self._mains if one.code is None and one not in running]
            if unborn or not all(one.ready for one in inits):
                return "Pending"
            running += [one for one in self._mains if one.restarts_after(one.code)]
        if running:
            return "Running"
        return "Failed" if any(one.code != 0 for one in inits + self._mains) else "Succeeded"

    def _status(self, old: Object) -> Object:
        phase = self._phase()
        over = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "")
        todo = [c.name for c in self._inits if not (c.ready or c.started.is_set())]
        todo = todo if not any(c.runs for c in self._mains) else []
        unready = [c.name for c in self.containers if c.kind != "init" and not c.ready]
        unready_text = f"containers with unready status: [{' '.join(unready)}]"
        ready = (not unready, "ContainersNotReady", unready_text)
        ready = (False, over, "") if over else ready
        todo_text = f"containers with incomplete status: [{' '.join(todo)}]"
        conditions = {
            "PodReadyToStartContainers": (bool(self.ip) and not over, "", ""),
            "Initialized": (not todo, "ContainersNotInitialized", todo_text),
            "Ready": ready,
            "ContainersReady": ready,
            "PodScheduled": (True, "", ""),
        }
        before = {condition["type"]: condition for condition in old["conditions"]}
        status: Object = {
            "phase": phase,
            "conditions": [_condition(before.get(k, {}), k, *one) for k, one in conditions.items()],
            "hostIP": _ADDRESS,
            "hostIPs": [{"ip": _ADDRESS}],
            "startTime": old.get("startTime") or now(),
            "observedGeneration": 1,
            "resources": {},
            # The kubelet sorts these by name, so nobody may rely on the order of the spec.
            "containerStatuses": [c.status() for c in sorted(self._mains, key=lambda c: c.name)],
        }
        for which in ("requests", "limits"):
            if amounts := total(self.spec, which):
                written = {k: format_quantity(v, k == "memory") for k, v in amounts.items()}
                status["resources"][which] = written
                status |= {"allocatedResources": written} if which == "requests" else {}
        if self._inits:
            status["initContainerStatuses"] = [container.status() for container in self._inits]
        return status | ({"podIP": self.ip, "podIPs": [{"ip": self.ip}]} if self.ip else {})


def _condition(before: Object, kind: str, true: bool, reason: str, message: str) -> Object:
    since = before["lastTransitionTime"] if before.get("status") == str(true) else now()
    condition: Object = {"type": kind, "status": str(true), "lastProbeTime": None}
    condition |= {"lastTransitionTime": since, "observedGeneration": 1}
    why = {"reason": reason} | ({"message": message} if message else {})
    return condition | (why if reason and not true else {})
