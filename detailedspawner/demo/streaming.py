"""One watch over HTTP: events as lines of JSON, and bookmarks that say how far it has come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from .defaults import RESOURCES
from .errors import ApiError, Object
from .parsing import Query, Target
from .selectors import compile_selectors
from .store import Store

BOOKMARK_SECONDS = 60.0
WATCH_SECONDS = 1800  # without timeoutSeconds


class WatchStream:
    """Writes what happens to a target's objects, until the time is over.

    A watch from version 0 begins with all objects, and with the bookmark that says so.
    """

    def __init__(
        self, store: Store, target: Target, query: Query, render: Callable[[Object], Object]
    ) -> None:
        self._store, self._target, self._query, self._render = store, target, query, render
        kind = RESOURCES[target.kind]
        self._head = {"kind": kind.kind, "apiVersion": "v1"}
        self._matches = compile_selectors(query.labels, query.fields, kind.fields)

    async def run(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write the events and return at the end of the time, or after an ERROR event (410)."""
        store, query, (kind, namespace, *_) = self._store, self._query, self._target

        async def send(event: str, obj: Object) -> None:
            await write(json.dumps({"type": event, "object": obj}).encode() + b"\n")

        async def bookmark(position: int, **more: Object) -> None:
            if query.bookmarks:
                metadata: Object = {"resourceVersion": str(position), **more}
                await send("BOOKMARK", {**self._head, "metadata": metadata})

        loop = asyncio.get_running_loop()
        deadline = loop.time() + (query.timeout or WATCH_SECONDS)
        position = query.version
        if position == 0:
            objects = store.list(kind, namespace, query.labels, query.fields)
            position = store.version
            for obj in objects:
                await send("ADDED", self._render(obj))
            await bookmark(position, annotations={"k8s.io/initial-events-end": "true"})
        while True:
            try:
                events = store.changes(kind, position, namespace, self._matches)
            except ApiError as error:
                await send("ERROR", error.to_status())
                return
            # A client may be ahead of a server that has restarted: it has to wait.
            position = max(position, store.version)
            for event, obj in events:
                await send(event, self._render(obj))
            left = deadline - loop.time()
            try:
                await asyncio.wait_for(store.newer(position), min(left, BOOKMARK_SECONDS))
            except asyncio.TimeoutError:
                await bookmark(position)
                if left <= BOOKMARK_SECONDS:
                    return
