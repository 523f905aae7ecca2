"""What one look at a pod leaves to the next one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..models import ContainerKind, StepStatus
from .container_rules import PULL_REASONS
from .containers import ContainerFacts
from .details import pull_error
from .graces import Clocks
from .podfacts import PodFacts
from .view import Seen

# A container that crashed this often is believed to be ready only after a while.
LOOP_RESTARTS = 2
STABLE_AFTER = 10.0


@dataclass(frozen=True, slots=True)
class Settled:
    """A pod whose crashing containers are not taken for ready too early."""

    pod: PodFacts
    clocks: Clocks
    # When the last of them may be believed; None if all may be now.
    until: float | None


def settle(pod: PodFacts, seen: Seen, now: float) -> Settled:
    """Do not show a container as ready each time it runs between two crashes."""
    clocks: dict[tuple[str, str], float] = {}
    containers, ends = [], []
    for item in pod.containers:
        status = item.status
        if _looping(item):
            key = (item.name, f"run {item.restarts}")
            # Either clock may be wrong; the one that is further is believed.
            since = min(seen.first_seen.get(key, now), item.started_at or now, now)
            clocks[key] = since
            if now - since < STABLE_AFTER:
                ends.append(since + STABLE_AFTER)
                status = StepStatus.EXECUTING
        containers.append(item if status is item.status else replace(item, status=status))
    return Settled(replace(pod, containers=tuple(containers)), clocks, max(ends, default=None))


def _looping(item: ContainerFacts) -> bool:
    return (
        item.status is StepStatus.READY
        and item.running
        and item.kind is not ContainerKind.INIT
        and item.restarts >= LOOP_RESTARTS
        and item.last is not None
        and item.last.failed
    )


def pull_errors(pod: PodFacts, seen: Seen) -> dict[str, str]:
    """Keep the last pull error that named a cause for as long as the image is not there."""
    kept = {}
    for item in pod.containers:
        if item.waiting not in PULL_REASONS:
            continue
        if pull_error(item.waiting, item.waiting_message, item.image):
            kept[item.name] = item.waiting_message
        elif item.name in seen.pull_errors:
            kept[item.name] = seen.pull_errors[item.name]
    return kept
