"""Say of a stored pod what its page would say; pure.

What `kubectl get pod X -o json` prints is enough; with `kubectl get pod,events -o json`
the events are known too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .composing import START_ID_ANNOTATION, Around, compose
from .models import ServerState, ServerStatus, StepStatus
from .models.text import clean
from .pods import PodSettings, PodView, Severity, Verdict, judge
from .pods.reading import mapping_of, mappings_of, parse_time

_STATES = {
    Verdict.STARTING: ServerState.STARTING,
    Verdict.RUNNING: ServerState.RUNNING,
    Verdict.FAILED: ServerState.FAILED,
}
_LOOKS = {
    StepStatus.WAITING: "waiting",
    StepStatus.EXECUTING: "executing",
    StepStatus.READY: "ready",
    StepStatus.FAILED: "FAILED",
}
_INDENT = " " * 13

Document = dict[str, Any]


class NoPod(Exception):
    """What was given holds no pod; the text says in one line what it is instead."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The objects in what was given, by what they are."""

    pods: tuple[Document, ...]
    events: tuple[Document, ...]
    claims: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """One pod, as its page would show it."""

    name: str
    status: ServerStatus
    hint: str | None


def read_documents(raw: bytes, name: str | None = None) -> Documents:
    """Read JSON: a pod, or a list with pods, events and claims; `name` picks one of the pods.

    Raises NoPod if there is no pod in it.
    """
    if not raw.strip():
        raise NoPod("there is nothing to read; give it what `kubectl get pod NAME -o json` prints")
    try:
        # it knows the marks with which a shell on Windows begins a file
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise NoPod("this is no JSON; use `kubectl get pod NAME -o json`") from None
    found: dict[str, list[Document]] = {}
    for item in _objects(value):
        found.setdefault(_kind(item), []).append(item)
    pods = found.get("Pod", [])
    if not pods:
        kinds = clean(", ".join(sorted(kind for kind in found if kind)), 100)
        raise NoPod(
            f"this is no pod but: {kinds}" if kinds else "this is JSON, but no pod is in it"
        )
    if name is not None:
        pods = [pod for pod in pods if mapping_of(pod.get("metadata")).get("name") == name]
        if not pods:
            raise NoPod(f"there is no pod {clean(name, 253)} in it")
    return Documents(
        pods=tuple(pods),
        events=tuple(_core_event(item) for item in found.get("Event", [])),
        claims=tuple(found.get("PersistentVolumeClaim", [])),
    )


def _objects(value: object) -> Iterator[Document]:
    if not isinstance(value, dict):
        return
    items = value.get("items")
    kind = value.get("kind")
    if isinstance(items, list) and (kind is None or str(kind).endswith("List")):
        for item in items:
            # a list of one kind does not repeat it in its items
            named = {"kind": str(kind)[: -len("List")]} if kind not in (None, "List") else {}
            if isinstance(item, dict):
                yield {**named, **item}
    else:
        yield value


def _kind(item: Document) -> str:
    kind = item.get("kind")
    whole = bool(mappings_of(mapping_of(item.get("spec")).get("containers")))
    if isinstance(kind, str) and kind:
        return kind if kind != "Pod" or whole else "Pod without spec.containers"
    return "Pod" if whole else ""


def _core_event(item: Document) -> Document:
    """Return an event as core/v1 has it; events.k8s.io/v1 has other names."""
    if "regarding" not in item:
        return item
    return {
        **item,
        "involvedObject": item["regarding"],
        "message": item.get("note"),
        "count": item.get("deprecatedCount"),
        "lastTimestamp": item.get("deprecatedLastTimestamp"),
    }


def explain(documents: Documents, now: float, settings: PodSettings) -> tuple[Explained, ...]:
    """Say of each pod what its page would say at `now` (seconds since the epoch).

    A pod does not say since when it is in trouble: that is taken to be since the last
    change that it tells of, so a grace that began then may be over.
    """
    return tuple(_explain(pod, documents, now, settings) for pod in documents.pods)


