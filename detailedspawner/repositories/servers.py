"""Servers, running and stopped, and what was chosen for them among the profiles of now."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlparse

from jupyterhub.utils import url_escape_path, url_path_join
from slugify import slugify

from ..choices import Hop, Selected, select
from ..models import ServerState
from ..models.servers import (
    UNKNOWN_IMAGE_CONFIG,
    UNKNOWN_POD_CONFIG,
    Activity,
    ChoiceInfo,
    ChosenOption,
    PodMetadata,
    RedirectStep,
    Server,
    ServerProfile,
    ServerTemplate,
    Volumes,
)
from ..models.text import clean
from ..profilelists import (
    Entries,
    Entry,
    ProfileError,
    by_slug,
    choices_of,
    initialised,
    options_of,
)
from ..profiling import ProfilesMixin, UserKey, configured, stop_time
from ..spawner import DetailedKubeSpawner
from .profiles import (
    configured_volumes,
    labels,
    message,
    picture,
    pod_metadata,
    pod_volumes,
    slugs,
    unknown_volumes,
)
from .rows import Row, Wanted, find_rows
from .status import row_status, spawner_state, spawner_status

SHOWN_LENGTH = 200

# servers that are described at a time, before others get their turn
AT_ONCE = 10

# states of a server that has no pod
PAUSED = frozenset({ServerState.STOPPED, ServerState.FAILED, ServerState.UNKNOWN})


class Catalog:
    """The profiles of all users, as far as they are known without calling anything."""

    def __init__(self, spawner_class: Any, config: Any) -> None:
        self._listed = configured(spawner_class, config, "profile_list")
        self._shared = None if callable(self._listed) else _initialised(self._listed)

    @property
    def default(self) -> str | None:
        """The slug of the profile that is started where none was chosen, if all have the same."""
        return slugs(self._shared or ())[1]

    def entries(self, user_key: UserKey, spawner: Any) -> Entries | None:
        """Return the profiles of a user; None where a function that was not called knows them."""
        listed = getattr(spawner, "profile_list", self._listed)
        if callable(listed):
            return ProfilesMixin.evaluated.get(user_key)
        # a hook may have given this spawner profiles of its own
        return self._shared if listed == self._listed else _initialised(listed)


class Chosen:
    """What a server's options stand for; never an error, whatever they hold."""

    def __init__(self, entries: Entries | None, user_options: Mapping[str, Any]) -> None:
        self._entries = entries
        self._selection = select(entries or (), user_options)

    @property
    def entry(self) -> Entry | None:
        """The entry of the chosen profile, if there is one."""
        profile = self._selection.profile
        return profile.entry if profile else None

    @property
    def profile_missing(self) -> bool:
        """Whether the chosen profile no longer exists."""
        profile = self._selection.profile
        return self._entries is not None and profile is not None and profile.missing

    def profile(self) -> ServerProfile | None:
        """Return the profile as lists of servers have it."""
        chosen = self._selection.profile
        if chosen is None:
            return None
        entry = chosen.entry or {}
        infos = by_slug(self._entries or ())
        return ServerProfile(
            id=_shown(chosen.id),
            display_name=str(entry.get("display_name") or _shown(chosen.id)),
            missing=None if self._entries is None else chosen.missing,
            icon=picture(entry.get("icon")),
            logo=picture(entry.get("logo")),
            redirect_chain=tuple(_step(hop, infos) for hop in chosen.hops),
        )

    def options(self) -> dict[str, ChosenOption]:
        """Return the choice of each option."""
        options = options_of(self.entry)
        return {
            _shown(name): ChosenOption(
                current=self._current(name, chosen),
                redirect_chain=tuple(
                    _step(hop, choices_of(options.get(name) or {})) for hop in chosen.hops
                ),
            )
            for name, chosen in self._selection.options.items()
        }

    def metadata(self) -> PodMetadata:
        """Return what the profile says of its pods."""
        return pod_metadata(self.entry) if self.entry else PodMetadata()

    def _current(self, name: str, chosen: Selected) -> ChoiceInfo:
        if chosen.entry is not None:
            return _info(chosen.id, chosen.entry)
        if chosen.unlisted:
            return ChoiceInfo(_shown(chosen.id), _shown(chosen.id))
        if self._entries is None:
            return ChoiceInfo(_shown(chosen.id), _shown(chosen.id), labels=None, missing=None)
        unknown = UNKNOWN_IMAGE_CONFIG if "image" in name.lower() else UNKNOWN_POD_CONFIG
        return ChoiceInfo(_shown(chosen.id), unknown, unknown, labels=None, missing=True)


def _initialised(listed: object) -> Entries:
    try:
        return initialised(listed or [], slugify)
    except ProfileError:
        # whoever starts one of them is told what is wrong
        return ()


def _shown(text: str) -> str:
    return clean(text, SHOWN_LENGTH)


def _info(key: str, item: Entry) -> ChoiceInfo:
    return ChoiceInfo(
        id=key,
        display_name=str(item.get("display_name") or key),
        description=str(item.get("description") or ""),
        labels=labels(item),
    )


def _step(hop: Hop, items: Mapping[str, Entry]) -> RedirectStep:
    return RedirectStep(hop.source, _info(hop.target, items[hop.target]), message(hop.message))


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
        return configured_volumes(chosen.entry, self._class, self._config, claim)

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
