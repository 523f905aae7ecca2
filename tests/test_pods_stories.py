"""Stories of real starts: the same pod at several moments, and refusals of the cluster."""

from __future__ import annotations

from typing import Any

from detailedspawner.pods import PodSettings, PodView, Seen, Verdict, read_rules

from .podmaker import (
    BEGIN,
    INITIALIZED,
    NOT_READY,
    ON_MACHINE,
    READY,
    SCHEDULED,
    Raw,
    claim,
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
from .podpicture import (
    IMAGE_STEP,
    MACHINE,
    SESSION,
    STORAGE,
    full,
    look,
    step_message,
    steps,
)


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


def test_a_status_that_comes_late_does_not_take_a_machine_away() -> None:
    """The event that the pod has its machine may be there long before its status is."""
    pod = make_pod(conditions=unschedulable(full("4 node(s) didn't match Pod's node affinity")))
    hopeless = look(pod, at=1)
    assert look(pod, at=122, seen=hopeless.seen).verdict is Verdict.FAILED
    placed = normal("Scheduled", "Successfully assigned hub/jupyter-ada to n1", 90)
    view = look(pod, placed, at=91, seen=hopeless.seen)
    view = look(pod, placed, at=600, seen=view.seen)
    assert (view.verdict, view.problem, view.warnings) == (Verdict.STARTING, None, ())


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
    settings = PodSettings(
        message_rules=read_rules(
            [{"match": r"\d+ Insufficient memory", "message": "Alle Plätze belegt."}]
        )
    )
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
