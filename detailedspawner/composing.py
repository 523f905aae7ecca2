"""Put a server's status together: what the pod says and the steps around it.

Pure: the pod's steps are judged by `pods`; the preparations before them and the
connection after them belong to a start and are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .durations import Expected
from .models import (
    Health,
    HealthStatus,
    ServerState,
    ServerStatus,
    StartWarning,
    Step,
    StepKind,
    StepStatus,
)
from .pods import PodSettings, PodView, Verdict

# of a pod: the id of the start that made it
START_ID_ANNOTATION = "detailedspawner/start-id"
# progress of a start whose pod is there, and of one that only waits for its answer
PROGRESS_PREPARED = 10
PROGRESS_ANSWERING = 95

STATE_MESSAGES = {
    ServerState.RUNNING: "The server is running.",
    ServerState.CANCELLING: "The start is being cancelled.",
    ServerState.STOPPING: "The server is being stopped.",
    ServerState.STOPPED: "The server is stopped.",
    ServerState.CHECKING: "The Hub was restarted and is looking for the server.",
    ServerState.UNKNOWN: "Nothing is known about the server.",
}
# states in which the steps of the start say no more than the state itself
_OVER = (ServerState.CANCELLING, ServerState.STOPPING, ServerState.STOPPED)


@dataclass(frozen=True, slots=True)
class Failure:
    """What ended a start beside its pod, in words for the user."""

    message: str
    hint: str | None = None
    # the step it belongs to; None: the one that is under way
    step: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """What a start knows beside its pod."""

    state: ServerState
    began: float
    preparations: tuple[Step, ...] = ()
    # None where nothing is asked through the proxy
    connection: Step | None = None
    health: Health = field(default_factory=Health)
    failure: Failure | None = None
    warnings: tuple[StartWarning, ...] = ()
    cancellable: bool = True
    # None while too few such starts are known
    expected: Expected | None = None


def compose(start_id: str, view: PodView, around: Around, before: int, now: float) -> ServerStatus:
    """Return the status; `before` is the progress so far, which never goes down.

    Times are seconds since the epoch. The revision is left to whoever publishes it.
    """
    state, expected = around.state, around.expected
    return ServerStatus(
        start_id=start_id,
        revision="",
        state=state,
        progress=100 if state is ServerState.RUNNING else max(before, _progress(view, around)),
        message=_message(view, around),
        details=expecting(steps(view, around, now), expected),
        ready_containers=view.ready,
        total_containers=view.total,
        containers=view.containers,
        health=around.health,
        warnings=_warnings(view, around),
        cancellable=around.cancellable and state is ServerState.STARTING,
        expected_seconds=expected.seconds if expected else None,
        expected_at_most_seconds=expected.at_most_seconds if expected else None,
        started_at=around.began,
        updated_at=now,
    )


def bare(state: ServerState, message: str | None = None) -> ServerStatus:
    """Return a status of which nothing but the state is known.

    Its revision differs from state to state, so that a client can wait for another.
    """
    number = 0 if state is ServerState.STOPPED else list(ServerState).index(state) + 1
    return ServerStatus(
        start_id=None,
        revision=f"0.{number}",
        state=state,
        progress=100 if state is ServerState.RUNNING else 0,
        message=message or STATE_MESSAGES[state],
    )


def steps(view: PodView, around: Around, now: float) -> tuple[Step, ...]:
    """Return all steps in order; the one that a failure belongs to is failed."""
    found = [*around.preparations, *view.steps]
    if around.connection is not None:
        found.append(around.connection)
    failure = around.failure
    if failure is None or around.state is not ServerState.FAILED:
        return tuple(found)
    if any(step.status is StepStatus.FAILED for step in found) and failure.step is None:
        return tuple(found)
    guilty = failure.step or unfinished(found)
    return tuple(_failed(step, failure, now) if step.step == guilty else step for step in found)


def expecting(found: tuple[Step, ...], expected: Expected | None) -> tuple[Step, ...]:
    """Return the steps with how long each usually takes."""
    if expected is None:
        return found
    return tuple(replace(step, expected_seconds=expected.of_step(step)) for step in found)


def unfinished(found: Iterable[Step]) -> str | None:
    """Return the name of the step that a start hangs on."""
    return hanging((step.status, step.step) for step in found)


def hanging(found: Iterable[tuple[StepStatus, str]]) -> str | None:
    """Return what stands beside the status of the step under way, or else to come."""
    left = [one for one in found if one[0] is not StepStatus.READY]
    under_way = [one for one in left if one[0] is not StepStatus.WAITING]
    return next((told for _, told in [*under_way, *left]), None)


def connection_step(
    settings: PodSettings, health: Health | None, before: Step | None, now: float
) -> Step:
    """Return the step of asking the server; `health` is None before that began."""
    name = settings.kind_step("connection")
    if health is None or health.status is HealthStatus.DISABLED:
        return Step(step=name, status=StepStatus.WAITING, kind=StepKind.CONNECTION)
    status = {
        HealthStatus.HEALTHY: StepStatus.READY,
        HealthStatus.UNHEALTHY: StepStatus.FAILED,
    }.get(health.status, StepStatus.EXECUTING)
    ended = status is not StepStatus.EXECUTING
    told = health.last.message if health.last and status is not StepStatus.READY else None
    return Step(
        step=name,
        status=status,
        kind=StepKind.CONNECTION,
        message=told and f"{told[:1].upper()}{told[1:]}.",
        reason=health.last.outcome if health.last and status is StepStatus.FAILED else None,
        started_at=before.started_at if before and before.started_at else now,
        finished_at=(before and before.finished_at) or now if ended else None,
    )


def running_health(at_the_gate: Health, view: PodView) -> Health:
    """Return the health of a server that runs: what its pod's own readiness says."""
    # one that was opened all the same was never healthy
    if at_the_gate.status in (HealthStatus.DISABLED, HealthStatus.UNHEALTHY):
        return at_the_gate
    ready = view.verdict is Verdict.RUNNING
    return replace(at_the_gate, status=HealthStatus.HEALTHY if ready else HealthStatus.UNHEALTHY)


