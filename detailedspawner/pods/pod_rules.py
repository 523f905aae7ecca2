"""Rules for the pod as a whole: its end, its phase, its gates and its last event."""

from __future__ import annotations

from .container_rules import PROBE_WINDOW, container_trouble, crash_text, log_tail
from .containers import ContainerFacts, Ending
from .details import exit_meaning, times
from .events import HARMLESS, SANDBOX, SCHEDULING, VOLUMES, Event
from .podfacts import PodFacts
from .settings import PodSettings
from .trouble import RANK_EVENT, RANK_GATES, RANK_NODE, RANK_POD_REASON, Seen, Severity, Trouble

# Reasons of a pod, or of its DisruptionTarget condition, to the key of the text.
_ENDS = {
    "Preempting": "preempted",
    "Preempted": "preempted",
    "PreemptionByScheduler": "preempted",
    "NodeAffinity": "rejected",
    "NodePorts": "rejected",
    "UnexpectedAdmissionError": "rejected",
    "TopologyAffinityError": "rejected",
    "AppArmor": "rejected",
    "Terminated": "shutdown",
    "NodeShutdown": "shutdown",
    "Shutdown": "shutdown",
    "NodeLost": "NodeLost",
    "DeletionByTaintManager": "NodeLost",
    "DeletionByPodGC": "NodeLost",
    "DeadlineExceeded": "DeadlineExceeded",
}
# Events that have rules of their own.
_TOLD_ELSEWHERE = SCHEDULING | VOLUMES | SANDBOX | {"ProvisioningFailed"}
_EVICTIONS = frozenset({"Evicted", "EvictionByEvictionAPI", "TerminationByKubelet"})


def _end_text(reason: str, message: str) -> str | None:
    """Return the text for a reason that ends a pod; None if it is not one."""
    if reason in _EVICTIONS:
        # a full machine also names who uses more than was asked for: that is no limit
        if "exceed" in message and "limit" in message and "low on resource" not in message:
            return "Evicted.limit"
        if "ephemeral" in message or "storage" in message or "disk" in message:
            return "Evicted.storage"
        return "Evicted.memory" if "memory" in message else "Evicted"
    if reason.startswith("OutOf"):
        return "rejected"
    return _ENDS.get(reason)


def failed_pod(pod: PodFacts, settings: PodSettings) -> Trouble | None:
    """Phase Failed with a reason of its own: its containers' ends are consequences."""
    if not pod.reason:
        return None
    text = _end_text(pod.reason, pod.message) or "PodFailed"
    return Trouble(
        reason=pod.reason,
        category="gone",
        text=text,
        step=settings.kind_step("machine") if text == "rejected" else _session(pod, settings),
        raw=pod.message,
    )


def _session(pod: PodFacts, settings: PodSettings) -> str:
    """Return the step of the main container: what ends a whole pod ends that."""
    main = pod.main
    return settings.container_step(main.name, main=True) if main else settings.kind_step("session")


def plain_failure(pod: PodFacts, settings: PodSettings) -> Trouble:
    """Phase Failed, and nothing says why."""
    return Trouble(
        reason="PodFailed",
        category="gone",
        text="PodFailed",
        step=_session(pod, settings),
        raw=pod.message,
    )


def failed_container(facts: ContainerFacts, ending: Ending, settings: PodSettings) -> Trouble:
    """A container's end that nothing comes after, since the whole pod is over."""
    code = ending.exit_code
    meaning = exit_meaning(code)
    key = crash_text(code) if ending.failed else "ended"
    if ending.out_of_memory:
        key = "OOMKilled"
    return Trouble(
        reason=ending.label,
        category="gone",
        text=key,
        rank=facts.index,
        fields={
            "times": times(facts.restarts + 1),
            "code": str(code),
            "meaning": f" ({meaning})" if meaning else "",
            "limit": f" ({facts.memory_limit})" if facts.memory_limit else "",
        },
        container=facts,
        step=settings.container_step(facts.name, facts.main),
        raw=ending.message,
        exit_code=code,
        log_tail=log_tail(facts, ending, settings),
        out_of_memory=ending.out_of_memory,
        completed=not ending.failed,
    )


