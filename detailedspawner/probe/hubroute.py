"""Whether the proxy is where we look for it: the Hub's own route must answer there.

If it does not, that is no server's fault: a wrong setting, a network policy or a
certificate. Nobody is locked out by it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Callable

from ..health import Kind, Outcome
from .asking import ask

# seconds for which an answer of either kind is believed
GOOD_FOR = 30.0
BAD_FOR = 2.0
# a proxy that does not answer for so many seconds is not just being restarted
PATIENCE = 5.0


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
