"""Rules for storage, and for what the machine prepares before the first container."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from .details import detail
from .events import SANDBOX, VOLUMES, Event, newest
from .podfacts import PodFacts
from .reading import Reader
from .settings import PodSettings
from .trouble import RANK_SANDBOX, RANK_STORAGE, Trouble

_UNMOUNTED = re.compile(r"unmounted volumes=\[([^\]\s]{1,253})")
_FOR_VOLUME = re.compile(r'for volume "([^"]{1,253})"')
_MISSING = ("not found", "does not exist", "references non-existent", "type check failed")


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
            found.append(
                Trouble("ClaimLost", "spec", "claim.Lost", RANK_STORAGE, fields, step=step)
            )
    for event in events:
        if event.reason == "ProvisioningFailed" and phases.get(event.claim) != "Bound":
            fields = {"claim": f'"{event.claim}"' if event.claim else ""}
            found.append(_of_event(event, "provisioning", event.reason, fields))
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
        found.append(_of_event(event, category, key, fields))
    found = [item if item.step else replace(item, step=step) for item in found]
    # A cause that names something beats a later "timed out waiting"; sorted() is stable.
    found.reverse()
    return sorted(found, key=_vagueness)


def _of_event(event: Event, category: str, text: str, fields: dict[str, str]) -> Trouble:
    return Trouble(
        event.reason, category, text, RANK_STORAGE, fields, raw=event.message, count=event.count
    )


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
    return Trouble(
        reason=event.reason,
        category="sandbox",
        text=event.reason if device else "FailedCreatePodSandBox",
        rank=RANK_SANDBOX,
        fields={"detail": detail(event.message)},
        step=step,
        raw=event.message,
        count=event.count,
    )


def storage_note(events: Iterable[Event]) -> str | None:
    """Say what is going on with the storage while nothing is wrong."""
    for event in reversed(list(events)):
        if event.reason in ("ExternalProvisioning", "Provisioning", "WaitForFirstConsumer") or (
            event.reason == "FailedScheduling" and "olume binding" in event.message
        ):
            return "The storage is being created."
    return None
