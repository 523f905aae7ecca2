"""Makes raw pods, events and claims, as the Kubernetes API would send them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

# The moment at which the pods of these tests are created.
BEGIN = datetime(2026, 3, 2, 9, 0, 0, tzinfo=timezone.utc).timestamp()
UID = "11111111-2222-4333-8444-555555555555"
IMAGE = "registry.example/science/notebook:2026.1"

Raw = dict[str, Any]


def iso(seconds: float, digits: int = 0) -> str:
    """Write a time, given in seconds after BEGIN, as Kubernetes does."""
    moment = datetime.fromtimestamp(BEGIN + seconds, tz=timezone.utc)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{moment.microsecond:06d}"[: 20 + digits].rstrip(".") + "Z"


def container(name: str, image: str = IMAGE, **more: Any) -> Raw:
    """Make a container of a spec."""
    return {"name": name, "image": image, **more}


def waiting(name: str, reason: str = "PodInitializing", message: str = "", **more: Any) -> Raw:
    """Make the status of a container that waits."""
    state = {"reason": reason, "message": message} if message else {"reason": reason}
    return status(name, {"waiting": state}, **more)


def running(name: str, ready: bool = True, since: float = 20, **more: Any) -> Raw:
    """Make the status of a container that runs."""
    return status(name, {"running": {"startedAt": iso(since)}}, ready=ready, **more)


def ending(code: int = 1, reason: str = "Error", message: str = "", at: float = 25) -> Raw:
    """Make a terminated state; like the API, it leaves out what is empty."""
    found: Raw = {"startedAt": iso(at - 5), "finishedAt": iso(at)}
    found |= {"exitCode": code} if code else {}
    found |= {"reason": reason} if reason else {}
    return found | ({"message": message} if message else {})


def ended(name: str, code: int = 0, reason: str = "", message: str = "", **more: Any) -> Raw:
    """Make the status of a container that has ended."""
    reason = reason or ("Error" if code else "Completed")
    return status(name, {"terminated": ending(code, reason, message)}, **more)


def crashing(name: str, restarts: int, last: Raw | None = None) -> Raw:
    """Make the status of a container that is held back before its next try."""
    text = f"back-off 20s restarting failed container={name} pod=jupyter-ada_hub({UID})"
    return waiting(
        name, "CrashLoopBackOff", text, restarts=restarts, last=ending() if last is None else last
    )


def status(
    name: str, state: Raw, ready: bool = False, restarts: int = 0, last: Raw | None = None
) -> Raw:
    """Make a container status."""
    return {
        "name": name,
        "image": IMAGE,
        "imageID": "",
        "ready": ready,
        "restartCount": restarts,
        "state": state,
        "lastState": {"terminated": last} if last else {},
    }


def condition(kind: str, value: bool, reason: str = "", message: str = "", at: float = 5) -> Raw:
    """Make a condition of a pod."""
    found: Raw = {
        "type": kind,
        "status": str(value),
        "lastProbeTime": None,
        "lastTransitionTime": iso(at),
    }
    found |= {"reason": reason} if reason else {}
    return found | ({"message": message} if message else {})


SCHEDULED = condition("PodScheduled", True, at=3)
SANDBOXED = condition("PodReadyToStartContainers", True, at=8)
INITIALIZED = condition("Initialized", True, at=12)
ON_MACHINE = [SCHEDULED, SANDBOXED]
READY = [SCHEDULED, SANDBOXED, INITIALIZED, condition("Ready", True, at=30)]
NOT_READY = [SCHEDULED, SANDBOXED, INITIALIZED, condition("Ready", False, "ContainersNotReady")]


def unschedulable(message: str) -> list[Raw]:
    """Make the conditions of a pod that no machine takes."""
    return [condition("PodScheduled", False, "Unschedulable", message)]


def make_pod(
    *statuses: Raw,
    init: list[Raw] | None = None,
    containers: list[Raw] | None = None,
    conditions: list[Raw] | None = None,
    phase: str = "Pending",
    claims: tuple[str, ...] = (),
    policy: str = "OnFailure",
    spec: Raw | None = None,
    **status_fields: Any,
) -> Raw:
    """Make a pod; statuses go where the spec has their containers."""
    init, containers = init or [], containers or [container("notebook")]
    init_names = {item["name"] for item in init}
    volumes = [{"name": f"vol-{c}", "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "jupyter-ada",
            "namespace": "hub",
            "uid": UID,
            "creationTimestamp": iso(0),
        },
        "spec": {
            "restartPolicy": policy,
            "initContainers": init,
            "containers": containers,
            "volumes": [*volumes, {"name": "scratch", "emptyDir": {}}],
            **(spec or {}),
        },
        "status": {
            "phase": phase,
            "conditions": conditions or [],
            "initContainerStatuses": [s for s in statuses if s["name"] in init_names],
            "containerStatuses": [s for s in statuses if s["name"] not in init_names],
            **status_fields,
        },
    }


def deleted(pod: Raw) -> Raw:
    """Mark a pod as being deleted."""
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": iso(40)}}


def event(
    reason: str,
    message: str = "",
    at: float | None = 10,
    kind: str = "Warning",
    about: str = "",
    count: int = 1,
    **more: Any,
) -> Raw:
    """Make an event of the pod; `about` is a container ("x") or an init one ("init:x")."""
    involved = {"kind": "Pod", "name": "jupyter-ada", "namespace": "hub", "uid": UID}
    if about:
        _, is_init, name = about.rpartition("init:")
        field = "initContainers" if is_init else "containers"
        involved["fieldPath"] = f"spec.{field}{{{name}}}"
    return {
        "type": kind,
        "reason": reason,
        "message": message,
        "count": count,
        "lastTimestamp": None if at is None else iso(at),
        "involvedObject": involved,
        **more,
    }


def normal(reason: str, message: str = "", at: float | None = 10, about: str = "") -> Raw:
    """Make an event of type Normal."""
    return event(reason, message, at, "Normal", about)


def claim(name: str, phase: str = "Bound") -> Raw:
    """Make a persistent volume claim."""
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "hub", "uid": f"uid-{name}"},
        "status": {"phase": phase},
    }


def claim_event(name: str, reason: str, message: str, at: float = 10) -> Raw:
    """Make an event of a claim."""
    about = {"kind": "PersistentVolumeClaim", "name": name, "uid": f"uid-{name}"}
    return event(reason, message, at, involvedObject=about)
