"""How a start ends: the one sentence that every reader gets, and the record in the Hub's log.

The record is one line that programs can read. All in it was cleaned and freed of secrets where
it was judged.
"""

from __future__ import annotations

import asyncio
import html
import json
from enum import Enum
from typing import Any

from kubernetes_asyncio.client import ApiException
from tornado.web import HTTPError

from .hub import spawn_error, status_of
from .kubeapi import Outage
from .models import ServerStatus, Step, StepKind, StepStatus
from .models.text import clean
from .pods import ASK_ADMIN, Problem, counts, users_fault
from .preparation import PreparationFailed
from .starting import Start

# A fixed start, so that a line can be found and its rest be read as JSON.
PREFIX = "detailedspawner start: "
NAME_LENGTH = 255
TEXT_LENGTH = 500
MOST_STEPS = 100

# outcomes of asking that are the proxy's or the network's, not the server's
PROXY_OUTCOMES = frozenset(
    {"hub_answered", "proxy_answered", "route_missing", "proxy_unreachable", "unreachable", "tls"}
)
# what takes too long here is what the user or the profile chose to run
USERS_STEPS = frozenset({StepKind.IMAGE, StepKind.INIT, StepKind.SIDECAR, StepKind.SESSION})


class Outcome(str, Enum):
    """How a start ended."""

    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


def start_record(
    status: ServerStatus,
    outcome: Outcome,
    *,
    user: str,
    server: str = "",
    problem: Problem | None = None,
    reason: str | None = None,
    category: str | None = None,
    users: bool | None = None,
) -> dict[str, Any]:
    """Return what is to be remembered of a start that is over, as plain JSON.

    `problem` is what its pod's failure was. Without one, `reason`, `category` and
    `users` (whose fault it was) tell of a failure beside the pod. Durations are in
    seconds; times are ISO 8601 UTC.
    """
    failed = outcome is Outcome.FAILED
    told = problem if failed else None
    shown = status.to_dict()
    begun, ended = status.started_at, status.updated_at
    return {
        "start_id": status.start_id,
        "user": clean(user, NAME_LENGTH),
        "server": clean(server, NAME_LENGTH),
        "outcome": outcome.value,
        "category": (told.category if told else category) if failed else None,
        "reason": (told.reason if told else reason) if failed else None,
        "cause": told.cause if told else None,
        "text": told.key if told and told.key else None,
        "users_fault": (users_fault(told) if told else users) if failed else None,
        "message": clean(status.message, TEXT_LENGTH) if failed else None,
        "hint": told.hint if told else None,
        "detail": clean(told.detail, TEXT_LENGTH) if told and told.detail else None,
        "step": _guilty(status) if failed else None,
        "container": told.container if told else None,
        "exit_code": told.exit_code if told else None,
        "ready_containers": status.ready_containers,
        "total_containers": status.total_containers,
        "restarts": sum(container.restarts for container in status.containers),
        "warnings": len(status.warnings),
        "started_at": shown["started_at"],
        "ended_at": shown["updated_at"],
        "seconds": _seconds(begun, ended),
        "steps": [_step(step) for step in status.details[:MOST_STEPS]],
    }


def record_line(record: dict[str, Any]) -> str:
    """Write a record as one line: the prefix, then JSON in ASCII."""
    return PREFIX + json.dumps(record, separators=(", ", ": "), allow_nan=False)


def read_line(line: str) -> dict[str, Any] | None:
    """Read a record back from a line of a log; None if the line is none."""
    _, found, rest = line.partition(PREFIX)
    if not found:
        return None
    try:
        record = json.loads(rest)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _guilty(status: ServerStatus) -> str | None:
    return next((step.step for step in status.details if step.status.value == "failed"), None)


def _step(step: Step) -> dict[str, Any]:
    return {
        "step": step.step,
        "kind": step.kind.value,
        "status": step.status.value,
        "seconds": _seconds(step.started_at, step.finished_at),
    }


def _seconds(begun: float | None, ended: float | None) -> float | None:
    if begun is None or ended is None:
        return None
    return round(max(0.0, ended - begun), 3)


class Unhealthy(Exception):
    """The server did not answer; whoever raises it has told the start."""


