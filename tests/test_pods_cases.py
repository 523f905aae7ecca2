"""What real starts look like: pods and events as they were reported, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from detailedspawner.pods import PodSettings, PodView, Seen, Severity, Verdict, judge

from .podmaker import (
    BEGIN,
    INITIALIZED,
    NOT_READY,
    ON_MACHINE,
    READY,
    SCHEDULED,
    Raw,
    claim,
    condition,
    container,
    crashing,
    ended,
    ending,
    event,
    iso,
    make_pod,
    normal,
    running,
    status,
    unschedulable,
    waiting,
)

MACHINE, IMAGE_STEP, STORAGE = "Finding a machine", "Downloading image", "Preparing storage"
SESSION = "Starting session"
TIMEOUT = "unmounted volumes=[etc-git]: timed out waiting"
# The stock init container that zero-to-jupyterhub adds.
FIREWALL = container("block-cloud-metadata", "tools:3")


def look(
    pod: object, *events: Raw, at: float = 60, seen: Seen | None = None, **more: Any
) -> PodView:
    """Judge a pod so many seconds after its creation."""
    return judge(pod, events, seen=seen, now=BEGIN + at, **more)


def steps(view: PodView) -> dict[str, str]:
    return {step.step: step.status.value for step in view.steps}


def step_message(view: PodView, name: str) -> str:
    return next(step.message for step in view.steps if step.step == name) or ""


def full(*refusals: str, of: int = 4) -> str:
    """Make what the scheduler says when nobody takes the pod."""
    said = ", ".join(refusals)
    return (
        f"0/{of} nodes are available: {said}. preemption: 0/{of} nodes are available: "
        f"{of} Preemption is not helpful for scheduling."
    )


@dataclass
class Case:
    """One picture, and what must be true of it."""

    pod: Raw
    events: list[Raw] = field(default_factory=list)
    claims: list[Raw] = field(default_factory=list)
    verdict: Verdict = Verdict.STARTING
    steps: dict[str, str] = field(default_factory=dict)
    counts: tuple[int, int] | None = None
    reason: str | None = None
    # Parts of the problem's message (and hint).
    says: tuple[str, ...] = ()
    says_not: tuple[str, ...] = ()
    warned: bool | None = None
    settings: PodSettings = field(default_factory=PodSettings)


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
    # --- containers
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
    view = look(case.pod, *case.events, claims=case.claims, settings=case.settings)
    assert view.verdict is case.verdict
    found = steps(view)
    assert {name: found.get(name) for name in case.steps} == case.steps
    if case.counts:
        assert (view.ready, view.total) == case.counts
    problem = view.problem
    if case.reason is not None or case.says:
        assert problem is not None
        said = f"{problem.message} {problem.hint}"
        assert case.reason in (None, problem.reason)
        assert [part for part in case.says if part not in said] == []
        assert [part for part in case.says_not if part in problem.message] == []
        expected = Severity.FATAL if case.verdict is Verdict.FAILED else problem.severity
        assert problem.severity is expected
    elif case.verdict is Verdict.STARTING and not case.says:
        assert problem is None
    if case.warned is not None:
        assert bool(view.warnings) is case.warned
    # Nothing is complete on a failed start, and never more is ready than there is.
    assert (view.progress == 100) is (case.verdict is Verdict.RUNNING)


# --- stories: the same start at several moments


def test_from_no_machine_to_a_long_pull() -> None:
    """The machine comes first, then an init container, then the image of the session."""
    init = container("fix-ownership", "busybox")
    start = [
        event("FailedScheduling", full("2 node(s) didn't match Pod's node affinity", of=2), 0.87),
        normal("TriggeredScaleUp", "pod triggered scale-up: [{group 0->1 (max: 500)}]", 2),
    ]
    view = look(make_pod(init=[init]), *start, at=5)
    assert steps(view)[MACHINE] == "executing"
    assert "A machine is being started" in step_message(view, MACHINE)
    assert (view.ready, view.total) == (0, 2)

    placed = [*start, normal("Scheduled", "Successfully assigned hub/jupyter-ada to ip-1", 79.41)]
    pulling = normal("Pulling", 'Pulling image "busybox"', 80, "init:fix-ownership")
    pod = make_pod(
        waiting("fix-ownership"), waiting("notebook"), init=[init], conditions=[SCHEDULED]
    )
    view = look(pod, *placed, pulling, at=81, seen=view.seen)
    assert steps(view)[MACHINE] == "ready"
    assert steps(view)["Fix ownership"] == "executing"
    assert step_message(view, "Fix ownership") == "Downloading busybox."
    assert view.problem is None

    noise = normal("TaintManagerEviction", "Cancelling deletion of Pod hub/jupyter-ada", 81)
    image = normal("Pulling", 'Pulling image "…"', 86, "notebook")
    pod = make_pod(
        ended("fix-ownership"),
        waiting("notebook"),
        init=[init],
        conditions=[*ON_MACHINE, INITIALIZED],
    )
    view = look(pod, image, noise, *reversed(placed), pulling, at=90, seen=view.seen)
    assert steps(view) == {
        MACHINE: "ready",
        IMAGE_STEP: "executing",
        "Fix ownership": "ready",
        SESSION: "waiting",
    }
    assert (view.ready, view.total) == (1, 2)
    assert step_message(view, IMAGE_STEP).startswith("Downloading registry.example/science")
    assert (view.verdict, view.problem) == (Verdict.STARTING, None)


def test_a_pull_that_never_works_ends_the_start_early_but_a_long_pull_does_not() -> None:
    message = 'failed to resolve reference "testfail/image:latest": not found'
    pod = make_pod(
        waiting("notebook", "ErrImagePull", message),
        containers=[container("notebook", "testfail/image:latest")],
        conditions=ON_MACHINE,
    )
    backing_off = make_pod(
        waiting("notebook", "ImagePullBackOff", 'Back-off pulling image "testfail/image:latest"'),
        containers=[container("notebook", "testfail/image:latest")],
        conditions=ON_MACHINE,
    )
    view = look(pod, at=10)
    assert view.next_check == BEGIN + 70
    view = look(backing_off, at=30, seen=view.seen)
    assert view.verdict is Verdict.STARTING
    view = look(backing_off, at=71, seen=view.seen)
    assert view.verdict is Verdict.FAILED
    assert steps(view)[IMAGE_STEP] == "failed"
    assert "testfail/image:latest" in view.message

    pulling = normal("Pulling", "Pulling image", 5, "notebook")
    view = look(make_pod(waiting("notebook"), conditions=ON_MACHINE), pulling, at=6)
    view = look(
        make_pod(waiting("notebook"), conditions=ON_MACHINE), pulling, at=3000, seen=view.seen
    )
    assert (view.verdict, view.problem) == (Verdict.STARTING, None)


def test_the_autoscalers_refusal_ends_the_start_after_its_grace() -> None:
    pod = make_pod(conditions=unschedulable(full("10 Insufficient memory", of=11)))
    refused = normal("NotTriggerScaleUp", "pod didn't trigger scale-up", 18)
    seen = look(pod, refused, at=20).seen
    assert look(pod, refused, at=319, seen=seen).verdict is Verdict.STARTING
    view = look(pod, refused, at=320, seen=seen)
    assert view.verdict is Verdict.FAILED
    assert steps(view)[MACHINE] == "failed"
    assert "Choose a smaller option" in (view.problem.hint if view.problem else "")


def test_a_full_cluster_becomes_a_warning_and_nothing_more() -> None:
    pod = make_pod(conditions=unschedulable(full("4 Insufficient cpu")))
    first = look(pod, at=1)
    assert step_message(first, MACHINE) == "Waiting for a free machine."
    assert (first.warnings, first.next_check) == ((), BEGIN + 31)
    later = look(pod, at=31, seen=first.seen)
    assert "no machine has enough processor time" in later.warnings[0].message
    assert "0/4 nodes" in (later.warnings[0].detail or "")
    assert look(pod, at=9000, seen=later.seen).verdict is Verdict.STARTING


def test_a_volume_that_is_not_there_yet_then_is() -> None:
    """The same complaint with its list in another order is the same complaint."""
    pod = make_pod(conditions=[SCHEDULED], claims=("home",))
    lists = ("home dshm etc", "etc home dshm")
    waits = [
        event(
            "FailedMount",
            f"Unable to attach or mount volumes: unmounted volumes=[home], "
            f"unattached volumes=[{names}]: timed out waiting for the condition",
            at,
        )
        for at, names in zip((20, 40), lists, strict=True)
    ]
    attach = event("FailedAttachVolume", 'AttachVolume.Attach failed for volume "pvc-2" : x', 50)
    view = look(pod, *waits, attach)
    assert len(view.warnings) <= 2
    assert '"home"' in view.warnings[0].message
    assert steps(view)[STORAGE] == "executing"
    up = make_pod(running("notebook"), conditions=READY, phase="Running", claims=("home",))
    view = look(up, *waits, attach, at=90, seen=view.seen)
    assert (steps(view)[STORAGE], view.warnings) == ("ready", ())


def test_a_container_between_two_crashes_is_not_shown_as_ready() -> None:
    def at(second: float, restarts: int, seen: Seen | None) -> PodView:
        up = running("notebook", restarts=restarts, since=second - 1, last=ending())
        return look(make_pod(up, conditions=READY, phase="Running"), at=second, seen=seen)

    down = look(make_pod(crashing("notebook", 2), conditions=NOT_READY, phase="Running"))
    assert steps(down)[SESSION] == "failed"
    again = at(61, 2, down.seen)
    assert (again.verdict, steps(again)[SESSION], again.ready) == (
        Verdict.STARTING,
        "executing",
        0,
    )
    assert again.next_check == BEGIN + 70
    down = look(make_pod(crashing("notebook", 3)), at=66, seen=again.seen)
    assert (down.verdict, steps(down)[SESSION]) == (Verdict.FAILED, "failed")

    stable = look(
        make_pod(
            running("notebook", restarts=2, since=60, last=ending()),
            conditions=READY,
            phase="Running",
        ),
        at=70,
        seen=again.seen,
    )
    assert (stable.verdict, steps(stable)[SESSION]) == (Verdict.RUNNING, "ready")


# --- refused by the cluster

QUOTA = (
    'pods "jupyter-ada" is forbidden: exceeded quota: hub-custom, requested: limits.cpu=3, '
    "used: limits.cpu=139, limited: limits.cpu=140"
)
PLANNED = {"spec": make_pod(init=[container("git-clone")], claims=("claim-ada",))["spec"]}


def refused(code: int, reason: str, message: str, **details: Any) -> Raw:
    return {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def test_a_full_quota_fails_the_start_at_once_with_its_numbers() -> None:
    view = look(PLANNED, create_error=refused(403, "Forbidden", QUOTA, kind="pods"))
    assert view.verdict is Verdict.FAILED
    assert steps(view)[MACHINE] == "failed"
    for part in ("hub-custom", "3 (limits.cpu)", "139 of 140"):
        assert part in view.message
    assert "Failure" not in view.message
    assert view.problem is not None
    assert "smaller" in (view.problem.hint or "")


CLAIM_QUOTA = (
    'persistentvolumeclaims "claim-ada" is forbidden: exceeded quota: ns, requested: '
    "requests.storage=1Gi, used: requests.storage=12Gi, limited: requests.storage=12Gi"
)


def test_a_full_storage_quota_is_told_at_the_storage() -> None:
    error = refused(403, "Forbidden", CLAIM_QUOTA, name="claim-ada", kind="persistentvolumeclaims")
    view = look(PLANNED, create_error=error)
    assert (view.verdict, steps(view)[STORAGE]) == (Verdict.FAILED, "failed")
    assert "12Gi of 12Gi" in view.message
    # The quota is asked before the API sees that the claim is there already.
    assert look(PLANNED, create_error=error, claims=[claim("claim-ada")]).problem is None


def test_an_invalid_field_is_told_at_the_container_that_has_it() -> None:
    path = "spec.initContainers[0].securityContext.privileged"
    said = "Forbidden: disallowed by cluster policy"
    error = refused(
        422,
        "Invalid",
        f'Pod "jupyter-ada" is invalid: {path}: {said}',
        causes=[{"reason": "FieldValueForbidden", "message": said, "field": path}],
    )
    view = look(PLANNED, create_error=error)
    assert (view.verdict, steps(view)["Git clone"]) == (Verdict.FAILED, "failed")
    assert '"Git clone"' in view.message
    assert "disallowed by cluster policy" in view.message


# --- what an administrator says wins


def test_an_administrators_rule_wins_over_the_built_in_text() -> None:
    settings = PodSettings(message_rules=((r"\d+ Insufficient memory", "Alle Plätze belegt."),))
    pod = make_pod(conditions=unschedulable(full("4 Insufficient memory")))
    problem = look(pod, settings=settings).problem
    assert problem is not None
    assert problem.message == "Alle Plätze belegt."


def test_which_reasons_end_the_start_early_is_a_setting() -> None:
    pod = make_pod(running("notebook", ready=False), conditions=NOT_READY, phase="Running")
    unhealthy = event("Unhealthy", "Readiness probe failed: refused", about="notebook")
    stock = look(pod, unhealthy)
    assert look(pod, unhealthy, at=9000, seen=stock.seen).verdict is Verdict.STARTING
    strict = PodSettings(graces={"Unhealthy": 45.0})
    first = look(pod, unhealthy, settings=strict)
    view = look(pod, unhealthy, at=105, seen=first.seen, settings=strict)
    assert view.verdict is Verdict.FAILED