def succeeded_pod(pod: PodFacts, settings: PodSettings, step: str | None) -> Trouble:
    """Phase Succeeded: the session ended before anybody could use it."""
    main = pod.main
    if main is None:
        return Trouble(reason="Completed", category="gone", text="ended", step=step)
    return failed_container(main, main.ended or Ending(), settings)


def stopping_trouble(pod: PodFacts, settings: PodSettings) -> Trouble:
    """The pod is being deleted: by whom, if the cluster says so."""
    disruption = pod.condition("DisruptionTarget")
    reason, message = "Terminating", ""
    if disruption.true and disruption.reason:
        reason, message = disruption.reason, disruption.message
    elif _end_text(pod.reason, pod.message):
        reason, message = pod.reason, pod.message
    return Trouble(
        reason=reason,
        category="gone",
        text=_end_text(reason, message) or ("PodFailed" if message else "Terminating"),
        # What the cluster explains was not asked for by anybody.
        severity=Severity.WARNING if message else Severity.INFO,
        step=None if reason == "Terminating" else _session(pod, settings),
        raw=message,
    )


def gone_trouble(step: str | None) -> Trouble:
    """The pod was there and is there no more."""
    return Trouble(reason="PodDeleted", category="gone", text="gone", step=step)


def lost_node(pod: PodFacts, step: str | None) -> Trouble | None:
    """Phase Unknown: the machine has not reported for a while."""
    if pod.phase != "Unknown":
        return None
    return Trouble(
        reason="Unknown",
        category="node",
        text="Unknown",
        rank=RANK_NODE,
        step=step,
        raw=pod.message,
    )


def unmet_gates(pod: PodFacts, step: str | None) -> Trouble | None:
    """All containers are ready, but something outside has not let the pod be ready."""
    ready = pod.condition("Ready")
    all_ready = pod.total > 0 and pod.ready == pod.total
    if not all_ready or ready.true or not ready.reason:
        return None
    gates = ", ".join(pod.unmet_gates)
    return Trouble(
        reason=ready.reason,
        category="event",
        text="gates",
        rank=RANK_GATES,
        fields={"gates": gates or "the cluster"},
        severity=Severity.INFO,
        step=step,
        raw=ready.message,
    )


def pod_reason(pod: PodFacts, step: str | None) -> Trouble | None:
    """The pod has a reason without having failed."""
    if not pod.reason:
        return None
    return Trouble(
        reason=pod.reason,
        category="event",
        text=_end_text(pod.reason, pod.message) or "event",
        rank=RANK_POD_REASON,
        step=step,
        raw=pod.message,
    )


def last_event(
    pod: PodFacts,
    events: tuple[Event, ...],
    seen: Seen,
    settings: PodSettings,
    step: str | None,
) -> Trouble | None:
    """The newest event is a warning that no other rule knows about."""
    told = [event for event in events if event.reason not in HARMLESS]
    if not told or not told[-1].warning or told[-1].reason in _TOLD_ELSEWHERE:
        return None
    event = told[-1]
    facts = next((item for item in pod.containers if item.name == event.container), None)
    own = settings.container_step(facts.name, facts.main) if facts else step
    if event.reason == "Unhealthy":
        return Trouble(
            reason="Unhealthy",
            category="probe",
            text="Unhealthy",
            rank=RANK_EVENT,
            step=own,
            raw=event.message,
            container=facts,
            warn_after=PROBE_WINDOW,
        )
    if facts is not None and container_trouble(facts, events, seen, settings):
        # The status says the same, and more.
        return None
    return Trouble(
        reason=event.reason or "Warning",
        category="event",
        text="event",
        rank=RANK_EVENT,
        step=own,
        raw=event.message,
        count=event.count,
    )
