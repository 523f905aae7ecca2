"""The verdict: everything that is known of one pod at one moment, and left to the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..models import ContainerKind, StepStatus
from .container_rules import PULL_REASONS, container_trouble, probe_trouble, restarted
from .containers import ContainerFacts
from .creation import creation_trouble
from .details import pull_error
from .events import Event, current, read_events
from .pod_rules import (
    failed_container,
    failed_pod,
    gone_trouble,
    last_event,
    lost_node,
    plain_failure,
    pod_reason,
    stopping_trouble,
    succeeded_pod,
    unmet_gates,
)
from .podfacts import PodFacts, read_pod
from .presenting import message, tell, to_container
from .reading import LATEST_TIME, Reader, pod_secrets
from .scheduling import (
    claim_names,
    claim_phases,
    sandbox_trouble,
    scheduling_trouble,
    storage_troubles,
)
from .settings import PodSettings
from .steps import (
    PROGRESS_BEFORE_RUNNING,
    build_steps,
    current_step,
    progress,
    with_activity,
    with_problems,
)
from .trouble import (
    RANK_PROBE,
    Clocks,
    PodView,
    Seen,
    Severity,
    Timed,
    Timing,
    Trouble,
    Verdict,
    apply_graces,
    root,
)

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


@dataclass(frozen=True, slots=True)
class _Case:
    """The input of one call, read."""

    pod: PodFacts
    events: tuple[Event, ...]
    phases: dict[str, str]
    # The step to blame when a trouble belongs to none in particular.
    step: str | None
    seen: Seen
    settings: PodSettings


def judge(
    pod: object,
    events: object = (),
    claims: object = (),
    *,
    create_error: object = None,
    pod_gone: bool = False,
    seen: Seen | None = None,
    now: float,
    settings: PodSettings | None = None,
) -> PodView:
    """Say what has become of a pod, from its raw JSON, events and claims.

    `pod` may be None, a pod of the cluster, or one still to be created (a spec without
    uid and status), which gives all steps as waiting. `events` are v1 Events in any
    order, `claims` v1 PersistentVolumeClaims, `create_error` a v1 Status. `now` is in
    seconds on the clock of the caller. No input raises: what has a wrong type counts as
    absent and is told in `notes`. None after a pod was seen means that it is gone; so
    does `pod_gone`, with the last that was known of the pod.
    """
    settings = settings or PodSettings()
    seen = seen if isinstance(seen, Seen) else Seen.EMPTY
    now = min(max(now, 0.0), LATEST_TIME) if math.isfinite(now) else 0.0
    secrets = (*settings.secrets, *(pod_secrets(pod) or pod_secrets(seen.last_pod)))
    reader = Reader(secrets)
    facts = read_pod(reader, pod, settings)
    gone = pod_gone or (pod is None and seen.pod_seen)
    if gone and not facts.exists and seen.last_pod is not None:
        # Its steps keep their last look.
        facts = read_pod(Reader(secrets), seen.last_pod, settings)
    if facts.exists and seen.uid not in (None, facts.uid):
        # Another pod: nothing that was seen holds for it, but progress never goes back.
        seen = Seen(progress=seen.progress)
    listed = read_events(reader, events, facts)
    settled = settle(facts, seen, now)
    facts = replace(settled.pod, containers=with_activity(settled.pod.containers, listed))
    steps, done_steps = build_steps(facts, listed, seen, now, settings)
    case = _Case(
        pod=facts,
        events=current(listed, facts),
        phases=claim_phases(reader, claims, facts),
        step=current_step(steps),
        seen=seen,
        settings=settings,
    )
    error = None
    if not facts.exists:
        known_claims = claim_names(reader, claims)
        error = creation_trouble(reader, create_error, facts, known_claims, settings)
    verdict, timing, chosen = _decide(case, error, gone, settled.until is not None, now)

    found = [item for item in timing.timed if item.due or not item.trouble.quiet]
    told = tell(found, chosen, verdict, settings)
    fatal = told.problem if verdict is Verdict.FAILED else None
    shown_steps = with_problems(steps, told.shown, fatal, now)
    done = max(seen.progress, min(progress(shown_steps), PROGRESS_BEFORE_RUNNING))
    checks = [moment for moment in (timing.next_check, settled.until) if moment is not None]
    return PodView(
        verdict=verdict,
        ready=facts.ready,
        total=facts.total,
        containers=tuple(to_container(item, told.shown, settings) for item in facts.containers),
        steps=shown_steps,
        problem=told.problem,
        warnings=told.warnings,
        message=message(verdict, facts, told.problem),
        progress=100 if verdict is Verdict.RUNNING else done,
        scheduled=facts.scheduled,
        next_check=min(checks, default=None) if verdict is Verdict.STARTING else None,
        seen=Seen(
            uid=facts.uid if facts.exists else seen.uid,
            pod_seen=seen.pod_seen or facts.exists,
            first_seen={**timing.clocks, **settled.clocks},
            times={item.step: (item.started_at, item.finished_at) for item in shown_steps},
            done=done_steps,
            pull_errors=pull_errors(facts, seen),
            last_pod=pod if facts.exists and isinstance(pod, dict) else seen.last_pod,
            progress=done,
        ),
        notes=tuple(reader.notes),
    )


def _decide(
    case: _Case, error: Trouble | None, gone: bool, held: bool, now: float
) -> tuple[Verdict, Timing, Timed | None]:
    """Apply the rules in their order; the first that fits decides."""
    pod, settings = case.pod, case.settings

    def end(verdict: Verdict, trouble: Trouble) -> tuple[Verdict, Timing, Timed]:
        timed = Timed(trouble, verdict is Verdict.FAILED, True)
        return verdict, Timing((timed,), {}, None), timed

    if gone:
        return end(Verdict.FAILED, _gone(case))
    if pod.exists and pod.deleted:
        return end(Verdict.STOPPING, stopping_trouble(pod, settings))
    if pod.exists and pod.phase == "Failed":
        return end(Verdict.FAILED, _failed(case))
    if pod.exists and pod.phase == "Succeeded":
        return end(Verdict.FAILED, succeeded_pod(pod, settings, case.step))
    if pod.exists and is_running(pod) and not held:
        # the cluster starts it again at once, and whoever used it wonders
        again = restarted(pod.main, settings) if pod.main else None
        told = (Timed(again, False, True),) if again else ()
        return Verdict.RUNNING, Timing(told, {}, None), None
    troubles = _troubles(case) if pod.exists else ([error] if error else [])
    timing = apply_graces(troubles, case.seen.first_seen, now, settings)
    chosen = root(item for item in timing.timed if item.due or not item.trouble.quiet)
    failed = chosen is not None and chosen.fatal
    return (Verdict.FAILED if failed else Verdict.STARTING), timing, chosen


def is_running(pod: PodFacts) -> bool:
    """Tell whether the pod is ready by its own word, native sidecars included."""
    if pod.phase != "Running" or pod.unmet_gates:
        return False
    lasting = [item for item in pod.containers if item.must_stay_ready]
    all_ready = bool(lasting) and all(item.status is StepStatus.READY for item in lasting)
    ready = pod.condition("Ready")
    if ready.true:
        # Older clusters leave native sidecars out of the condition.
        return all(item.status is StepStatus.READY for item in lasting if item.init and item.known)
    if not ready.status:
        return all_ready
    # A helper that has ended well keeps the pod from ever being ready, and may.
    return all_ready and any(item.finished_well for item in lasting)


def _troubles(case: _Case) -> list[Trouble]:
    pod, events, settings, step = case.pod, case.events, case.settings, case.step
    containers = [container_trouble(item, events, case.seen, settings) for item in pod.containers]
    probes = [
        probe_trouble(item, events, settings, RANK_PROBE + item.index) for item in pod.containers
    ]
    found: list[Trouble | None] = [
        *containers,
        *probes,
        lost_node(pod, step),
        scheduling_trouble(pod, events, settings),
        unmet_gates(pod, step),
        pod_reason(pod, step),
        *storage_troubles(pod, events, case.phases, settings, step),
        sandbox_trouble(events, step),
    ]
    known = [item for item in found if item is not None]
    last = last_event(pod, events, case.seen, settings, step)
    if last is not None and all(item.reason != last.reason for item in known):
        known.append(last)
    return known


def _failed(case: _Case) -> Trouble:
    pod, settings = case.pod, case.settings
    whole = failed_pod(pod, settings)
    if whole is not None:
        return whole
    ends = [
        failed_container(item, item.ended, settings)
        for item in pod.containers
        if item.ended is not None and item.ended.failed
    ]
    first = min(ends, key=lambda item: item.told_first, default=None)
    return first or plain_failure(pod, settings)


def _gone(case: _Case) -> Trouble:
    """The pod is gone; the cluster may have said why while it was being deleted."""
    pod = case.pod
    if pod.exists and pod.phase == "Failed":
        return _failed(case)
    stopping = stopping_trouble(pod, case.settings)
    explained = stopping.severity is Severity.WARNING or stopping.reason != "Terminating"
    return stopping if explained else gone_trouble(case.step)
