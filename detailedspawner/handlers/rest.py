"""The REST API: each resource that a client can GET."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jupyterhub.app import JupyterHub
from jupyterhub.scopes import needs_scope
from tornado import web

from ..hub import may_read_logs
from ..kubeapi import LogUnreadable, read_log
from ..models import ServerState, ServerStatus
from ..models.status import ContainerLog, shown_log
from ..pods import pod_secrets, shown_logs
from ..profilelists import Entries
from ..repositories.profiles import slugs, user_profiles
from ..repositories.rows import count_by_profile, namespaces_in_use
from ..repositories.servers import Filters, Servers
from ..repositories.status import DONE, awaited_status, hub_health
from .arguments import ArgumentsAPIHandler, missing, needs_some, refused

# seconds; what is in between may not keep an idle connection much longer
LONGEST_WAIT = 30.0

SERVERS_SCOPE = "read:servers"
PAGING = ("offset", "limit")

PROFILES_SCOPE = "read:users"


class ServerStatusAPIHandler(ArgumentsAPIHandler):
    """The status of one server, in every state."""

    def initialize(self) -> None:
        """Make what is set when the client has gone."""
        self.gone = asyncio.Event()
        self.closed = False

    def on_connection_close(self) -> None:
        """Let go of what is waited for."""
        self.closed = True
        self.gone.set()
        super().on_connection_close()

    @needs_scope(SERVERS_SCOPE)  # type: ignore[untyped-decorator]
    async def get(self, user_name: str, server_name: str = "") -> None:
        """Write the status as JSON; 404 when there is no such user or server."""
        self.check_arguments("wait", "revision", "until")
        revision = self.get_argument("revision", None)
        until = self.word("until", ("done",))
        seconds = self.seconds("wait", LONGEST_WAIT if until else 0.0, LONGEST_WAIT)
        user: Any = self.find_user(user_name)
        if user is None:
            raise missing()

        def enough(status: ServerStatus) -> bool:
            changed = status.revision != revision
            return self.closed or (changed and (until is None or status.state in DONE))

        status = await awaited_status(user, server_name, enough, seconds, self.gone)
        if self.closed:
            return
        if status is None:
            raise missing()
        if not may_read_logs(self.parsed_scopes, self.db, user_name, server_name):
            status = status.without_logs()
        self.finish(json.dumps(status.to_dict()))


class LogAPIHandler(ArgumentsAPIHandler):
    """The end of the log of one container."""

    @needs_scope(SERVERS_SCOPE)  # type: ignore[untyped-decorator]
    async def get(self, user_name: str, container: str, server_name: str = "") -> None:
        """Write the end of a container's log; 403 or 404 where it is not to be seen."""
        self.check_arguments()
        user: Any = self.find_user(user_name)
        # to index would make one
        spawner = user.spawners.get(server_name) if user is not None else None
        if spawner is None:
            raise missing()
        if not getattr(spawner, "show_logs", False):
            raise web.HTTPError(403, "This Hub does not show logs (show_logs is off)")
        if not may_read_logs(self.parsed_scopes, self.db, user_name, server_name):
            raise web.HTTPError(403, "Only who has access to the server may read its logs")
        pod = spawner.current_pod()
        if container not in shown_logs(pod, spawner.pod_settings()):
            raise web.HTTPError(404, "The server has no such container whose log is shown")
        try:
            raw = await read_log(spawner.api, spawner.namespace, spawner.pod_name, container)
        except LogUnreadable as error:
            raise web.HTTPError(503, str(error)) from error
        secrets = (*spawner.user_secrets(), *pod_secrets(pod))
        self.finish(json.dumps(ContainerLog(container, shown_log(raw, secrets)).to_dict()))


