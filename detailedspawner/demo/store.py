"""The objects of the stand-in, with versions and watches, as the API server and etcd keep them.

A stored object is never changed: every change stores a new one, and callers get a copy.
"""

from __future__ import annotations

import asyncio
import copy
import math
import re
import time
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timezone
from typing import Any

from .defaults import RESOURCES, admit, check_quota
from .errors import ApiError, Object, bad_request, refusal

Matches = Callable[[Object], bool]
Objects = list[Object]
Key = tuple[str, str, str]  # resource, namespace and name
BOOKMARK_SECONDS = 60.0
_LONGEST_GRACE = 10**9  # in seconds, so that a time stays one that can be written


def selected(labels: str | None = None, fields: str | None = None) -> Matches:
    """Return what tells whether an object matches `key=value,other!=value`; `ApiError` 400."""
    terms = []
    for selector, where in ((labels, ["metadata", "labels"]), (fields, [])):
        for term in filter(None, (selector or "").split(",")):
            match = re.fullmatch(r"([\w./-]+)(==?|!=)([^=!]*)", term.strip())
            if match is None:
                raise bad_request(f"unable to parse requirement: {term!r}")
            path = [*where, match[1]] if where else match[1].split(".")
            terms.append((path, match[3], match[2] != "!="))

    def at(found: Any, path: list[str]) -> str:
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return "" if found is None else str(found)

    return lambda obj: all((at(obj, path) == value) == equal for path, value, equal in terms)


