"""Pictures of real starts up to the image: as they were reported, and what is said of them."""

from __future__ import annotations

import pytest

from .podmaker import (
    INITIALIZED,
    ON_MACHINE,
    SCHEDULED,
    container,
    ended,
    event,
    iso,
    make_pod,
    normal,
    unschedulable,
    waiting,
)
from .podpicture import (
    FIREWALL,
    IMAGE_STEP,
    MACHINE,
    SESSION,
    STORAGE,
    Case,
    check_case,
    full,
)

TIMEOUT = "unmounted volumes=[etc-git]: timed out waiting"

CASES = {
    # --- finding a machine
    "a full cluster is not a warning in the first seconds": Case(
        make_pod(conditions=unschedulable(full("1 Insufficient cpu", "1 Insufficient memory"))),
        [event("FailedScheduling", full("1 Insufficient cpu", "1 Insufficient memory"))],
        steps={MACHINE: "executing", IMAGE_STEP: "waiting", SESSION: "waiting"},
        reason="Unschedulable",
        warned=False,
    ),
    "the autoscaler's refusal counts although its event is Normal": Case(
        make_pod(conditions=unschedulable(full("10 Insufficient memory", "2 Insufficient cpu"))),
        [
            event("FailedScheduling", full("1 node(s) had disk pressure", of=11), 10),
            normal("NotTriggerScaleUp", "pod didn't trigger scale-up (it wouldn't fit)", 18),
        ],
        steps={MACHINE: "executing"},
        says=("No kind of machine can hold this server", "Insufficient memory", "smaller"),
        says_not=("preemption",),
    ),
    "a machine being added replaces the complaint before it": Case(
        make_pod(),
        [
            event("FailedScheduling", full("2 Insufficient cpu"), 10),
            normal("TriggeredScaleUp", "pod triggered scale-up: [{pool 0->1 (max: 500)}]", 12),
        ],
        steps={MACHINE: "executing"},
        reason="TriggeredScaleUp",
        says=("A machine is being started",),
        warned=False,
    ),
    "a complaint after the scale-up is what happens while the machine boots": Case(
        make_pod(),
        [
            normal("TriggeredScaleUp", "pod triggered scale-up: [{pool 1->2 (max: 30)}]", 10),
            event("FailedScheduling", full("1 Insufficient memory", "1 had taints"), 14),
        ],
        steps={MACHINE: "executing"},
        reason="TriggeredScaleUp",
        warned=False,
    ),
    "a complaint that was over within a second is never shown": Case(
        make_pod(conditions=[SCHEDULED]),
        [
            event("FailedScheduling", full("63 Insufficient cpu", of=116), 10.087),
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to n19", 10.114),
        ],
        steps={MACHINE: "ready"},
        reason=None,
        warned=False,
    ),
    "the same complaint three times, then a machine, then a volume that is not attached": Case(
        make_pod(conditions=[SCHEDULED], claims=("claim-ada",)),
        [
            *(event("FailedScheduling", full("16 Insufficient cpu"), at) for at in (1, 1.04, 41)),
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to n39", 50.4),
            event("FailedAttachVolume", 'AttachVolume.Attach failed for volume "pvc-1" : no', 50),
        ],
        steps={MACHINE: "ready", STORAGE: "executing"},
        reason="FailedAttachVolume",
        says=('"pvc-1" is not attached',),
        says_not=("Insufficient",),
        warned=True,
    ),
    "a pod with nothing but the condition that no machine has a device": Case(
        {
            **make_pod(containers=[container("notebook"), container("proxy")]),
            "status": {
                "phase": "Pending",
                "qosClass": "BestEffort",
                "conditions": unschedulable(full("1 Insufficient licence.example/key", of=1)),
            },
        },
        counts=(0, 2),
        steps={MACHINE: "executing", IMAGE_STEP: "waiting", "Proxy": "waiting"},
        says=("Every licence.example/key is taken",),
    ),
    # --- storage
    "binding a volume is progress although it comes as FailedScheduling": Case(
        make_pod(claims=("claim-ada",)),
        [
            event(
                "FailedScheduling",
                "Volume binding started, waiting for completion",
                kind="Normal",
                count=25,
            )
        ],
        steps={STORAGE: "executing", MACHINE: "executing"},
        reason=None,
        warned=False,
    ),
    "the cause that names something beats a later timeout": Case(
        make_pod(conditions=[SCHEDULED], claims=("home",)),
        [
            event("FailedMount", TIMEOUT, 15),
            event(
                "FailedMount",
                'MountVolume.SetUp failed for volume "etc-git" : secret "ada-git" not found',
                17,
            ),
            event("FailedMount", f"{TIMEOUT} for the condition", 19),
        ],
        steps={STORAGE: "executing"},
        says=('secret "ada-git" not found', "tell the administrator", "will not help"),
        says_not=("timed out",),
    ),
    "a disk still attached elsewhere stays the cause": Case(
        make_pod(conditions=[SCHEDULED], claims=("home",)),
        [
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to n2", 10.9),
            event(
                "FailedAttachVolume",
                'Multi-Attach error for volume "pvc-4" Volume is already exclusively attached',
                10,
            ),
            event("FailedMount", "unmounted volumes=[home]: timed out waiting", 50),
        ],
        steps={MACHINE: "ready", STORAGE: "executing"},
        reason="FailedAttachVolume",
        says=("still attached to another machine",),
        warned=True,
    ),
    "an attach that worked in the end clears what was said before": Case(
        make_pod(conditions=[SCHEDULED], claims=("home",)),
        [
            event("FailedAttachVolume", 'AttachVolume.Attach failed for volume "pvc-3" : x', 20),
            event("FailedMount", "unmounted volumes=[home]: timed out waiting", 23),
            normal(
                "SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "pvc-3"', 41
            ),
        ],
        steps={STORAGE: "ready"},
        reason=None,
        warned=False,
    ),
    # --- images
    "the first failed pull is no failure of the start": Case(
        make_pod(
            waiting("notebook", "ErrImagePull", "manifest for testfail/image:latest not found"),
            containers=[container("notebook", "testfail/image:latest")],
            conditions=ON_MACHINE,
        ),
        [
            event("Failed", "Error: ErrImagePull", about="notebook"),
            event("Failed", "Error: ImageInspectError", about="notebook"),
        ],
        steps={IMAGE_STEP: "executing", SESSION: "waiting"},
        reason="ErrImagePull",
        says=("There is no image testfail/image:latest",),
    ),
    "an image that backs off without a restart is looked at by its reason": Case(
        make_pod(
            waiting("helloworld", "ImagePullBackOff", 'Back-off pulling image "docker.io/e/hello"'),
            containers=[container("helloworld", "docker.io/e/hello")],
            conditions=ON_MACHINE,
        ),
        counts=(0, 1),
        reason="ImagePullBackOff",
        says=("docker.io/e/hello could not be downloaded",),
        warned=True,
    ),
    "the stock init container has its own step, and the image is being pulled": Case(
        make_pod(
            ended("block-cloud-metadata"),
            waiting("notebook"),
            init=[FIREWALL],
            conditions=[*ON_MACHINE, INITIALIZED],
        ),
        [
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to node-3", 3.13),
            normal("Pulled", 'image "tools:3" already present', 4, "init:block-cloud-metadata"),
            normal("Pulling", 'Pulling image "…"', 6, "notebook"),
        ],
        counts=(1, 2),
        steps={
            MACHINE: "ready",
            IMAGE_STEP: "executing",
            "Block cloud metadata": "ready",
            SESSION: "waiting",
        },
        reason=None,
    ),
    "an event without any time sorts first, an image on the machine takes no time": Case(
        make_pod(waiting("notebook"), conditions=ON_MACHINE),
        [
            normal("Pulled", "Container image already present on machine", 11, "notebook"),
            normal("Created", "Created container notebook", 11, "notebook"),
            {
                **normal("Scheduled", "Successfully assigned hub/jupyter-ada to node-3", None),
                "firstTimestamp": None,
                "eventTime": iso(10.5, digits=6),
            },
        ],
        steps={MACHINE: "ready", IMAGE_STEP: "ready", SESSION: "executing"},
        reason=None,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_picture(case: Case) -> None:
    check_case(case)
