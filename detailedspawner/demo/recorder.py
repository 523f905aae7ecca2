"""Events as kubelet, controllers and scheduler write them: a repeated one is counted."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .errors import ApiError

if TYPE_CHECKING:
    from .store import Store


def now(precise: bool = False) -> str:
    """Return the present time (UTC), in whole seconds or in microseconds."""
    time_now = datetime.now(timezone.utc)
    return time_now.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if precise else "%Y-%m-%dT%H:%M:%SZ")


class Recorder:
    """Write one component's events.

    The scheduler speaks the newer event API (`action` given): `eventTime` and a
    `series` instead of `count` and `lastTimestamp`, so readers must know both.
    """

    def __init__(self, store: Store, component: str, host: str = "", action: str = "") -> None:
        self._store = store
        self._component, self._host, self._action = component, host, action
        self._written: dict[tuple[str, ...], str] = {}

    def event(
        self, about: dict[str, Any], kind: str, reason: str, message: str, field: str = ""
    ) -> None:
        """Say something about an object; `kind` is Normal or Warning, `field` a field path."""
        meta = about["metadata"]
        key = (meta["uid"], field, kind, reason, message)
        namespace = meta.get("namespace") or "default"
        if key in self._written:
            try:
                self._store.update("events", namespace, self._written[key], self._again)
                return
            except ApiError:
                pass  # it has expired: say it anew
        name = f"{meta['name']}.{time.time_ns():x}"
        involved = {
            "apiVersion": about.get("apiVersion", "v1"),
            "kind": about.get("kind", "Pod"),
            "name": meta["name"],
            "namespace": meta.get("namespace"),
            "uid": meta["uid"],
            "resourceVersion": meta.get("resourceVersion"),
        }
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved | ({"fieldPath": field} if field else {}),
            "type": kind,
            "reason": reason,
            "message": message,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }
        if self._action:
            body |= {"eventTime": now(precise=True), "action": self._action, "source": {}}
            body |= {"firstTimestamp": None, "lastTimestamp": None}
        else:
            host = {"host": self._host} if self._host else {}
            body |= {"eventTime": None, "source": {"component": self._component} | host}
            body |= {"count": 1, "firstTimestamp": now(), "lastTimestamp": now()}
        self._store.create("events", namespace, body)
        self._written[key] = name

    def _again(self, event: dict[str, Any]) -> None:
        if self._action:
            count = event.get("series", {}).get("count", 1)
            event["series"] = {"count": count + 1, "lastObservedTime": now(precise=True)}
        else:
            event["count"] += 1
            event["lastTimestamp"] = now()
