"""Waiting for a server's status to change, without asking for it again and again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..hub import NoticesHub, is_still, rows_notifier, server_key
from ..models import ServerState, ServerStatus
from ..spawner import DetailedKubeSpawner
from .status import server_status

# states that a server stays in until somebody does something
DONE = frozenset({ServerState.RUNNING, ServerState.FAILED, ServerState.STOPPED})


async def awaited_status(
    user: Any,
    server_name: str,
    enough: Callable[[ServerStatus], bool],
    seconds: float,
    given_up: asyncio.Event | None = None,
) -> ServerStatus | None:
    """Return the first status that is enough, or the one after so many seconds.

    None when there is no such server, or no more. `given_up`: nobody waits for the answer any more.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    changed = given_up or asyncio.Event()
    name, number = user.name, str(user.id)
    unsubscribe = NoticesHub.hub_notifier.subscribe(server_key(name, server_name), changed.set)
    unsubscribe_rows = rows_notifier.subscribe(number, changed.set)
    try:
        while True:
            if not is_still(user, name):
                return None
            status = server_status(user, server_name)
            if status is None or enough(status) or loop.time() >= end:
                return status
            told = _told(user.spawners.get(server_name), status.revision, changed)
            with told, contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(changed.wait(), end - loop.time())
            changed.clear()
    finally:
        unsubscribe()
        unsubscribe_rows()


@contextlib.contextmanager
def _told(spawner: Any, revision: str, changed: asyncio.Event) -> Iterator[None]:
    """Set `changed` when the start of a spawner, or its pod, is no longer as it was."""
    if not isinstance(spawner, DetailedKubeSpawner):
        yield
        return

    async def follow() -> None:
        async for event in spawner.progress():
            if event["status"]["revision"] != revision:
                changed.set()
                return

    task = asyncio.ensure_future(follow())
    unsubscribe = spawner.notifier.subscribe(spawner.pod_key, changed.set)
    try:
        yield
    finally:
        unsubscribe()
        task.cancel()