def _explain(pod: Document, documents: Documents, now: float, settings: PodSettings) -> Explained:
    changed = max((at for at in _times(pod) if at <= now), default=now)
    view, seen = None, None
    for moment in (changed, now):
        view = judge(
            pod, documents.events, documents.claims, seen=seen, now=moment, settings=settings
        )
        seen = view.seen
        if view.verdict is Verdict.FAILED:
            # its end is what stays readable
            break
    assert view is not None  # noqa: S101 (there are two moments)
    metadata = mapping_of(pod.get("metadata"))
    annotations = mapping_of(metadata.get("annotations"))
    start_id = annotations.get(START_ID_ANNOTATION)
    began = parse_time(metadata.get("creationTimestamp"))
    status = compose(
        clean(start_id, 50) if isinstance(start_id, str) else "",
        view,
        Around(state=_state(view), began=changed if began is None else began, cancellable=False),
        0,
        moment,
    )
    names = [metadata.get("namespace"), metadata.get("name")]
    name = "/".join(clean(item, 253) for item in names if isinstance(item, str) and item)
    hint = view.problem.hint if view.problem and status.state is not ServerState.RUNNING else None
    return Explained(name or "(no name)", status, hint)


def _state(view: PodView) -> ServerState:
    if view.verdict is Verdict.STOPPING:
        # what the cluster explains was not asked for by anybody: that ends a start
        explained = view.problem is not None and view.problem.severity is not Severity.INFO
        return ServerState.FAILED if explained else ServerState.STOPPING
    return _STATES[view.verdict]


def _times(pod: Document) -> Iterator[float]:
    """List the times at which something about a pod changed, as far as it says."""
    metadata, status = mapping_of(pod.get("metadata")), mapping_of(pod.get("status"))
    found: list[object] = [metadata.get("creationTimestamp"), status.get("startTime")]
    for condition in mappings_of(status.get("conditions")):
        found.append(condition.get("lastTransitionTime"))
    for key in ("initContainerStatuses", "containerStatuses"):
        for container in mappings_of(status.get(key)):
            for state in (container.get("state"), container.get("lastState")):
                for part in mapping_of(state).values():
                    found += [mapping_of(part).get("startedAt"), mapping_of(part).get("finishedAt")]
    for value in found:
        moment = parse_time(value)
        if moment is not None:
            yield moment


def as_text(explained: Explained) -> list[str]:
    """Return the lines that a terminal shows of one pod."""
    status = explained.status
    about = f" (start {status.start_id})" if status.start_id else ""
    lines = [f"{explained.name}{about}: {status.state.value}", f"  {status.message}"]
    if explained.hint and status.state is not ServerState.STARTING:
        lines.append(f"  {explained.hint}")
    lines.append(f"  {status.ready_containers} of {status.total_containers} containers ready")
    lines.append("")
    for step in status.details:
        took = ""
        if step.started_at is not None and step.finished_at is not None:
            took = f"  ({step.finished_at - step.started_at:.0f} s)"
        lines.append(f"  {_LOOKS[step.status]:<9}  {step.step}{took}")
        if step.message and step.message != status.message:
            lines.append(f"{_INDENT}{step.message}")
            if step.hint:
                lines.append(f"{_INDENT}{step.hint}")
    # at a step, the same is said without how often it came
    told = tuple(step.message.rstrip(".") for step in status.details if step.message)
    for warning in status.warnings:
        if not (told and warning.message.startswith(told)):
            lines += ["", f"  Warning: {warning.message}"]
            lines += [f"  {warning.hint}"] if warning.hint else []
    for container in status.containers:
        if container.log_tail:
            lines += ["", f"  End of the log of {container.name}:"]
            lines += [f"    {line}" for line in container.log_tail.split("\n")]
    return lines
