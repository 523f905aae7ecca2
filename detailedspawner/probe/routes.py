"""Where the proxy and a server are reached, and a server's route before the Hub makes it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..health import Judgement, Kind
from ..models.text import clean
from ..tracking import Log

_DEFAULT_PORTS = {"http": 80, "https": 443}
_API_SERVICE = "proxy-api"

T = TypeVar("T")

# seconds; the Hub's proxy classes try for 30 by themselves
REMOVAL_TIMEOUT = 10.0

_log = logging.getLogger(__name__)


def proxy_base_url(proxy: Any, configured: str, env: Mapping[str, str]) -> str | None:
    """Return where the Hub reaches the proxy, as "http://host:port"; None: not known.

    `proxy` is the Hub's Proxy object, `configured` what the administrator set, `env`
    the environment of the Hub's process. Nothing is tried: whether the address is
    right is told by `hub_route_answers`.
    """
    if configured:
        return route_target(configured)
    # a proxy that the Hub starts is beside it, whatever services there are
    if not getattr(proxy, "should_start", False):
        found = _service_url(str(getattr(proxy, "api_url", "") or ""), env)
        if found:
            return found
    return _connectable(str(getattr(proxy, "public_url", "") or ""))


def route_target(url: str) -> str | None:
    """Return scheme, host and port of a URL as the Hub writes them for routes; None: it has none.

    The port is always there, IPv6 addresses are in brackets, the path is gone.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
    except (KeyError, ValueError):
        return None
    if not parts.hostname:
        return None
    return f"{parts.scheme}://{_bracketed(parts.hostname)}:{port}"


def pinned_context(certificate: str) -> ssl.SSLContext | None:
    """Return a context that trusts the certificate in a file (PEM) and no other.

    For the proxy that the Hub starts with its own certificate: the Hub reaches it on
    loopback, by a name that is not in it. None if the file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    try:
        context.load_verify_locations(certificate)
    except (OSError, ValueError):
        return None
    # one that a public authority signed must do without the authority
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return context


def _service_url(api_url: str, env: Mapping[str, str]) -> str | None:
    """Return the plain http address of the proxy that zero-to-jupyterhub made.

    Kubernetes describes each service of the namespace in the environment. The chart
    may have put a prefix before their names; the name in `api_url` tells.
    """
    try:
        name, _, domain = (urlsplit(api_url).hostname or "").partition(".")
    except ValueError:
        name = domain = ""
    is_chart = name.endswith(_API_SERVICE)
    prefix = name.removesuffix(_API_SERVICE) if is_chart else ""
    key = prefix.upper().replace("-", "_")
    # where the chart has a certificate made, only proxy-http leads past the redirect to https
    host, port = env.get(f"{key}PROXY_HTTP_SERVICE_HOST"), env.get(f"{key}PROXY_HTTP_SERVICE_PORT")
    if not (host and port):
        host = env.get(f"{key}PROXY_PUBLIC_SERVICE_HOST")
        # the first port is the https one if there are two
        port = env.get(f"{key}PROXY_PUBLIC_SERVICE_PORT_HTTP") or env.get(
            f"{key}PROXY_PUBLIC_SERVICE_PORT"
        )
    if not (host and port):
        # the environment can be switched off, the names of services cannot
        return f"http://{prefix}proxy-public{'.' * bool(domain)}{domain}:80" if is_chart else None
    scheme = "https" if port == env.get(f"{key}PROXY_PUBLIC_SERVICE_PORT_HTTPS") else "http"
    return route_target(f"{scheme}://{_bracketed(host)}:{port}")


def _connectable(bind_url: str) -> str | None:
    """Turn the address that a proxy listens on into one to connect to."""
    try:
        parts = urlsplit(bind_url)
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
    except (KeyError, ValueError):
        return None
    host = parts.hostname or "*"
    # "all addresses" is none to connect to, and the Hub's own name may lead elsewhere
    if host in ("*", "0.0.0.0"):  # noqa: S104 (compared, not bound)
        host = "127.0.0.1"
    elif host == "::":
        host = "::1" if socket.has_ipv6 else "127.0.0.1"
    return f"{parts.scheme}://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host


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
