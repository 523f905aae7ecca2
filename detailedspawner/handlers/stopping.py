"""Ending a server once, however many requests ask for it, and what both ways to start it share."""

from __future__ import annotations

import asyncio
import time
import weakref
from typing import Any

from tornado import web

from ..hub import remove_server, spawn_future
from ..tracking import CANCEL_AGAIN

# seconds between two looks where nothing tells of a change
POLL = 0.05
# seconds that a request waits for a cancelled start to let go
INTERRUPT_WAIT = 2.0

# seconds from the request on in which a start that succeeds or fails is answered as such,
# and how many of them it has at least where the Hub itself was slow
QUICK = 0.2
QUICK_AT_LEAST = 0.05
# seconds that a new start waits for the end of the one before
RESTART_WAIT = 10.0

_endings: weakref.WeakKeyDictionary[Any, Ending] = weakref.WeakKeyDictionary()
# the requests that wait for the start of a server
_requests: weakref.WeakKeyDictionary[Any, set[asyncio.Future[Any]]] = weakref.WeakKeyDictionary()


class Ending:
    """What ends one server: the cancel of its start, its stop and its removal.

    Made by the first request, joined by those that come meanwhile.
    """

    def __init__(self, handler: Any, user: Any, spawner: Any) -> None:
        # whether the server is to be removed when it has stopped
        self.remove = False
        self._handler = handler
        self._user = user
        self._spawner = spawner
        self.interrupted = asyncio.ensure_future(self._interrupt())
        self.done = asyncio.ensure_future(self._end())

    @classmethod
    def of(cls, spawner: Any) -> Ending | None:
        """Return what ends a server now, None if nothing does."""
        ending = _endings.get(spawner)
        return ending if ending is not None and not ending.done.done() else None

    @classmethod
    def begin(cls, handler: Any, user: Any, spawner: Any) -> Ending:
        """End a server, or join what ends it already."""
        ending = cls.of(spawner)
        if ending is None:
            ending = _endings[spawner] = cls(handler, user, spawner)
            # it holds the spawner, so the weak key alone would not let go
            ending.done.add_done_callback(lambda _: _endings.pop(spawner, None))
        return ending

    async def wait(self, interrupt: float, stop: float) -> bool:
        """Wait so many seconds for the cancel and for the rest; whether all has ended.

        Raises what kept the server from being ended.
        """
        await asyncio.wait({self.interrupted}, timeout=interrupt)
        await asyncio.wait({self.done}, timeout=stop)
        if not self.done.done():
            return False
        self.done.result()
        return True

    async def _interrupt(self) -> None:
        """Cancel a pending start, and wait until it or a check has let go."""
        spawner = self._spawner
        if spawner.pending not in ("spawn", "check"):
            return
        self._handler.log.warning("Interrupting server %s, pending %s", self._name, spawner.pending)
        self._announce()
        while spawner.pending in ("spawn", "check", "stop"):
            future = spawn_future(spawner)
            if future is None or future.done():
                await asyncio.sleep(POLL)
                continue
            if spawner.pending == "spawn":
                # one that failed meanwhile cleans up by itself
                future.cancel()
            await asyncio.wait({future}, timeout=CANCEL_AGAIN)
        for request in tuple(_requests.get(spawner, ())):
            # tornado before 6.6 does not tell it that what it waits for was cancelled
            request.cancel()

    def _announce(self) -> None:
        cancel_start = getattr(self._spawner, "cancel_start", None)
        if cancel_start is None:
            return
        try:
            cancel_start()
        except Exception:
            self._handler.log.exception("Cannot mark the start of %s as cancelled", self._name)

    async def _end(self) -> None:
        spawner, user, handler = self._spawner, self._user, self._handler
        was_running = spawner.ready
        await self.interrupted
        if was_running:
            # include notify, so that a server that died is noticed
            await spawner.poll_and_notify()
        # no await between this look and the mark that the Hub sets in stop_single_user
        if self._is_there() and not spawner.pending and spawner.server is not None:
            stopped = await handler.stop_single_user(user, spawner.name)
            await asyncio.wait({stopped})
        while self._is_there() and spawner.pending == "stop":
            await asyncio.sleep(POLL)
        if self._is_there() and not spawner.pending and spawner.server is not None:
            # the Hub says nothing of it
            handler.log.error("Server %s could not be stopped", self._name)
            return
        if self.remove and not spawner.active and spawner.name in user.orm_spawners:
            handler.log.info("Deleting server %s", self._name)
            await remove_server(user, spawner)

    def _is_there(self) -> bool:
        return self._user.spawners.get(self._spawner.name) is self._spawner

    @property
    def _name(self) -> str:
        return f"{self._user.name}:{self._spawner.name}"


def interrupt_with(spawner: Any, request: asyncio.Future[Any]) -> None:
    """Cancel a request that waits for a start when that start is cancelled."""
    if spawner is not None:
        requests = _requests.setdefault(spawner, set())
        requests.add(request)
        request.add_done_callback(requests.discard)


async def until_stopped(user: Any, server_name: str, seconds: float) -> bool:
    """Wait until nothing stops a server any more; False after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        spawner = user.spawners.get(server_name)
        if spawner is None or (Ending.of(spawner) is None and spawner.pending != "stop"):
            return True
        if time.monotonic() > end:
            return False
        await asyncio.sleep(POLL)


class QuickStart:
    """A mixin for the Hub's handlers: the request of a slow start returns at once."""

    settings: dict[str, Any]
    request: Any

    @property
    def slow_spawn_timeout(self) -> float:
        """Seconds for which the Hub's own part holds the request of a start.

        0 unless the admin chose, since the steps of a start tell more than its wait.
        """
        return float(self.settings.get("slow_spawn_timeout", 0))

    async def spawn_single_user(
        self, user: Any, server_name: str = "", *args: Any, **kwargs: Any
    ) -> None:
        """Start a server as the Hub does; raises what ended the start within `QUICK` seconds.

        A request that still waits when its start is cancelled raises a 409.
        """
        start = super().spawn_single_user  # type: ignore[misc]  # the Hub's handler has it
        waiting = asyncio.ensure_future(start(user, server_name, *args, **kwargs))
        interrupt_with(user.spawners.get(server_name), waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            spawner = user.spawners.get(server_name)
            if spawner is not None and Ending.of(spawner) is None:
                # the Hub ends
                raise
            raise _cancelled() from None
        spawner = user.spawners.get(server_name)
        future = spawn_future(spawner) if spawner is not None else None
        if future is None:
            return
        if "slow_spawn_timeout" not in self.settings:
            left = max(QUICK_AT_LEAST, QUICK - self.request.request_time())
            await asyncio.wait({future}, timeout=left)
        if future.cancelled():
            raise _cancelled()
        if future.done():
            future.result()


async def until_startable(user: Any, server_name: str) -> None:
    """Wait for the end of a server that is stopping; raises a 400 if that takes too long."""
    if not await until_stopped(user, server_name, RESTART_WAIT):
        raise web.HTTPError(400, f"{user.name}:{server_name} is still being stopped")


def _cancelled() -> web.HTTPError:
    return web.HTTPError(409, "The start was cancelled.")
