"""A server as the Hub keeps it: its row, its start, and whether a failure counts."""

from __future__ import annotations

import asyncio
import logging
import weakref
from typing import Any

from jupyterhub import spawner as jupyterhub_spawner
from jupyterhub.scopes import has_scope
from jupyterhub.utils import maybe_future
from sqlalchemy import inspect
from tornado import web
from tornado.log import app_log

# who has one of them could read a server's logs elsewhere: in the server, or in its saved state
LOG_SCOPES = ("access:servers", "admin:server_state")


def may_read_logs(scopes: Any, db: Any, user_name: str, server_name: str) -> bool:
    """Return whether scopes, as the Hub has parsed them, allow reading what a server writes."""
    server = f"{user_name}/{server_name}"
    return any(has_scope(f"{scope}!server={server}", scopes, db=db) for scope in LOG_SCOPES)


def save_state(spawner: Any) -> None:
    """Write a spawner's state to the Hub's database now, not only after its start."""
    row = spawner.orm_spawner
    session = None if row is None else inspect(row).session
    if session is not None:
        row.state = spawner.get_state()
        session.commit()


def spawn_future(spawner: Any) -> asyncio.Future[Any] | None:
    """Return the start that the Hub began, None when there is none."""
    future: asyncio.Future[Any] | None = spawner._spawn_future
    return future


def spawn_failure(spawner: Any) -> BaseException | None:
    """Return what the Hub's last start of a server ended with, None if it is none."""
    future = spawn_future(spawner)
    if future is None or not future.done() or future.cancelled():
        return None
    return future.exception()


def goes_on_elsewhere(spawner: Any) -> bool:
    """Whether a start goes on in another task than the one that asks."""
    future = spawn_future(spawner)
    return future is not None and not future.done() and future is not asyncio.current_task()


async def remove_server(user: Any, spawner: Any) -> None:
    """Remove a named server that is stopped, with all that it keeps."""
    await maybe_future(user._delete_spawner(spawner))
    user.db.delete(spawner.orm_spawner)
    user.spawners.pop(spawner.name, None)
    user.db.commit()


# JupyterHub 6 tells a user's mistake from a failure of its own; 5 counts both
COUNTS_MISTAKES = not hasattr(jupyterhub_spawner, "SpawnException")
_forgiven: weakref.WeakSet[asyncio.Future[Any]] = weakref.WeakSet()


class _ToldMistakes(logging.Filter):
    """Leaves out what tornado says of a user's mistake: the Hub has told it in one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        mistake = isinstance(error, web.HTTPError) and error.status_code < 500
        return not (mistake and str(record.msg).startswith("Exception in Future"))


_told_mistakes = _ToldMistakes()


def forgive_failure(spawner: Any, error: BaseException) -> None:
    """Keep a user's own mistake from counting toward `consecutive_failure_limit`.

    For a start that is about to end with `error`; only a 4xx is a user's mistake.
    """
    future, handler = spawner._spawn_future, spawner.handler
    mistake = isinstance(error, web.HTTPError) and error.status_code < 500
    if not (COUNTS_MISTAKES and mistake and future and handler) or future in _forgiven:
        return
    _forgiven.add(future)
    # once for all; the Hub gives tornado's log a name and handlers of its own
    app_log.addFilter(_told_mistakes)
    limit = spawner.consecutive_failure_limit
    # the Hub's own callback runs before ours: it counts, and ends the Hub at the limit
    spawner.consecutive_failure_limit = 0

    def put_back(ended: asyncio.Future[Any]) -> None:
        spawner.consecutive_failure_limit = limit
        if not ended.cancelled() and ended.exception() is not None:
            handler.settings["failure_count"] -= 1

    future.add_done_callback(put_back)
