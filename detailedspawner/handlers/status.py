"""GET the status of one server, at once or when it has changed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from jupyterhub.scopes import needs_scope

from ..hub import may_read_logs
from ..models import ServerStatus
from ..repositories.waiting import DONE, awaited_status
from .arguments import ArgumentsAPIHandler, missing

# seconds; what is in between may not keep an idle connection much longer
LONGEST_WAIT = 30.0


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

    @needs_scope("read:servers")  # type: ignore[untyped-decorator]
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
