"""One server's status: computed once per change, read by many.

A `Notifier` tells that a pod has changed. A `StatusTracker` keeps the statuses of one start in
order. Readers follow it without a computation of their own: each gets the present status at
once, then every later event in order.
"""

from __future__ import annotations

import asyncio
import html
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from .models import ServerStatus

Listener = Callable[[], None]
# as text: before Python 3.11 an adapter takes no parameter
Log: TypeAlias = "logging.Logger | logging.LoggerAdapter[Any]"

_log = logging.getLogger(__name__)

# a reader that fell behind further than this goes on at the oldest kept event
KEPT_EVENTS = 500
# events that are kept once the start is over
KEPT_AFTERWARDS = 20
# seconds in which readers that are behind can read the rest of it
READERS_TIME = 60.0

Event = dict[str, Any]


# seconds after which a task that goes on though cancelled is cancelled again
CANCEL_AGAIN = 1.0


async def let_go(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks until all have ended.

    Once may not be enough: before Python 3.12, `asyncio.wait_for` in one of them loses a
    cancel that comes at the moment in which what it waits for is done.
    """
    while left := {task for task in tasks if not task.done()}:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=CANCEL_AGAIN)


class Notifier:
    """Tells those who follow a pod, by its "namespace/name", that something changed."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = {}

    def subscribe(self, key: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change of the pod; returns what ends that."""
        self._listeners.setdefault(key, set()).add(listener)

        def unsubscribe() -> None:
            listeners = self._listeners.get(key, set())
            listeners.discard(listener)
            if not listeners:
                self._listeners.pop(key, None)

        return unsubscribe

    def notify(self, key: str) -> None:
        """Call every listener of this pod; costs nothing for the other pods."""
        for listener in tuple(self._listeners.get(key, ())):
            try:
                listener()
            except Exception:
                # one pod's trouble must not break off the watch of all
                _log.exception("Telling of a change of %s failed", key)


def to_event(status: ServerStatus, message: str, raw_event: dict[str, Any] | None = None) -> Event:
    """Return a status, and the Kubernetes event with it, as the Hub's stream has them."""
    event: Event = {
        "progress": status.progress,
        "message": message,
        "html_message": html.escape(message),
        "status": status.to_dict(),
    }
    if raw_event is not None:
        event["raw_event"] = raw_event
    return event


class StatusTracker:
    """The statuses of one start, from its first to its last."""

    def __init__(self, start_id: str) -> None:
        self.start_id = start_id
        self.status: ServerStatus | None = None
        self.closed = False
        self._present: Event = {}
        self._number = 0
        self._added = 0
        self._events: deque[Event] = deque(maxlen=KEPT_EVENTS)
        self._raw_events: deque[Event] = deque(maxlen=KEPT_EVENTS)
        self._waiters: set[asyncio.Future[None]] = set()

    def publish(self, status: ServerStatus) -> bool:
        """Take a status; returns False, and tells nobody, if it is the present one.

        The revision is given here; when it was computed does not make it another.
        """
        if self.status is not None and self._same(status):
            return False
        self._number += 1
        revision = f"{self.start_id}.{self._number}"
        self.status = replace(status, start_id=self.start_id, revision=revision)
        self._present = to_event(self.status, self.status.message)
        self._add(self._present)
        return True

    def publish_event(self, message: str, raw_event: dict[str, Any]) -> None:
        """Tell readers about a Kubernetes event, beside the present status."""
        if self.status is not None:
            event = to_event(self.status, message, raw_event)
            self._raw_events.append(event)
            self._add(event)

    def close(self) -> None:
        """End the stream of every reader once it has read all.

        What a start has said would be kept for as long as its server runs, so it is
        forgotten when they had time for it.
        """
        self.closed = True
        asyncio.get_running_loop().call_later(READERS_TIME, self._forget)
        self._wake()

    async def follow(self) -> AsyncIterator[Event]:
        """Yield the present status, the events so far, then every later event.

        Ends after `close()`. Needs a first `publish()`.
        """
        # of one moment, however slowly a reader takes them
        seen, log, present = self._added, tuple(self._raw_events), self._present
        if present:
            yield dict(present)
        # the log of a reader that comes late is as long as everyone's
        for event in log:
            yield {**event, **{key: present[key] for key in ("progress", "status")}}
        while True:
            while seen < self._added:
                oldest = self._added - len(self._events)
                seen = max(seen, oldest)
                event = self._events[seen - oldest]
                seen += 1
                yield dict(event)
            if self.closed:
                return
            await self.changed()

    def _forget(self) -> None:
        self._events = deque(list(self._events)[-KEPT_AFTERWARDS:], maxlen=KEPT_AFTERWARDS)
        self._raw_events.clear()

    async def changed(self) -> None:
        """Wait until there is something new."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _same(self, status: ServerStatus) -> bool:
        assert self.status is not None  # noqa: S101 (for mypy)
        return self.status == replace(
            status,
            start_id=self.status.start_id,
            revision=self.status.revision,
            updated_at=self.status.updated_at,
        )

    def _add(self, event: Event) -> None:
        self._events.append(event)
        self._added += 1
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