def _progress(view: PodView, around: Around) -> int:
    if view.verdict is Verdict.RUNNING:
        return PROGRESS_ANSWERING
    prepared = [step.status is StepStatus.READY for step in around.preparations]
    if not prepared:
        return min(view.progress, PROGRESS_ANSWERING)
    if not all(prepared):
        return PROGRESS_PREPARED * sum(prepared) // len(prepared)
    rest = PROGRESS_ANSWERING - PROGRESS_PREPARED
    return PROGRESS_PREPARED + min(view.progress, 100) * rest // 100


def _message(view: PodView, around: Around) -> str:
    if around.state is ServerState.FAILED:
        return around.failure.message if around.failure else view.message
    if around.state is ServerState.RUNNING and view.problem and view.verdict is not Verdict.RUNNING:
        return view.problem.message
    if around.state is not ServerState.STARTING:
        return STATE_MESSAGES.get(around.state, view.message)
    for step in around.preparations:
        if step.status is StepStatus.EXECUTING:
            return step.message or f"{step.step} …"
    if view.verdict is Verdict.RUNNING:
        told = around.connection.message if around.connection else None
        return told or "Waiting for the server to answer."
    return view.message


def _warnings(view: PodView, around: Around) -> tuple[StartWarning, ...]:
    if around.state in _OVER:
        return ()
    seen = (
        StartWarning(step=warning.step or "", message=warning.message, hint=warning.hint)
        for warning in view.warnings
    )
    return (*around.warnings, *seen)


def _failed(step: Step, failure: Failure, now: float) -> Step:
    return replace(
        step,
        status=StepStatus.FAILED,
        message=failure.message,
        hint=failure.hint or step.hint,
        reason=failure.reason or step.reason,
        finished_at=step.finished_at or now,
    )
