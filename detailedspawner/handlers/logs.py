"""GET what a container of a server has written, where the admin lets users see it."""

from __future__ import annotations

import json
from typing import Any

from jupyterhub.scopes import needs_scope
from tornado import web

from ..containerlogs import LogUnreadable, read_log
from ..hub import may_read_logs
from ..models.logs import ContainerLog, shown_log
from ..pods import pod_secrets, shown_logs
from .arguments import ArgumentsAPIHandler, missing


class LogAPIHandler(ArgumentsAPIHandler):
    """The end of the log of one container."""

    async def answer(self, user_name: str, server_name: str, container: str) -> None:
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


class DefaultServerLogAPIHandler(LogAPIHandler):
    """The logs of a user's default server."""

    @needs_scope("read:servers")  # type: ignore[untyped-decorator]
    async def get(self, user_name: str, container: str, server_name: str = "") -> None:
        """Write the end of a container's log."""
        await self.answer(user_name, server_name, container)


class NamedServerLogAPIHandler(LogAPIHandler):
    """The logs of a user's named servers."""

    @needs_scope("read:servers")  # type: ignore[untyped-decorator]
    async def get(self, user_name: str, server_name: str, container: str) -> None:
        """Write the end of a container's log."""
        await self.answer(user_name, server_name, container)
