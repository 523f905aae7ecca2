"""Whether the watches, the API server, the proxy's route and the installation are well."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import aiohttp
from jupyterhub.app import JupyterHub

from .._version import __version__
from ..gate import configured_access
from ..hub import HubKubeSpawner
from ..models.hubhealth import Check, HubHealth, Watch
from ..models.text import clean
from ..paths import template_paths
from ..spawner import DetailedKubeSpawner

# seconds that the API server has for its answer
API_TIMEOUT = 5.0
WELL = Check(True)
NOT_YET = "Not known: no server was looked at since the Hub's start."


async def hub_health(
    users: Any, settings: Mapping[str, Any], patterns: Collection[str]
) -> HubHealth:
    """Ask all parts, and say of each whether it is well.

    `settings` are those of the Hub's web application, `patterns` of the product's handlers.
    """
    api_server, proxy_route = await asyncio.gather(_api_server(users), _proxy_route(settings))
    installed = JupyterHub.instance() if JupyterHub.initialized() else None
    watches = _watches()
    checks = {
        "api_server": api_server,
        "proxy_route": proxy_route,
        "templates": _templates(installed),
        "handlers": _handlers(installed, patterns),
        "spawner_class": _spawner_class(installed),
    }
    broken = [*(one.ok is False for one in checks.values()), *(not one.ok for one in watches)]
    return HubHealth(version=__version__, ok=not any(broken), watches=watches, **checks)


def _watches() -> tuple[Watch, ...]:
    found = []
    for (kind, namespace), reflector in sorted(HubKubeSpawner.reflectors.items(), key=str):
        ok = reflector.healthy()
        message = None if ok else "The first list failed, or the watch has ended."
        found.append(Watch(str(kind), namespace, ok, message))
    refused = sorted(HubKubeSpawner.events_refused, key=str)
    for kind, namespace in refused:
        found.append(Watch(str(kind), namespace, False, "Refused: steps go without events."))
    return tuple(found)


async def _api_server(users: Any) -> Check:
    """Ask the API server for its version, with the client that spawners share."""
    for user in users.values():
        for spawner in user.spawners.values():
            if isinstance(spawner, HubKubeSpawner):
                return await _ask(spawner.api.api_client)
    return Check(None, NOT_YET)


async def _ask(client: Any) -> Check:
    try:
        answer = await client.call_api(
            "/version", "GET", auth_settings=["BearerToken"], _request_timeout=API_TIMEOUT,
            _preload_content=False,
        )  # fmt: skip
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
        return Check(False, clean(f"The API server does not answer: {error!r}"))
    answer.close()
    if answer.status != 200:
        return Check(False, clean(f"The API server answered {answer.status} {answer.reason}."))
    return WELL


async def _proxy_route(settings: Mapping[str, Any]) -> Check:
    """Ask for the Hub's own route through the proxy, as starts do."""
    access = configured_access(settings)
    if isinstance(access, str):
        return Check(None, access)
    route = access.hub_route
    return WELL if await route.answers() else Check(False, clean(str(route.problem)))


def _templates(app: Any) -> Check:
    if app is None:
        return Check(None)
    # behind the Hub's own folder ours would never be asked
    stock = str(Path(app.data_files_path) / "templates")
    paths = list(app.template_paths)
    before_stock = paths[: paths.index(stock)] if stock in paths else paths
    if set(template_paths()) <= set(before_stock):
        return WELL
    return Check(False, "JupyterHub.template_paths was set after configure(c).")


def _handlers(app: Any, patterns: Collection[str]) -> Check:
    if app is None:
        return Check(None)
    known = {handler[0] for handler in app.extra_handlers}
    absent = [pattern for pattern in patterns if pattern not in known]
    if not absent:
        return WELL
    return Check(False, f"JupyterHub.extra_handlers lacks {', '.join(absent)}.")


def _spawner_class(app: Any) -> Check:
    if app is None:
        return Check(None)
    if issubclass(app.spawner_class, DetailedKubeSpawner):
        return WELL
    return Check(False, f"JupyterHub.spawner_class is {app.spawner_class.__name__}.")
