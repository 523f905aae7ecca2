"""What an administrator can count in the Hub's own /metrics: starts, steps, checks, cancels.

Every label has a fixed list of values, so that nothing that users do or name makes new
series, and all series are there before the first start.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jupyterhub.metrics import metrics_prefix, spawn_duration_buckets
from prometheus_client import Counter, Gauge, Histogram

from .composing import hanging
from .ending import Outcome
from .following import FollowingSpawner
from .health import Kind
from .models import StepKind, StepStatus
from .pods import DEFAULT_GRACES
from .starting import Start

OTHER = "other"
# the classes of `failure_graces`, then what ends a start beside its pod
REASONS = (
    *DEFAULT_GRACES,
    "timeout",
    "watch",
    "unhealthy",
    "preparation",
    "profile",
    "pod",
    "error",
    OTHER,
)
KINDS = tuple(kind.value for kind in StepKind)
OUTCOMES = tuple(kind.value for kind in Kind)

STARTS = Counter(
    "detailedspawner_starts",
    "Starts that are over, by how they ended and, if they failed, the class of failure",
    ["outcome", "reason"],
    namespace=metrics_prefix,
)
STEP_DURATION_SECONDS = Histogram(
    "detailedspawner_step_duration_seconds",
    "How long the steps of starts took that were done, by kind of step",
    ["kind"],
    buckets=spawn_duration_buckets,
    namespace=metrics_prefix,
)
HEALTH_CHECKS = Counter(
    "detailedspawner_health_checks",
    "Health checks of servers that start, by outcome",
    ["outcome"],
    namespace=metrics_prefix,
)
CANCELS = Counter(
    "detailedspawner_cancels",
    "Starts that their users cancelled, by the kind of step that was under way",
    ["kind"],
    namespace=metrics_prefix,
)
PENDING_STARTS = Gauge(
    "detailedspawner_pending_starts",
    "Starts that go on now, by the kind of step that is under way",
    ["kind"],
    namespace=metrics_prefix,
)


def follow_starts() -> None:
    """Count what the spawners of this process do from now on; does nothing the second time."""
    if count_start not in FollowingSpawner.at_record:
        FollowingSpawner.at_record.append(count_start)
        FollowingSpawner.at_check.append(count_check)


def count_start(record: dict[str, Any]) -> None:
    """Count a start that is over, by the record of it that the log has."""
    outcome, reason = record["outcome"], ""
    if outcome == Outcome.FAILED.value:
        reason = record["category"] if record["category"] in REASONS else OTHER
    STARTS.labels(outcome=outcome, reason=reason).inc()
    if outcome == Outcome.CANCELLED.value:
        steps = [(StepStatus(step["status"]), step["kind"]) for step in record["steps"]]
        CANCELS.labels(kind=_under_way(steps)).inc()
    for step in record["steps"]:
        if step["status"] == StepStatus.READY.value and step["seconds"] is not None:
            STEP_DURATION_SECONDS.labels(kind=step["kind"]).observe(step["seconds"])


def count_check(outcome: str) -> None:
    """Count one health check."""
    HEALTH_CHECKS.labels(outcome=outcome).inc()


def _pending(kind: str) -> int:
    return sum(1 for start in FollowingSpawner.under_way if _kind_of(start) == kind)


def _kind_of(start: Start) -> str:
    return _under_way([(step.status, step.kind.value) for step in start.status.details])


def _under_way(steps: list[tuple[StepStatus, str]]) -> str:
    # all is done: the Hub's own last look
    return hanging(steps) or StepKind.CONNECTION.value


def _make_all() -> None:
    for outcome in Outcome:
        for reason in REASONS if outcome is Outcome.FAILED else ("",):
            STARTS.labels(outcome=outcome.value, reason=reason)
    for name in OUTCOMES:
        HEALTH_CHECKS.labels(outcome=name)
    for kind in KINDS:
        STEP_DURATION_SECONDS.labels(kind=kind)
        CANCELS.labels(kind=kind)
        PENDING_STARTS.labels(kind=kind).set_function(partial(_pending, kind))


_make_all()
