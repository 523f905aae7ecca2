"""The verdict on a whole pod: the order of the rules, and what is told."""

from __future__ import annotations

import pytest

from detailedspawner.pods import Severity, Verdict, judge

from .podmaker import (
    BEGIN,
    NOT_READY,
    READY,
    SCHEDULED,
    UID,
    Raw,
    condition,
    container,
    deleted,
    ended,
    ending,
    event,
    make_pod,
    running,
    unschedulable,
    waiting,
)

SIDECAR = container("vpn", restartPolicy="Always")


# --- running


@pytest.mark.parametrize(
    ("pod", "runs"),
    [
        (make_pod(running("notebook"), conditions=READY, phase="Running"), True),
        # Without the condition the containers decide
        (make_pod(running("notebook"), phase="Running"), True),
        (make_pod(running("notebook", ready=False), phase="Running"), False),
        (make_pod(phase="Running", containers=[container("notebook")]), False),
        # With it, it decides, also where statuses are missing
        (make_pod(conditions=READY, phase="Running"), True),
        (make_pod(running("notebook"), conditions=NOT_READY, phase="Running"), False),
        (make_pod(running("notebook"), conditions=READY, phase="Pending"), False),
        # Native sidecars count, which older clusters' condition leaves out
        (
            make_pod(
                running("vpn", ready=False),
                running("notebook"),
                init=[SIDECAR],
                conditions=READY,
                phase="Running",
            ),
            False,
        ),
        (
            make_pod(
                running("vpn"),
                running("notebook"),
                init=[SIDECAR],
                conditions=READY,
                phase="Running",
            ),
            True,
        ),
        # Nothing is not ready
        ({"metadata": {"uid": UID}, "status": {"phase": "Running"}}, False),
        (deleted(make_pod(running("notebook"), conditions=READY, phase="Running")), False),
    ],
)
def test_running(pod: Raw, runs: bool) -> None:
    view = judge(pod, now=BEGIN)
    assert (view.verdict is Verdict.RUNNING) is runs
    assert (view.progress == 100) is runs


def test_a_server_that_was_started_again_says_why_and_goes_on() -> None:
    again = running("notebook", restarts=2, last=ending(137, "OOMKilled"))
    helper = running("sync", restarts=2, last=ending(1))
    both = [container("sync"), container("notebook")]
    pod = make_pod(again, helper, containers=both, conditions=READY, phase="Running")
    view = judge(pod, now=BEGIN + 60)
    assert view.verdict is Verdict.RUNNING
    assert view.problem is None
    # what a helper does is not what its user sees
    assert [warning.message for warning in view.warnings] == [
        'The container "notebook" needed more memory than it may use, so it was ended.'
    ]
    crashed = running("notebook", restarts=1, last=ending(3))
    view = judge(make_pod(crashed, conditions=READY, phase="Running"), now=BEGIN)
    assert [warning.message for warning in view.warnings] == [
        'The container "notebook" stopped once, with exit code 3.'
    ]


def test_gates_of_others_are_waited_for() -> None:
    gate = {"readinessGates": [{"conditionType": "lb.example/in"}]}
    unmet = [
        *NOT_READY[:3],
        condition("Ready", False, "ReadinessGatesNotReady", "the condition does not exist"),
    ]
    view = judge(
        make_pod(running("notebook"), conditions=unmet, phase="Running", spec=gate), now=BEGIN
    )
    assert view.verdict is Verdict.STARTING
    assert view.message == "Everything is running; waiting for lb.example/in."
    assert view.steps[-1].status == "executing"
    met = [*READY, condition("lb.example/in", True)]
    view = judge(
        make_pod(running("notebook"), conditions=met, phase="Running", spec=gate), now=BEGIN
    )
    assert view.verdict is Verdict.RUNNING


# --- the end of a pod

DISRUPTED = [condition("DisruptionTarget", True, "PreemptionByScheduler", "preempted by x")]


