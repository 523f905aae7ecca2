"""What the tables of starts in trouble are made of."""

from __future__ import annotations

import re
import string
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .cases import FOREVER, POD_IP, container
from .hub import eventually

# seconds; how long trouble of each class may last in the cases that are not about that
SHORT = {
    **{"pull_definite": 3, "pull_transient": 3, "config": 2, "create": 2, "provisioning": 2},
    **{"config_transient": 2, "sandbox": 3},
    **{"schedule_hopeless": 3, "volume_mount": 3, "volume_attach": 3},
}

Object = dict[str, Any]


@dataclass(frozen=True)
class Failing:
    """One start that goes wrong."""

    override: dict[str, Any]
    message: str | re.Pattern[str]
    within: float
    users: bool = True
    counts: bool = False
    hint: str | None = None
    log_tail: str | None = None
    beside: str = ""
    # kind (as in paths) and object
    objects: tuple[tuple[str, Object], ...] = ()
    before: Callable[..., None] | None = None
    when: Callable[[dict[str, Any]], bool] | None = None
    meanwhile: Callable[..., None] | None = None
    undo: Callable[..., None] | None = None
    real: bool = False
    # with the graces that everybody has
    patient: bool = False
    # False where there is no pod, or it knows nothing of it
    explained: bool = True


def wants(kind: str, name: str, key: str) -> dict[str, Any]:
    """Return the environment of a server that needs a key of a secret or config map."""
    return {**POD_IP, "WANTED": {"valueFrom": {kind: {"name": name, "key": key}}}}


def claim(name: str, **spec: Any) -> tuple[str, Object]:
    """Return a claim for a little storage."""
    resources = {"requests": {"storage": "1Mi"}}
    whole = {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec}
    return "persistentvolumeclaims", {"metadata": {"name": name}, "spec": whole}


def with_claim(name: str, **more: Any) -> dict[str, Any]:
    """Return what a profile overrides to have a claim mounted."""
    return {
        "volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": name}}],
        "volume_mounts": [{"name": "home", "mountPath": "/data"}],
        **more,
    }


def volume(name: str) -> tuple[tuple[str, Object], ...]:
    """Return a claim that one pod at a time may use, and its volume."""
    modes, whole = ["ReadWriteOncePod"], f"$NAMESPACE-{name}"
    spec = {
        "accessModes": modes,
        "capacity": {"storage": "1Mi"},
        "hostPath": {"path": "/mnt"},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    return (
        claim(name, accessModes=modes, storageClassName="", volumeName=whole),
        ("persistentvolumes", {"metadata": {"name": whole}, "spec": spec}),
    )


def holder(name: str) -> tuple[str, Object]:
    """Return a pod that uses a claim and does nothing."""
    volumes = [{"name": "home", "persistentVolumeClaim": {"claimName": name}}]
    mounts = [{"name": "home", "mountPath": "/data"}]
    spec = {
        "containers": [container("holder", FOREVER, volumeMounts=mounts)],
        "volumes": volumes,
        "terminationGracePeriodSeconds": 0,
    }
    return "pods", {"metadata": {"name": f"holder-{name}"}, "spec": spec}


def executing(name: str) -> Callable[[dict[str, Any]], bool]:
    """Return the condition that a step is at work."""

    def reached(status: dict[str, Any]) -> bool:
        steps = status.get("details") or ()
        return any(s["step"] == name and s["status"] == "executing" for s in steps)

    return reached


def delete_pod(kubernetes: Any, user: str) -> None:
    """Delete a user's pod behind the Hub's back."""
    body = {"gracePeriodSeconds": 0}
    path = kubernetes.path("pods", f"jupyter-{user}")
    kubernetes.client.request("DELETE", path, json=body).raise_for_status()


def wait_for_holder(claim: str) -> Callable[[Any], None]:
    """Return what waits until the pod that uses a claim runs."""

    def wait(kubernetes: Any) -> None:
        def running() -> bool:
            pod = kubernetes.get("pods", f"holder-{claim}")
            return bool(pod and pod["status"]["phase"] == "Running")

        eventually(running, f"{claim} is in use")

    return wait


def delete_held(claim: str) -> Callable[[Any], None]:
    """Return what deletes a claim in use, which stays as long as it is used."""

    def delete(kubernetes: Any) -> None:
        wait_for_holder(claim)(kubernetes)
        path = kubernetes.path("persistentvolumeclaims", claim)
        kubernetes.client.delete(path).raise_for_status()

    return delete


SCALES = "pod triggered scale-up: [{pool 1->2 (max: 5)}]"
SCALES_NOT = "pod didn't trigger scale-up: 1 max node group size reached"


def autoscaler_says(reason: str, message: str) -> Callable[[Any, str], None]:
    """Return what says of a user's pod what an autoscaler would."""

    def say(kubernetes: Any, user: str) -> None:
        metadata = kubernetes.get("pods", f"jupyter-{user}")["metadata"]
        about = {key: metadata[key] for key in ("name", "namespace", "uid")}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {
            "metadata": {"name": f"scale-{user}"},
            "involvedObject": {"kind": "Pod", "apiVersion": "v1", **about},
            "reason": reason,
            "message": message,
            "type": "Normal",
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": "cluster-autoscaler"},
        }
        kubernetes.create("events", event).raise_for_status()

    return say


def python(program: str) -> list[str]:
    """Return a command that runs a Python program in the server's image."""
    return ["python3", "-c", program]


def filled(value: Any, namespace: str) -> Any:
    """Return a value with the names of the run put into all of its texts."""
    if isinstance(value, str):
        return string.Template(value).safe_substitute(NAMESPACE=namespace)
    if isinstance(value, dict):
        return {key: filled(item, namespace) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, namespace) for item in value]
    return value
