"""The steps of a start: each by itself, then joined by name, with times and with problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..models import ContainerKind, Step, StepKind, StepStatus
from .container_rules import IMAGE_REASONS
from .containers import ContainerFacts
from .events import ACTIVITY, Event, newest
from .podfacts import PodFacts
from .scheduling import storage_note
from .settings import PodSettings
from .trouble import Problem, Seen

WAITING, EXECUTING, READY, FAILED = StepStatus

# How much of the time of a start each kind of step usually takes.
_WEIGHTS = {
    StepKind.STORAGE: 1,
    StepKind.MACHINE: 2,
    StepKind.IMAGE: 4,
    StepKind.INIT: 2,
    StepKind.SIDECAR: 1,
    StepKind.SESSION: 3,
}
PROGRESS_BEFORE_RUNNING = 90

Times = Mapping[str, tuple["float | None", "float | None"]]


def current_step(steps: Iterable[Step]) -> str | None:
    """Return the name of the step that is under way, or else comes next."""
    listed = list(steps)
    left = [step for step in listed if step.status is not READY]
    under_way = [step for step in left if step.status is not WAITING]
    # Storage is prepared beside everything else, so it is blamed last.
    under_way.sort(key=lambda step: step.kind is StepKind.STORAGE)
    return next((step.step for step in [*under_way, *left, *listed[::-1]]), None)


def storage_step(
    pod: PodFacts, events: tuple[Event, ...], done: set[str], settings: PodSettings
) -> Step:
    """Claims and volumes; only for a pod that has a claim."""
    status, message = WAITING, None
    attached = {event.message for event in events if event.reason == "SuccessfulAttachVolume"}
    # No image is pulled before the volumes are mounted.
    if pod.sandboxed or newest(events, ACTIVITY) is not None:
        done.add("storage")
    if "storage" in done or len(attached) >= len(pod.claims):
        status = READY
    elif pod.exists:
        status, message = EXECUTING, storage_note(events)
    mounted = pod.condition("PodReadyToStartContainers")
    return Step(
        step=settings.kind_step("storage"),
        status=status,
        kind=StepKind.STORAGE,
        message=message,
        started_at=pod.created_at if status is not WAITING else None,
        finished_at=mounted.changed_at if status is READY and mounted.true else None,
    )


def machine_step(
    pod: PodFacts, events: tuple[Event, ...], done: set[str], settings: PodSettings
) -> Step:
    """From the creation of the pod to its machine."""
    event = newest(events, frozenset({"Scheduled"}))
    if pod.scheduled or event is not None:
        done.add("machine")
    found = pod.condition("PodScheduled")
    status = READY if "machine" in done else (EXECUTING if pod.exists else WAITING)
    return Step(
        step=settings.kind_step("machine"),
        status=status,
        kind=StepKind.MACHINE,
        started_at=pod.created_at if status is not WAITING else None,
        finished_at=found.changed_at if status is READY and found.true else None,
    )


def image_step(
    main: ContainerFacts,
    pod: PodFacts,
    events: tuple[Event, ...],
    done: set[str],
    settings: PodSettings,
) -> Step:
    """The image of the main container; the others have theirs in their own steps."""
    pulling = newest(events, frozenset({"Pulling"}), main.name)
    pulled = newest(events, ACTIVITY - {"Pulling"}, main.name)
    refused = main.waiting in IMAGE_REASONS
    # Every other complaint about a container comes after its image was there.
    complained = main.status is FAILED and not refused
    if (main.started_ever and not refused) or complained or pulled is not None:
        done.add("image")
    status, message = WAITING, None
    if refused:
        status = EXECUTING
    elif "image" in done:
        status = READY
    elif pulling is not None or _may_pull(pod):
        status = EXECUTING
        message = f"Downloading {main.image}." if pulling is not None and main.image else None
    finished = pulled.at if pulled is not None else main.started_at
    return Step(
        step=settings.kind_step("image"),
        status=status,
        kind=StepKind.IMAGE,
        message=message,
        started_at=pulling.at if pulling is not None and status is not WAITING else None,
        finished_at=finished if status is READY else None,
    )


def _may_pull(pod: PodFacts) -> bool:
    """Nothing is left to do before the main image, so it is being pulled or soon will be."""
    return pod.condition("PodReadyToStartContainers").true and all(
        item.status is READY for item in pod.containers if item.init
    )


def container_step(facts: ContainerFacts, events: tuple[Event, ...], settings: PodSettings) -> Step:
    """An init container or a sidecar."""
    kind = StepKind.INIT if facts.kind is ContainerKind.INIT else StepKind.SIDECAR
    message, started = None, facts.started_at
    if facts.status is EXECUTING and not facts.running:
        event = newest(events, ACTIVITY, facts.name)
        started = event.at if event else None
        if event and event.reason == "Pulling" and facts.image:
            message = f"Downloading {facts.image}."
    if started is None and facts.last is not None and facts.status is FAILED:
        started = facts.last.started_at
    return Step(
        step=settings.container_step(facts.name),
        status=facts.status,
        kind=kind,
        containers=(facts.name,),
        message=message,
        started_at=started if facts.status is not WAITING else None,
        finished_at=_finished(facts),
    )


def _finished(facts: ContainerFacts) -> float | None:
    if facts.status is READY and facts.ended:
        return facts.ended.finished_at
    if facts.status is FAILED:
        ending = facts.ended or facts.last
        return ending.finished_at if ending else None
    return None


def session_step(
    pod: PodFacts, main: ContainerFacts, events: tuple[Event, ...], settings: PodSettings
) -> Step:
    """The main container itself, once its image is there."""
    step = container_step(main, events, settings)
    status, finished = step.status, step.finished_at
    if main.waiting in IMAGE_REASONS:
        # Without its image the session has not begun; the image's step is what fails.
        status, finished = WAITING, None
    ready = pod.condition("Ready")
    if status is READY and ready.status == "False" and pod.unmet_gates:
        status = EXECUTING
    if status is READY and ready.true:
        finished = ready.changed_at
    return replace(
        step,
        step=settings.container_step(main.name, main=True),
        kind=StepKind.SESSION,
        status=status,
        started_at=step.started_at if status is not WAITING else None,
        finished_at=finished,
    )


def progress(steps: Iterable[Step]) -> int:
    """Return how far the steps are, 0 to 90: a third of a step for being at work."""
    total = gained = 0.0
    for step in steps:
        weight = _WEIGHTS.get(step.kind, 1)
        total += weight
        gained += weight * {READY: 1.0, WAITING: 0.0}.get(step.status, 1 / 3)
    return int(PROGRESS_BEFORE_RUNNING * gained / total) if total else 0


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
) -> tuple[tuple[Step, ...], frozenset[str]]:
    """List all steps from the pod alone, and the kinds of steps that are over.

    Problems are put in by `with_problems`.
    """
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
    return tuple(_timed(step, seen.times, now) for step in _merge(steps)), frozenset(done)


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