@pytest.mark.parametrize(
    ("pod", "verdict", "reason", "severity"),
    [
        (deleted(make_pod()), "stopping", "Terminating", "info"),
        (deleted(make_pod(phase="Failed", reason="Evicted")), "stopping", "Evicted", "info"),
        (deleted(make_pod(conditions=DISRUPTED)), "stopping", "PreemptionByScheduler", "warning"),
        (deleted(make_pod(reason="Odd")), "stopping", "Terminating", "info"),
        (make_pod(phase="Failed"), "failed", "PodFailed", "fatal"),
        (make_pod(ended("notebook", 3), phase="Failed"), "failed", "Error", "fatal"),
        (
            # An evicted container's 137 is a consequence
            make_pod(ended("notebook", 137), phase="Failed", reason="Evicted", message="memory"),
            "failed",
            "Evicted",
            "fatal",
        ),
        (make_pod(phase="Failed", reason="OutOfcpu"), "failed", "OutOfcpu", "fatal"),
        (make_pod(phase="Succeeded"), "failed", "Completed", "fatal"),
        (make_pod(phase="Unknown"), "starting", "Unknown", "warning"),
        (make_pod(reason="NodeLost"), "starting", "NodeLost", "warning"),
        (make_pod(conditions=[SCHEDULED], phase="Pending"), "starting", None, None),
    ],
)
def test_end(pod: Raw, verdict: str, reason: str | None, severity: str | None) -> None:
    view = judge(pod, now=BEGIN)
    assert view.verdict == verdict
    problem = view.problem
    assert (problem and problem.reason, problem and problem.severity.value) == (reason, severity)
    if verdict == "failed":
        assert [step.status for step in view.steps].count("failed") == 1  # type: ignore[comparison-overlap]
        assert problem is not None
        assert view.message == problem.message


def test_a_pod_that_is_gone_is_a_failure_and_keeps_its_steps() -> None:
    up = make_pod(ended("first"), waiting("notebook"), init=[container("first")])
    seen = judge(up, now=BEGIN).seen
    for view in (judge(None, now=BEGIN, seen=seen), judge(up, now=BEGIN, pod_gone=True)):
        assert view.verdict is Verdict.FAILED
        assert view.problem is not None
        assert view.problem.reason == "PodDeleted"
        assert (view.ready, view.total) == (1, 2)
        assert [step.step for step in view.steps][2:] == ["First", "Starting session"]


def test_a_pod_that_is_gone_is_told_by_what_removed_it() -> None:
    seen = judge(deleted(make_pod(conditions=DISRUPTED)), now=BEGIN).seen
    problem = judge(None, now=BEGIN + 5, seen=seen).problem
    assert problem is not None
    assert (problem.reason, problem.severity) == ("PreemptionByScheduler", Severity.FATAL)
    assert "more important" in problem.message


def test_no_pod_yet() -> None:
    view = judge(None, now=BEGIN)
    assert (view.verdict, view.total, view.steps, view.problem) == (Verdict.STARTING, 0, (), None)


# --- creation


@pytest.mark.parametrize(
    ("code", "reason", "verdict", "severity"),
    [
        (403, "Forbidden", "failed", "fatal"),
        (404, "NotFound", "failed", "fatal"),
        (422, "Invalid", "failed", "fatal"),
        (409, "AlreadyExists", "starting", "info"),
        (429, "TooManyRequests", "starting", "warning"),
        (500, "InternalError", "starting", "warning"),
        (503, "", "starting", "warning"),
        (0, "Forbidden", "failed", "fatal"),
        (0, "", "starting", "warning"),
    ],
)
def test_refusal(code: int, reason: str, verdict: str, severity: str) -> None:
    error = {"code": code, "reason": reason, "message": "no"}
    view = judge({"spec": make_pod()["spec"]}, create_error=error, now=BEGIN)
    assert view.verdict == verdict
    assert view.problem is not None
    assert view.problem.severity == severity
    assert judge(make_pod(), create_error=error, now=BEGIN).problem is None


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (
            'pods is forbidden: User "x" cannot create resource "pods" in API group ""',
            "not allowed",
        ),
        ("maximum memory usage per Container is 2Gi, but limit is 4Gi", "limits of the cluster"),
        ('violates PodSecurity "restricted:latest": privileged', 'level "restricted"'),
        ('admission webhook "policy.example" denied the request: no latest tag', "no latest tag"),
        ("something else", "refused the server (something else)"),
    ],
)
def test_why_it_was_refused(message: str, says: str) -> None:
    view = judge(None, create_error={"code": 403, "message": message}, now=BEGIN)
    assert says in view.message


