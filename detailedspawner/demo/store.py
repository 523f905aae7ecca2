"""The objects of the stand-in, with versions and watches, as the API server and etcd keep them.

A stored object is never changed: every change stores a new one. What callers
get is a copy, so nothing they do to it reaches the store.
"""

from __future__ import annotations

import asyncio
import copy
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timezone
from typing import NamedTuple

from .admission import check_quota, validate
from .defaults import RESOURCES, fill
from .errors import ApiError, Object, bad_request, conflict, forbidden, not_found
from .selectors import Predicate, compile_selectors

__all__ = ["ApiError", "Store"]

Objects = list[Object]
Events = list[tuple[str, Object]]
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words come up


class _Change(NamedTuple):
    kind: str
    before: Object | None
    after: Object | None

    @property
    def obj(self) -> Object:
        return self.after or self.before or {}


class Store:
    """Objects by resource (plural name), namespace and name; for one event loop.

    `version` counts the changes. A watch can go back over the last `history` of them.
    """

    def __init__(self, history: int = 10_000, clock: Callable[[], float] = time.time) -> None:
        self.version = 0
        self._objects: dict[str, dict[tuple[str, str], Object]] = {kind: {} for kind in RESOURCES}
        self._history: list[_Change] = []
        self._limit = history
        self._clock = clock
        self._changed = asyncio.Event()
        self.create("namespaces", None, {"metadata": {"name": "default"}})

    def create(self, kind: str, namespace: str | None, body: Object) -> Object:
        """Store a new object, filled in as the API server does, unless that would refuse it."""
        expected = RESOURCES[kind].kind
        obj = {"kind": expected, "apiVersion": "v1", **copy.deepcopy(body)}
        if obj["kind"] != expected:
            text = f'{obj["kind"]} in version "v1" cannot be handled as a {expected}'
            raise bad_request(text)
        metadata = obj["metadata"] = dict(obj.get("metadata") or {})
        if metadata.get("generateName") and not metadata.get("name"):
            suffix = "".join(random.choices(_SUFFIX_LETTERS, k=5))  # noqa: S311 - a name, no secret
            metadata["name"] = metadata["generateName"] + suffix
        name = metadata.setdefault("name", "")
        if namespace is not None:
            self._check_namespace(kind, namespace, metadata)
            metadata["namespace"] = namespace
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": self._timestamp()}
        fill(kind, obj)
        if kind == "pods":
            self._check_account(obj)
        validate(kind, obj)
        for quota in self._within("resourcequotas", namespace or ""):
            check_quota(kind, obj, quota, self._within(kind, namespace))
        if old := self._objects[kind].get((namespace or "", name)):
            prefix = "object is being deleted: " if "deletionTimestamp" in old["metadata"] else ""
            message = f'{prefix}{kind} "{name}" already exists'
            raise ApiError(409, "AlreadyExists", message, {"name": name, "kind": kind})
        self._commit(kind, None, obj)
        if kind == "namespaces":
            self.create("serviceaccounts", name, {"metadata": {"name": "default"}})
        if metadata.get("ownerReferences"):
            self._collect_garbage()
        return copy.deepcopy(obj)

    def get(self, kind: str, namespace: str | None, name: str) -> Object:
        """Return one object; `ApiError` 404 if there is none."""
        return copy.deepcopy(self._find(kind, namespace, name))

    def list(
        self,
        kind: str,
        namespace: str | None = None,
        labels: str | None = None,
        fields: str | None = None,
    ) -> Objects:
        """Return the objects of a namespace, or of all, that both selectors match, by name."""
        matches = compile_selectors(labels, fields, RESOURCES[kind].fields)
        found = [obj for obj in self._within(kind, namespace) if matches(obj)]
        return copy.deepcopy(sorted(found, key=_key))

    def update(
        self, kind: str, namespace: str | None, name: str, change: Callable[[Object], None]
    ) -> Object:
        """Let `change` edit a copy of an object, and store that as a new version if it differs."""
        old = self._find(kind, namespace, name)
        new = copy.deepcopy(old)
        change(new)
        if kind == "pods" and {**new["spec"], "nodeName": ""} != {**old["spec"], "nodeName": ""}:
            new["metadata"]["generation"] += 1  # a node is not a new wish of the pod's author
        self._settle(kind, old, new)
        return copy.deepcopy(new)

    def delete(
        self,
        kind: str,
        namespace: str | None,
        name: str,
        grace: int | None = None,
        uid: str | None = None,
    ) -> Object:
        """Remove an object, or mark it as ending: a pod on a node, and what has finalizers.

        `grace` is in seconds, by default the pod's own; 0 removes a pod at once.
        With another `uid` than the object's, nothing is deleted (`ApiError` 409).
        """
        old = self._find(kind, namespace, name)
        own = old["metadata"]["uid"]
        if uid not in (None, own):
            why = f"the UID in the precondition ({uid}) does not match the UID in record ({own})."
            why += " The object might have been deleted and then recreated"
            raise conflict(RESOURCES[kind].kind, name, why)
        seconds = _grace_period(kind, old, grace)
        if old["metadata"].get("deletionGracePeriodSeconds", seconds + 1) <= seconds:
            return copy.deepcopy(old)  # a second request can only shorten the time
        new = copy.deepcopy(old)
        new["metadata"]["deletionTimestamp"] = self._timestamp(seconds)
        new["metadata"]["deletionGracePeriodSeconds"] = seconds
        if kind == "pods":
            new["metadata"]["generation"] += 1
        if kind == "namespaces":
            new["status"]["phase"] = "Terminating"
        self._settle(kind, old, new)
        if kind == "namespaces":
            self._delete_all(lambda obj: obj["metadata"].get("namespace") == name)
        return copy.deepcopy(new)

    def changes(self, kind: str, since: int, namespace: str | None, matches: Predicate) -> Events:
        """Return what happened after version `since`; `ApiError` 410 if that is forgotten."""
        forgotten = self.version - len(self._history)
        if since < forgotten:
            message = f"too old resource version: {since} ({forgotten})"
            raise ApiError(410, "Expired", message)
        events: Events = []
        for version, change in enumerate(self._history[since - forgotten :], since + 1):
            if change.kind != kind or namespace not in (None, _key(change.obj)[0]):
                continue
            before = change.before is not None and matches(change.before)
            if change.after is not None and matches(change.after):
                events.append(("MODIFIED" if before else "ADDED", copy.deepcopy(change.after)))
            elif change.before is not None and before:
                gone = copy.deepcopy(change.before)
                gone["metadata"]["resourceVersion"] = str(version)
                events.append(("DELETED", gone))
        return events

    async def newer(self, version: int) -> None:
        """Wait until there is something newer than a version."""
        while self.version <= version:
            await self._changed.wait()

    async def watch(
        self,
        kind: str,
        namespace: str | None = None,
        since: int | None = None,
        labels: str | None = None,
        fields: str | None = None,
    ) -> AsyncIterator[tuple[str, Object]]:
        """Yield all changes after `since`; without one, first every object as ADDED. Never ends."""
        matches = compile_selectors(labels, fields, RESOURCES[kind].fields)
        if since is None:
            since = self.version
            for obj in self.list(kind, namespace, labels, fields):
                yield "ADDED", obj
        while True:
            events, since = self.changes(kind, since, namespace, matches), self.version
            for event in events:
                yield event
            await self.newer(since)

    def _find(self, kind: str, namespace: str | None, name: str) -> Object:
        try:
            return self._objects[kind][namespace or "", name]
        except KeyError:
            raise not_found(kind, name) from None

    def _within(self, kind: str, namespace: str | None) -> Objects:
        objects = self._objects[kind].items()
        return [obj for (within, _), obj in objects if namespace in (None, within)]

    def _check_namespace(self, kind: str, namespace: str, metadata: Object) -> None:
        if (metadata.get("namespace") or namespace) != namespace:
            text = "the namespace of the provided object does not match the namespace sent on the"
            raise bad_request(f"{text} request")
        if "deletionTimestamp" in self._find("namespaces", None, namespace)["metadata"]:
            why = f"unable to create new content in namespace {namespace}"
            why += " because it is being terminated"
            raise forbidden(kind, metadata["name"], why)

    def _check_account(self, pod: Object) -> None:
        namespace, name = _key(pod)
        account = pod["spec"]["serviceAccountName"]
        if (namespace, account) not in self._objects["serviceaccounts"]:
            why = f"error looking up service account {namespace}/{account}"
            raise forbidden("pods", name, f'{why}: serviceaccount "{account}" not found')

    def _settle(self, kind: str, old: Object, new: Object) -> None:
        """Store a change, or remove an object that has ended and that nothing holds."""
        metadata = new["metadata"]
        held = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds") != 0
        if kind == "namespaces":
            held = held or any(self._within(plural, metadata["name"]) for plural in RESOURCES)
        if not held:
            self._commit(kind, new, None)
            self._collect_garbage()
            if namespace := self._objects["namespaces"].get(("", metadata.get("namespace", ""))):
                self._settle("namespaces", namespace, copy.deepcopy(namespace))
        elif new != old:
            self._commit(kind, old, new)

    def _commit(self, kind: str, before: Object | None, after: Object | None) -> None:
        self.version += 1
        change = _Change(kind, before, after)
        change.obj["metadata"]["resourceVersion"] = str(self.version)
        if after is None:
            del self._objects[kind][_key(change.obj)]
        else:
            self._objects[kind][_key(change.obj)] = after
        self._history.append(change)
        del self._history[: -self._limit]
        self._changed.set()
        self._changed = asyncio.Event()

    def _collect_garbage(self) -> None:
        """Delete what has lost all its owners."""
        everything = [obj for kind in RESOURCES for obj in self._within(kind, None)]
        alive = {obj["metadata"]["uid"] for obj in everything}

        def is_orphan(obj: Object) -> bool:
            owners = obj["metadata"].get("ownerReferences")
            return bool(owners) and not any(owner["uid"] in alive for owner in owners)

        self._delete_all(is_orphan)

    def _delete_all(self, condition: Callable[[Object], bool]) -> None:
        for kind, objects in self._objects.items():
            for namespace, name in [key for key, obj in objects.items() if condition(obj)]:
                if (namespace, name) in objects:  # not yet gone together with an earlier one
                    self.delete(kind, namespace, name)

    def _timestamp(self, ahead: float = 0) -> str:
        moment = datetime.fromtimestamp(self._clock() + ahead, timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _grace_period(kind: str, obj: Object, asked: int | None) -> int:
    if kind != "pods" or not obj["spec"].get("nodeName"):
        return 0
    if obj["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    own: int = obj["spec"]["terminationGracePeriodSeconds"]
    return own if asked is None else max(asked, 0)
