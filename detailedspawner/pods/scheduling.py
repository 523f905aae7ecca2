"""Rules for finding a machine: what the scheduler and the autoscaler say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .details import detail
from .events import AUTOSCALER, Event, newest
from .podfacts import PodFacts
from .settings import PodSettings
from .trouble import RANK_SCHEDULING, Severity, Trouble

# Most waits for a machine are over within this; a warning would only frighten.
WARN_AFTER = 30.0

_HEADER = re.compile(r"\s*\d{1,9}/(\d{1,9}) nodes are available:\s*")
# What would not help either.
_AFTER_REFUSALS = re.compile(r",? preemption:|\.? no new claims to deallocate")
_PART = re.compile(r"(\d{1,9}) (.{1,500})", re.DOTALL)
_INSUFFICIENT = re.compile(r"Insufficient (\S{1,200})")
_MISSING_CLAIM = re.compile(r'persistentvolumeclaim "([^"]{1,253})" not found', re.IGNORECASE)
_DELETED_CLAIM = re.compile(
    r'persistentvolumeclaim "([^"]{1,253})" is being deleted', re.IGNORECASE
)

_RESOURCES = {
    "cpu": "processor time (CPU)",
    "memory": "memory",
    "ephemeral-storage": "disk space",
    "pods": "room for another server",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why some of the machines did not take the pod."""

    count: int
    text: str
    # insufficient, pods, taint, affinity, volume_zone, volume_in_use or other.
    kind: str
    resource: str = ""


# What a user can do something about comes first.
_ORDER = (
    "volume_in_use",
    "insufficient",
    "pods",
    "volume_zone",
    "taint",
    "affinity",
    "other",
)
# Machines coming and going change nothing about these.
_HOPELESS = frozenset({"affinity", "volume_zone"})


def parse_refusals(message: str) -> tuple[int, tuple[Refusal, ...]]:
    """Read "0/N nodes are available: a, b." into N and the refusals; 0 if it is not one."""
    text = _AFTER_REFUSALS.split(message[:4000], maxsplit=1)[0]
    header = _HEADER.match(text)
    if header is None:
        return 0, ()
    parts = re.split(r", (?=\d)", text[header.end() :].strip().rstrip(".,"))
    found = (_PART.match(part.strip()) for part in parts)
    refusals = tuple(_refusal(int(part[1]), part[2].rstrip(" ,.")) for part in found if part)
    return int(header[1]), refusals


def _refusal(count: int, text: str) -> Refusal:
    short = _INSUFFICIENT.search(text)
    if short:
        return Refusal(count, text, "insufficient", short[1].rstrip(".,"))
    if "Too many pods" in text:
        return Refusal(count, text, "pods", "pods")
    for kind, marks in (
        ("volume_in_use", ("ReadWriteOncePod", "already in-use")),
        ("volume_zone", ("volume node affinity conflict", "no available volume zone")),
        ("taint", ("taint", "pressure", "were unschedulable", "not ready", "unreachable")),
        ("affinity", ("affinity", "selector", "topology spread")),
    ):
        if any(mark in text for mark in marks):
            return Refusal(count, text, kind)
    return Refusal(count, text, "other")


def leading(refusals: tuple[Refusal, ...]) -> Refusal | None:
    """Return the refusal to tell: what the user can act on, then the largest count."""
    return min(refusals, key=lambda item: (_ORDER.index(item.kind), -item.count), default=None)


