"""Servers in the Hub's database, and their namespaces: found by one query each.

Only columns are read, never the Hub's objects: these would load more for each server.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from jupyterhub import orm
from jupyterhub.scopes import Scope
from sqlalchemy import (
    and_,
    case,
    false,
    func,
    not_,
    or_,
    select,
    true,
    tuple_,
)

from ..following import FAILED_KEY, STATE_KEY
from ..hub import SERVERS, written
from ..models.servers import Namespace
from ..profiling import UserKey

# rows that are read and judged at a time, before others get their turn
CHUNK = 500

# options with an object in them, or with a brace in a text
_NESTED = and_(
    SERVERS.user_options.is_not(None),
    func.length(SERVERS.user_options) - func.length(func.replace(SERVERS.user_options, "{", ""))
    > 1,
)


@dataclass(frozen=True, slots=True)
class Row:
    """What the database has of one server; times are seconds since the epoch."""

    id: int
    user: str
    user_key: UserKey
    name: str
    state: Mapping[str, Any]
    user_options: Mapping[str, Any]
    last_activity: float | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which servers are asked for; None asks for all.

    `only` and `never` are ids of servers whose state is known. Of all others `failed` asks for
    those whose last start failed, or for none of these. `default_profile`: servers for which no
    profile was chosen are also meant.
    """

    users: Collection[str] | None = None
    profile: str | None = None
    default_profile: bool = False
    only: Collection[int] | None = None
    never: Collection[int] = ()
    failed: bool | None = None


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
        conditions.append(or_(flat, SERVERS.id.in_(nested)))
    total = db.execute(_from_all(func.count(SERVERS.id)).where(*conditions)).scalar()
    page = _columns().where(*conditions).order_by(SERVERS.id).offset(offset).limit(limit)
    return [_row(values) for values in db.execute(page)], total or 0


def all_rows(db: Any) -> Iterator[list[Row]]:
    """Yield the rows of all servers, some at a time."""
    last = 0
    while True:
        chunk = _columns().where(SERVERS.id > last).order_by(SERVERS.id).limit(CHUNK)
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
    allowed: list[Any] = [false()]
    if scope and "user" in scope:
        allowed.append(orm.User.name.in_(scope["user"]))
    if scope and "group" in scope:
        allowed.append(orm.User.groups.any(orm.Group.name.in_(scope["group"])))
    if scope and "server" in scope:
        keys = [tuple(name.split("/", 1)) for name in scope["server"] if "/" in name]
        allowed.append(tuple_(orm.User.name, SERVERS.name).in_(keys))
    return or_(*allowed)


def epoch(moment: datetime | None) -> float | None:
    """Return seconds since the epoch; the Hub's database holds UTC without saying so."""
    return None if moment is None else moment.replace(tzinfo=timezone.utc).timestamp()


def _from_all(*columns: Any) -> Any:
    """Select from all servers with their users."""
    return select(*columns).join(orm.User, SERVERS.user_id == orm.User.id)


def _columns() -> Any:
    found = (SERVERS.name, SERVERS.state, SERVERS.user_options, SERVERS.last_activity)
    return _from_all(SERVERS.id, orm.User.name, orm.User.id, orm.User.created, *found)


def _row(values: Any) -> Row:
    number, user, user_id, created, name, state, user_options, last_activity = values
    return Row(
        id=number,
        user=user,
        user_key=(user_id, created),
        name=name,
        state=_object(state),
        user_options=_object(user_options),
        last_activity=epoch(last_activity),
    )


def _object(text: str | None) -> dict[str, Any]:
    value = json.loads(text or "{}")
    return value if isinstance(value, dict) else {}


def _conditions(wanted: Wanted) -> Iterator[Any]:
    if wanted.users is not None:
        yield orm.User.name.in_(list(wanted.users))
    if wanted.never:
        yield SERVERS.id.not_in(list(wanted.never))
    if wanted.only is None:
        return
    known = SERVERS.id.in_(list(wanted.only))
    if wanted.failed is None:
        yield known
    else:
        yield or_(known, _FAILED if wanted.failed else not_(_FAILED))


def _has_profile(slug: str, default: bool) -> Any:
    """The condition for a profile in options that hold no objects, as JSON text.

    No database's own JSON functions: one server's options that are no JSON, such as NaN, would
    fail the query for all.
    """
    text = SERVERS.user_options
    chosen = _contains(text, written("profile") + json.dumps(slug))
    if not default:
        return chosen
    none = or_(text.is_(None), not_(_contains(text, '"profile": "')))
    return or_(chosen, none, _contains(text, '"profile": ""'))


def _nested_profiles(db: Any, conditions: Collection[Any]) -> Iterator[tuple[int, str | None]]:
    """Yield the ids and profiles of servers whose options hold objects, which may have profiles."""
    query = _from_all(SERVERS.id, SERVERS.user_options).where(*conditions, _NESTED)
    for number, text in db.execute(query):
        profile = _object(text).get("profile")
        yield number, profile if isinstance(profile, str) and profile else None


def _contains(text: Any, part: str) -> Any:
    # LIKE takes upper for lower case in some databases
    return and_(text.is_not(None), func.replace(text, part, "") != text)


_FAILED = _contains(SERVERS.state, written(STATE_KEY, FAILED_KEY))


async def namespaces_in_use(db: Any, users: Any) -> list[Namespace]:
    """Return the namespaces in which servers run or last ran, by name."""
    servers: Counter[str] = Counter()
    active: Counter[str] = Counter()
    counted = set()
    for user in users.values():
        for spawner in user.spawners.values():
            namespace = getattr(spawner, "namespace", None)
            if spawner.active and namespace and spawner.orm_spawner is not None:
                counted.add(spawner.orm_spawner.id)
                servers[namespace] += 1
                active[namespace] += 1
    for rows in all_rows(db):
        for row in rows:
            namespace = row.state.get("namespace")
            if row.id not in counted and isinstance(namespace, str) and namespace:
                servers[namespace] += 1
        await asyncio.sleep(0)
    return [Namespace(name, servers[name], active[name]) for name in sorted(servers)]
