"""Whether the watches, the API server, the proxy's route and the installation are well."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp

from .._version import __version__
from ..gate import configured_access
from ..hub import HubKubeSpawner
from ..models.hubhealth import Check, HubHealth, Watch
from ..models.text import clean
from .installation import FIRST_HANDLERS, HANDLERS, SPAWNER_CLASS, TEMPLATES

# seconds that the API server has for its answer
API_TIMEOUT = 5.0
WELL = Check(True)
NOT_YET = "Not known: no server was looked at since the Hub's start."


async def hub_health(
    users: Any, settings: Mapping[str, Any], undone: Mapping[str, str] | None
) -> HubHealth:
    """Ask all parts, and say of each whether it is well.

    `settings` are those of the Hub's web application, `undone` the parts of `configure(c)`
    that it lacks, each with what is wrong; None if there is no application to ask.
    """
    api_server, proxy_route = await asyncio.gather(_api_server(users), _proxy_route(settings))
    watches = _watches()
    checks = {
        "api_server": api_server,
        "proxy_route": proxy_route,
        "templates": _installed(undone, TEMPLATES),
        "handlers": _installed(undone, HANDLERS, FIRST_HANDLERS),
        "spawner_class": _installed(undone, SPAWNER_CLASS),
    }
    broken = [*(one.ok is False for one in checks.values()), *(not one.ok for one in watches)]
    return HubHealth(version=__version__, ok=not any(broken), watches=watches, **checks)


def _watches() -> tuple[Watch, ...]:
    found = []
    for (kind, namespace), reflector in sorted(HubKubeSpawner.reflectors.items(), key=str):
        outage = reflector.outage
        if not reflector.healthy():
            message = "The first list failed, or the watch has ended."
            found.append(Watch(str(kind), namespace, False, message))
        elif outage is not None:
            found.append(Watch(str(kind), namespace, False, outage.detail, outage.since))
        else:
            found.append(Watch(str(kind), namespace, True))
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


def _installed(undone: Mapping[str, str] | None, *parts: str) -> Check:
    """Say whether an application has these parts of `configure(c)`."""
    if undone is None:
        return Check(None)
    wrong = [undone[part] for part in parts if part in undone]
    return Check(False, clean(" ".join(wrong), 2000)) if wrong else WELL
