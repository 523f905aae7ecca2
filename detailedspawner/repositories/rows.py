"""Servers in the Hub's database: found by one query each, however many there are.

Only columns are read, never the Hub's objects: these would load more for each server.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from jupyterhub import orm
from jupyterhub.scopes import Scope
from sqlalchemy import (
    DateTime,
    Integer,
    Text,
    and_,
    case,
    column,
    false,
    func,
    not_,
    or_,
    select,
    table,
    true,
    tuple_,
)

# rows that are read and judged at a time, before others get their turn
CHUNK = 500

# the columns that are read, JSON as its text: the Hub's own type for it keeps
# SQLAlchemy from remembering a query
_SERVERS = table(
    orm.Spawner.__tablename__,
    column("id", Integer),
    column("user_id", Integer),
    column("name", Text),
    column("state", Text),
    column("user_options", Text),
    column("last_activity", DateTime),
).c


@dataclass(frozen=True, slots=True)
class Row:
    """What the database has of one server; times are seconds since the epoch."""

    id: int
    user: str
    name: str
    state: Mapping[str, Any]
    user_options: Mapping[str, Any]
    last_activity: float | None

    @property
    def key(self) -> tuple[str, str]:
        """What tells the server from all others."""
        return (self.user, self.name)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which servers are asked for; None asks for all.

    `only` and `never` are ids, `never_keys` and `also_keys` (user, server). `default_profile`:
    servers for which no profile was chosen are also meant.
    """

    users: Collection[str] | None = None
    profile: str | None = None
    default_profile: bool = False
    only: Collection[int] | None = None
    also_keys: Collection[tuple[str, str]] = ()
    never: Collection[int] = ()
    never_keys: Collection[tuple[str, str]] = field(default_factory=tuple)


def find_rows(
    db: Any, scope: Any, wanted: Wanted, offset: int, limit: int
) -> tuple[list[Row], int]:
    """Return a page of the servers that a scope lets one see, and how many there are.

    `scope` is what the Hub has parsed of the asker's `read:servers`. Sorted by their ids, so
    that pages stay as they are while others come and go.
    """
    conditions = [visible(scope), *_conditions(wanted)]
    if wanted.profile is not None:
        nested = [
            number
            for number, profile in _nested_profiles(db, conditions)
            if profile == wanted.profile or (wanted.default_profile and not profile)
        ]
        flat = and_(not_(_NESTED), _has_profile(wanted.profile, wanted.default_profile))
        conditions.append(or_(flat, _SERVERS.id.in_(nested)))
    total = db.execute(_from_all(func.count(_SERVERS.id)).where(*conditions)).scalar()
    page = _columns().where(*conditions).order_by(_SERVERS.id).offset(offset).limit(limit)
    return [_row(values) for values in db.execute(page)], total or 0


def all_rows(db: Any) -> Iterator[list[Row]]:
    """Yield the rows of all servers, some at a time."""
    last = 0
    while True:
        chunk = _columns().where(_SERVERS.id > last).order_by(_SERVERS.id).limit(CHUNK)
        rows = [_row(values) for values in db.execute(chunk)]
        if not rows:
            return
        yield rows
        last = rows[-1].id


def count_by_profile(
    db: Any, scope: Any, slugs: Collection[str], default: str | None
) -> dict[str, int]:
    """Return how many of the visible servers have each of these profiles."""
    if not slugs:
        return {}
    counts = [func.sum(case((_has_profile(slug, slug == default), 1), else_=0)) for slug in slugs]
    conditions = [visible(scope)]
    flat = db.execute(_from_all(*counts).where(*conditions, not_(_NESTED))).one()
    nested = [profile or default for _, profile in _nested_profiles(db, conditions)]
    return {
        slug: int(count or 0) + nested.count(slug) for slug, count in zip(slugs, flat, strict=True)
    }


def visible(scope: Any) -> Any:
    """Return the condition for what a parsed scope such as that of `read:servers` allows."""
    if scope is Scope.ALL:
        return true()
    allowed = [false()]
    if scope and "user" in scope:
        allowed.append(orm.User.name.in_(scope["user"]))
    if scope and "group" in scope:
        allowed.append(orm.User.groups.any(orm.Group.name.in_(scope["group"])))
    if scope and "server" in scope:
        keys = [tuple(name.split("/", 1)) for name in scope["server"] if "/" in name]
        allowed.append(_is_one_of(keys))
    return or_(*allowed)


def epoch(moment: datetime | None) -> float | None:
    """Return seconds since the epoch; the Hub's database holds UTC without saying so."""
    return None if moment is None else moment.replace(tzinfo=timezone.utc).timestamp()


def _from_all(*columns: Any) -> Any:
    """Select from all servers with their users."""
    return select(*columns).join(orm.User, _SERVERS.user_id == orm.User.id)


def _columns() -> Any:
    found = (_SERVERS.name, _SERVERS.state, _SERVERS.user_options, _SERVERS.last_activity)
    return _from_all(_SERVERS.id, orm.User.name, *found)


def _row(values: Any) -> Row:
    number, user, name, state, user_options, last_activity = values
    return Row(
        id=number,
        user=user,
        name=name,
        state=_object(state),
        user_options=_object(user_options),
        last_activity=epoch(last_activity),
    )


def _object(text: str | None) -> dict[str, Any]:
    value = json.loads(text or "{}")
    return value if isinstance(value, dict) else {}


def _is_one_of(keys: Collection[Any]) -> Any:
    return tuple_(orm.User.name, _SERVERS.name).in_(list(keys))


def _conditions(wanted: Wanted) -> Iterator[Any]:
    if wanted.users is not None:
        yield orm.User.name.in_(list(wanted.users))
    if wanted.only is not None:
        yield or_(_SERVERS.id.in_(list(wanted.only)), _is_one_of(wanted.also_keys))
    if wanted.never:
        yield _SERVERS.id.not_in(list(wanted.never))
    if wanted.never_keys:
        yield not_(_is_one_of(wanted.never_keys))


def _has_profile(slug: str, default: bool) -> Any:
    """The condition for a profile in options that hold no objects, as JSON text.

    No database's own JSON functions: one server's options that are no JSON, such as NaN, would
    fail the query for all.
    """
    text = _SERVERS.user_options
    chosen = _contains(text, f'"profile": {json.dumps(slug)}')
    if not default:
        return chosen
    none = or_(text.is_(None), not_(_contains(text, '"profile": "')))
    return or_(chosen, none, _contains(text, '"profile": ""'))


def _nested_profiles(db: Any, conditions: Collection[Any]) -> Iterator[tuple[int, str | None]]:
    """Yield the ids and profiles of servers whose options hold objects, which may have profiles."""
    query = _from_all(_SERVERS.id, _SERVERS.user_options).where(*conditions, _NESTED)
    for number, text in db.execute(query):
        profile = _object(text).get("profile")
        yield number, profile if isinstance(profile, str) and profile else None


def _contains(text: Any, part: str) -> Any:
    # LIKE takes upper for lower case in some databases
    return and_(text.is_not(None), func.replace(text, part, "") != text)


# options with an object in them, or with a brace in a text
_NESTED = and_(
    _SERVERS.user_options.is_not(None),
    func.length(_SERVERS.user_options) - func.length(func.replace(_SERVERS.user_options, "{", ""))
    > 1,
)
