"""The status of one server, from the Hub's objects, at once or when it changes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..composing import bare
from ..following import kept_failure
from ..hub import NoticesHub, is_still, rows_notifier, server_key
from ..models import ServerState, ServerStatus
from ..spawner import DetailedKubeSpawner

NEVER_STARTED_MESSAGE = "The server has not been started yet."

# the Hub's word for what it is doing with a server
PENDING_STATES = {
    "spawn": ServerState.STARTING,
    "stop": ServerState.STOPPING,
    "check": ServerState.CHECKING,
}


def server_status(user: Any, server_name: str) -> ServerStatus | None:
    """Return the status of a user's server; None when there is no such server.

    Creates nothing: a server that has no spawner object is not running.
    """
    # the Hub's own lookup of a name that is not there would create it
    if server_name in user.spawners:
        spawner = user.spawners[server_name]
        row = spawner.orm_spawner
        return spawner_status(spawner, never=row is not None and not row.state)
    if server_name in user.orm_spawners:
        row = user.orm_spawners[server_name]
        return row_status(row.state or {})
    return None


def spawner_status(spawner: Any, *, never: bool = False) -> ServerStatus:
    """Return the status of a server that has a spawner object.

    `never`: the Hub has nothing of an earlier start of it.
    """
    if not isinstance(spawner, DetailedKubeSpawner):
        return _plain_status(spawner)
    status = spawner.detailed_status()
    if status.start_id is None and never:
        return replace(status, message=NEVER_STARTED_MESSAGE)
    return status


def row_status(state: Mapping[str, Any]) -> ServerStatus:
    """Return the status of a server that is only in the Hub's database, with this state."""
    message = None if state else NEVER_STARTED_MESSAGE
    return kept_failure(state) or bare(ServerState.STOPPED, message)


def spawner_state(spawner: Any) -> ServerState:
    """Return only the state of a server, for less than its whole status costs."""
    if spawner.ready:
        return ServerState.RUNNING
    return spawner_status(spawner).state


def _plain_status(spawner: Any) -> ServerStatus:
    """Say what the Hub knows of a server of another spawner class."""
    if spawner.ready:
        return bare(ServerState.RUNNING)
    state = PENDING_STATES.get(spawner.pending, ServerState.STOPPED)
    return bare(state, f"The server is {state.value}.")


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
