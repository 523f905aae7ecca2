"""How a start ends: the one sentence that every reader gets, and who has to mend it."""

from __future__ import annotations

import asyncio
import html
from typing import Any

from kubernetes_asyncio.client import ApiException

from .hub import spawn_error, status_of
from .models import StepKind, StepStatus
from .models.text import clean
from .starting import Start

# the kinds of failure that the user or the profile has to mend, not the cluster
USERS_CATEGORIES = frozenset(
    {"spec", "gone", "pull_definite", "config", "create", "crash", "hook", "schedule_hopeless"}
)
# outcomes of asking that are the proxy's or the network's, not the server's
PROXY_OUTCOMES = frozenset(
    {"hub_answered", "proxy_answered", "route_missing", "proxy_unreachable", "unreachable", "tls"}
)
# what takes too long here is what the user or the profile chose to run
USERS_STEPS = frozenset({StepKind.IMAGE, StepKind.INIT, StepKind.SIDECAR, StepKind.SESSION})
TOLD_LIMIT = 300


class Unhealthy(Exception):
    """The server did not answer; whoever raises it has told the start."""


class NoProgress(Exception):
    """The start did not change for longer than it may."""


def to_spawn_error(start: Start, error: Exception, start_timeout: float, log: Any) -> Exception:
    """Tell a start what ended it, and return the exception that says so to the Hub.

    An error that is not about the server, such as one of a hook, is returned as it is.
    """
    timed_out = isinstance(error, TimeoutError | asyncio.TimeoutError)
    if isinstance(error, ApiException):
        status = status_of(error)
        start.create_refused(status)
        if not start.failed:
            # refused for something beside the pod, such as its service
            start.fail(clean(str(status.get("message")), TOLD_LIMIT))
    if not start.failed:
        if timed_out:
            start.fail(timeout_message(start, start_timeout))
        else:
            start.fail(clean(str(getattr(error, "jupyterhub_message", None) or error), TOLD_LIMIT))
    known = timed_out or start.problem is not None or isinstance(error, Unhealthy)
    message = start.status.message
    if not known:
        # not about the pod: an error of a hook or a bug keeps its own kind
        return error
    problem = start.problem
    log.warning(
        "Start %s failed: %s (%s)",
        start.id,
        message,
        problem.detail if problem else repr(error),
    )
    reason = (problem.category if problem else None) or "timeout"
    users = reason in USERS_CATEGORIES
    if isinstance(error, Unhealthy):
        last = start.status.health.last
        reason, users = "unhealthy", last is not None and last.outcome not in PROXY_OUTCOMES
    elif timed_out and not users:
        kinds = {step.kind for step in start.status.details if step.status is StepStatus.FAILED}
        users = bool(kinds & USERS_STEPS)
    text = f"{message} {start.hint}" if start.hint else message
    return spawn_error(text, html.escape(text), reason, users=users)


def timeout_message(start: Start, seconds: float) -> str:
    """Return what is said when the time is over: the step that hangs and its problem."""
    name = start.unfinished_step() or "Starting"
    message = f"“{name}” did not finish within {seconds:g} seconds."
    problem = start.problem
    return f"{message} {problem.message}" if problem else message
