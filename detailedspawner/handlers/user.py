"""Delete users: the Hub's own handler, once their servers have ended.

The Hub ends a default server that runs, and nothing else: at a start or a named server it
answers 500, when the storage of the user's other servers may be gone already.
"""

from __future__ import annotations

import asyncio
from typing import Any

from jupyterhub.apihandlers.users import UserAPIHandler as HubUserAPIHandler
from jupyterhub.scopes import needs_scope
from tornado import web

from .stopping import INTERRUPT_WAIT, Ending


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
