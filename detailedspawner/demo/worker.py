"""One pod on the stand-in's node: what the kubelet does with it, from first start to removal."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import shutil
from collections.abc import AsyncGenerator, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import environment, probes
from .defaults import parse_quantity, resources_of
from .environment import ConfigError
from .errors import ApiError, Object
from .images import Image, ImageError, check_name, duration, image_id, with_tag
from .podstatus import Container, containers_of, status_of
from .processes import Process, StartError
from .sandbox import Sandbox

if TYPE_CHECKING:
    from .node import Node

log = logging.getLogger(__name__)

_BACK_OFF, _MAX_BACK_OFF = 10.0, 300.0  # seconds, as the kubelet's
_MIN_GRACE = 2.0  # seconds that the kubelet always leaves a container to end
_EPOCH = "1970-01-01T00:00:00Z"


class PodWorker:
    """Run one pod's containers and report its status, from `start` until it is gone."""

    def __init__(self, node: Node, pod: Object) -> None:
        self._node, self._pod = node, pod
        meta = pod["metadata"]
        self.uid, self._namespace, self._name = meta["uid"], meta["namespace"], meta["name"]
        self._title = f"{self._name}_{self._namespace}({self.uid})"
        self._policy = pod["spec"].get("restartPolicy") or "Always"
        self._directory: Path = node.state_dir / "pods" / self.uid
        self.containers = containers_of(pod)
        self._volumes: dict[str, Path] = {}
        self._processes: dict[str, Process] = {}
        self._started = {c.name: asyncio.Event() for c in self.containers}
        self._starting = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ip = ""
        self._deleted = False

    def start(self) -> None:
        """Begin with the pod."""
        self._spawn(self._run())

    def delete(self, grace: float) -> None:
        """End the pod's containers, `grace` seconds for each, and remove the pod."""
        if not self._deleted:
            self._deleted = True
            self._spawn(self._terminate(self._tasks.copy(), grace))

    async def close(self) -> None:
        """Let go of the pod: kill its processes and report nothing more."""
        for task in self._tasks.copy():
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for process in self._processes.values():
            await process.stop(0)
        shutil.rmtree(self._directory, ignore_errors=True)

    def log_file(self, container: Container, previous: bool) -> Path:
        """Return where the container's last run, or the one before it, has written."""
        return self._directory / container.name / f"{container.attempts - 1 - previous}.log"

    async def _run(self) -> None:
        self._publish()
        await self._mount()
        self._ip = self._node.new_address()
        self._publish()
        for container in self.containers:
            if container.kind == "sidecar":
                self._spawn(self._keep(container))
                await self._started[container.name].wait()
            elif container.kind == "init" and await self._keep(container) != 0:
                break
        else:
            await asyncio.gather(*(self._keep(c) for c in self.containers if c.kind == "main"))
        others = {task for task in self._tasks if task is not asyncio.current_task()}
        await self._terminate(others, self._grace(), remove=False)

    async def _mount(self) -> None:
        # Like a kubelet, mount only what a container asks for.
        mounts = [m for c in self.containers for m in c.spec.get("volumeMounts") or []]
        names = {mount["name"] for mount in mounts}
        wanted = [v for v in self._pod["spec"].get("volumes") or [] if v["name"] in names]
        store, pause = self._node.store, 0.5
        while True:
            for volume in wanted:
                try:
                    self._volumes[volume["name"]] = environment.volume_of(
                        store, self._pod, volume, self._directory, self._node.claims
                    )
                except ConfigError as error:
                    self._node.recorder.event(self._pod, "Warning", "FailedMount", str(error))
            if len(self._volumes) == len(wanted):
                return
            await self._sleep(pause)
            pause = min(2 * pause, 122)

    async def _keep(self, container: Container) -> int:
        """Run a container as often as its restart policy says; return its last exit code."""
        delay = 0.0
        while True:
            code, trouble = await self._attempt(container)
            restarts = container.restarts_after(code, self._policy)
            if restarts and trouble:
                container.waiting(*trouble)
            self._publish()
            if not restarts:
                return code
            if delay:
                name = container.name
                text = f"Back-off restarting failed container {name} in pod {self._title}"
                self._event(container, "Warning", "BackOff", text)
                text = f"back-off {duration(delay)} restarting failed container={name} "
                container.waiting("CrashLoopBackOff", f"{text}pod={self._title}")
                self._publish()
                await self._sleep(delay)
            delay = min(2 * delay or _BACK_OFF, _MAX_BACK_OFF)

    async def _attempt(self, container: Container) -> tuple[int, tuple[str, str] | None]:
        """Run a container once; return its exit code and why it could not start, if so."""
        delay = _BACK_OFF
        while True:
            try:
                # The kubelet starts a pod's containers one after the other.
                async with self._starting:
                    process, trouble = await self._create(container)
                break
            except ImageError as error:
                reason, message, said = error.reason, error.message, error.reason
            except ConfigError as error:
                reason, message, said = "CreateContainerConfigError", str(error), str(error)
            self._event(container, "Warning", "Failed", f"Error: {said}")
            container.waiting(reason, message)
            self._publish()
            if reason != "ErrImagePull":
                await self._sleep(_BACK_OFF)
                continue
            await self._sleep(1)
            said = f'Back-off pulling image "{with_tag(container.spec["image"])}"'
            self._event(container, "Normal", "BackOff", said)
            self._event(container, "Warning", "Failed", "Error: ImagePullBackOff")
            container.waiting("ImagePullBackOff", f"{said}: {reason}: {message}")
            self._publish()
            await self._sleep(delay)
            delay = min(2 * delay, _MAX_BACK_OFF)
        if process is None:
            return 128, trouble
        if not trouble:
            probing = self._spawn(self._probe(container, process))
            await process.wait()
            probing.cancel()
        return await self._ended(container, process), trouble

    async def _create(self, container: Container) -> tuple[Process | None, tuple[str, str] | None]:
        image = await self._pull(container)
        box = self._box(container)
        box.clean()
        argv, env = box.command(image)
        container.attempts += 1
        container.id = f"containerd://{secrets.token_hex(32)}"
        container.image_id = image_id(container.spec["image"])
        self._event(container, "Normal", "Created", "Container created")
        limit = resources_of(container.spec, "limits").get("memory")
        output = self.log_file(container, previous=False)
        try:
            process = Process(argv, env, box.directory, output, mark=container.id[-64:])
        except StartError as error:
            self._event(container, "Warning", "Failed", f"Error: {error}")
            container.terminated(128, "StartError", str(error), _EPOCH)
            return None, ("RunContainerError", str(error))
        if limit:
            process.limit_memory(int(parse_quantity(limit)))
        self._processes[container.name] = process
        self._event(container, "Normal", "Started", "Container started")
        if trouble := await self._hook(container, "postStart", 3600):
            self._event(container, "Warning", "FailedPostStartHook", "PostStartHook failed")
            self._event(container, "Normal", "Killing", "FailedPostStartHook")
            await process.stop(self._grace())
            return process, ("PostStartHookError", trouble)
        container.running()
        self._now_started(container, "startupProbe" not in container.spec)
        return process, None

    async def _pull(self, container: Container) -> Image:
        name, policy = container.spec["image"], container.spec.get("imagePullPolicy")
        try:
            check_name(name)
        except ImageError as error:
            self._event(container, "Warning", "InspectFailed", error.message)
            raise
        found = self._node.images.find(name)
        if found and self._node.images.present(name) and policy != "Always":
            text = f'Container image "{name}" already present on machine'
            self._event(container, "Normal", "Pulled", f"{text} and can be accessed by the pod")
            return found[1]
        if policy == "Never":
            text = f'Container image "{name}" is not present with pull policy of Never'
            self._event(container, "Warning", "ErrImageNeverPull", text)
            raise ImageError("ErrImageNeverPull", text)
        tagged = with_tag(name)
        self._event(container, "Normal", "Pulling", f'Pulling image "{tagged}"')
        try:
            image, took = await self._node.images.pull(name)
        except ImageError as error:
            text = f'Failed to pull image "{tagged}": {error.message}'
            self._event(container, "Warning", "Failed", text)
            raise
        text = f'Successfully pulled image "{tagged}" {took}. Image size: {image.size} bytes.'
        self._event(container, "Normal", "Pulled", text)
        return image

    async def _hook(self, container: Container, which: str, timeout: float) -> str | None:
        hook = (container.spec.get("lifecycle") or {}).get(which) or {}
        if "exec" not in hook:
            return None
        command = hook["exec"]["command"]
        code, output = await self._box(container).execute(command, timeout, which)
        if code == 0:
            return None
        line = " ".join(command)
        quoted = output.replace("\n", "\\n")
        return (
            f'Exec lifecycle hook ([{line}]) for Container "{container.name}" in Pod '
            f"\"{self._title}\" failed - error: command '{line}' exited with {code}: , "
            f'message: "{quoted}"'
        )

    async def _probe(self, container: Container, process: Process) -> None:
        spec = container.spec
        if startup := spec.get("startupProbe"):
            async with contextlib.aclosing(self._results(container, "Startup", startup)) as found:
                started = await found.__anext__()
            if not started:
                await self._unhealthy(container, process, "startup")
                return
            self._now_started(container, True)
        await asyncio.gather(self._readiness(container), self._liveness(container, process))

    async def _readiness(self, container: Container) -> None:
        if probe := container.spec.get("readinessProbe"):
            async for ready in self._results(container, "Readiness", probe):
                container.ready = ready
                self._publish()

    async def _liveness(self, container: Container, process: Process) -> None:
        if probe := container.spec.get("livenessProbe"):
            async for alive in self._results(container, "Liveness", probe):
                if not alive:
                    await self._unhealthy(container, process, "liveness")
                    return

    def _results(
        self, container: Container, kind: str, probe: Object
    ) -> AsyncGenerator[bool, None]:
        named = [port for port in container.spec.get("ports") or [] if port.get("name")]
        ports = {port["name"]: int(port["containerPort"]) for port in named}

        async def execute(command: list[str], timeout: float) -> tuple[int | None, str]:
            return await self._box(container).execute(command, timeout, f"{kind}-probe")

        async def attempt() -> str | None:
            return await probes.check(probe, self._ip, ports, execute)

        def failed(why: str) -> None:
            self._event(container, "Warning", "Unhealthy", f"{kind} probe failed: {why}")

        return probes.results(probe, attempt, failed, self._node.time_scale)

    async def _unhealthy(self, container: Container, process: Process, kind: str) -> None:
        text = f"Container {container.name} failed {kind} probe"
        if container.restarts_after(1, self._policy):
            text += ", will be restarted"
        self._event(container, "Normal", "Killing", text)
        await process.stop(self._grace())

    def _now_started(self, container: Container, started: bool) -> None:
        container.started = started
        container.ready = (
            started and container.kind != "init" and "readinessProbe" not in container.spec
        )
        if started:
            self._started[container.name].set()
        self._publish()

    async def _ended(self, container: Container, process: Process) -> int:
        code = await process.wait()
        self._processes.pop(container.name, None)
        log_file = self.log_file(container, previous=False)
        message = self._box(container).termination_message(code, log_file)
        reason = "Error" if code else "Completed"
        container.terminated(code, "OOMKilled" if process.out_of_memory else reason, message)
        return code

    async def _terminate(
        self, tasks: set[asyncio.Task[Any]], grace: float, remove: bool = True
    ) -> None:
        """End what runs, the sidecars last and in reverse order; then the pod is over."""
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        running = [c for c in self.containers if c.name in self._processes]
        for container in running:
            self._event(container, "Normal", "Killing", f"Stopping container {container.name}")
        grace = max(grace, _MIN_GRACE)
        await asyncio.gather(*(self._stop(c, grace) for c in running if c.kind != "sidecar"))
        for container in reversed([c for c in running if c.kind == "sidecar"]):
            await self._stop(container, grace)
        for container in self.containers:
            if "waiting" in container.state and remove:
                if container.last:
                    container.state = container.last
                else:
                    text = "The container could not be located when the pod was terminated"
                    container.terminated(137, "ContainerStatusUnknown", text)
        self._publish(terminal=True)
        if remove:
            with contextlib.suppress(ApiError):
                self._node.store.delete("pods", self._namespace, self._name, 0, self.uid)

    async def _stop(self, container: Container, grace: float) -> None:
        process = self._processes[container.name]
        await self._hook(container, "preStop", grace)
        await process.stop(grace)
        await self._ended(container, process)

    def _box(self, container: Container) -> Sandbox:
        directory = self._directory / container.name
        return Sandbox(self._node, self._pod, container.spec, directory, self._volumes, self._ip)

    def _publish(self, terminal: bool = False) -> None:
        def change(pod: Object) -> None:
            if pod["metadata"]["uid"] == self.uid:
                pod["status"] = status_of(
                    pod, self.containers, self._ip, terminal, self._node.address
                )

        with contextlib.suppress(ApiError):  # it has been deleted meanwhile
            self._node.store.update("pods", self._namespace, self._name, change)

    def _event(self, container: Container, kind: str, reason: str, message: str) -> None:
        self._node.recorder.event(self._pod, kind, reason, message, container.field)

    def _grace(self) -> float:
        return max(_MIN_GRACE, float(self._pod["spec"]["terminationGracePeriodSeconds"]))

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds * self._node.time_scale)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("pod %s: %r", self._title, error, exc_info=error)
