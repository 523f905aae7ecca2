"""The steps of a start in their order: joined by name, with times and with problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..models import Step, StepKind
from .containers import ContainerFacts
from .events import ACTIVITY, Event, newest
from .podfacts import PodFacts
from .settings import PodSettings
from .steps import (
    EXECUTING,
    FAILED,
    READY,
    WAITING,
    container_step,
    image_step,
    machine_step,
    session_step,
    storage_step,
)
from .view import Problem, Seen

Times = Mapping[str, tuple["float | None", "float | None"]]


@dataclass(frozen=True, slots=True)
class StepList:
    """The steps of one moment, and what must be remembered of them."""

    steps: tuple[Step, ...]
    times: Times
    done: frozenset[str]


def with_activity(
    containers: tuple[ContainerFacts, ...], events: tuple[Event, ...]
) -> tuple[ContainerFacts, ...]:
    """Show a waiting container at work while events say that its image is being pulled."""

    def active(facts: ContainerFacts) -> bool:
        # The main container's image has a step of its own.
        reasons = ACTIVITY - {"Pulling"} if facts.main else ACTIVITY
        event = newest(events, reasons, facts.name)
        if event is None or facts.status is not WAITING:
            return False
        stopped = facts.last.finished_at if facts.last else None
        return stopped is None or (event.at is not None and event.at >= stopped)

    return tuple(
        replace(facts, status=EXECUTING) if active(facts) else facts for facts in containers
    )


def build_steps(
    pod: PodFacts,
    events: tuple[Event, ...],
    seen: Seen,
    now: float,
    settings: PodSettings,
) -> StepList:
    """List all steps from the pod alone; problems are put in by `with_problems`."""
    steps: list[Step] = []
    done = set(seen.done)
    if pod.claims:
        steps.append(storage_step(pod, events, done, settings))
    if pod.containers:
        steps.append(machine_step(pod, events, done, settings))
    if pod.main is not None:
        steps.append(image_step(pod.main, pod, events, done, settings))
    steps.extend(container_step(item, events, settings) for item in pod.containers if not item.main)
    if pod.main is not None:
        steps.append(session_step(pod, pod.main, events, settings))
    merged = _merge(steps)
    timed = tuple(_timed(step, seen.times, now) for step in merged)
    times = {step.step: (step.started_at, step.finished_at) for step in timed}
    return StepList(timed, times, frozenset(done))


def _merge(steps: list[Step]) -> list[Step]:
    """Make one step of those that share a name, at the place of the first."""
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.step, []).append(step)
    return [group[0] if len(group) == 1 else _joined(group) for group in groups.values()]


def _joined(group: list[Step]) -> Step:
    statuses = {step.status for step in group}
    mixed = FAILED if FAILED in statuses else EXECUTING
    status = statuses.pop() if len(statuses) == 1 else mixed
    started = [step.started_at for step in group if step.started_at is not None]
    finished = [step.finished_at for step in group if step.finished_at is not None]
    over = status in (READY, FAILED)
    return replace(
        group[0],
        status=status,
        # The session's kind is the one that readers look for.
        kind=next((s.kind for s in group if s.kind is StepKind.SESSION), group[0].kind),
        containers=tuple(name for step in group for name in step.containers),
        message=next((step.message for step in group if step.message), None),
        started_at=min(started, default=None),
        finished_at=max(finished, default=None) if over else None,
    )


def _timed(step: Step, times: Times, now: float) -> Step:
    """Complete a step's times by what was seen before, and by now."""
    seen_started, seen_finished = times.get(step.step, (None, None))
    # The first start counts: a restart does not make the step younger.
    known = [moment for moment in (seen_started, step.started_at) if moment is not None]
    started, finished = min(known, default=None), None
    if step.status is WAITING:
        return replace(step, started_at=None, finished_at=None)
    if step.status in (READY, FAILED):
        finished = step.finished_at if step.finished_at is not None else (seen_finished or now)
    elif started is None:
        started = now
    if started is not None and finished is not None:
        # The machine's clock and ours may differ; a step never takes less than no time.
        finished = max(started, finished)
    return replace(step, started_at=started, finished_at=finished)


def with_problems(
    steps: Iterable[Step], problems: Iterable[Problem], fatal: Problem | None, now: float
) -> tuple[Step, ...]:
    """Put what is wrong into the steps where it is wrong."""
    first: dict[str, Problem] = {}
    for problem in problems:
        if problem.step is not None:
            first.setdefault(problem.step, problem)
    return tuple(_with_problem(step, first.get(step.step), fatal, now) for step in steps)


def _with_problem(step: Step, problem: Problem | None, fatal: Problem | None, now: float) -> Step:
    if fatal is not None and fatal.step == step.step:
        finished = step.finished_at if step.status is FAILED else now
        if step.started_at is not None and finished is not None:
            finished = max(finished, step.started_at)
        step, problem = replace(step, status=FAILED, finished_at=finished), fatal
    if problem is None or step.status is READY:
        return step
    return replace(step, message=problem.message, hint=problem.hint, reason=problem.reason)
