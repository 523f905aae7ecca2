"""Tells who waits for a server that its row, or that of its user, goes or gets another name.

The Hub tells nobody of either. Who is told looks in its next turn, when the Hub has written it.
"""

from __future__ import annotations

from typing import Any

from jupyterhub import orm
from sqlalchemy import event, inspect

from ..notifying import Notifier

# told with the id of a user, as text
rows_notifier = Notifier()


def is_still(user: Any, name: str) -> bool:
    """Return whether the Hub's object for a user stands for the one of this name."""
    return bool(inspect(user.orm_user).persistent) and user.name == name


def _user_changed(row: orm.User) -> None:
    rows_notifier.notify(str(row.id))


def _server_changed(row: orm.Spawner) -> None:
    rows_notifier.notify(str(row.user_id))


@event.listens_for(orm.User, "after_delete")
def _user_deleted(_mapper: Any, _connection: Any, row: orm.User) -> None:
    _user_changed(row)


@event.listens_for(orm.Spawner, "after_delete")
def _server_deleted(_mapper: Any, _connection: Any, row: orm.Spawner) -> None:
    _server_changed(row)


@event.listens_for(orm.User.name, "set")
def _user_renamed(row: orm.User, *_: Any) -> None:
    _user_changed(row)


@event.listens_for(orm.Spawner.name, "set")
def _server_renamed(row: orm.Spawner, *_: Any) -> None:
    _server_changed(row)
