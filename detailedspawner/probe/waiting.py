"""The gate of one start: from "the pod is ready" to "its user can reach the server"."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from ssl import SSLContext
from typing import Any

from ..health import (
    HealthSettings,
    Judgement,
    Kind,
    Outcome,
    after,
    begin,
    failure_message,
    judge_pod_answer,
    judge_proxy_answer,
    next_check_at,
    server_path,
    to_model,
)
from ..models import Health, HealthStatus
from ..tracking import Log
from .asking import HubRoute, ask
from .routes import RouteTable, add_early_route, confirm_early_route, route_target

Report = Callable[[Health], object]
Ask = Callable[..., Awaitable[Outcome]]

HAS_ROUTE = Judgement(True, Kind.ANSWERED, "the proxy has the route to the server")
UNCHECKED = "the server answers; whether it does through the proxy could not be checked"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Server:
    """The server that is waited for.

    `url` is the pod's own address (its path is not used), `base_url` the server's
    path such as "/user/x/", percent-encoded. `routespec` and `data` are what the Hub
    gives the proxy for it. `host` is the Host header of its users, if it matters.
    """

    url: str
    base_url: str
    routespec: str
    data: Mapping[str, Any] = field(default_factory=dict)
    host: str | None = None
    # the certificates to trust, for a Hub with internal SSL
    ssl_context: SSLContext | None = None


@dataclass(frozen=True, slots=True)
class ProxyAccess:
    """How the Hub reaches its proxy; one for all starts."""

    proxy: Any
    hub_prefix: str
    hub_route: HubRoute
    table: RouteTable
    ssl_context: SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """How the wait ended.

    `skipped` says why the proxy was not asked, in words for the administrator. If it
    is unhealthy, `message` and `hint` are for the user.
    """

    health: Health
    message: str | None = None
    hint: str | None = None
    skipped: str | None = None

    @property
    def unhealthy(self) -> bool:
        """Whether the threshold was reached."""
        return self.health.status is HealthStatus.UNHEALTHY


async def wait_until_healthy(
    server: Server,
    settings: HealthSettings,
    access: ProxyAccess | None,
    *,
    report: Report,
    checked: Callable[[str], object] = lambda _outcome: None,
    started_at: float | None = None,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ask: Ask = ask,
    log: Log = _log,
) -> Result:
    """Check a server until it is healthy or unhealthy, and tell which.

    `access` is None where the proxy is not to be asked. `started_at` is when the main
    container started, on the same clock as `clock` (seconds since the epoch). `report`
    gets the health once at the beginning and whenever it or the outcome changes,
    `checked` the outcome of each check.
    Attempts never overlap; a cancellation ends the one that is under way and is
    raised. A route that was added stays, to be removed by `remove_early_route`.
    """
    now = clock()
    # the clock of a node may be ahead of ours
    state = begin(settings, now if started_at is None else min(started_at, now))
    told: object = None

    def tell() -> None:
        nonlocal told
        what = (state.status, state.last and (state.last.outcome, state.last.message))
        if what != told:
            told = what
            report(to_model(state, settings.path, settings))

    tell()
    checks = _Checks(server, settings, access, ask, log)
    while (due := next_check_at(state, now, settings)) is not None:
        began = clock()
        judgement = await checks.once()
        now = clock()
        checked(judgement.kind.value)
        state = after(state, judgement, now, settings, began)
        if checks.skipped:
            # the pod answers, and more cannot be known: nobody is locked out by that
            state = replace(state, status=HealthStatus.HEALTHY)
            tell()
            return Result(to_model(state, settings.path, settings), skipped=checks.skipped)
        tell()
        if state.status is HealthStatus.HEALTHY:
            break
        if state.status is HealthStatus.UNHEALTHY:
            message, hint = failure_message(state)
            return Result(to_model(state, settings.path, settings), message, hint)
        due = next_check_at(state, now, settings) or now
        await sleep(max(0.0, due - clock()))
    return Result(to_model(state, settings.path, settings))


class _Checks:
    """One check after the other of one server: pod, route, proxy."""

    def __init__(
        self,
        server: Server,
        settings: HealthSettings,
        access: ProxyAccess | None,
        ask: Ask,
        log: Log,
    ) -> None:
        self._server = server
        self._settings = settings
        self._access = access
        self._ask = ask
        self._log = log
        self._path = server_path(server.base_url, settings.path)
        self._target = route_target(server.url) or server.url
        # what the pod itself answered last; None as long as it is not up
        self._pod_status: int | None = None
        self._has_route = False
        self._confirmed = False
        # why the proxy is not asked, once that is certain
        self.skipped: str | None = None

    async def once(self) -> Judgement:
        """Check once, as far as it goes; only cancellation is raised."""
        if self._pod_status is None:
            judgement = await self._ask_pod()
            if not judgement.good:
                return judgement
        access = self._access
        if access is None:
            return self._skip("the proxy is not to be asked")
        # at the same time, since its user waits for both
        answers, added = await asyncio.gather(access.hub_route.answers(), self._add_route(access))
        if not answers:
            if access.hub_route.hopeless():
                return self._skip(access.hub_route.problem or "the proxy does not answer")
            message = "the proxy does not answer the Hub"
            return Judgement(False, Kind.PROXY_UNREACHABLE, message, counts=False)
        if not added.good:
            return added
        confirmed, judgement = await asyncio.gather(
            self._confirm_route(access), self._ask_proxy(access)
        )
        if not confirmed.good:
            self._has_route = False
            return confirmed
        self._confirmed = True
        if not judgement.good:
            access.hub_route.doubt()
            # a proxy that was restarted has lost it; to add it again does no harm
            if judgement.kind is Kind.HUB_ANSWERED:
                self._has_route = self._confirmed = False
        return judgement

    async def _add_route(self, access: ProxyAccess) -> Judgement:
        if self._has_route:
            return HAS_ROUTE
        added = await add_early_route(
            access.proxy,
            self._server.routespec,
            self._target,
            self._server.data,
            timeout=self._settings.timeout,
            log=self._log,
        )
        self._has_route = added.good
        return added

    async def _confirm_route(self, access: ProxyAccess) -> Judgement:
        if self._confirmed:
            return HAS_ROUTE
        return await confirm_early_route(
            access.table,
            self._server.routespec,
            self._target,
            timeout=self._settings.timeout,
            log=self._log,
        )

    async def _ask_pod(self) -> Judgement:
        server = self._server
        outcome = await self._ask(
            self._target + self._path,
            timeout=self._settings.timeout,
            host=server.host,
            ssl_context=server.ssl_context,
        )
        hub_prefix = self._access.hub_prefix if self._access else None
        judgement = judge_pod_answer(outcome, self._path, hub_prefix)
        self._pod_status = outcome.status if judgement.good else None
        return judgement

    async def _ask_proxy(self, access: ProxyAccess) -> Judgement:
        outcome = await self._ask(
            f"{access.hub_route.base_url}{self._path}",
            timeout=self._settings.timeout,
            host=self._server.host,
            ssl_context=access.ssl_context,
        )
        judgement = self._judge(outcome, access)
        if judgement.good or judgement.kind in (Kind.HUB_ANSWERED, Kind.UNWANTED_STATUS):
            return judgement
        # a server that is still loading may answer otherwise by now, or hang, or have died
        pod = await self._ask_pod()
        return self._judge(outcome, access) if pod.good else pod

    def _judge(self, outcome: Outcome, access: ProxyAccess) -> Judgement:
        return judge_proxy_answer(
            outcome, self._pod_status, access.hub_prefix, self._settings, self._path
        )

    def _skip(self, why: str) -> Judgement:
        self.skipped = why
        return Judgement(True, Kind.PROXY_UNREACHABLE, UNCHECKED)
