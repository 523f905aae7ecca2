"""Start and stop servers: the Hub's own handler, made quick, idempotent and strict.

It differs from the Hub's where that one holds a request back, answers 500 to a
second request meanwhile, or begins a start that cannot succeed.
"""

from __future__ import annotations

from typing import Any

from jupyterhub.apihandlers.users import UserServerAPIHandler as HubUserServerAPIHandler
from jupyterhub.scopes import needs_scope, scope_definitions
from tornado import web

from ..profiling import ProfilesMixin
from .quick import QuickStart, until_startable
from .stopping import INTERRUPT_WAIT, Ending

# JupyterHub 6 tells starting from the other rights on a server
START_SCOPE = "start:servers" if "start:servers" in scope_definitions else "servers"


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
