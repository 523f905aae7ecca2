"""One HTTP GET, and an outcome whatever becomes of it; and whether the proxy answers it.

The proxy is where we look for it if the Hub's own route answers there. If it does not, that is no
server's fault: a wrong setting, a network policy or a certificate. Nobody is locked out by it.
"""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import ssl
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

import aiohttp
from yarl import URL

from ..health import Kind, Outcome
from ..models.text import clean

LONGEST_BODY = 4096
_UNREACHABLE = {
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.ENETDOWN,
    errno.EADDRNOTAVAIL,
    errno.EACCES,
    errno.EPERM,
}
_RESET = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED}

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = WeakKeyDictionary()
_keepers: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]] = WeakKeyDictionary()

# seconds for which an answer of either kind is believed
GOOD_FOR = 30.0
BAD_FOR = 2.0
# a proxy that does not answer for so many seconds is not just being restarted
PATIENCE = 5.0


async def ask(
    url: str,
    *,
    timeout: float,
    host: str | None = None,
    ssl_context: ssl.SSLContext | None = None,
    body: bool = False,
) -> Outcome:
    """Send one GET and return what became of it; only cancellation is raised.

    `url` is used as it is, so its path must be percent-encoded. `timeout` is the
    seconds for all of it, from the name to the end of what is read. `host`
    replaces the Host header. `ssl_context` holds the certificates that are
    trusted. The body is not read unless `body`, and then only its beginning.
    """
    # what the trace saw, to tell a connection that is not made from a silent server
    seen = SimpleNamespace(connected=False)
    status: int | None = None
    try:
        async with _session().get(
            URL(url, encoded=True),
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout),
            headers={"Host": host} if host else None,
            ssl=ssl_context or True,
            trace_request_ctx=seen,
        ) as response:
            status = response.status
            text = await _beginning(response) if body else ""
            # the rest is of no interest, so the connection goes with it
            response.close()
            location = response.headers.get("Location")
            if location is not None and 300 <= status < 400:
                return Outcome(Kind.REDIRECTED, status, _absolute(url, location), text)
            return Outcome(Kind.ANSWERED, status, None, text)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        kind = _kind(error, seen.connected)
        if kind is Kind.TIMEOUT and status is not None:
            kind = Kind.TOO_SLOW
        if kind is Kind.REFUSED:
            # hundreds of servers may be waited for, and to clean each text costs most
            return Outcome(kind, None, None, "connection refused")
        return Outcome(kind, None, None, clean(f"{type(error).__name__}: {error}", 300))


async def close_session() -> None:
    """Close the session of the running loop; the next request makes a new one."""
    loop = asyncio.get_running_loop()
    session, keeper = _sessions.pop(loop, None), _keepers.pop(loop, None)
    if session is not None:
        await session.close()
    if keeper is not None:
        keeper.cancel()


async def _keep(session: aiohttp.ClientSession) -> None:
    """Close a session when the Hub ends, which cancels all tasks."""
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await session.close()


def _session() -> aiohttp.ClientSession:
    loop = asyncio.get_running_loop()
    session = _sessions.get(loop)
    if session is None or session.closed:
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(_connected)
        session = _sessions[loop] = aiohttp.ClientSession(
            # A new connection each time may meet another replica of the proxy. No limit:
            # to wait for others would look like a slow server, and each start asks once.
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "detailedspawner", "Accept-Encoding": "identity"},
            auto_decompress=False,
            trust_env=False,
            trace_configs=[trace],
        )
        _keepers[loop] = loop.create_task(_keep(session))
    return session


async def _connected(_session: aiohttp.ClientSession, context: SimpleNamespace, _: Any) -> None:
    context.trace_request_ctx.connected = True


async def _beginning(response: aiohttp.ClientResponse) -> str:
    content = b""
    while len(content) < LONGEST_BODY:
        part = await response.content.read(LONGEST_BODY - len(content))
        if not part:
            break
        content += part
    return content.decode("utf-8", "replace")


