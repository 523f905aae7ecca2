"""Rules for a machine and for storage: what scheduler, autoscaler, volumes and sandbox say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .details import detail
from .events import AUTOSCALER, SANDBOX, VOLUMES, Event, newest
from .podfacts import PodFacts
from .reading import Reader
from .settings import PodSettings
from .trouble import RANK_SANDBOX, RANK_SCHEDULING, RANK_STORAGE, Severity, Trouble

# Most waits for a machine are over within this; a warning would only frighten.
WARN_AFTER = 30.0

_HEADER = re.compile(r"\s*\d{1,9}/(\d{1,9}) nodes are available:\s*")
# What would not help either.
_AFTER_REFUSALS = re.compile(r",? preemption:|\.? no new claims to deallocate")
_PART = re.compile(r"(\d{1,9}) (.{1,500})", re.DOTALL)
_INSUFFICIENT = re.compile(r"Insufficient (\S{1,200})")
_MISSING_CLAIM = re.compile(r'persistentvolumeclaim "([^"]{1,253})" not found', re.IGNORECASE)
_DELETED_CLAIM = re.compile(r'persistentvolumeclaim "([^"]{1,253})" is being deleted', re.I)

_RESOURCES = {
    "cpu": "processor time (CPU)",
    "memory": "memory",
    "ephemeral-storage": "disk space",
    "pods": "room for another server",
}

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

_UNMOUNTED = re.compile(r"unmounted volumes=\[([^\]\s]{1,253})")
_FOR_VOLUME = re.compile(r'for volume "([^"]{1,253})"')
_MISSING = ("not found", "does not exist", "references non-existent", "type check failed")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why some of the machines did not take the pod."""

    count: int
    text: str
    # insufficient, pods, taint, affinity, volume_zone, volume_in_use or other.
    kind: str
    resource: str = ""


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
        fields = {"gates": f" ({gates})" if gates else ""}
        return _info("SchedulingGated", "SchedulingGated", condition.message, step, fields)
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


def _info(
    reason: str, text: str, raw: str, step: str, fields: Mapping[str, str] = MappingProxyType({})
) -> Trouble:
    category, severity = "schedule_scaling", Severity.INFO
    return Trouble(reason, category, text, RANK_SCHEDULING, fields, severity, step=step, raw=raw)


def _refused(
    pod: PodFacts, reason: str, message: str, scaling: Event | None, settings: PodSettings
) -> Trouble:
    machines, refusals = parse_refusals(message)
    lead = leading(refusals)
    category = "schedule_full" if scaling is not None else "schedule_waiting"
    fields: dict[str, str] = {}
    key, storage = "Unschedulable", False
    if missing := _MISSING_CLAIM.search(message):
        category, key, storage = "schedule_hopeless", "Unschedulable.claim_missing", True
        fields["claim"] = f'"{missing[1]}"'
    elif deleted := _DELETED_CLAIM.search(message):
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


def claim_phases(reader: Reader, raw: object, pod: PodFacts) -> dict[str, str]:
    """Return the phase of each of the pod's claims that is known."""
    phases = {}
    for item in reader.mappings(raw, "the claims"):
        metadata = reader.mapping(item.get("metadata"), "claim.metadata")
        name = reader.string(metadata.get("name"), "claim.name")
        status = reader.mapping(item.get("status"), "claim.status")
        if name in pod.claims:
            phases[name] = reader.string(status.get("phase"), "claim.phase")
    return phases


def claim_names(reader: Reader, raw: object) -> frozenset[str]:
    """Return the names of all the claims given."""
    found = (
        reader.string(reader.mapping(item.get("metadata"), "claim.metadata").get("name"), "name")
        for item in reader.mappings(raw, "the claims")
    )
    return frozenset(name for name in found if name)


def storage_troubles(
    pod: PodFacts,
    events: tuple[Event, ...],
    phases: dict[str, str],
    settings: PodSettings,
    current_step: str | None,
) -> list[Trouble]:
    """Say what is wrong with claims and volumes; the most telling one first."""
    step = settings.kind_step("storage") if pod.claims else current_step
    found = []
    for claim, phase in phases.items():
        if phase == "Lost":
            fields = {"claim": f'"{claim}"'}
            lost = Trouble("ClaimLost", "spec", "claim.Lost", RANK_STORAGE, fields, step=step)
            found.append(lost)
    for event in events:
        if event.reason == "ProvisioningFailed" and phases.get(event.claim) != "Bound":
            fields = {"claim": f'"{event.claim}"' if event.claim else ""}
            found.append(_of_event(event, "provisioning", event.reason, fields, step))
    volumes = [event for event in events if event.reason in VOLUMES and event.warning]
    name = _volume_name(volumes)
    for event in volumes:
        category, key = "volume_attach", event.reason
        if event.reason == "FailedAttachVolume":
            if "Multi-Attach" in event.message:
                key = "FailedAttachVolume.multi"
        elif any(mark in event.message for mark in _MISSING):
            category, key = "volume_mount", "FailedMount.missing"
        else:
            key = "FailedMount"
        volume = name if category == "volume_attach" else _volume_name([event]) or name
        fields = {"volume": f'"{volume}"' if volume else ""}
        found.append(_of_event(event, category, key, fields, step))
    # A cause that names something beats a later "timed out waiting"; sorted() is stable.
    found.reverse()
    return sorted(found, key=_vagueness)


def _of_event(
    event: Event,
    category: str,
    text: str,
    fields: Mapping[str, str],
    step: str | None,
    rank: int = RANK_STORAGE,
) -> Trouble:
    reason, raw = event.reason, event.message
    return Trouble(reason, category, text, rank, fields, step=step, raw=raw, count=event.count)


def _vagueness(trouble: Trouble) -> int:
    order = ("claim.Lost", "FailedMount.missing", "ProvisioningFailed", "FailedAttachVolume.multi")
    if trouble.text in order:
        return order.index(trouble.text)
    vague = "timed out" in trouble.raw or "timeout expired" in trouble.raw
    return len(order) + (2 if vague and trouble.reason == "FailedMount" else 1)


def _volume_name(events: Iterable[Event]) -> str:
    """Return the name that the pod gives the first volume in trouble, else the cluster's."""
    texts = [event.message for event in events]
    for pattern in (_UNMOUNTED, _FOR_VOLUME):
        for text in texts:
            found = pattern.search(text)
            if found:
                return found[1]
    return ""


def sandbox_trouble(events: tuple[Event, ...], step: str | None) -> Trouble | None:
    """Say that the machine cannot prepare network or devices."""
    event = newest((item for item in events if item.warning), SANDBOX)
    if event is None:
        return None
    device = event.reason == "FailedPrepareDynamicResources"
    text = event.reason if device else "FailedCreatePodSandBox"
    fields = {"detail": detail(event.message)}
    return _of_event(event, "sandbox", text, fields, step, RANK_SANDBOX)


def storage_note(events: Iterable[Event]) -> str | None:
    """Say what is going on with the storage while nothing is wrong."""
    for event in reversed(list(events)):
        if event.reason in ("ExternalProvisioning", "Provisioning", "WaitForFirstConsumer") or (
            event.reason == "FailedScheduling" and "olume binding" in event.message
        ):
            return "The storage is being created."
    return None
