"""Whole starts that end in each class of failure, and long ones that end well after trouble."""

from __future__ import annotations

from typing import Any

from .podmaker import (
    INITIALIZED,
    NOT_READY,
    ON_MACHINE,
    SCHEDULED,
    Raw,
    claim_event,
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
from .recordedstarts import BEGUN, CLONED, EARLY, INIT, ON, PULLING, UP, Recorded, booted, numbered
from .recordedstarts import pod as full_pod

Pods = tuple[tuple[float, Raw], ...]

PLACED = normal("Scheduled", "Successfully assigned hub/jupyter-ada to n1", 2)
HOME: dict[str, Any] = {"init": INIT, "claims": ("home",)}
BOUND = make_pod(**HOME, conditions=[SCHEDULED])
UP_WITH_HOME = make_pod(
    *UP["status"]["initContainerStatuses"], *UP["status"]["containerStatuses"], **HOME,
    conditions=UP["status"]["conditions"], phase="Running",
)  # fmt: skip
SPARE = full("16 Insufficient cpu", "19 Insufficient memory", of=21)


def session(at: float, reason: str, message: str = "", **more: Any) -> tuple[float, Raw]:
    """The session waits for such a reason from this second on."""
    return at, full_pod(*CLONED, waiting("notebook", reason, message, **more), **ON)


def alternating(*reasons: tuple[str, str]) -> Pods:
    """The session changes between such reasons, as an image does."""
    return tuple(session(10 + 15 * n, *reasons[n % len(reasons)]) for n in range(4))


def placing(*moments: tuple[float, str]) -> Pods:
    """No machine takes the pod, for such reasons at such seconds."""
    found = ((at, make_pod(**HOME, conditions=unschedulable(why))) for at, why in moments)
    return ((0.0, make_pod(**HOME)), *found)


def of_session(reason: str, message: str, at: float = 10, count: int = 1) -> Raw:
    return event(reason, message, at, about="notebook", count=count)


NO_CLAIM = 'persistentvolumeclaim "home" not found'
RESET = 'Failed to pull image "x": read tcp 10.0.0.2: connection reset by peer'
MOUNT = "Unable to attach or mount volumes: unmounted volumes=[home], unattached volumes=[{}]: {}"
LATE = "timed out waiting for the condition"
KEY = "couldn't find key token in Secret hub/git"
NETWORK = "Failed to create pod sandbox: plugin type=calico failed (add): no addresses left"

FAILURES: dict[str, Recorded] = {
    # --- spec, gone
    "a name that no image can have": Recorded(
        (*EARLY, session(10, "InvalidImageName", 'couldn\'t parse image reference "Lab:!"')),
        numbered(*BEGUN, of_session("InspectFailed", "couldn't parse image reference")),
        "failed", "is not written in a valid way", troubled=True,
    ),
    "an image that may not be downloaded": Recorded(
        (*EARLY, session(10, "ErrImageNeverPull", "Container image is not present")),
        numbered(*BEGUN, of_session("ErrImageNeverPull", "Container image is not present")),
        "failed", "it may not be downloaded", troubled=True,
    ),
    "a session that ends at once, and well": Recorded(
        (*EARLY, (9.0, full_pod(*CLONED, **ON)),
         (12.0, full_pod(*CLONED, ended("notebook"), conditions=NOT_READY, phase="Succeeded"))),
        numbered(*BEGUN, PULLING, *booted(11)),
        "failed", "ended by itself (exit code 0)", troubled=True,
    ),
    "a machine that is shut down": Recorded(
        (*EARLY, (30.0, full_pod(*CLONED, phase="Failed", reason="Terminated",
                                 message="Pod was terminated in response to node shutdown"))),
        numbered(*BEGUN, PULLING), "failed", "was shut down", troubled=True,
    ),
    "a machine that has given its room away": Recorded(
        ((0.0, make_pod(init=INIT)),
         (2.0, make_pod(init=INIT, phase="Failed", reason="OutOfcpu",
                        message="Node didn't have enough resource: cpu"))),
        numbered(BEGUN[0]), "failed", "did not accept the server after all", troubled=True,
    ),
    # --- images
    "an image that is private": Recorded(
        (*EARLY, *alternating(("ErrImagePull", "pull access denied: unauthorized"),
                              ("ImagePullBackOff", 'Back-off pulling image "x"'))),
        numbered(*BEGUN, PULLING, of_session("Failed", "pull access denied: unauthorized", 10)),
        "failed", "it is private, or it does not exist", troubled=True,
    ),
    "a registry that hangs up": Recorded(
        (*EARLY, *alternating(("ErrImagePull", RESET), ("ImagePullBackOff", "Back-off"))),
        numbered(*BEGUN, PULLING, *(of_session("Failed", RESET, at) for at in (10, 40, 70))),
        "failed", "could not be downloaded", troubled=True,
    ),
    # --- containers
    "a key that is not in its secret": Recorded(
        (*EARLY, session(10, "CreateContainerConfigError", KEY)),
        numbered(*BEGUN, of_session("Failed", f"Error: {KEY}", 40, count=4)),
        "failed", "needs something that is missing", troubled=True,
    ),
    "a secret that is never fetched": Recorded(
        (*EARLY, session(10, "CreateContainerConfigError", "failed to sync secret cache: timed")),
        numbered(*BEGUN, of_session("Failed", "Error: failed to sync secret cache", 60, count=9)),
        "failed", "has not yet fetched what the", troubled=True,
    ),
    "a container that cannot be made": Recorded(
        (*EARLY, session(10, "CreateContainerError", "no such device: /dev/fuse")),
        numbered(*BEGUN, of_session("Failed", "Error: no such device: /dev/fuse", 40, count=4)),
        "failed", "could not create the", troubled=True,
    ),
    "a machine that is too busy for a container": Recorded(
        (*EARLY, session(10, "CreateContainerError", "context deadline exceeded")),
        numbered(*BEGUN, of_session("Failed", "Error: context deadline exceeded", 200, count=2)),
        "failed", "could not create the", troubled=True,
    ),
    "a command that is not in the image": Recorded(
        (*EARLY,
         *(session(10 * n, "RunContainerError", 'exec: "lab": executable file not found in $PATH',
                   restarts=n) for n in (1, 2))),
        numbered(*BEGUN, PULLING, of_session("Failed", "Error: executable file not found", 20)),
        "failed", "its command is not in the image", troubled=True,
    ),
    "a hook that fails twice": Recorded(
        (*EARLY,
         session(20, "PostStartHookError", "Exec lifecycle hook failed: exited with 7"),
         session(40, "PostStartHookError", "Exec lifecycle hook failed: exited with 7",
                 restarts=1)),
        numbered(
            *BEGUN, *booted(19), of_session("FailedPostStartHook", "PostStartHook failed", 20),
        ),
        "failed", "right after its start", troubled=True,
    ),
    "a session that keeps crashing": Recorded(
        (*EARLY, (14.0, full_pod(*CLONED, running("notebook", ready=False), **ON)),
         *((15.0 + 10 * n, full_pod(*CLONED, crashing("notebook", n, ending(1)),
                                    conditions=NOT_READY, phase="Running")) for n in (1, 2, 3))),
        numbered(*BEGUN, *booted(13), of_session("BackOff", "Back-off restarting", 45, count=4)),
        "failed", "stopped 4 times, last with exit code 1", troubled=True,
    ),
    # --- a machine
    "a kind of machine that there is not": Recorded(
        placing((1, full("4 node(s) didn't match Pod's node affinity/selector"))),
        numbered(event("FailedScheduling", full("4 node(s) didn't match"), 1)),
        "failed", "None of the machines is of the kind", troubled=True,
    ),
    "a claim that is not there": Recorded(
        placing((1, NO_CLAIM)), numbered(event("FailedScheduling", NO_CLAIM, 1)),
        "failed", 'The storage "home" that this server needs', troubled=True,
    ),
    "an autoscaler that says no in a Normal event": Recorded(
        placing((1, full("10 Insufficient memory", "2 Insufficient cpu", of=11))),
        numbered(
            event("FailedScheduling", full("10 Insufficient memory", of=11), 1),
            normal("NotTriggerScaleUp", "pod didn't trigger scale-up (it wouldn't fit)", 9),
        ),
        "failed", "none is added (Insufficient memory)", troubled=True,
    ),
    # --- storage and network
    "one complaint three times, a machine, a disk that is not attached": Recorded(
        (*placing((1, SPARE), (41, SPARE)), (384.0, BOUND)),
        numbered(
            *(event("FailedScheduling", SPARE, at) for at in (0.68, 0.72, 41)),
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to n39", 384.6),
            event("FailedAttachVolume", 'AttachVolume.Attach failed for volume "pvc-1" : x', 384),
        ),
        "failed", '"pvc-1" is not attached', troubled=True,
    ),
    "a disk that another machine keeps": Recorded(
        ((0.0, make_pod(**HOME)), (3.0, BOUND)),
        numbered(
            PLACED,
            event("FailedAttachVolume",
                  'Multi-Attach error for volume "pvc-4" Volume is already attached', 2),
            event("FailedMount", MOUNT.format("home", LATE), 260),
        ),
        "failed", "still attached to another machine", troubled=True,
    ),
    "a disk whose list of volumes changes its order": Recorded(
        (*placing((0.5, full("63 Insufficient cpu", of=116))), (1.0, BOUND)),
        numbered(
            event("FailedScheduling", full("63 Insufficient cpu", of=116), 0.087),
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to n19", 0.114),
            event("FailedMount", MOUNT.format("home etc shm", LATE), 261),
            event("FailedMount", MOUNT.format("shm home etc", LATE), 535),
        ),
        "failed", 'The storage "home" is not available', troubled=True,
    ),
    "a disk that cannot be made": Recorded(
        placing((1, "pod has unbound immediate PersistentVolumeClaims")),
        numbered(
            event("FailedScheduling", "pod has unbound immediate PersistentVolumeClaims", 1),
            claim_event("home", "ProvisioningFailed", "quota of the cloud exceeded", 12),
            claim_event("home", "ProvisioningFailed", "quota of the cloud exceeded", 42),
        ),
        "failed", 'Your storage "home" could not be created', troubled=True,
    ),
    "a network that has no address left": Recorded(
        ((0.0, make_pod(init=INIT)), (2.0, make_pod(init=INIT, conditions=[SCHEDULED]))),
        numbered(BEGUN[0], event("FailedCreatePodSandBox", NETWORK, 200, count=14)),
        "failed", "could not prepare the network", troubled=True,
    ),
    # --- trouble that ends well
    "a disk is attached at last": Recorded(
        ((0.0, make_pod(**HOME)), (2.0, BOUND), (200.0, UP_WITH_HOME)),
        numbered(
            PLACED,
            event("FailedAttachVolume", 'AttachVolume.Attach failed for volume "pvc-3" : x', 120),
            event("FailedMount", MOUNT.format("home", LATE), 123),
            normal("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "pvc-3"',
                   141),
            *BEGUN[1:], *booted(199),
        ),
        "running", "All containers are ready.", troubled=True,
    ),
    # --- no trouble at all
    "from no machine at all to a long download": Recorded(
        (*placing((0.9, full("2 node(s) didn't match Pod's node affinity/selector", of=2))),
         (79.5, full_pod(conditions=[SCHEDULED], claims=("home",))),
         (82.0, full_pod(running("clone"), conditions=ON_MACHINE, claims=("home",))),
         (86.0, full_pod(*CLONED, conditions=[*ON_MACHINE, INITIALIZED], claims=("home",))),
         (700.0, UP_WITH_HOME)),
        numbered(
            event("FailedScheduling", full("2 node(s) didn't match the affinity", of=2), 0.87),
            normal("TriggeredScaleUp", "pod triggered scale-up: [{pool 0->1 (max: 500)}]", 2),
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to ip-1", 79.41),
            normal("TaintManagerEviction", "Cancelling deletion of Pod hub/jupyter-ada", 80),
            normal("Pulling", 'Pulling image "busybox"', 80, "init:clone"),
            normal("Started", "Started container clone", 82, "init:clone"),
            normal("Pulling", 'Pulling image "x"', 86, "notebook"),
            *booted(699),
        ),
        "running", "All containers are ready.",
    ),
    "told that it has its machine once more when all is done": Recorded(
        (*EARLY, (9.0, full_pod(*CLONED, **ON)), (12.0, UP)),
        numbered(*BEGUN, *booted(11),
                 normal("Scheduled", "Successfully assigned hub/jupyter-ada to n1", 12.5)),
        "running", "All containers are ready.",
    ),
    "a volume that is bound first": Recorded(
        ((0.0, make_pod(**HOME)), (8.0, BOUND), (20.0, UP_WITH_HOME)),
        numbered(
            event("FailedScheduling", "Volume binding started, waiting for completion", 1,
                  kind="Normal", count=25),
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to n1", 7), *BEGUN[1:],
            *booted(19),
        ),
        "running", "All containers are ready.",
    ),
    "a slow server whose probe says no for a while": Recorded(
        (*EARLY, (9.0, full_pod(*CLONED, **ON)),
         (12.0, full_pod(*CLONED, running("notebook", ready=False, since=11),
                         conditions=NOT_READY, phase="Running")),
         (31.0, UP)),
        numbered(*BEGUN, *booted(11), of_session("Unhealthy", "Readiness probe failed: x", 20)),
        "running", "All containers are ready.",
    ),
}  # fmt: skip