class NoProgress(Exception):
    """The start did not change for longer than it may; its text is how many seconds."""


class OutOfTime(TimeoutError):
    """The time of the whole start is over, not that of one request to the cluster."""


def to_spawn_error(
    start: Start, error: Exception, start_timeout: float, log: Any, unseen: Outage | None = None
) -> Exception:
    """Tell a start what ended it, and return the exception that says so to the Hub.

    `unseen` is why nothing new is seen of its pod, None if it is. An error that is not
    about the server, such as one of a hook, is returned as it is.
    """
    timed_out = isinstance(error, TimeoutError | asyncio.TimeoutError | NoProgress)
    if not timed_out or start.decided.done():
        # it did not wait for its pod
        unseen = None
    problem = start.problem
    if isinstance(error, ApiException):
        problem = start.create_refused(status_of(error))
    elif timed_out and not (start.has_pod or isinstance(error, OutOfTime | NoProgress)):
        # no request to make the pod has succeeded for as long as they are tried
        timed_out = False
        silent = {"code": 503, "reason": "NoAnswer", "message": str(error)}
        problem = problem or start.create_refused(silent)
    if not start.failed and not start.cancelled:
        if isinstance(error, PreparationFailed):
            start.fail(str(error), step=error.name)
        elif timed_out:
            why = f"it took more than {start_timeout:g} seconds"
            if isinstance(error, NoProgress):
                why = f"nothing has changed for {error} seconds"
            start.fail(timeout_message(start, why, unseen), hint=ASK_ADMIN if unseen else None)
        elif problem is not None:
            # what would be tried again, or was refused for something beside the pod
            start.fail(problem.message, hint=problem.hint, reason=problem.reason)
        else:
            start.fail(str(getattr(error, "jupyterhub_message", None) or error))
    if not timed_out and problem is None and not isinstance(error, Unhealthy | PreparationFailed):
        # not about the pod: an error of a hook or a bug keeps its own kind
        start.blame("error", isinstance(error, HTTPError) and error.status_code < 500)
        return error
    if unseen is not None:
        start.blame("watch", users=False, counts=True)
    else:
        start.blame(*_blame(start, error, problem, timed_out=timed_out))
    cause = unseen or problem
    log.warning(
        "Start %s failed: %s (%s)",
        start.id,
        start.status.message,
        cause.detail if cause else repr(error),
    )
    text = f"{start.status.message} {start.hint}" if start.hint else start.status.message
    text = f"{text} (start {start.id})"
    return spawn_error(text, html.escape(text), start.category, users=not start.counts)


def _blame(
    start: Start, error: Exception, problem: Problem | None, *, timed_out: bool
) -> tuple[str, bool, bool]:
    """Return the kind of a failure, whether it is the user's to mend, and whether it counts."""
    if isinstance(error, PreparationFailed):
        return "preparation", error.users, not error.users
    if isinstance(error, Unhealthy):
        last = start.status.health.last
        users = last is not None and last.outcome not in PROXY_OUTCOMES
        return "unhealthy", users, not users
    if isinstance(error, ApiException) and start.has_pod:
        # what the Hub makes beside the pod is nothing that the user asked for
        return "create", False, True
    if problem is not None and not counts(problem):
        return problem.category or "pod", users_fault(problem), False
    if timed_out:
        kinds = {step.kind for step in start.status.details if step.status is StepStatus.FAILED}
        users = bool(kinds & USERS_STEPS)
        return "timeout", users, not users
    return (problem.category if problem else None) or "pod", False, True


def timeout_message(start: Start, why: str, unseen: Outage | None = None) -> str:
    """Return what is said when the time is over: the step that hangs and its problem."""
    name = start.unfinished_step() or "Starting"
    message = f"“{name}” did not finish: {why}."
    if unseen is not None:
        # whatever is known of the pod is old
        return f"{message} The Hub cannot see pods: {unseen.problem}."
    problem = start.problem
    return f"{message} {problem.message}" if problem else message


def record_of(start: Start, outcome: Outcome, user: str, server: str) -> dict[str, Any]:
    """Return what is to be remembered of a start."""
    return start_record(
        start.status,
        outcome,
        user=user,
        server=server,
        problem=start.problem,
        category=start.category,
        users=start.users_fault,
    )