def _absolute(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return location


def _kind(error: Exception, connected: bool) -> Kind:
    """Return the word for what kept an answer from coming."""
    if isinstance(error, asyncio.TimeoutError | TimeoutError):
        return Kind.TIMEOUT if connected else Kind.UNREACHABLE
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return Kind.TLS
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, socket.gaierror):
        return Kind.DNS
    if isinstance(cause, OSError):
        if isinstance(cause, ConnectionRefusedError) or "refused" in str(cause).lower():
            return Kind.REFUSED
        if cause.errno in _UNREACHABLE:
            return Kind.UNREACHABLE
        if cause.errno in _RESET or connected:
            return Kind.RESET
        return Kind.UNREACHABLE
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Kind.RESET
    return Kind.BAD_ANSWER


async def hub_route_answers(
    base_url: str,
    hub_prefix: str,
    *,
    timeout: float,
    host: str | None = None,
    ssl_context: ssl.SSLContext | None = None,
) -> str | None:
    """Ask the Hub's own API through the proxy; return None, or what is wrong.

    `base_url` is the proxy's, `hub_prefix` the Hub's base URL such as "/hub/",
    `timeout` in seconds. Only cancellation is raised.
    """
    url = f"{base_url.rstrip('/')}{hub_prefix.rstrip('/')}/api/"
    outcome = await ask(url, timeout=timeout, host=host, ssl_context=ssl_context, body=True)
    if outcome.kind is Kind.REDIRECTED:
        return f"{url} redirects to {outcome.location}"
    if outcome.status is None:
        return f"{url}: {outcome.kind.value} ({outcome.text})"
    if outcome.status != 200 or not _is_hub(outcome):
        return f"{url} answered {outcome.status}, and not as the Hub does"
    return None


def _is_hub(outcome: Outcome) -> bool:
    try:
        answer = json.loads(outcome.text)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and "version" in answer


class HubRoute:
    """Remembers for a short time whether the Hub's own route answers.

    One for a Hub; starts at the same time share one request. `patience` is the seconds
    after which it is given up, `clock` counts seconds.
    """

    def __init__(
        self,
        base_url: str | None,
        hub_prefix: str,
        *,
        timeout: float = 5.0,
        host: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
        patience: float = PATIENCE,
        broken: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.base_url = base_url
        # what is wrong, in words for the administrator; None if nothing is known to be
        self.problem: str | None = None
        self.checked_at: float | None = None
        self.failing_since: float | None = None
        self._hub_prefix = hub_prefix
        self._timeout = timeout
        self._host = host
        self._ssl_context = ssl_context
        self._patience = patience
        # what is wrong with the setting itself, so that there is no use in asking
        self._broken = broken
        self._clock = clock
        self._lock = asyncio.Lock()

    async def answers(self) -> bool:
        """Whether the Hub's own route answers; only cancellation is raised."""
        async with self._lock:
            if not self._known():
                began = self._clock()
                self.problem = await self._ask()
                self.checked_at = self._clock()
                if self.problem is None:
                    self.failing_since = None
                elif self.failing_since is None:
                    self.failing_since = began
            return self.problem is None

    def hopeless(self) -> bool:
        """Whether it has not answered for so long that waiting for it is no use."""
        since = self.failing_since
        return (
            self.base_url is None
            or self._broken is not None
            or (since is not None and self._clock() - since >= self._patience)
        )

    def doubt(self) -> None:
        """Have the next call ask again: a request through the proxy went wrong."""
        if self.problem is None and self.checked_at is not None:
            # several starts that doubt at once still share one request
            self.checked_at = min(self.checked_at, self._clock() - GOOD_FOR + BAD_FOR)

    def _known(self) -> bool:
        if self.checked_at is None:
            return False
        # what does not answer for long is not asked by every start
        lasts = GOOD_FOR if self.problem is None or self.hopeless() else BAD_FOR
        return self._clock() - self.checked_at < lasts

    async def _ask(self) -> str | None:
        if self._broken is not None:
            return self._broken
        if self.base_url is None:
            return "the address of the proxy is not known: set health_proxy_url"
        return await hub_route_answers(
            self.base_url,
            self._hub_prefix,
            timeout=self._timeout,
            host=self._host,
            ssl_context=self._ssl_context,
        )
