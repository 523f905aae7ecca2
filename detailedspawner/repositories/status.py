"""The status of one server, from the Hub's objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..following import kept_failure
from ..models import ServerState, ServerStatus
from ..spawner import DetailedKubeSpawner

STOPPED_MESSAGE = "The server is stopped."
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
    message = STOPPED_MESSAGE if state else NEVER_STARTED_MESSAGE
    return kept_failure(state) or bare(ServerState.STOPPED, message)


def spawner_state(spawner: Any) -> ServerState:
    """Return only the state of a server, for less than its whole status costs."""
    if spawner.ready:
        return ServerState.RUNNING
    return spawner_status(spawner).state


def _plain_status(spawner: Any) -> ServerStatus:
    """Say what the Hub knows of a server of another spawner class."""
    if spawner.ready:
        return bare(ServerState.RUNNING, "The server is running.")
    state = PENDING_STATES.get(spawner.pending, ServerState.STOPPED)
    return bare(state, f"The server is {state.value}.")


def bare(state: ServerState, message: str) -> ServerStatus:
    """Return a status of which nothing but the state is known.

    Its revision differs from state to state, so that a client can wait for another.
    """
    number = 0 if state is ServerState.STOPPED else list(ServerState).index(state) + 1
    return ServerStatus(
        start_id=None,
        revision=f"0.{number}",
        state=state,
        progress=100 if state is ServerState.RUNNING else 0,
        message=message,
    )
