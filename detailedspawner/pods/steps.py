"""Each step of a start by itself, from the pod and its events alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..models import ContainerKind, Step, StepKind, StepStatus
from .container_rules import IMAGE_REASONS
from .containers import ContainerFacts
from .events import ACTIVITY, Event, newest
from .podfacts import PodFacts
from .settings import PodSettings
from .storage import storage_note

WAITING, EXECUTING = StepStatus.WAITING, StepStatus.EXECUTING
READY, FAILED = StepStatus.READY, StepStatus.FAILED

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
