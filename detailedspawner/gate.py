"""How a spawner asks its server through the Hub's proxy.

The waiting itself is `probe.wait_until_healthy`; here is where its arguments come
from: the Hub's settings, the proxy and the spawner.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from jupyterhub.utils import make_ssl_context

from .health import HealthSettings
from .models import Health
from .probe import (
    PATIENCE,
    HubRoute,
    ProxyAccess,
    Result,
    RouteTable,
    Server,
    pinned_context,
    proxy_base_url,
    wait_until_healthy,
)
from .profiling import configured
from .tracking import Log
from .traits import HealthTraits

# seconds between two looks for the proxy while the Hub itself is starting
STARTUP_INTERVAL = 1.0
# seconds in which a Hub that was restarted begins to answer, on a bad day
STARTUP_PATIENCE = 60.0

_accesses: WeakKeyDictionary[Any, dict[tuple[Any, ...], ProxyAccess]] = WeakKeyDictionary()
_told: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def proxy_access(
    hub_settings: Mapping[str, Any],
    settings: HealthSettings,
    proxy_ca: str = "",
    *,
    starting: bool = False,
) -> ProxyAccess | None:
    """Return how to ask through the proxy; one for all starts with the same settings.

    `hub_settings` are those of the Hub's web application. `starting`: the Hub itself
    is only beginning to answer. None: there is no proxy.
    """
    proxy = hub_settings.get("proxy")
    if proxy is None:
        return None
    known = _accesses.setdefault(proxy, {})
    # all that the access is made from, apart from what is the whole Hub's
    key = (settings.proxy_url, settings.timeout, proxy_ca, starting)
    if key not in known:
        prefix = str(getattr(hub_settings.get("hub"), "base_url", "/hub/"))
        base_url = proxy_base_url(proxy, settings.proxy_url, os.environ)
        context, broken = None, None
        try:
            context = _proxy_context(proxy, base_url, proxy_ca)
        except (OSError, ssl.SSLError) as error:
            # no server's fault, so nobody is locked out by it
            broken = f"health_proxy_ca {proxy_ca!r} cannot be used: {error}"
        route = HubRoute(
            base_url,
            prefix,
            timeout=settings.timeout,
            host=_hub_host(hub_settings),
            ssl_context=context,
            patience=STARTUP_PATIENCE if starting else PATIENCE,
            broken=broken,
        )
        # its routes are the same however it is asked
        table = next((access.table for access in known.values()), None) or RouteTable(proxy)
        known[key] = ProxyAccess(proxy, prefix, route, table, context)
    return known[key]


def configured_access(
    hub_settings: Mapping[str, Any], *, starting: bool = False
) -> ProxyAccess | str:
    """Return how servers are asked where no profile says otherwise, or why they are not."""
    spawner_class, config = hub_settings["spawner_class"], hub_settings["config"]
    if not issubclass(spawner_class, HealthTraits):
        return "Not asked: servers are of another spawner class."

    def value(trait: str) -> Any:
        return configured(spawner_class, config, trait)

    if not value("health_enabled"):
        return "Not asked: c.DetailedKubeSpawner.health_enabled is off."
    settings = HealthSettings(proxy_url=value("health_proxy_url"), timeout=value("health_timeout"))
    access = proxy_access(hub_settings, settings, value("health_proxy_ca"), starting=starting)
    return "Not asked: there is no proxy." if access is None else access


async def find_proxy(access: ProxyAccess, log: Log) -> str | None:
    """Wait until the Hub answers through its proxy, or there is no hope, and tell.

    Returns what is wrong, which is logged once for each proxy, or None.
    """
    route = access.hub_route
    while not await route.answers() and not route.hopeless():
        await asyncio.sleep(STARTUP_INTERVAL)
    if route.problem is not None:
        warn_once(access, route.problem, log)
    return route.problem


def warn_once(access: ProxyAccess, problem: str, log: Log) -> None:
    """Tell the administrator, once, that servers are not asked through the proxy."""
    told = _told.setdefault(access.proxy, set())
    where = str(access.hub_route.base_url)
    if where not in told:
        told.add(where)
        log.error(
            "The Hub's own pages do not answer through the proxy: %s. Servers start without "
            "being asked through it. Set c.DetailedKubeSpawner.health_proxy_url.",
            problem,
        )


async def wait_at_gate(
    spawner: Any,
    url: str,
    settings: HealthSettings,
    report: Callable[[Health], object],
    *,
    proxy_ca: str = "",
    starting: bool = False,
    checked: Callable[[str], object] = lambda _outcome: None,
) -> Result:
    """Wait until a spawner's server answers through the proxy, or does not.

    `url` is the address of its pod. The route that is made stays when it answers.
    `checked` is told the outcome of each check.
    """
    hub_settings: Mapping[str, Any] = spawner.user.settings
    access = proxy_access(hub_settings, settings, proxy_ca, starting=starting)
    server = spawner.server
    result = await wait_until_healthy(
        Server(
            url=url,
            base_url=server.base_url if server else spawner.user.url,
            routespec=spawner.proxy_spec,
            data={"user": spawner.user.name, "server_name": spawner.name},
            host=_user_host(spawner),
            ssl_context=_internal_context(hub_settings),
        ),
        settings,
        access,
        report=report,
        checked=checked,
        log=spawner.log,
    )
    if result.skipped and access is not None:
        warn_once(access, result.skipped, spawner.log)
    return result


def readiness_probe(path: str, port: int, timeout: float) -> dict[str, Any]:
    """Return the probe that has Kubernetes ask a server from its own machine."""
    return {
        "httpGet": {"path": path, "port": port},
        # often enough for a quick start; a server that hangs is noticed after 20 s
        "periodSeconds": 2,
        "failureThreshold": 10,
        "timeoutSeconds": max(1, round(timeout)),
    }


def _proxy_context(proxy: Any, base_url: str | None, proxy_ca: str) -> ssl.SSLContext | None:
    if not base_url or not base_url.startswith("https:"):
        return None
    if proxy_ca:
        return ssl.create_default_context(cafile=proxy_ca)
    certificate = str(getattr(proxy, "ssl_cert", "") or "")
    if certificate and getattr(proxy, "should_start", False):
        return pinned_context(certificate)
    return None


def _internal_context(hub_settings: Mapping[str, Any]) -> ssl.SSLContext | None:
    key, certificate, ca = (
        hub_settings.get(f"internal_ssl_{part}") for part in ("key", "cert", "ca")
    )
    if not key:
        return None
    context: ssl.SSLContext = make_ssl_context(key, certificate, cafile=ca)
    return context


def _hub_host(hub_settings: Mapping[str, Any]) -> str | None:
    host = str(hub_settings.get("subdomain_host") or "")
    return urlsplit(host).netloc or None


def _user_host(spawner: Any) -> str | None:
    if not spawner.user.settings.get("subdomain_host"):
        return None
    return urlsplit(str(spawner.user.host)).netloc or None
