"""A server as the Hub keeps it: its row, its start, and who is told that they change.

The Hub tells nobody when it begins or ends something with a server, nor when a row goes or gets
another name. What it is doing stands in four flags of its spawner object: they are properties
here, and `pending` and `ready` read them as before. Who is told of a row looks in its next turn,
when the Hub has written it.

Queries over many servers take plain columns: the Hub's own objects would load more for each, and
its type for JSON keeps SQLAlchemy from remembering a query. JSON is read as its text, as the Hub
writes it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import weakref
from typing import Any, ClassVar

from jupyterhub import orm
from jupyterhub import spawner as jupyterhub_spawner
from jupyterhub.scopes import has_scope
from jupyterhub.utils import maybe_future
from sqlalchemy import DateTime, Integer, Text, column, event, inspect, table
from tornado import web
from tornado.log import app_log

from ..tracking import Notifier

SERVERS = table(
    orm.Spawner.__tablename__,
    column("id", Integer),
    column("user_id", Integer),
    column("name", Text),
    column("state", Text),
    column("user_options", Text),
    column("last_activity", DateTime),
).c

FLAGS = ("_spawn_pending", "_stop_pending", "_check_pending", "_rename_pending")

# told with the id of a user, as text
rows_notifier = Notifier()

# who has one of them could read a server's logs elsewhere: in the server, or in its saved state
LOG_SCOPES = ("access:servers", "admin:server_state")

# JupyterHub 6 tells a user's mistake from a failure of its own; 5 counts both
COUNTS_MISTAKES = not hasattr(jupyterhub_spawner, "SpawnException")
_forgiven: weakref.WeakSet[asyncio.Future[Any]] = weakref.WeakSet()


def written(*keys: str) -> str:
    """Return how the text of a JSON object in the table has a key, and nested ones at its start."""
    return ": {".join(json.dumps(key) for key in keys) + ": "


def server_key(user_name: str, server_name: str) -> str:
    """Return the key under which changes of a server are told."""
    return f"{user_name}/{server_name}"


def _noticed(flag: str) -> property:
    kept = f"noticed{flag}"

    def read(spawner: Any) -> bool:
        return bool(spawner.__dict__.get(kept, False))

    def write(spawner: Any, value: bool) -> None:
        changed = read(spawner) != bool(value)
        spawner.__dict__[kept] = value
        if changed and spawner.user is not None:
            spawner.hub_notifier.notify(server_key(spawner.user.name, spawner.name))

    return property(read, write, doc=f"The Hub's own `{flag}`; a change of it is told.")


class NoticesHub:
    """A mixin for a Spawner, before it in the order of bases."""

    # told with `server_key` on each change; one for all spawners, also those yet to come
    hub_notifier: ClassVar[Notifier] = Notifier()

    _spawn_pending = _noticed("_spawn_pending")
    _stop_pending = _noticed("_stop_pending")
    _check_pending = _noticed("_check_pending")
    _rename_pending = _noticed("_rename_pending")


def is_still(user: Any, name: str) -> bool:
    """Return whether the Hub's object for a user stands for the one of this name."""
    return bool(inspect(user.orm_user).persistent) and user.name == name


def _tell_of(model: Any, user_id: str) -> None:
    def changed(row: Any) -> None:
        rows_notifier.notify(str(getattr(row, user_id)))

    event.listen(model, "after_delete", lambda _mapper, _connection, row: changed(row))
    event.listen(model.name, "set", lambda row, *_: changed(row))


_tell_of(orm.User, "id")
_tell_of(orm.Spawner, "user_id")


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
