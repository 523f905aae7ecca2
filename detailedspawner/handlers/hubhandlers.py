"""The Hub's own handlers, with what they lack.

Servers are started and stopped quickly, idempotently and strictly, and stop before their user is
deleted; the stream of progress ends with the whole status; the form is quick.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jupyterhub.apihandlers.users import SpawnProgressAPIHandler
from jupyterhub.apihandlers.users import UserAPIHandler as HubUserAPIHandler
from jupyterhub.apihandlers.users import UserServerAPIHandler as HubUserServerAPIHandler
from jupyterhub.handlers.pages import SpawnHandler as HubSpawnHandler
from jupyterhub.scopes import needs_scope, scope_definitions
from tornado import web

from ..hub import may_read_logs
from ..profiling import ProfilesMixin
from .stopping import INTERRUPT_WAIT, Ending, QuickStart, until_startable

# JupyterHub 6 tells starting from the other rights on a server
START_SCOPE = "start:servers" if "start:servers" in scope_definitions else "servers"

# the Hub's word for a start that was cancelled
HUBS_CANCELLED = "Spawn cancelled"
CANCELLED = "Start cancelled"


class UserAPIHandler(HubUserAPIHandler):  # type: ignore[misc]  # no type hints
    """DELETE and all else of a user."""

    @needs_scope("delete:users")  # type: ignore[untyped-decorator]
    async def delete(self, user_name: str) -> None:
        """Delete a user; 400 while a server of it is still being stopped."""
        user: Any = self.find_user(user_name)
        # the Hub answers that nobody deletes oneself
        if user is not None and user.name != self.current_user.name:
            await self._end_servers(user)
        await super().delete(user_name)

    async def _end_servers(self, user: Any) -> None:
        active = [spawner for spawner in list(user.spawners.values()) if spawner.active]
        endings = [Ending.begin(self, user, spawner) for spawner in active]
        ended = await asyncio.gather(
            *(ending.wait(INTERRUPT_WAIT, self.slow_stop_timeout) for ending in endings)
        )
        if not all(ended):
            raise web.HTTPError(
                400, f"A server of {user.name} is in the process of stopping, please wait."
            )
        if any(spawner.active for spawner in user.spawners.values()):
            raise web.HTTPError(500, f"A server of {user.name} could not be stopped.")


class UserServerAPIHandler(QuickStart, HubUserServerAPIHandler):  # type: ignore[misc]  # no types
    """POST, DELETE and all else of a user's server."""

    @needs_scope(START_SCOPE)  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str = "") -> None:
        """Start a server; 400 that lists what is valid when its options are wrong."""
        user = self.find_user(user_name)
        if user is None:
            raise web.HTTPError(404)
        await until_startable(user, server_name)
        spawner = self._spawner(user, server_name)
        if spawner is None or not spawner.active:
            await self._check_options(user, server_name)
        await super().post(user_name, server_name)
        spawner = self._spawner(user, server_name)
        if spawner is not None and spawner.pending == "spawn":
            # the Hub looks at another object after a start that failed
            self.set_status(202)

    @needs_scope("delete:servers")  # type: ignore[untyped-decorator]
    async def delete(self, user_name: str, server_name: str = "") -> None:
        """Stop a server, or cancel its start: 202 while it is stopping, else 204."""
        user = self.find_user(user_name)
        options = self.get_json_body() or {}
        if not isinstance(options, dict):
            raise web.HTTPError(400, "The body must be a JSON object")
        remove = bool(options.get("remove", False))
        spawner = self._to_end(user, server_name, remove)
        if spawner is None:
            # there is nothing to end, or the Hub tells why it must not be
            await super().delete(user_name, server_name)
            return
        stopping = spawner.pending == "stop"
        ending = Ending.begin(self, user, spawner)
        ending.remove = ending.remove or remove
        ended = not stopping and await ending.wait(INTERRUPT_WAIT, self.slow_stop_timeout)
        self.set_header("Content-Type", "text/plain")
        self.set_status(204 if ended else 202)

    def _to_end(self, user: Any, server_name: str, remove: bool) -> Any:
        """The spawner object of what must be cancelled or stopped, None if nothing."""
        if user is None or (server_name and not self.allow_named_servers):
            return None
        if remove and not server_name:
            return None
        spawner = self._spawner(user, server_name)
        if spawner is None or Ending.of(spawner) is not None:
            return spawner
        # one whose stop failed is not ready any more, but has a server still
        left = not spawner.pending and spawner.server is not None
        starting, stopping = spawner.pending in ("spawn", "check"), spawner.pending == "stop"
        return spawner if starting or left or (stopping and remove) else None

    def _spawner(self, user: Any, server_name: str) -> Any:
        # to index would make one
        return user.spawners.get(server_name)

    async def _check_options(self, user: Any, server_name: str) -> None:
        """Raise a 400 if the server cannot start with its options, before it is made."""
        row = user.orm_spawners.get(server_name)
        options = self._options()
        if options is None:
            # as the Hub: those of the last time
            options = row.user_options if row is not None else None
        # a server that is to be made has none yet: that of the user's default one stands in
        spawner = user.spawners[server_name if row is not None else ""]
        knows_profiles = isinstance(spawner, ProfilesMixin)
        if not knows_profiles or _profiles_by_group(spawner) or _free_options(spawner):
            return
        listed_by_function = callable(spawner.profile_list)
        if not options and listed_by_function:
            # only what the default profile sets could be wrong: not worth a call
            return
        # the list may depend on the hook, which must not be run on a server that is at work
        if spawner.auth_state_hook is not None and spawner.active:
            return
        try:
            if listed_by_function or spawner.auth_state_hook is not None:
                # as for the Hub's form: the list may depend on it
                await spawner.run_auth_state_hook(await user.get_auth_state())
            wrong = await spawner.why_refused(options or {}, None if row else server_name)
        except web.HTTPError:
            raise
        except Exception:
            # it will fail the start as well, which tells more
            self.log.exception("Cannot tell the profiles of %s", user.name)
            return
        if wrong:
            raise web.HTTPError(400, wrong)

    def _options(self) -> Any:
        """The options in the body, None if there are none."""
        read = getattr(self, "get_server_json_body", None)
        # JupyterHub 5 knows nothing else in it
        return read().get("user_options") if read else self.get_json_body()


