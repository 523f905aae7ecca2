"""How long trouble of each class lasts before it ends a start that has all the time it wants.

Each class that waits is shown by one of the failures, with the graces that everybody has. The
classes that never end a start are shown to be still waiting when all the others are over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .cases import container, probe
from .failing import SCALES, SCALES_NOT, Failing, autoscaler_says
from .failure_cases import FAILURES, profile

# seconds; longer than any grace
TIME = 900


@dataclass(frozen=True)
class Patient:
    """One start of a class whose grace is waited for."""

    failure: Failing
    says: Callable[[Any, str], None] | None = None
    # what is said instead, where the autoscaler has had its say
    message: str = ""


def unschedulable(status: dict[str, Any]) -> bool:
    """Whether the scheduler has refused the pod."""
    return any(step["reason"] for step in status.get("details") or ())


ENDING: dict[str, Patient] = {
    "pull_definite": Patient(FAILURES["image-not-found"]),
    "pull_transient": Patient(FAILURES["registry-refuses"]),
    "config": Patient(FAILURES["missing-secret"]),
    "create": Patient(FAILURES["seccomp"]),
    "schedule_hopeless": Patient(FAILURES["node-selector"]),
    "schedule_full": Patient(
        replace(FAILURES["too-much-memory"], real=True),
        autoscaler_says("NotTriggerScaleUp", SCALES_NOT),
        "No kind of machine can hold this server, so none is added (Insufficient memory).",
    ),
    "volume_mount": Patient(FAILURES["missing-secret-volume"]),
    "volume_attach": Patient(FAILURES["share"]),
    "provisioning": Patient(FAILURES["claim-without-class"]),
    "sandbox": Patient(FAILURES["runtime"]),
}
NEVER: dict[str, Patient] = {
    "schedule_waiting": Patient(FAILURES["too-much-memory"]),
    "schedule_scaling": Patient(
        replace(FAILURES["node-selector"], real=True), autoscaler_says("TriggeredScaleUp", SCALES)
    ),
    "probe": Patient(FAILURES["never-ready"]),
    "completed": Patient(
        # a helper that is ready for a moment would let the start end well
        Failing({"extra_containers": [container("sync", "true", readinessProbe=probe(5))]}, "", 0)
    ),
}
EVERY = {**ENDING, **NEVER}


def profiles(namespace: str) -> list[dict[str, Any]]:
    """Return the cases as KubeSpawner's `profile_list`."""
    found = []
    for kind, case in EVERY.items():
        override = profile(replace(case.failure, patient=True), namespace)
        override["start_timeout"] = TIME
        found.append({"slug": kind, "display_name": kind, "kubespawner_override": override})
    return found