class ServerListAPIHandler(ArgumentsAPIHandler):
    """All servers that the asker may see, running and stopped."""

    @needs_some(SERVERS_SCOPE)  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write a page of servers, narrowed by `state`, `user` and `profile`."""
        self.check_arguments("state", "user", "profile", *PAGING, several=("state", "user"))
        users = self.get_arguments("user", strip=False) or None
        await self.write_page(users)

    async def write_page(self, users: list[str] | None, *, empty: bool = True) -> None:
        """Write the servers of some users; a 404 in place of an empty list if that is asked."""
        offset, limit = self.page()
        filters = Filters(
            states=self.words("state", ServerState),
            users=users,
            profile=self.get_argument("profile", None, strip=False),
        )
        servers = Servers(self.db, self.users, self.settings)
        found, total = await servers.page(self.parsed_scopes[SERVERS_SCOPE], filters, offset, limit)
        if not total and not empty:
            raise missing()
        items = [server.to_dict() for server in found]
        document: Any = items
        if self.accepts_pagination:
            document = self.paginated_model(items, offset, limit, total)
        self.finish(json.dumps(document))


class UserServersAPIHandler(ServerListAPIHandler):
    """The servers of one user that the asker may see."""

    # another name than the Hub's filter goes by: who may see one server of a user may ask
    @needs_some(SERVERS_SCOPE)  # type: ignore[untyped-decorator]
    async def get(self, owner: str) -> None:
        """Write a page of this user's servers; 404 when there is nothing to be seen."""
        self.check_arguments("state", "profile", *PAGING, several=("state",))
        whole = self.has_scope(f"{SERVERS_SCOPE}!user={owner}")
        if whole and self.find_user(owner) is None:
            raise missing()
        await self.write_page([owner], empty=whole)


class ProfileListAPIHandler(ArgumentsAPIHandler):
    """The profiles as one user sees them."""

    @needs_some(PROFILES_SCOPE)  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write the profiles of `user`, by default the asker."""
        self.check_arguments("user")
        user_name = self.get_argument("user", None, strip=False)
        if user_name is None:
            if self.current_user.kind != "user":
                raise refused("user must name whose profiles are asked for")
            user_name = self.current_user.name
        if not user_name:
            # a scope cannot be for nobody
            raise missing()
        await self.write_profiles(user_name)

    @needs_scope(PROFILES_SCOPE)  # type: ignore[untyped-decorator]
    async def write_profiles(self, user_name: str) -> None:
        """Write the profiles of a user; 500 when they cannot be evaluated."""
        user = self.find_user(user_name)
        if user is None:
            raise missing()

        def counts(entries: Entries) -> Mapping[str, int] | None:
            if SERVERS_SCOPE not in self.parsed_scopes:
                return None
            scope = self.parsed_scopes[SERVERS_SCOPE]
            return count_by_profile(self.db, scope, *slugs(entries))

        try:
            found = await user_profiles(user, counts)
        except Exception as error:
            self.log.exception("The profiles of %s cannot be evaluated: %r", user_name, error)
            raise web.HTTPError(500, "The profiles cannot be evaluated") from error
        self.finish(json.dumps([profile.to_dict() for profile in found]))


class NamespaceListAPIHandler(ArgumentsAPIHandler):
    """The namespaces in use."""

    @needs_scope("read:hub")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write each namespace with its numbers of servers."""
        self.check_arguments()
        found = await namespaces_in_use(self.db, self.users)
        self.finish(json.dumps([namespace.to_dict() for namespace in found]))


class HealthAPIHandler(ArgumentsAPIHandler):
    """Whether the parts that starts depend on are well."""

    def initialize(self, undone_parts: Callable[[Any], dict[str, str]]) -> None:
        """Take what tells which parts of the installation an application lacks."""
        self.undone_parts = undone_parts

    @needs_scope("read:hub")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write each part with what is wrong; 200 also then, since the Hub itself answers."""
        self.check_arguments()
        undone = self.undone_parts(JupyterHub.instance()) if JupyterHub.initialized() else None
        health = await hub_health(self.users, self.settings, undone)
        self.finish(json.dumps(health.to_dict()))


@cache
def description() -> str:
    """Return the OpenAPI description that the package carries, in YAML."""
    return files("detailedspawner").joinpath("openapi.yaml").read_text("utf-8")


class OpenAPIHandler(ArgumentsAPIHandler):
    """The description, for everybody: it holds nothing of this Hub."""

    def get_content_type(self) -> str:
        """Return the type under which YAML is registered."""
        return "application/yaml"

    async def get(self) -> None:
        """Write the description as it is packaged."""
        self.check_arguments()
        self.finish(description())
