"""The namespaces in use, from the state that spawners leave in the database."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from ..models.namespaces import Namespace
from .rows import all_rows


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
