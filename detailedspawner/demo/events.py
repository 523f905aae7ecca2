"""Events as the kubelet, the scheduler and the controllers write them."""

from __future__ import annotations

import contextlib
import zlib
from datetime import datetime, timezone

from .errors import ApiError, Object
from .store import Store


def now(form: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    """Return the present time (UTC), in whole seconds."""
    return datetime.now(timezone.utc).strftime(form)


def say(store: Store, about: Object, by: str, event: Object, field: str = "") -> None:
    """Write an event (type, reason, message) about an object or its part at the path `field`.

    A repeated one is counted, but not the scheduler's, which have an `action` and a newer form.
    """
    keys = ("name", "namespace", "uid", "resourceVersion")
    involved = {"apiVersion": "v1", "kind": about["kind"]} | {k: about["metadata"][k] for k in keys}
    involved |= {"fieldPath": field} if field else {}
    digest = zlib.crc32(f"{involved['uid']} {field} {event}".encode())
    name, namespace = f"{involved['name']}.{digest:08x}", involved["namespace"]
    body: Object = {"metadata": {"name": name}, "involvedObject": involved, **event}
    body |= {"reportingComponent": by, "reportingInstance": by}
    if "action" in event:
        body["eventTime"] = now("%Y-%m-%dT%H:%M:%S.%fZ")
    else:
        body |= {"source": {"component": by}, "count": 1}
        body |= {"firstTimestamp": now(), "lastTimestamp": now()}

    def again(old: Object) -> None:
        if "action" not in event:
            old |= {"count": old["count"] + 1, "lastTimestamp": now()}

    with contextlib.suppress(ApiError):  # as while the namespace is ending: nobody misses it then
        try:
            store.update("events", namespace, name, again)
        except ApiError:
            store.create("events", namespace, body)
