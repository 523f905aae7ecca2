"""The form with which a user starts a server: the Hub's own, made quick."""

from __future__ import annotations

from jupyterhub.handlers.pages import SpawnHandler as HubSpawnHandler

from .quick import QuickStart, until_startable


class SpawnHandler(QuickStart, HubSpawnHandler):  # type: ignore[misc]  # no type hints
    """GET the form, POST it to start a server."""

    async def prepare(self) -> None:
        """Let a start wait for the end of the one before, which the user has cancelled."""
        await super().prepare()
        asks = self.current_user
        if self.request.method != "POST" or getattr(asks, "kind", None) != "user":
            return
        user_name, server_name = (*self.path_args, None, None)[:2]
        if user_name in (None, asks.name):
            await until_startable(asks, server_name or "")