def test_a_value_that_is_not_valid_is_not_repeated() -> None:
    message = 'Pod "x" is invalid: spec.containers[0].env[0].value: Invalid value: "hunter2": no'
    view = judge(None, create_error={"code": 422, "message": message}, now=BEGIN)
    assert view.problem is not None
    assert "hunter2" not in f"{view.message} {view.problem.detail}"


FULL = "0/2 nodes are available: 2 Insufficient cpu."


# --- the message while starting


def test_the_message_names_every_container_that_is_not_ready_in_the_pods_order() -> None:
    pod = make_pod(
        ended("first"),
        running("proxy"),
        init=[container("first"), container("second")],
        containers=[container("notebook"), container("proxy"), container("metrics")],
    )
    assert judge(pod, now=BEGIN).message == (
        "Containers with non-ready statuses: second, notebook, metrics."
    )


def test_what_is_malformed_is_noted_once() -> None:
    pod = make_pod({"name": 5, "ready": "yes", "state": []}, {"name": 6, "state": 3})
    view = judge(pod, [7, "x", {"involvedObject": []}], now=BEGIN)
    assert view.verdict is Verdict.STARTING
    assert view.containers[0].status == "waiting"
    assert len(view.notes) == len(set(view.notes)) > 0
    assert judge(make_pod(running("notebook")), now=BEGIN).notes == ()


# --- which of several troubles is told


def told(pod: Raw, *events: Raw) -> tuple[str, str | None] | None:
    problem = judge(pod, events, now=BEGIN).problem
    return (problem.reason, problem.step) if problem else None


def test_a_container_is_told_before_its_machine() -> None:
    pod = make_pod(ended("notebook"), phase="Unknown", policy="Always")
    assert told(pod) == ("Completed", "Starting session")


def test_the_scheduler_is_told_before_an_event() -> None:
    pod = make_pod(conditions=unschedulable(FULL))
    assert told(pod, event("OddThing", at=99)) == ("Unschedulable", "Finding a machine")


def test_what_belongs_to_no_step_is_told_where_the_start_is() -> None:
    unplaced = make_pod(claims=("home",))
    assert told(unplaced, event("OddThing")) == ("OddThing", "Finding a machine")
    placed = make_pod(claims=("home",), conditions=[SCHEDULED])
    assert told(placed, event("OddThing")) == ("OddThing", "Preparing storage")
    up = make_pod(running("notebook", ready=False), conditions=NOT_READY)
    assert told(up, event("OddThing")) == ("OddThing", "Starting session")


def test_a_pod_that_is_not_ready_without_a_reason_is_only_waited_for() -> None:
    unready = [*NOT_READY[:3], condition("Ready", False)]
    view = judge(make_pod(running("notebook"), conditions=unready, phase="Running"), now=BEGIN)
    assert (view.verdict, view.problem) == (Verdict.STARTING, None)


def test_a_pod_that_says_it_has_no_machine_has_none() -> None:
    gated = [condition("PodScheduled", False, "SchedulingGated")]
    view = judge(make_pod(conditions=gated, phase="Running"), now=BEGIN)
    assert (view.scheduled, view.steps[0].status) == (False, "executing")
    assert judge(make_pod(phase="Running"), now=BEGIN).scheduled is True
