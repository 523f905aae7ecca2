"""Pictures of real starts with containers: as they were reported, and what is said of them."""

from __future__ import annotations

import pytest

from detailedspawner.pods import Verdict

from .podmaker import (
    NOT_READY,
    ON_MACHINE,
    READY,
    SCHEDULED,
    condition,
    container,
    crashing,
    ended,
    ending,
    event,
    make_pod,
    normal,
    running,
    status,
    waiting,
)
from .podpicture import (
    FIREWALL,
    IMAGE_STEP,
    MACHINE,
    SESSION,
    Case,
    check_case,
)

CASES = {
    "a sidecar whose probe fails is at work, not failed": Case(
        make_pod(
            running("notebook"),
            running("proxy", ready=False),
            containers=[container("notebook"), container("proxy")],
            conditions=NOT_READY,
            phase="Running",
        ),
        [event("Unhealthy", 'Readiness probe failed: Get "http://10.0.0.7/health"', about="proxy")],
        steps={"Proxy": "executing", SESSION: "ready"},
        reason="Unhealthy",
        says=("does not answer yet",),
        warned=False,
    ),
    "initialized says that init containers are over, and the session crashed": Case(
        make_pod(
            ended("notebook", 1, restarts=3),
            init=[container("first"), container("second")],
            conditions=NOT_READY,
            phase="Running",
        ),
        verdict=Verdict.FAILED,
        steps={"First": "ready", "Second": "ready", SESSION: "failed"},
        reason="Error",
    ),
    "a crash loop is told by its crash": Case(
        make_pod(
            ended("block-cloud-metadata"),
            crashing("notebook", 3, ending(1)),
            init=[FIREWALL],
            conditions=NOT_READY,
            phase="Running",
        ),
        [
            normal("Started", "Started container block-cloud-metadata", 12, about=""),
            normal("Started", "Started container notebook", 13, "notebook"),
            event("BackOff", "Back-off restarting failed container", 16, about="notebook"),
        ],
        verdict=Verdict.FAILED,
        steps={MACHINE: "ready", "Block cloud metadata": "ready", SESSION: "failed"},
        says=("stopped 4 times", "exit code 1"),
    ),
    "the exit code comes from the run before": Case(
        make_pod(crashing("notebook", 4, ending(1, message="ImportError: jupyterhub"))),
        verdict=Verdict.FAILED,
        reason="CrashLoopBackOff",
        says=("exit code 1", "log"),
    ),
    "killed with 137 is only probably out of memory": Case(
        make_pod(crashing("notebook", 1, ending(137, "Error")), phase="Running"),
        says=("137", "probably", "out of memory"),
    ),
    "killed for its memory beats exit code 0": Case(
        make_pod(ended("notebook", 0, "OOMKilled"), phase="Succeeded"),
        verdict=Verdict.FAILED,
        counts=(0, 1),
        steps={SESSION: "failed"},
        reason="OOMKilled",
        says=("memory",),
    ),
    "an init container killed for its memory is not completed": Case(
        make_pod(ended("first", 0, "OOMKilled"), waiting("notebook"), init=[container("first")]),
        counts=(0, 2),
        steps={"First": "failed"},
        reason="OOMKilled",
    ),
    "one running container of two is not a running server": Case(
        make_pod(
            running("storage"),
            crashing("notebook", 3),
            containers=[container("storage"), container("notebook")],
            conditions=NOT_READY,
            phase="Running",
        ),
        [
            event("Unhealthy", "Readiness probe failed: statuscode: 503", 24, about="notebook"),
            event("BackOff", "Back-off restarting failed container", 30, count=4),
        ],
        verdict=Verdict.FAILED,
        counts=(1, 2),
        steps={"Storage": "ready", SESSION: "failed"},
    ),
    "a late second Scheduled moves nothing back": Case(
        make_pod(
            ended("block-cloud-metadata"),
            running("notebook"),
            init=[FIREWALL],
            conditions=READY,
            phase="Running",
        ),
        [
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to cn-1", 6.148),
            normal("Started", "Started container notebook", 7, "notebook"),
            normal("Scheduled", "Successfully assigned hub/jupyter-ada to cn-1", 8.502),
        ],
        verdict=Verdict.RUNNING,
        counts=(2, 2),
        steps=dict.fromkeys((MACHINE, IMAGE_STEP, "Block cloud metadata", SESSION), "ready"),
    ),
    "evicted without any container status": Case(
        {
            **make_pod(),
            "status": {
                "phase": "Failed",
                "reason": "Evicted",
                "message": "The node was low on resource: ephemeral-storage. Container notebook "
                "was using 252Ki, which exceeds its request of 0. ",
            },
        },
        verdict=Verdict.FAILED,
        reason="Evicted",
        says=("disk space", "Start it again"),
    ),
    "a native sidecar is ready once it runs and is ready": Case(
        make_pod(
            running("vpn"),
            waiting("notebook"),
            init=[container("vpn", restartPolicy="Always")],
            conditions=ON_MACHINE,
        ),
        counts=(1, 2),
        steps={"Vpn": "ready", SESSION: "waiting"},
        reason=None,
    ),
    "one container in each state": Case(
        make_pod(
            crashing("failing", 10),
            status("completed", {"terminated": {"exitCode": 0}}, ready=True),
            waiting("coming"),
            running("up"),
            running("notebook", ready=False),
            init=[container("completed")],
            containers=[container(name) for name in ("failing", "coming", "up", "notebook")],
            conditions=[
                condition("Initialized", False, "ContainersNotInitialized"),
                condition("Ready", False, "ContainersNotReady"),
                SCHEDULED,
            ],
        ),
        verdict=Verdict.FAILED,
        counts=(2, 5),
        steps={
            "Failing": "failed",
            "Completed": "ready",
            "Coming": "waiting",
            "Up": "ready",
            SESSION: "executing",
        },
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_picture(case: Case) -> None:
    check_case(case)
