"""A pod's status as the kubelet words it, from what its containers do. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .recorder import now

Object = dict[str, Any]


@dataclass
class Container:
    """One container of a pod: its spec, its kind (init, sidecar or main) and its state."""

    spec: Object
    kind: str
    state: Object
    last: Object = field(default_factory=dict)
    attempts: int = 0
    id: str = ""
    image_id: str = ""
    started: bool = False
    ready: bool = False

    @property
    def name(self) -> str:
        """The container's name in its pod."""
        return str(self.spec["name"])

    @property
    def field(self) -> str:
        """The field path by which events name this container."""
        return f"spec.{'containers' if self.kind == 'main' else 'initContainers'}{{{self.name}}}"

    def waiting(self, reason: str, message: str) -> None:
        """Wait for the next start; how the one before ended stays visible beside it."""
        if "terminated" in self.state:
            self.last = self.state
        self.state = {"waiting": {"reason": reason, "message": message}}

    def running(self) -> None:
        """Run, at first neither started nor ready."""
        if "terminated" in self.state:
            self.last = self.state
        self.state = {"running": {"startedAt": now()}}

    def terminated(self, code: int, reason: str, message: str = "", began: str = "") -> None:
        """End with an exit code."""
        if "terminated" in self.state:
            self.last = self.state
        began = began or self.state.get("running", {}).get("startedAt", now())
        end = {"exitCode": code, "reason": reason, "startedAt": began, "finishedAt": now()}
        end |= ({"message": message} if message else {}) | {"containerID": self.id}
        self.state, self.started = {"terminated": end}, False
        self.ready = self.kind == "init" and code == 0

    def restarts_after(self, code: int, pod_policy: str) -> bool:
        """Say whether the container is started again when it has ended with `code`."""
        if self.kind == "sidecar":
            return True
        policy = self.spec.get("restartPolicy") or pod_policy
        if self.kind == "init":
            return code != 0 and policy != "Never"
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def ended(self) -> Object | None:
        """Return how the container ended, also while it waits for its next start."""
        if "running" in self.state:
            return None
        return self.state.get("terminated") or self.last.get("terminated")

    def status(self) -> Object:
        """Return the container's status as the API has it."""
        mounts = self.spec.get("volumeMounts") or []
        status: Object = {
            "name": self.name,
            "image": self.spec["image"],
            "imageID": self.image_id,
            "state": self.state,
            "lastState": self.last,
            "ready": self.ready,
            "started": self.started,
            "restartCount": max(0, self.attempts - 1),
        }
        if mounts:
            status["volumeMounts"] = [
                {"name": mount["name"], "mountPath": mount["mountPath"]} for mount in mounts
            ]
        if self.id:
            status |= {"containerID": self.id, "resources": self.spec.get("resources") or {}}
        return status


def containers_of(pod: Object) -> list[Container]:
    """Return a new pod's containers in the order in which the kubelet starts them."""
    inits = pod["spec"].get("initContainers") or []
    reason = "PodInitializing" if inits else "ContainerCreating"
    found = []
    for spec in inits:
        kind = "sidecar" if spec.get("restartPolicy") == "Always" else "init"
        found.append(Container(spec, kind, {"waiting": {"reason": reason}}))
    for spec in pod["spec"]["containers"]:
        found.append(Container(spec, "main", {"waiting": {"reason": reason}}))
    return found


def phase(containers: list[Container], policy: str, terminal: bool) -> str:
    """Return the pod's phase; `terminal` says that nothing is started any more."""
    pending = running = False
    codes: list[int] = []
    restarting = False
    for container in containers:
        ended, runs = container.ended(), "running" in container.state
        code = ended["exitCode"] if ended else 0
        if container.kind == "init":
            if ended and code and not container.restarts_after(code, policy):
                return "Failed"
            pending |= not ended or (code != 0 and not terminal)
        elif container.kind == "sidecar":
            running |= runs
        elif ended:
            codes.append(code)
            restarting |= container.restarts_after(code, policy) and not terminal
        else:
            pending |= not runs
            running |= runs
    if pending:
        return "Pending"
    if running or restarting:
        return "Running"
    return "Failed" if any(codes) else "Succeeded"


def status_of(
    pod: Object, containers: list[Container], ip: str, terminal: bool, host_ip: str
) -> Object:
    """Return the whole status; `ip` is empty as long as the pod has no sandbox."""
    spec, old = pod["spec"], pod.get("status") or {}
    now_in = phase(containers, spec.get("restartPolicy") or "Always", terminal)
    finished = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(now_in)
    inits = [c for c in containers if c.kind != "main"]
    todo = [c for c in inits if not (c.started if c.kind == "sidecar" else c.ready)]
    unready = [c for c in containers if c.kind != "init" and not c.ready]
    initialized = not todo or any(c.id for c in containers if c.kind == "main")

    def condition(kind: str, true: bool, reason: str = "", message: str = "") -> Object:
        value = "True" if true else "False"
        before: Object = next((c for c in old.get("conditions") or [] if c["type"] == kind), {})
        since = before.get("lastTransitionTime") if before.get("status") == value else None
        made: Object = {"type": kind, "status": value, "lastProbeTime": None}
        made |= {"lastTransitionTime": since or now(), "observedGeneration": 1}
        return (
            made
            | ({"reason": reason} if reason else {})
            | ({"message": message} if message else {})
        )

    not_ready = ("ContainersNotReady", f"containers with unready status: [{_names(unready)}]")
    ready = (
        (False, finished, "") if finished else (not unready, *(not_ready if unready else ("", "")))
    )
    others = [c for c in old.get("conditions") or [] if c["type"] not in _OURS]
    gates = [g["conditionType"] for g in spec.get("readinessGates") or []]
    missing = [g for g in gates if (g, "True") not in [(c["type"], c["status"]) for c in others]]
    gated = ready
    if ready[0] and missing:
        wording = 'corresponding condition of pod readiness gate "{}" does not exist.'
        gated = (False, "ReadinessGatesNotReady", ", ".join(map(wording.format, missing)))
    todo_text = f"containers with incomplete status: [{_names(todo)}]"
    conditions = [
        *others,
        condition("PodReadyToStartContainers", bool(ip) and not terminal and not finished),
        condition("Initialized", True, "PodCompleted" if now_in == "Succeeded" else "")
        if initialized
        else condition("Initialized", False, "ContainersNotInitialized", todo_text),
        condition("Ready", *gated),
        condition("ContainersReady", *ready),
        condition("PodScheduled", True),
    ]
    status: Object = {
        "phase": now_in,
        "conditions": conditions,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": old.get("startTime") or now(),
        "observedGeneration": 1,
        # The kubelet sorts these by name, so nobody may rely on the order of the spec.
        "containerStatuses": [
            c.status() for c in sorted(containers, key=lambda c: c.name) if c.kind == "main"
        ],
    }
    if inits:
        status["initContainerStatuses"] = [c.status() for c in inits]
    if ip:
        status |= {"podIP": ip, "podIPs": [{"ip": ip}]}
    return {key: old[key] for key in ("qosClass", "reason", "message") if key in old} | status


_OURS = {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}


def _names(containers: list[Container]) -> str:
    return " ".join(c.name for c in containers)
