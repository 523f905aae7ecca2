"""GET the status of one server."""

from __future__ import annotations

import json

from jupyterhub.apihandlers.base import APIHandler
from jupyterhub.scopes import needs_scope
from tornado import web

from ..repositories.status import server_status


class ServerStatusAPIHandler(APIHandler):  # type: ignore[misc]  # jupyterhub has no type hints
    """The status of one server, in every state."""

    @needs_scope("read:servers")  # type: ignore[untyped-decorator]
    async def get(self, user_name: str, server_name: str = "") -> None:
        """Write the status as JSON; 404 when there is no such user or server."""
        user = self.find_user(user_name)
        status = server_status(user, server_name) if user is not None else None
        if status is None:
            raise web.HTTPError(404)
        self.finish(json.dumps(status.to_dict()))
