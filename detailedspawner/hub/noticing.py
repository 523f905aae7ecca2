"""Tells who waits for a server that the Hub has begun or ended something with it.

The Hub keeps what it is doing with a server in four flags of its spawner object, and tells
nobody when they change: not when a start is over and the server is ready, and not when a stop
is. No public part does, so they are properties here; `pending` and `ready` read them as before.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..notifying import Notifier

FLAGS = ("_spawn_pending", "_stop_pending", "_check_pending", "_rename_pending")


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