def _free_options(spawner: Any) -> bool:
    """Whether the admin's own function, which only the start runs, gives options a meaning."""
    return callable(spawner.apply_user_options)


def _profiles_by_group(spawner: Any) -> bool:
    """Whether the profiles are known only once the Hub has applied the user's groups."""
    overrides = getattr(spawner, "group_overrides", None) or {}
    return callable(overrides) or any(
        "profile_list" in (override.get("spawner_override") or {})
        for override in overrides.values()
    )


class ProgressAPIHandler(SpawnProgressAPIHandler):  # type: ignore[misc]  # no type hints
    """GET the events of a start."""

    # whether an event has been sent
    _told = False

    @cached_property
    def shows_logs(self) -> bool:
        """Whether the ends of logs go to who asks."""
        user_name, server_name = (*self.path_args, None)[:2]
        return may_read_logs(self.parsed_scopes, self.db, user_name, server_name or "")

    async def send_event(self, event: dict[str, Any]) -> None:
        """Write one event; the one that tells of a failure carries the status.

        Nothing tells that a start was cancelled that nobody has cancelled: it is the Hub that
        ends, and when it is back the start goes on. Who opens the stream only then learns it.
        """
        if event.get("failed") and "status" not in event:
            user_name, server_name = (*self.path_args, "")[:2]
            user = self.find_user(user_name)
            spawner = user.spawners.get(server_name or "") if user is not None else None
            if event.get("message") == HUBS_CANCELLED:
                if self._told and not getattr(spawner, "start_cancelled", True):
                    return
                event = {**event, "message": CANCELLED, "html_message": CANCELLED}
            if spawner is not None and hasattr(spawner, "detailed_snapshot"):
                event = {**event, "status": spawner.detailed_snapshot()}
        if "status" in event and not self.shows_logs:
            event = {**event, "status": without_logs(event["status"])}
        self._told = True
        await super().send_event(event)


def without_logs(status: dict[str, Any]) -> dict[str, Any]:
    """Return a status for who may not see what the programs of its server write."""
    containers = [{**container, "log_tail": None} for container in status["containers"]]
    return {**status, "containers": containers}


if TYPE_CHECKING:
    Adapter = logging.LoggerAdapter[Any]
else:
    # before Python 3.11 it takes no parameter
    Adapter = logging.LoggerAdapter


class BriefLog(Adapter):
    """A log in which a user's mistake has no traceback; a line before it says what it is."""

    def process(self, msg: Any, kwargs: Any) -> Any:
        """Take the traceback from what is said of a 4xx."""
        error = sys.exc_info()[1]
        if isinstance(error, web.HTTPError) and error.status_code < 500:
            kwargs = {**kwargs, "exc_info": False}
        return msg, kwargs


class SpawnHandler(QuickStart, HubSpawnHandler):  # type: ignore[misc]  # no type hints
    """GET the form, POST it to start a server."""

    @property
    def log(self) -> BriefLog:
        """The Hub's log, which gets a traceback for whatever the form's start raises."""
        return BriefLog(super().log, {})

    async def prepare(self) -> None:
        """Let a start wait for the end of the one before, which the user has cancelled."""
        await super().prepare()
        asks = self.current_user
        if self.request.method != "POST" or getattr(asks, "kind", None) != "user":
            return
        user_name, server_name = (*self.path_args, None, None)[:2]
        if user_name in (None, asks.name):
            await until_startable(asks, server_name or "")
