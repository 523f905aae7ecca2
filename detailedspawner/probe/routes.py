"""The route of a server, made before the Hub makes it, and its removal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Any, TypeAlias, TypeVar

from ..health import Judgement, Kind
from ..models.text import clean

T = TypeVar("T")
# in quotes: an adapter takes no parameter at run time before Python 3.11
Log: TypeAlias = "logging.Logger | logging.LoggerAdapter[Any]"

# seconds; the Hub's proxy classes try for 30 by themselves
REMOVAL_TIMEOUT = 10.0

_log = logging.getLogger(__name__)


class RouteTable:
    """The proxy's routes, fetched once for all who ask at the same time.

    With thousands of routes a fetch is heavy, and starts come in groups.
    """

    def __init__(self, proxy: Any) -> None:
        self._proxy = proxy
        self._lock = asyncio.Lock()
        self._asked = 0
        self._answered = 0
        self._routes: Mapping[str, Any] = {}

    async def routes(self) -> Mapping[str, Any]:
        """Return the routes as they were after this call; raises what the proxy raises."""
        self._asked += 1
        mine = self._asked
        async with self._lock:
            if self._answered < mine:
                # all who asked before the fetch begins are answered by it
                upto = self._asked
                self._routes = await self._proxy.get_all_routes()
                self._answered = upto
            return self._routes


async def add_early_route(
    proxy: Any,
    routespec: str,
    target: str,
    data: Mapping[str, Any],
    *,
    timeout: float,
    log: Log = _log,
) -> Judgement:
    """Add a server's route as the Hub will.

    `target` is scheme, host and port, `data` what the Hub's own `add_user` gives,
    `timeout` is in seconds. Only cancellation is raised.
    """
    try:
        # a copy: proxy classes write into it
        await _within(timeout, proxy.add_route(routespec, target, dict(data)))
    except Exception as error:
        log.warning("The proxy did not take the route %s: %r", routespec, error)
        detail = "in time" if isinstance(error, TimeoutError | asyncio.TimeoutError) else ""
        message = f"the proxy did not take the route to the server {detail}".strip()
        return Judgement(False, Kind.ROUTE_MISSING, message)
    return Judgement(True, Kind.ANSWERED, "the proxy took the route to the server")


async def confirm_early_route(
    table: RouteTable, routespec: str, target: str, *, timeout: float, log: Log = _log
) -> Judgement:
    """See that the proxy lists a route: without it, another server's may answer.

    `timeout` is in seconds. Only cancellation is raised.
    """
    try:
        routes = await _within(timeout, table.routes())
    except Exception as error:
        log.warning("The proxy does not list its routes: %r", error)
        message = "the proxy does not tell whether it has the route to the server"
        return Judgement(False, Kind.ROUTE_MISSING, message)
    route = routes.get(routespec) or routes.get(routespec.rstrip("/") + "/") or {}
    if str(route.get("target", "")).rstrip("/") == target.rstrip("/"):
        return Judgement(True, Kind.ANSWERED, "the proxy has the route to the server")
    return Judgement(False, Kind.ROUTE_MISSING, "the proxy does not list the route to the server")


async def remove_early_route(
    proxy: Any, routespec: str, *, timeout: float = REMOVAL_TIMEOUT, log: Log = _log
) -> bool:
    """Remove a server's route and tell whether it is gone; one that is not there is gone.

    `timeout` is in seconds. Only cancellation is raised.
    """
    try:
        await _within(timeout, proxy.delete_route(routespec))
    except Exception as error:
        if getattr(error, "status", None) == 404 or getattr(error, "code", None) == 404:
            return True
        log.warning(
            "The route %s could not be removed, the Hub will do it later: %s",
            routespec,
            clean(repr(error), 300),
        )
        return False
    return True


async def _within(seconds: float, doing: Awaitable[T]) -> T:
    """Await something for so long; raises asyncio.TimeoutError after it was cancelled.

    Unlike asyncio.wait_for it never swallows a cancellation of the caller.
    """
    task = asyncio.ensure_future(doing)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise asyncio.TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            # whatever it is, it has been seen
            task.exception()
