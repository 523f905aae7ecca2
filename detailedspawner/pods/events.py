"""Events of the pod and its claims: in order, once each, and only those still true."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..models.text import clean
from .podfacts import PodFacts
from .reading import Reader

# Warnings that every start has on some clusters and that never stop one.
HARMLESS = frozenset(
    {
        "DNSConfigForming",
        "FailedToRetrieveImagePullSecret",
        "ResizeDeferred",
        "ResizeInfeasible",
        "ResizeError",
        "FailedToUpdateEndpoint",
        "FailedToUpdateEndpointSlices",
        "NodeNotSchedulable",
        "TaintManagerEviction",
    }
)
SCHEDULING = frozenset(
    {"FailedScheduling", "TriggeredScaleUp", "NotTriggerScaleUp", "FailedScaleUp"}
)
AUTOSCALER = SCHEDULING - {"FailedScheduling"}
VOLUMES = frozenset({"FailedMount", "FailedAttachVolume", "FailedMapVolume"})
SANDBOX = frozenset({"FailedCreatePodSandBox", "NetworkNotReady", "FailedPrepareDynamicResources"})
ACTIVITY = frozenset({"Pulling", "Pulled", "Created", "Started"})

# In which order a start says these; most clusters give no finer time than seconds.
_COURSE = {
    "FailedScheduling": 0,
    "NotTriggerScaleUp": 1,
    "TriggeredScaleUp": 2,
    "Scheduled": 3,
    "FailedAttachVolume": 4,
    "FailedMount": 5,
    "SuccessfulAttachVolume": 6,
    "Pulling": 7,
    "Pulled": 9,
    "Created": 10,
    "Started": 11,
    "Unhealthy": 12,
}
_MIDDLE = 8

_FIELD_PATH = re.compile(r"spec\.(?:initContainers|containers)\{(.{1,253})\}")
_QUOTED = re.compile(r'"([^"]{1,300})"')
_NAMED = re.compile(r"\b(?:Created|Started) container:? \"?([\w.-]{1,253})")
_LISTED = re.compile(r"\[([^\[\]]{0,500})\]")


@dataclass(frozen=True, slots=True)
class Event:
    """One event, however often it was repeated."""

    reason: str
    message: str
    warning: bool
    # When it was last seen; None if it does not say, which sorts first.
    at: float | None
    count: int = 1
    # Name of the container that it is about, "" if none.
    container: str = ""
    # Name of the claim that it is about, "" for events of the pod itself.
    claim: str = ""
    # The cluster's count of changes, 0 if it does not say.
    version: int = 0

    @property
    def identity(self) -> tuple[str, ...]:
        # The kubelet lists the same volumes in another order each time.
        text = _LISTED.sub(lambda found: f"[{' '.join(sorted(found[1].split()))}]", self.message)
        return (self.claim, self.container, self.reason, text)

    def before(self, other: Event) -> bool:
        """Tell whether the other one is from the same moment or later."""
        return (self.at or 0.0) <= (other.at or 0.0)


def read_events(reader: Reader, raw: object, pod: PodFacts) -> tuple[Event, ...]:
    """Return the events of this very pod and of its claims, oldest first, each once."""
    merged: dict[tuple[str, ...], Event] = {}
    counts: dict[tuple[str, ...], dict[str, int]] = {}
    for item in reader.mappings(raw, "the events"):
        event = _read_event(reader, item, pod)
        if event is None:
            continue
        identity = event.identity
        # An object that comes again is an update of itself; another one is another time.
        uid = reader.string(reader.mapping(item.get("metadata"), "metadata").get("uid"), "uid")
        times = counts.setdefault(identity, {})
        times[uid] = max(times.get(uid, 0), event.count)
        known = merged.pop(identity, None)
        if known is not None and event.before(known) and known.at != event.at:
            event = known
        merged[identity] = event
    found = (replace(e, count=sum(counts[key].values())) for key, e in merged.items())
    return tuple(sorted(found, key=_in_order))


def _in_order(event: Event) -> tuple[float, int, int]:
    """Sort key: by time; within a second by the cluster's count of changes, else by course.

    sorted() is stable: of what is equal in that, the one that came later stays later.
    """
    return (event.at or 0.0, event.version, _COURSE.get(event.reason, _MIDDLE))


def _read_event(reader: Reader, item: dict[str, Any], pod: PodFacts) -> Event | None:
    about = reader.mapping(item.get("involvedObject"), "event.involvedObject")
    kind = reader.string(about.get("kind"), "involvedObject.kind") or "Pod"
    name = reader.string(about.get("name"), "involvedObject.name")
    uid = reader.string(about.get("uid"), "involvedObject.uid")
    if kind == "PersistentVolumeClaim":
        if name not in pod.claims:
            return None
    elif kind != "Pod" or _of_another_pod(name, uid, pod):
        return None
    metadata = reader.mapping(item.get("metadata"), "event.metadata")
    series = reader.mapping(item.get("series"), "event.series")
    times = (
        series.get("lastObservedTime"),
        item.get("lastTimestamp"),
        item.get("eventTime"),
        metadata.get("creationTimestamp"),
    )
    moments = (reader.time(value, "an event's time") for value in times)
    count = reader.integer(series.get("count"), "series.count")
    if count is None:
        count = reader.integer(item.get("count"), "event.count")
    message = clean(reader.text(item.get("message"), "event.message"), 2000)
    path = reader.string(about.get("fieldPath"), "fieldPath")
    version = reader.string(metadata.get("resourceVersion"), "resourceVersion")
    return Event(
        reason=clean(reader.string(item.get("reason"), "event.reason"), 100),
        message=message,
        warning=item.get("type") == "Warning",
        at=next((moment for moment in moments if moment is not None), None),
        count=max(1, count or 1),
        container="" if kind != "Pod" else _container(path, message, pod),
        claim=name if kind == "PersistentVolumeClaim" else "",
        version=int(version) if version.isdecimal() and len(version) < 20 else 0,
    )


def _of_another_pod(name: str, uid: str, pod: PodFacts) -> bool:
    # The name alone proves nothing: a user's next pod has the same one.
    if uid and pod.uid:
        return uid != pod.uid
    return bool(name and pod.name and name != pod.name)


def _container(path: str, message: str, pod: PodFacts) -> str:
    found = _FIELD_PATH.fullmatch(path)
    if found:
        return found[1]
    # Without a path, the image or the name in the text can still tell, if only one fits.
    quoted = set(_QUOTED.findall(message))
    named = _NAMED.match(message)
    fitting = [
        item.name
        for item in pod.containers
        if (item.image and item.image in quoted) or (named and named[1] == item.name)
    ]
    return fitting[0] if len(fitting) == 1 else ""


def newest(events: Iterable[Event], reasons: frozenset[str], container: str = "") -> Event | None:
    """Return the last event with one of these reasons, of one container if named."""
    found = None
    for event in events:
        if event.reason in reasons and (not container or event.container == container):
            found = event
    return found


def current(events: tuple[Event, ...], pod: PodFacts) -> tuple[Event, ...]:
    """Drop the events that the status or a later event has overtaken."""
    scheduled = pod.scheduled or any(event.reason == "Scheduled" for event in events)
    progress = newest(events, ACTIVITY)
    attached = [event for event in events if event.reason == "SuccessfulAttachVolume"]
    ready = {item.name for item in pod.containers if item.running and item.ready}

    def stale(event: Event) -> bool:
        if event.reason in SCHEDULING:
            return scheduled
        if event.reason in VOLUMES | SANDBOX:
            if pod.sandboxed or (progress is not None and event.before(progress)):
                return True
            return event.reason in VOLUMES and any(_attaches(event, other) for other in attached)
        if event.reason == "Unhealthy":
            return event.container in ready
        if event.reason == "ProvisioningFailed":
            done = newest(
                (other for other in events if other.claim == event.claim),
                frozenset({"ProvisioningSucceeded"}),
            )
            return done is not None and event.before(done)
        return False

    return tuple(event for event in events if not stale(event))


def _attaches(failure: Event, success: Event) -> bool:
    """Tell whether this success ends that failure to attach (or to wait for it)."""
    if not failure.before(success):
        return False
    if failure.reason == "FailedAttachVolume":
        volumes = set(_QUOTED.findall(failure.message)[:1])
        return not volumes or bool(volumes & set(_QUOTED.findall(success.message)))
    # "MountVolume.SetUp failed" has a cause of its own that attaching does not heal.
    return "timed out waiting" in failure.message or "timeout expired" in failure.message
