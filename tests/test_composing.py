"""A status is put together from the pod's steps and those around them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from detailedspawner.composing import (
    Around,
    Failure,
    compose,
    connection_step,
    running_health,
    unfinished,
)
from detailedspawner.models import (
    Health,
    HealthCheck,
    HealthStatus,
    ServerState,
    StartWarning,
    Step,
    StepKind,
    StepStatus,
)
from detailedspawner.pods import PodSettings, PodView, Seen, Verdict

WAITING, EXECUTING = StepStatus.WAITING, StepStatus.EXECUTING
READY, FAILED = StepStatus.READY, StepStatus.FAILED
NOW = 1000.0


def step(name: str, status: StepStatus, kind: StepKind = StepKind.PREPARATION) -> Step:
    return Step(step=name, status=status, kind=kind)


def view(verdict: Verdict = Verdict.STARTING, progress: int = 0, **more: Any) -> PodView:
    """A pod with one step, "session"."""
    status = READY if verdict is Verdict.RUNNING else EXECUTING
    values: dict[str, Any] = {
        "ready": int(verdict is Verdict.RUNNING),
        "total": 1,
        "containers": (),
        "steps": (step("session", status, StepKind.SESSION),),
        "problem": None,
        "warnings": (),
        "message": "the pod's message",
        "scheduled": True,
        "next_check": None,
        "seen": Seen(),
        **more,
    }
    return PodView(verdict=verdict, progress=progress, **values)


def around(**more: Any) -> Around:
    return Around(**{"state": ServerState.STARTING, "began": NOW - 5, **more})


def health(status: HealthStatus, message: str = "nothing listens") -> Health:
    return Health(status=status, path="api", last=HealthCheck(NOW, "refused", message))


# preparations, pod's own progress and verdict, progress before, what is shown
PROGRESS = {
    "no preparation: the pod's": ((), (30, Verdict.STARTING), 0, 30),
    "it never goes back": ((), (30, Verdict.STARTING), 50, 50),
    "one of two preparations": ((READY, EXECUTING), (0, Verdict.STARTING), 0, 5),
    "prepared, the pod half way": ((READY,), (50, Verdict.STARTING), 0, 52),
    "the pod is ready": ((), (100, Verdict.RUNNING), 0, 95),
    "and with preparations": ((READY,), (100, Verdict.RUNNING), 0, 95),
}


@pytest.mark.parametrize("name", PROGRESS)
def test_progress(name: str) -> None:
    prepared, (progress, verdict), before, expected = PROGRESS[name]
    steps = tuple(step(f"p{number}", status) for number, status in enumerate(prepared))
    status = compose("s", view(verdict, progress), around(preparations=steps), before, NOW)
    assert status.progress == expected


def test_a_running_server_has_all_progress() -> None:
    status = compose("s", view(Verdict.RUNNING), around(state=ServerState.RUNNING), 95, NOW)
    assert (status.progress, status.message) == (100, "The server is running.")
    assert not status.cancellable


# what is around the pod, and the message
MESSAGES = {
    "the pod's own": (around(), "the pod's message"),
    "a preparation at work": (
        around(preparations=(step("Fetching keys", EXECUTING),)),
        "Fetching keys …",
    ),
    "what it says": (
        around(preparations=(replace(step("k", EXECUTING), message="2 of 3"),)),
        "2 of 3",
    ),
    "cancelling": (around(state=ServerState.CANCELLING), "The start is being cancelled."),
    "a failure": (
        around(state=ServerState.FAILED, failure=Failure("no room")),
        "no room",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name: str) -> None:
    given, expected = MESSAGES[name]
    assert compose("s", view(), given, 0, NOW).message == expected


def test_while_the_server_is_asked_the_message_is_the_outcome() -> None:
    asked = connection_step(PodSettings(), health(HealthStatus.INITIALIZING), None, NOW)
    status = compose("s", view(Verdict.RUNNING), around(connection=asked), 0, NOW)
    assert status.message == "Nothing listens."
    assert [(item.step, item.status) for item in status.details] == [
        ("session", READY),
        ("Connecting to the session", EXECUTING),
    ]


# health, and the status, message and reason of the step
CONNECTIONS = {
    "not begun": (None, (WAITING, None, None)),
    "initializing": (HealthStatus.INITIALIZING, (EXECUTING, "Nothing listens.", None)),
    "healthy": (HealthStatus.HEALTHY, (READY, None, None)),
    "unhealthy": (HealthStatus.UNHEALTHY, (FAILED, "Nothing listens.", "refused")),
    "disabled": (HealthStatus.DISABLED, (WAITING, None, None)),
}


@pytest.mark.parametrize("name", CONNECTIONS)
def test_connection_step(name: str) -> None:
    status, expected = CONNECTIONS[name]
    made = connection_step(PodSettings(), status and health(status), None, NOW)
    assert (made.status, made.message, made.reason) == expected


def test_the_connection_keeps_its_times() -> None:
    first = connection_step(PodSettings(), health(HealthStatus.INITIALIZING), None, NOW)
    last = connection_step(PodSettings(), health(HealthStatus.HEALTHY), first, NOW + 3)
    again = connection_step(PodSettings(), health(HealthStatus.HEALTHY), last, NOW + 9)
    assert (first.started_at, first.finished_at) == (NOW, None)
    assert (again.started_at, again.finished_at) == (NOW, NOW + 3)


def test_a_failure_marks_the_step_under_way_or_the_one_it_names() -> None:
    steps = (step("first", READY), step("second", EXECUTING), step("third", WAITING))
    for failure, guilty in ((Failure("m"), "second"), (Failure("m", step="third"), "third")):
        given = around(state=ServerState.FAILED, preparations=steps, failure=failure)
        found = compose("s", view(), given, 0, NOW).details
        assert [item.step for item in found if item.status is FAILED] == [guilty]


def test_a_step_that_failed_by_itself_is_not_blamed_on_another() -> None:
    steps = (step("first", EXECUTING), step("second", FAILED))
    given = around(state=ServerState.FAILED, preparations=steps, failure=Failure("m"))
    found = compose("s", view(), given, 0, NOW).details
    assert [item.step for item in found if item.status is FAILED] == ["second"]


def test_unfinished_is_what_is_under_way_before_what_is_to_come() -> None:
    assert unfinished([step("a", WAITING), step("b", EXECUTING)]) == "b"
    assert unfinished([step("a", READY), step("b", WAITING)]) == "b"
    assert unfinished([step("a", READY)]) is None


# health at the gate, whether the pod is ready, health of the running server
RUNNING = {
    "the pod is ready": (HealthStatus.HEALTHY, Verdict.RUNNING, HealthStatus.HEALTHY),
    "it is not": (HealthStatus.HEALTHY, Verdict.STARTING, HealthStatus.UNHEALTHY),
    "opened though unhealthy": (
        HealthStatus.UNHEALTHY,
        Verdict.RUNNING,
        HealthStatus.UNHEALTHY,
    ),
    "never asked": (HealthStatus.DISABLED, Verdict.STARTING, HealthStatus.DISABLED),
    "found after a restart of the Hub": (
        HealthStatus.INITIALIZING,
        Verdict.RUNNING,
        HealthStatus.HEALTHY,
    ),
}


@pytest.mark.parametrize("name", RUNNING)
def test_health_of_a_running_server(name: str) -> None:
    before, verdict, expected = RUNNING[name]
    assert running_health(health(before), view(verdict)).status is expected


def test_warnings_of_the_start_stay_until_it_is_over() -> None:
    warning = StartWarning(step="s", message="m")
    for state, expected in (
        (ServerState.STARTING, (warning,)),
        (ServerState.RUNNING, (warning,)),
        (ServerState.STOPPED, ()),
    ):
        given = around(state=state, warnings=(warning,))
        assert compose("s", view(), given, 0, NOW).warnings == expected
