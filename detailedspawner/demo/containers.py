"""One container of a pod: a local process, started again as its restart policy says."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import shutil
from typing import TYPE_CHECKING

from . import processes
from .defaults import parse_quantity, resources_of
from .errors import Object
from .events import now, say
from .images import Image, PullError
from .processes import ConfigError, expand, variables

if TYPE_CHECKING:
    from .node import Pod

_BACK_OFF, _MAX_BACK_OFF = 10.0, 300.0  # seconds, as the kubelet's
_HOME, _TMP = "/home/jovyan", "/tmp"  # noqa: S108 - the container's, not this machine's


class Container:
    """One container, whose `kind` is init, sidecar or main: its state, and what changes it.

    `code` is its last exit code, `runs` counts its starts. A process has no mounts of its own:
    where one of the container's paths stands in a command, a path of this machine is put.
    """

    def __init__(self, pod: Pod, spec: Object, kind: str) -> None:
        self._pod, self.spec, self.kind, self.name = pod, spec, kind, str(spec["name"])
        reason = "PodInitializing" if pod.spec.get("initContainers") else "ContainerCreating"
        self.state: Object = {"waiting": {"reason": reason}}
        self._last: Object = {}
        self.code: int | None = None
        self.runs, self._id, self._mark, self._env = 0, "", "", dict[str, str]()
        self.ready, self.started, self._out_of_memory = False, asyncio.Event(), False
        self._process: processes.Process | None = None
        self.files = pod.directory / self.name
        self._message = self.files / "termination-log"
        self._paths = {_HOME: self.files / "home", _TMP: self.files / "tmp"}
        for mount in spec.get("volumeMounts") or ():
            self._paths[mount["mountPath"].rstrip("/")] = pod.volumes[mount["name"]]

    def status(self) -> Object:
        """Return the container's status as the API has it."""
        image, mounts = self.spec["image"], self.spec.get("volumeMounts") or ()
        mounted = [{key: mount[key] for key in ("name", "mountPath")} for mount in mounts]
        status: Object = {
            "name": self.name,
            "image": image,
            "imageID": f"{image}@sha256:{0:064}" if self._id else "",
            "state": self.state,
            "lastState": self._last,
            "ready": self.ready,
            "started": self.started.is_set(),
            "restartCount": max(0, self.runs - 1),
        }
        status |= {"volumeMounts": mounted} if mounted else {}
        if self._id:
            status |= {"containerID": self._id, "resources": self.spec["resources"]}
            requests = resources_of(self.spec, "requests")
            status |= {"allocatedResources": requests} if requests else {}
        return status

    def restarts_after(self, code: int | None) -> bool:
        """Return whether the container is started again when it has ended with `code`."""
        policy = self._pod.spec["restartPolicy"]
        wanted = policy != "Never" if code else policy == "Always" and self.kind == "main"
        return self.kind == "sidecar" or wanted

    async def keep(self) -> None:
        """Run the container as often as its restart policy says."""
        delay = 0.0
        while True:
            process = await self._start()
            watching = self._pod.spawn(self._watch(process))
            await process.wait()
            watching.cancel()
            self._ended(process)
            if not self.restarts_after(self.code):
                return
            if delay:
                pod = self._pod.title
                text = f"Back-off restarting failed container {self.name} in pod {pod}"
                self.say("BackOff", text, "Warning")
                text = f"back-off {_duration(delay)} restarting failed container={self.name}"
                self._wait("CrashLoopBackOff", f"{text} pod={pod}")
                await self._pod.sleep(delay)
            delay = min(2 * delay or _BACK_OFF, _MAX_BACK_OFF)

    async def stop(self, grace: float) -> None:
        """End the container's process, if there is one, within `grace` seconds."""
        if process := self._process:
            await processes.stop(process, self._mark, grace)
            self._ended(process)

    def say(self, reason: str, message: str, kind: str = "Normal") -> None:
        """Write an event about the container."""
        field = f"spec.{'containers' if self.kind == 'main' else 'initContainers'}{{{self.name}}}"
        event = {"type": kind, "reason": reason, "message": message}
        say(self._pod.store, self._pod.pod, "kubelet", event, field)

    async def _start(self) -> processes.Process:
        delay, image = _BACK_OFF, self.spec["image"]
        while True:
            try:
                # The kubelet starts a pod's containers one after the other.
                async with self._pod.starting:
                    return await self._create(await self._pull(image))
            except ConfigError as error:
                self.say("Failed", f"Error: {error}", "Warning")
                self._wait("CreateContainerConfigError", str(error))
            except PullError as error:
                self.say("Failed", f'Failed to pull image "{image}": {error}', "Warning")
                self.say("Failed", "Error: ErrImagePull", "Warning")
                self._wait("ErrImagePull", str(error))
                await self._pod.sleep(1)
                text = f'Back-off pulling image "{image}"'
                self.say("BackOff", text)
                self.say("Failed", "Error: ImagePullBackOff", "Warning")
                self._wait("ImagePullBackOff", f"{text}: ErrImagePull: {error}")
            await self._pod.sleep(delay)
            delay = min(2 * delay, _MAX_BACK_OFF)

    async def _pull(self, name: str) -> Image:
        node = self._pod.node
        image = node.catalogue.get(name.rpartition("/")[2])
        present = image and (image.present or name in node.pulled)
        if image and present and self.spec["imagePullPolicy"] != "Always":
            text = f'Container image "{name}" already present on machine'
            self.say("Pulled", f"{text} and can be accessed by the pod")
            return image
        self.say("Pulling", f'Pulling image "{name}"')
        if image is None:
            raise PullError(name)
        await self._pod.sleep(image.pull_seconds)
        node.pulled.add(name)
        took = _duration(image.pull_seconds * node.time_scale)
        text = f'Successfully pulled image "{name}" in {took} ({took} including waiting)'
        self.say("Pulled", f"{text}. Image size: 412776401 bytes.")
        return image

    async def _create(self, image: Image) -> processes.Process:
        for fresh in (self.files / "home", self.files / "tmp"):
            shutil.rmtree(fresh, ignore_errors=True)
        for directory in self._paths.values():
            directory.mkdir(parents=True, exist_ok=True)
        self._message.write_text("")
        given = variables(self._pod.store, self._pod.pod, self.spec, self._pod.ip)
        home, self._id = self._paths[_HOME], f"containerd://{secrets.token_hex(32)}"
        self._mark, self._out_of_memory = f"DEMO_CONTAINER={self._id}", False
        self.runs += 1
        self._env = {key: self._local(value) for key, value in given.items()}
        self._env |= {"HOME": str(home), "TMPDIR": str(self._paths[_TMP])}
        self._env |= {"JUPYTER_CONFIG_PATH": str(self._pod.node.state_dir)}
        # The programs are this machine's own, wherever they are.
        self._env |= {"DEMO_CONTAINER": self._id, "PATH": given["PATH"]}
        words = [*(self.spec.get("command") or ()), *(self.spec.get("args") or ())]
        argv = [self._local(expand(word, given)) for word in words] or image.cmd
        self.say("Created", "Container created")
        with (self.files / f"{self.runs}.log").open("wb") as output:
            self._process = process = await processes.start(argv, self._env, home, output)
        self.say("Started", "Container started")
        if "startupProbe" not in self.spec:
            self._now_started()
        self._enter({"running": {"startedAt": now()}})
        return process

    def _local(self, text: str) -> str:
        paths = self._paths | {self.spec["terminationMessagePath"]: self._message}
        # In one pass, so that nothing is replaced in what has been put in.
        pattern = "|".join(map(re.escape, sorted(paths, reverse=True)))
        return re.sub(
            rf"(?<![\w./-])({pattern})(?![\w.-])", lambda match: str(paths[match[1]]), text
        )

    def _now_started(self) -> None:
        self.started.set()
        self.ready = self.kind != "init" and "readinessProbe" not in self.spec

    def _ended(self, process: processes.Process) -> None:
        # As in a container, what the first process leaves behind ends with it.
        processes.kill(self._mark)
        code = process.returncode or 0
        # A signal's number counts from 128 on.
        self.code, self._process = code if code >= 0 else 128 - code, None
        self.started.clear()
        self.ready = self.kind == "init" and code == 0
        reason = "OOMKilled" if self._out_of_memory else "Error" if code else "Completed"
        end = {"exitCode": self.code, "reason": reason, "containerID": self._id}
        end |= {"startedAt": self.state["running"]["startedAt"], "finishedAt": now()}
        # At most 4 KiB of the message, 80 lines and 2 KiB of the log, as the kubelet.
        message = self._message.read_text(errors="replace")[:4096]
        if not message and code and self.spec["terminationMessagePolicy"] != "File":
            log = (self.files / f"{self.runs}.log").read_text(errors="replace")
            message = "".join(log.splitlines(keepends=True)[-80:])[-2048:]
        self._enter({"terminated": end | ({"message": message} if message else {})})

    def _wait(self, reason: str, message: str) -> None:
        self._enter({"waiting": {"reason": reason, "message": message}})

    def _enter(self, state: Object) -> None:
        # How the last run ended stays visible beside what has come since.
        self._last = self.state if "terminated" in self.state else self._last
        self.state = state
        self._pod.publish()

    async def _watch(self, process: processes.Process) -> None:
        self._pod.spawn(self._watch_memory(process))
        if "startupProbe" in self.spec:
            await self._probe("startup", process)
            self._now_started()
            self._pod.publish()
        kinds = [kind for kind in ("readiness", "liveness") if f"{kind}Probe" in self.spec]
        await asyncio.gather(*(self._probe(kind, process) for kind in kinds))

    async def _watch_memory(self, process: processes.Process) -> None:
        limit = parse_quantity(resources_of(self.spec, "limits").get("memory", "8Ei"))
        # Looked at from outside, since a limit of the kernel's own would need a cgroup.
        while process.returncode is None and processes.memory(process) <= limit:
            await asyncio.sleep(0.1)
        if process.returncode is None:
            self._out_of_memory = True
            processes.kill(self._mark)

    async def _probe(self, kind: str, process: processes.Process) -> None:
        """Probe until the container has started, or for ever; end it when it is not well."""
        probe, failures = self.spec[f"{kind}Probe"], 0
        await self._pod.sleep(probe.get("initialDelaySeconds") or 0)
        while True:
            why = await self._attempt(probe)
            failures = failures + 1 if why is not None else 0
            if why is not None:
                self.say("Unhealthy", f"{kind.capitalize()} probe failed: {why}", "Warning")
            elif kind == "startup":
                return
            if kind == "readiness" and (not failures or failures == probe["failureThreshold"]):
                self.ready = not failures
                self._pod.publish()
            elif kind != "readiness" and failures == probe["failureThreshold"]:
                text = f"Container {self.name} failed {kind} probe"
                restarts = ", will be restarted" if self.restarts_after(1) else ""
                self.say("Killing", text + restarts)
                await processes.stop(process, self._mark, self._pod.grace)
            await self._pod.sleep(probe["periodSeconds"])

    async def _attempt(self, probe: Object) -> str | None:
        """Return None if a probe succeeds, else why not."""
        try:
            return await asyncio.wait_for(self._look(probe), probe["timeoutSeconds"])
        except asyncio.TimeoutError:
            return "context deadline exceeded"
        except OSError:
            return f"dial tcp {self._pod.ip}: connect: connection refused"

    async def _look(self, probe: Object) -> str | None:
        if "exec" in probe:
            argv = [self._local(word) for word in probe["exec"]["command"]]
            code, output = await processes.run(argv, self._env, self._paths[_HOME])
            return output if code else None
        action = probe.get("httpGet") or probe["tcpSocket"]
        ports = {port.get("name"): port["containerPort"] for port in self.spec.get("ports") or ()}
        port = ports.get(action["port"], action["port"])
        reader, writer = await asyncio.open_connection(self._pod.ip, port)
        with contextlib.closing(writer):
            if "tcpSocket" in probe:
                return None
            writer.write(f"GET {action['path']} HTTP/1.0\r\nHost: {self._pod.ip}\r\n\r\n".encode())
            status = (await reader.readline()).decode().split()[1]
        return None if status < "400" else f"HTTP probe failed with statuscode: {status}"


def _duration(seconds: float) -> str:
    """Word a time as the kubelet does: 8.001s, 1m20s."""
    minutes, rest = divmod(round(seconds, 3), 60)
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"