class Store:
    """Objects by resource (plural name), namespace and name; for one event loop.

    `version` counts the changes. A watch can go back over the last `history` of them.
    """

    def __init__(self, history: int = 2000, clock: Callable[[], float] = time.time) -> None:
        self.version = 0
        self._objects: dict[Key, Object] = {}
        self._history: list[tuple[Key, Object | None, Object | None]] = []  # before and after
        self._limit, self._clock = history, clock
        self._changed = asyncio.Event()
        self.create("namespaces", None, {"metadata": {"name": "default"}})

    def create(self, kind: str, namespace: str | None, body: Object) -> Object:
        """Store a new object, filled in as the API server does, unless that would refuse it."""
        own = {"uid": str(uuid.uuid4()), "creationTimestamp": self._timestamp()}
        obj = admit(kind, body, own | ({"namespace": namespace} if namespace else {}))
        name = obj["metadata"]["name"]
        if namespace:
            if _ends(self.get("namespaces", None, namespace)):
                text = f"is forbidden: unable to create new content in namespace {namespace}"
                text += " because it is being terminated"
                raise refusal(403, "Forbidden", kind, name, text)
            for quota in self.list("resourcequotas", namespace):
                check_quota(kind, obj, quota, self.list(kind, namespace))
        if (kind, namespace or "", name) in self._objects:
            raise refusal(409, "AlreadyExists", kind, name, "already exists")
        self._commit(kind, None, obj)
        if kind == "namespaces":
            self.create("serviceaccounts", name, {"metadata": {"name": "default"}})
        if "ownerReferences" in obj["metadata"]:
            self._collect_garbage()
        return copy.deepcopy(obj)

    def get(self, kind: str, namespace: str | None, name: str) -> Object:
        """Return one object; `ApiError` 404 if there is none."""
        if found := self._objects.get((kind, namespace or "", name)):
            return copy.deepcopy(found)
        raise refusal(404, "NotFound", kind, name, "not found")

    def list(self, kind: str, namespace: str | None = None, matches: Matches = bool) -> Objects:
        """Return the objects of a namespace, or of all, that match, by name."""
        keys = [k for k in sorted(self._objects) if k[0] == kind and namespace in (None, k[1])]
        return copy.deepcopy([self._objects[key] for key in keys if matches(self._objects[key])])

    def update(
        self, kind: str, namespace: str | None, name: str, change: Callable[[Object], Any]
    ) -> Object:
        """Let `change` edit a copy of an object, and store that as a new version if it differs."""
        old, new = self.get(kind, namespace, name), self.get(kind, namespace, name)
        change(new)
        self._settle(kind, old, new)
        return copy.deepcopy(new)

    def delete(
        self, kind: str, namespace: str | None, name: str, grace: int | None = None, uid: str = ""
    ) -> Object:
        """Remove an object, or mark it as ending: a pod on a node, and what has finalizers.

        `grace` is in seconds, by default the pod's own; 0 removes a pod at once.
        With another `uid` than the object's, nothing is deleted (`ApiError` 409).
        """
        found = self.get(kind, namespace, name)
        if uid not in ("", own := found["metadata"]["uid"]):
            text = f"the UID in the precondition ({uid}) does not match the UID in record ({own})"
            raise refusal(409, "Conflict", kind, name, f"cannot be deleted: {text}")
        deleted = self._end(kind, found, grace)
        self._collect_garbage()
        return deleted

    async def watch(
        self,
        kind: str,
        namespace: str | None = None,
        since: int | None = None,
        matches: Matches = bool,
        seconds: float = math.inf,
    ) -> AsyncIterator[tuple[str, Object]]:
        """Yield all changes after a version; without one, first every object as ADDED.

        Ends with `ApiError` 410 if changes are forgotten, or after some seconds; when these are
        given, BOOKMARKs say how far it has come.
        """
        end, mark = time.monotonic() + seconds, {"kind": RESOURCES[kind], "apiVersion": "v1"}
        if not since:
            since = self.version
            for obj in self.list(kind, namespace, matches):
                yield "ADDED", obj
            note = {"annotations": {"k8s.io/initial-events-end": "true"}}
            if seconds < math.inf:
                yield "BOOKMARK", {**mark, "metadata": {"resourceVersion": str(since), **note}}
        while True:
            forgotten = self.version - len(self._history)
            if since < forgotten:
                raise ApiError(410, "Expired", f"too old resource version: {since} ({forgotten})")
            recent, changed = self._history[since - forgotten :], self._changed
            since = max(since, self.version)  # a client may be ahead of a server that is new
            for key, before, after in recent:
                was, is_now = (obj is not None and matches(obj) for obj in (before, after))
                if key[0] == kind and namespace in (None, key[1]) and (was or is_now):
                    event = "DELETED" if not is_now else "MODIFIED" if was else "ADDED"
                    yield event, copy.deepcopy(after or before or {})
            left = end - time.monotonic()
            waiting = asyncio.ensure_future(changed.wait())
            try:
                done, _ = await asyncio.wait({waiting}, timeout=min(left, BOOKMARK_SECONDS))
            finally:
                waiting.cancel()
            if not done and seconds < math.inf:
                yield "BOOKMARK", {**mark, "metadata": {"resourceVersion": str(since)}}
                if left <= BOOKMARK_SECONDS:
                    return

    def _end(self, kind: str, old: Object, grace: int | None = None) -> Object:
        new, metadata = copy.deepcopy(old), old["metadata"]
        seconds = _grace_period(old, grace) if kind == "pods" else 0
        if metadata.get("deletionGracePeriodSeconds", math.inf) > seconds:  # it can only shrink
            ending = {"deletionTimestamp": self._timestamp(seconds)}
            new["metadata"] |= ending | {"deletionGracePeriodSeconds": seconds}
            if kind == "namespaces":
                new["status"]["phase"] = "Terminating"
            self._settle(kind, old, new)
        return copy.deepcopy(new)

    def _settle(self, kind: str, old: Object, new: Object) -> None:
        """Store a change, or remove an object that has ended and that nothing holds."""
        metadata = new["metadata"]
        content = kind == "namespaces" and any(key[1] == metadata["name"] for key in self._objects)
        held = content or metadata.get("finalizers")
        if metadata.get("deletionGracePeriodSeconds") == 0 and not held:
            self._commit(kind, new, None)
        elif new != old:
            self._commit(kind, old, new)

    def _commit(self, kind: str, before: Object | None, after: Object | None) -> None:
        self.version += 1
        latest: Object = after or before or {}
        metadata = latest["metadata"]
        metadata["resourceVersion"] = str(self.version)
        key = (kind, metadata.get("namespace", ""), metadata["name"])
        self._objects.pop(key, None)
        if after:
            self._objects[key] = after
        self._history = [*self._history, (key, before, after)][-self._limit :]
        self._changed.set()
        self._changed = asyncio.Event()

    def _collect_garbage(self) -> None:
        """Delete what has lost its owners or is in a namespace that ends, and then that."""
        garbage: Any = [None]
        while garbage:
            items = list(self._objects.items())
            alive = {obj["metadata"]["uid"] for _, obj in items}
            ending = {k[2] for k, obj in items if k[0] == "namespaces" and _ends(obj)}
            garbage = [(k[0], obj) for k, obj in items if k[1] in ending or _orphan(obj, alive)]
            garbage = [(kind, obj) for kind, obj in garbage if not _ends(obj)]
            for kind, obj in garbage:
                self._end(kind, obj)
        for name in ending:
            namespace = self.get("namespaces", None, name)
            self._settle("namespaces", namespace, copy.deepcopy(namespace))

    def _timestamp(self, ahead: float = 0) -> str:
        moment = datetime.fromtimestamp(self._clock() + ahead, timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _ends(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _orphan(obj: Object, alive: set[str]) -> bool:
    owners = obj["metadata"].get("ownerReferences", ())
    return bool(owners) and not any(owner.get("uid") in alive for owner in owners)


def _grace_period(pod: Object, asked: int | None) -> int:
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    own: int = pod["spec"]["terminationGracePeriodSeconds"]
    return own if asked is None else min(asked, _LONGEST_GRACE)
