"""The record of a start: one line of the Hub's log that programs can read.

Pure. Everything in it was cleaned and freed of secrets where it was judged.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

from .models import ServerStatus, Step
from .models.text import clean
from .pods import Problem, users_fault

# A fixed start, so that a line can be found and its rest be read as JSON.
PREFIX = "detailedspawner start: "
NAME_LENGTH = 255
TEXT_LENGTH = 500
MOST_STEPS = 100


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
