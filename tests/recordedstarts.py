"""Whole starts as a cluster told them: pods at their moments, and all events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .podmaker import (
    INITIALIZED,
    NOT_READY,
    ON_MACHINE,
    READY,
    SCHEDULED,
    Raw,
    container,
    crashing,
    ended,
    ending,
    event,
    make_pod,
    normal,
    running,
    unschedulable,
    waiting,
)
from .podpicture import full


@dataclass(frozen=True)
class Recorded:
    """One start: (seconds, pod) in order, its events, and how it ended."""

    pods: tuple[tuple[float, Any], ...]
    events: tuple[Raw, ...]
    verdict: str
    # part of the final message
    says: str
    # containers or the machine were in trouble in between
    troubled: bool = False


def numbered(*events: Raw) -> tuple[Raw, ...]:
    """Give events the identity that the API gives them."""
    return tuple(
        {**item, "metadata": {"uid": f"event-{number}", "resourceVersion": str(1000 + number)}}
        for number, item in enumerate(events)
    )


INIT = [container("clone"), container("proxy", restartPolicy="Always")]
NAMES = ("clone", "proxy", "notebook")
BEGUN = [
    normal("Scheduled", "Successfully assigned hub/jupyter-ada to n1", 2),
    normal("Pulled", "already present", 3, "init:clone"),
    normal("Created", "Created container clone", 3, "init:clone"),
    normal("Started", "Started container clone", 3, "init:clone"),
]


def pod(*statuses: Raw, **more: Any) -> Raw:
    named = {item["name"] for item in statuses}
    rest = [waiting(name) for name in NAMES if name not in named]
    return make_pod(*statuses, *rest, init=INIT, **more)


CLONED = (ended("clone"), running("proxy"))
UP = pod(*CLONED, running("notebook"), conditions=READY, phase="Running")
ON = {"conditions": [*ON_MACHINE, INITIALIZED]}
PULLING = normal("Pulling", 'Pulling image "x"', 9, "notebook")


def booted(at: float) -> list[Raw]:
    return [
        normal("Pulled", "Successfully pulled image", at, "notebook"),
        normal("Created", "Created container notebook", at, "notebook"),
        normal("Started", "Started container notebook", at, "notebook"),
    ]


NOT_FOUND = 'Failed to pull image "x": not found'
MISSING = 'MountVolume.SetUp failed for volume "git" : secret "git" not found'
EARLY = ((0.0, make_pod(init=INIT)), (3.0, pod(running("clone"), conditions=ON_MACHINE)))

STARTS: dict[str, Recorded] = {
    "a good start": Recorded(
        (*EARLY, (9.0, pod(*CLONED, **ON)), (81.0, UP)),
        numbered(*BEGUN, PULLING, *booted(80)), "running", "All containers are ready.",
    ),
    "a machine is added": Recorded(
        (
            (0.0, make_pod(init=INIT)),
            (1.0, make_pod(init=INIT, conditions=unschedulable(full("4 Insufficient cpu")))),
            (40.0, make_pod(init=INIT, conditions=unschedulable(full("5 had taints", of=5)))),
            (70.0, pod(running("clone"), conditions=ON_MACHINE)),
            (81.0, UP),
        ),
        numbered(
            event("FailedScheduling", full("4 Insufficient cpu"), 1),
            normal("TriggeredScaleUp", "pod triggered scale-up: [{pool 1->2 (max: 5)}]", 2),
            event("FailedScheduling", full("5 had untolerated taints", of=5), 40),
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to n5", 70),
            *booted(80),
        ),
        "running", "All containers are ready.",
    ),
    "a slow pull": Recorded(
        (*EARLY, (9.0, pod(*CLONED, **ON)), (900.0, pod(*CLONED, **ON)), (1800.0, UP)),
        numbered(*BEGUN, PULLING), "running", "All containers are ready.",
    ),
    "an image that is pushed during the back-off": Recorded(
        (
            *EARLY,
            (10.0, pod(*CLONED, waiting("notebook", "ErrImagePull", NOT_FOUND), **ON)),
            (25.0, pod(*CLONED, waiting("notebook", "ImagePullBackOff", "Back-off"), **ON)),
            (40.0, UP),
        ),
        numbered(
            *BEGUN, PULLING, event("Failed", NOT_FOUND, 10, about="notebook"),
            event("Failed", "Error: ErrImagePull", 10, about="notebook"),
            normal("BackOff", "Back-off pulling image", 25, "notebook"), *booted(39),
        ),
        "running", "All containers are ready.", troubled=True,
    ),
    "a secret that is made during the grace": Recorded(
        (
            *EARLY,
            (10.0, pod(*CLONED, waiting("notebook", "CreateContainerConfigError",
                                        'secret "git" not found'), **ON)),
            (24.0, UP),
        ),
        numbered(*BEGUN, event("Failed", 'Error: secret "git" not found', 10, about="notebook"),
                 *booted(23)),
        "running", "All containers are ready.", troubled=True,
    ),
    "a volume that comes late": Recorded(
        (
            (0.0, make_pod(init=INIT, claims=("home",))),
            (2.0, make_pod(init=INIT, claims=("home",), conditions=[SCHEDULED])),
            (81.0, make_pod(*UP["status"]["initContainerStatuses"], running("notebook"), init=INIT,
                            claims=("home",), conditions=READY, phase="Running")),
        ),
        numbered(
            BEGUN[0],
            event("FailedAttachVolume", 'Multi-Attach error for volume "p"', 4),
            event("FailedMount", "unmounted volumes=[home]: timed out waiting", 40),
            normal("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "p"', 60),
            *booted(80),
        ),
        "running", "All containers are ready.", troubled=True,
    ),
    "an image that does not exist": Recorded(
        (
            *EARLY,
            (10.0, pod(*CLONED, waiting("notebook", "ErrImagePull", NOT_FOUND), **ON)),
            (25.0, pod(*CLONED, waiting("notebook", "ImagePullBackOff", "Back-off"), **ON)),
            (40.0, pod(*CLONED, waiting("notebook", "ErrImagePull", NOT_FOUND), **ON)),
            (55.0, pod(*CLONED, waiting("notebook", "ImagePullBackOff", "Back-off"), **ON)),
        ),
        numbered(
            *BEGUN, PULLING, event("Failed", NOT_FOUND, 40, about="notebook", count=2),
            event("Failed", "Error: ErrImagePull", 40, about="notebook", count=2),
            normal("BackOff", "Back-off pulling image", 55, "notebook"),
        ),
        "failed", "There is no image", troubled=True,
    ),
    "a repository that cannot be cloned": Recorded(
        (
            *EARLY,
            *(
                (10.0 * n, pod(crashing("clone", n, ending(3, message="no such repository")),
                               conditions=ON_MACHINE))
                for n in (1, 2, 3)
            ),
        ),
        numbered(*BEGUN, event("BackOff", "Back-off restarting", 30, about="init:clone", count=3)),
        "failed", "stopped 4 times, last with exit code 3", troubled=True,
    ),
    "too little memory": Recorded(
        (
            *EARLY,
            (20.0, pod(*CLONED, ended("notebook", 137, "OOMKilled"), conditions=NOT_READY)),
            (30.0, pod(*CLONED, crashing("notebook", 2, ending(137, "OOMKilled")),
                       conditions=NOT_READY, phase="Running")),
        ),
        numbered(*BEGUN, event("BackOff", "Back-off restarting", 30, about="notebook", count=2)),
        "failed", "needed more memory", troubled=True,
    ),
    "a secret that is missing": Recorded(
        ((0.0, make_pod(init=INIT)), (2.0, make_pod(init=INIT, conditions=[SCHEDULED]))),
        numbered(
            BEGUN[0],
            event("FailedMount", MISSING, 20, count=5),
            event("FailedMount", "unmounted volumes=[git]: timed out waiting", 125),
            event("FailedMount", MISSING, 130, count=9),
        ),
        "failed", 'secret "git" not found', troubled=True,
    ),
    "a machine is promised and then refused": Recorded(
        (
            (0.0, make_pod(init=INIT)),
            (1.0, make_pod(init=INIT, conditions=unschedulable(full("4 Insufficient cpu")))),
        ),
        numbered(
            event("FailedScheduling", full("4 Insufficient cpu"), 1),
            normal("TriggeredScaleUp", "pod triggered scale-up: [{pool 1->2 (max: 5)}]", 2),
            normal("NotTriggerScaleUp", "pod didn't trigger scale-up: max node group size", 60),
        ),
        "failed", "No kind of machine can hold this server", troubled=True,
    ),
    "an image whose error is only in the events": Recorded(
        (
            *EARLY,
            (10.0, pod(*CLONED, waiting("notebook", "ImagePullBackOff", "Back-off"), **ON)),
        ),
        numbered(
            *BEGUN, PULLING,
            event("Failed", "Failed to pull image: connection reset by peer", 10, about="notebook"),
            event("Failed", NOT_FOUND, 25, about="notebook"),
        ),
        "failed", "There is no image", troubled=True,
    ),
    "an eviction": Recorded(
        (
            *EARLY,
            (9.0, pod(*CLONED, **ON)),
            (20.0, pod(*CLONED, ended("notebook", 137), phase="Failed", reason="Evicted",
                       message="Pod ephemeral local storage usage exceeds the total limit")),
        ),
        numbered(*BEGUN, event("Evicted", "Pod ephemeral local storage", 20)),
        "failed", "more to the disk of its machine", troubled=True,
    ),
}  # fmt: skip
