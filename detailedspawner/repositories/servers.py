"""Servers, running and stopped, from the Hub's database and its spawner objects."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlparse

from jupyterhub.utils import url_escape_path, url_path_join

from ..models import ServerState
from ..models.servers import Activity, Server, ServerTemplate, Volumes
from ..profiling import configured, stop_time
from ..spawner import DetailedKubeSpawner
from .catalog import Catalog, Chosen
from .mounts import claimed_volumes, pod_volumes, unknown_volumes
from .profiles import overridden
from .rows import Row, Wanted, find_rows
from .status import row_status, spawner_state, spawner_status

# servers that are described at a time, before others get their turn
AT_ONCE = 10

# states of a server that has no pod
PAUSED = frozenset({ServerState.STOPPED, ServerState.FAILED, ServerState.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list of servers is narrowed to; empty or None does not narrow."""

    states: Collection[ServerState] = ()
    users: Collection[str] | None = None
    profile: str | None = None


class Servers:
    """The servers of a Hub, as the handler that is asked has them."""

    def __init__(self, db: Any, users: Any, settings: Mapping[str, Any]) -> None:
        self._db = db
        self._settings = settings
        self._class = settings["spawner_class"]
        self._config = settings["config"]
        self._catalog = Catalog(self._class, self._config)
        # a spawner object knows its row, so none is asked for
        self._live: dict[int, Any] = {
            spawner.orm_spawner.id: spawner
            for user in users.values()
            for spawner in user.spawners.values()
            if spawner.orm_spawner is not None
        }

    async def page(
        self, scope: Any, filters: Filters, offset: int, limit: int
    ) -> tuple[list[Server], int]:
        """Return a page of the servers that a scope lets one see, and how many there are."""
        rows, total = find_rows(self._db, scope, self._wanted(filters), offset, limit)
        found = []
        for start in range(0, len(rows), AT_ONCE):
            found += [self._server(row) for row in rows[start : start + AT_ONCE]]
            # nobody else has to wait for a long list
            await asyncio.sleep(0)
        return found, total

    def _wanted(self, filters: Filters) -> Wanted:
        only, never, failed = self._by_state(filters.states)
        return Wanted(
            users=filters.users,
            profile=filters.profile,
            default_profile=filters.profile is not None
            and filters.profile == self._catalog.default,
            only=only,
            never=never,
            failed=failed,
        )

    def _by_state(
        self, states: Collection[ServerState]
    ) -> tuple[Collection[int] | None, Collection[int], bool | None]:
        """Tell which servers are in some states: their objects know, else the database."""
        stopped, failed = ServerState.STOPPED in states, ServerState.FAILED in states
        if not states:
            return None, (), None
        fits = {number: spawner_state(one) in states for number, one in self._live.items()}
        only = [number for number, fit in fits.items() if fit]
        never = [number for number, fit in fits.items() if not fit]
        if not (stopped or failed):
            return only, (), None
        # without an object a server is one or the other
        return (None, never, None) if stopped and failed else (only, never, failed)

    def _server(self, row: Row) -> Server:
        spawner = self._live.get(row.id)
        never = not row.state
        status = row_status(row.state) if spawner is None else spawner_status(spawner, never=never)
        paused = status.state in PAUSED and not (spawner is not None and spawner.active)
        entries = self._catalog.entries(row.user_key, spawner)
        chosen = Chosen(entries, row.user_options)
        url, progress_url = self._urls(row)
        return Server(
            name=row.name,
            user=row.user,
            namespace=_text(spawner.namespace if spawner is not None and not paused else None)
            or _text(row.state.get("namespace")),
            profile=chosen.profile(),
            defer_updates=False,
            paused=paused,
            paused_time=_paused_time(row) if paused else None,
            state=status.state,
            state_message=status.message,
            pod_template=ServerTemplate(
                pod_metadata=chosen.metadata(),
                volumes=self._volumes(row, None if paused else spawner, chosen),
                options=chosen.options(),
            ),
            activity=Activity(row.last_activity, status.updated_at),
            ready_containers=status.ready_containers,
            total_containers=status.total_containers,
            url=url,
            progress_url=progress_url,
            revision=status.revision,
        )

    def _volumes(self, row: Row, spawner: Any, chosen: Chosen) -> Volumes:
        claim = _text(row.state.get("pvc_name"))
        if chosen.profile_missing:
            return unknown_volumes(claim)
        pod = spawner.current_pod() if isinstance(spawner, DetailedKubeSpawner) else None
        if pod is not None:
            return pod_volumes(pod, spawner.main_container, claim)
        volumes, mounts = (
            overridden(chosen.entry, trait, configured(self._class, self._config, trait))
            for trait in ("volumes", "volume_mounts")
        )
        return claimed_volumes(volumes, mounts, claim)

    def _urls(self, row: Row) -> tuple[str, str]:
        """Return the server's URL and that of its progress, as the Hub's own user object has them.

        That object is not made for it: it would load more from the database.
        """
        settings, user = self._settings, url_escape_path(row.user)
        url = self._host(row.user) + url_path_join(settings["base_url"], "user", user, "/")
        api = url_path_join(settings["hub"].base_url, "api/users", user)
        if not row.name:
            return url, url_path_join(api, "server/progress")
        server = url_escape_path(row.name)
        return url_path_join(url, server, "/"), url_path_join(api, "servers", server, "progress")

    def _host(self, user_name: str) -> str:
        host = self._settings.get("subdomain_host")
        if not host:
            return ""
        parsed = urlparse(host)
        hook = self._settings["subdomain_hook"]
        domain = hook(user_name, self._settings["domain"], kind="user")
        return f"{parsed.scheme}://{domain}" + (f":{parsed.port}" if parsed.port else "")


def _paused_time(row: Row) -> float | None:
    # a server that stopped before its time was kept: the Hub takes its end for activity
    return stop_time(row.state) or (row.last_activity if row.state else None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
