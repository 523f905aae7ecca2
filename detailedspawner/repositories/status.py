"""The status of one server, from the Hub's objects."""

from __future__ import annotations

from typing import Any

from ..models import ServerState, ServerStatus
from ..spawner import DetailedKubeSpawner


def server_status(user: Any, server_name: str) -> ServerStatus | None:
    """Return the status of a user's server; None when there is no such server.

    Creates nothing: a server that has no spawner object is not running.
    """
    if server_name in user.spawners:
        spawner = user.spawners[server_name]
        if isinstance(spawner, DetailedKubeSpawner):
            return spawner.detailed_status()
        return _plain_status(spawner)
    if server_name in user.orm_spawners:
        kept = DetailedKubeSpawner.last_statuses.get((user.name, server_name))
        return kept or _bare(ServerState.STOPPED, "The server is stopped.")
    return None


def _plain_status(spawner: Any) -> ServerStatus:
    """Say what the Hub knows of a server of another spawner class."""
    if spawner.ready:
        return _bare(ServerState.RUNNING, "The server is running.")
    states = {
        "spawn": ServerState.STARTING,
        "stop": ServerState.STOPPING,
        "check": ServerState.CHECKING,
    }
    state = states.get(spawner.pending, ServerState.STOPPED)
    return _bare(state, f"The server is {state.value}.")


def _bare(state: ServerState, message: str) -> ServerStatus:
    progress = 100 if state is ServerState.RUNNING else 0
    return ServerStatus(
        start_id=None, revision="0.0", state=state, progress=progress, message=message
    )