def scheduling_trouble(
    pod: PodFacts, events: tuple[Event, ...], settings: PodSettings
) -> Trouble | None:
    """Say why the pod has no machine yet; None if it has one or nobody complained."""
    condition = pod.condition("PodScheduled")
    complaint = not condition.true and condition.reason != ""
    # a pod never loses its machine again: then its status is what comes late
    if any(item.reason == "Scheduled" for item in events) or (pod.scheduled and not complaint):
        return None
    step = settings.kind_step("machine")
    if complaint and condition.reason == "SchedulingGated":
        gates = ", ".join(pod.scheduling_gates)
        return Trouble(
            reason="SchedulingGated",
            category="schedule_scaling",
            text="SchedulingGated",
            rank=RANK_SCHEDULING,
            fields={"gates": f" ({gates})" if gates else ""},
            severity=Severity.INFO,
            step=step,
            raw=condition.message,
        )
    scaling = newest(events, AUTOSCALER)
    if scaling is not None and scaling.reason == "TriggeredScaleUp":
        return _info("TriggeredScaleUp", "TriggeredScaleUp", scaling.message, step)
    failed = newest(events, frozenset({"FailedScheduling"}))
    if complaint:
        reason, message = condition.reason, condition.message
    elif failed is not None and failed.warning:
        reason, message = failed.reason, failed.message
    elif scaling is not None:
        reason, message = scaling.reason, scaling.message
    else:
        return None
    if pod.nominated:
        return _info(reason, "nominated", message, step)
    return _refused(pod, reason, message or (failed.message if failed else ""), scaling, settings)


def _info(reason: str, text: str, raw: str, step: str) -> Trouble:
    return Trouble(
        reason=reason,
        category="schedule_scaling",
        text=text,
        rank=RANK_SCHEDULING,
        severity=Severity.INFO,
        step=step,
        raw=raw,
    )


def _refused(
    pod: PodFacts, reason: str, message: str, scaling: Event | None, settings: PodSettings
) -> Trouble:
    machines, refusals = parse_refusals(message)
    lead = leading(refusals)
    missing, deleted = _MISSING_CLAIM.search(message), _DELETED_CLAIM.search(message)
    category = "schedule_full" if scaling is not None else "schedule_waiting"
    fields: dict[str, str] = {}
    key, storage = "Unschedulable", False
    if missing:
        category, key, storage = "schedule_hopeless", "Unschedulable.claim_missing", True
        fields["claim"] = f'"{missing[1]}"'
    elif deleted:
        category, key, storage = "schedule_hopeless", "Unschedulable.claim_deleted", True
        fields["claim"] = f'"{deleted[1]}"'
    elif "unbound immediate PersistentVolumeClaims" in message:
        category, key, storage = "schedule_waiting", "Unschedulable.claim_unbound", True
    elif lead is not None:
        # Every machine refuses for a reason that no free room would change.
        stuck = sum(item.count for item in refusals if item.kind in _HOPELESS) >= machines
        if stuck and all(item.kind in _HOPELESS for item in refusals):
            category = "schedule_hopeless"
        storage = lead.kind in ("volume_zone", "volume_in_use")
        if lead.kind == "volume_in_use":
            category = "schedule_waiting"
        key = f"Unschedulable.{lead.kind}"
        if lead.kind in ("insufficient", "pods"):
            known = lead.resource in _RESOURCES or lead.resource.startswith("hugepages")
            key = "Unschedulable.resource" if known else "Unschedulable.device"
            fields["resource"] = resource_name(lead.resource)
    if scaling is not None and not storage and key != "Unschedulable.affinity":
        # The autoscaler's word weighs more: waiting for room may be in vain.
        key = "NotTriggerScaleUp"
        fields["detail"] = detail(lead.text if lead else scaling.message)
    elif lead is not None:
        fields["detail"] = detail(lead.text)
    return Trouble(
        reason=reason,
        category=category,
        text=key,
        rank=RANK_SCHEDULING,
        fields=fields,
        step=settings.kind_step("storage" if storage and pod.claims else "machine"),
        raw=message if scaling is None else f"{message} / {scaling.message}",
        warn_after=WARN_AFTER,
    )


def resource_name(resource: str) -> str:
    """Say a resource's name in words, where one knows it."""
    if resource.lower().endswith("/gpu"):
        return f"graphics processor ({resource})"
    return _RESOURCES.get(resource, resource)
