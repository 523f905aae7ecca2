"""The form with which a user starts a server: the Hub's own, made quick."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from jupyterhub.handlers.pages import SpawnHandler as HubSpawnHandler
from tornado import web

from .quick import QuickStart, until_startable

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
