"""What both ways to start a server share: the REST API and the form."""

from __future__ import annotations

import asyncio
from typing import Any

from tornado import web

from ..hub import spawn_future
from .stopping import Ending, until_stopped

# seconds from the request on in which a start that succeeds or fails is answered as such,
# and how many of them it has at least where the Hub itself was slow
QUICK = 0.2
QUICK_AT_LEAST = 0.05
# seconds that a new start waits for the end of the one before
RESTART_WAIT = 10.0


class QuickStart:
    """A mixin for the Hub's handlers: the request of a slow start returns at once."""

    settings: dict[str, Any]
    request: Any

    @property
    def slow_spawn_timeout(self) -> float:
        """Seconds for which the Hub's own part holds the request of a start.

        0 unless the admin chose, since the steps of a start tell more than its wait.
        """
        return float(self.settings.get("slow_spawn_timeout", 0))

    async def spawn_single_user(
        self, user: Any, server_name: str = "", *args: Any, **kwargs: Any
    ) -> None:
        """Start a server as the Hub does; raises what ended the start within `QUICK` seconds.

        A request that still waits when its start is cancelled raises a 409.
        """
        start = super().spawn_single_user  # type: ignore[misc]  # the Hub's handler has it
        try:
            await start(user, server_name, *args, **kwargs)
        except asyncio.CancelledError:
            spawner = user.spawners.get(server_name)
            if spawner is not None and Ending.of(spawner) is None:
                # the Hub ends
                raise
            raise _cancelled() from None
        spawner = user.spawners.get(server_name)
        future = spawn_future(spawner) if spawner is not None else None
        if future is None:
            return
        if "slow_spawn_timeout" not in self.settings:
            left = max(QUICK_AT_LEAST, QUICK - self.request.request_time())
            await asyncio.wait({future}, timeout=left)
        if future.cancelled():
            raise _cancelled()
        if future.done():
            future.result()


async def until_startable(user: Any, server_name: str) -> None:
    """Wait for the end of a server that is stopping; raises a 400 if that takes too long."""
    if not await until_stopped(user, server_name, RESTART_WAIT):
        raise web.HTTPError(400, f"{user.name}:{server_name} is still being stopped")


def _cancelled() -> web.HTTPError:
    return web.HTTPError(409, "The start was cancelled.")
