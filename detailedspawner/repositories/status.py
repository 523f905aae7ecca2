"""The status of one server, at once or when it changes; and whether the Hub's parts are well."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from .._version import __version__
from ..composing import bare
from ..following import kept_failure
from ..gate import configured_access
from ..hub import HubKubeSpawner, NoticesHub, is_still, rows_notifier, server_key
from ..kubeapi import NO_ANSWER
from ..models import ServerState, ServerStatus
from ..models.status import Check, HubHealth, Watch
from ..models.text import clean
from ..pages import template_paths
from ..spawner import DetailedKubeSpawner

NEVER_STARTED_MESSAGE = "The server has not been started yet."

# the Hub's word for what it is doing with a server
PENDING_STATES = {
    "spawn": ServerState.STARTING,
    "stop": ServerState.STOPPING,
    "check": ServerState.CHECKING,
}

# states that a server stays in until somebody does something
DONE = frozenset({ServerState.RUNNING, ServerState.FAILED, ServerState.STOPPED})

SPAWNER_CLASS = "JupyterHub.spawner_class"
TEMPLATES = "JupyterHub.template_paths"
HANDLERS = "JupyterHub.extra_handlers"
FIRST_HANDLERS = "handlers before the Hub's own"

# seconds that the API server has for its answer
API_TIMEOUT = 5.0
WELL = Check(True)
NOT_YET = "Not known: no server was looked at since the Hub's start."


def server_status(user: Any, server_name: str) -> ServerStatus | None:
    """Return the status of a user's server; None when there is no such server.

    Creates nothing: a server that has no spawner object is not running.
    """
    # the Hub's own lookup of a name that is not there would create it
    if server_name in user.spawners:
        spawner = user.spawners[server_name]
        row = spawner.orm_spawner
        return spawner_status(spawner, never=row is not None and not row.state)
    if server_name in user.orm_spawners:
        row = user.orm_spawners[server_name]
        return row_status(row.state or {})
    return None


def spawner_status(spawner: Any, *, never: bool = False) -> ServerStatus:
    """Return the status of a server that has a spawner object.

    `never`: the Hub has nothing of an earlier start of it.
    """
    if not isinstance(spawner, DetailedKubeSpawner):
        return _plain_status(spawner)
    status = spawner.detailed_status()
    if status.start_id is None and never:
        return replace(status, message=NEVER_STARTED_MESSAGE)
    return status


def row_status(state: Mapping[str, Any]) -> ServerStatus:
    """Return the status of a server that is only in the Hub's database, with this state."""
    message = None if state else NEVER_STARTED_MESSAGE
    return kept_failure(state) or bare(ServerState.STOPPED, message)


def spawner_state(spawner: Any) -> ServerState:
    """Return only the state of a server, for less than its whole status costs."""
    if spawner.ready:
        return ServerState.RUNNING
    return spawner_status(spawner).state


def _plain_status(spawner: Any) -> ServerStatus:
    """Say what the Hub knows of a server of another spawner class."""
    if spawner.ready:
        return bare(ServerState.RUNNING)
    state = PENDING_STATES.get(spawner.pending, ServerState.STOPPED)
    return bare(state, f"The server is {state.value}.")


async def awaited_status(
    user: Any,
    server_name: str,
    enough: Callable[[ServerStatus], bool],
    seconds: float,
    given_up: asyncio.Event | None = None,
) -> ServerStatus | None:
    """Return the first status that is enough, or the one after so many seconds.

    None when there is no such server, or no more. `given_up`: nobody waits for the answer any more.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    changed = given_up or asyncio.Event()
    name, number = user.name, str(user.id)
    unsubscribe = NoticesHub.hub_notifier.subscribe(server_key(name, server_name), changed.set)
    unsubscribe_rows = rows_notifier.subscribe(number, changed.set)
    try:
        while True:
            if not is_still(user, name):
                return None
            status = server_status(user, server_name)
            if status is None or enough(status) or loop.time() >= end:
                return status
            told = _told(user.spawners.get(server_name), status.revision, changed)
            with told, contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(changed.wait(), end - loop.time())
            changed.clear()
    finally:
        unsubscribe()
        unsubscribe_rows()


@contextlib.contextmanager
def _told(spawner: Any, revision: str, changed: asyncio.Event) -> Iterator[None]:
    """Set `changed` when the start of a spawner, or its pod, is no longer as it was."""
    if not isinstance(spawner, DetailedKubeSpawner):
        yield
        return

    async def follow() -> None:
        async for event in spawner.progress():
            if event["status"]["revision"] != revision:
                changed.set()
                return

    task = asyncio.ensure_future(follow())
    unsubscribe = spawner.notifier.subscribe(spawner.pod_key, changed.set)
    try:
        yield
    finally:
        unsubscribe()
        task.cancel()


def undone_parts(app: Any, extra: Sequence[Any], first: Sequence[Any]) -> dict[str, str]:
    """Return the parts that an application does not have, with what is there instead.

    `extra` is what belongs into `extra_handlers`, `first` what answers in place of the
    Hub's own handlers; who answers is known as soon as the Hub has made what does.
    """
    undone = {}
    if not issubclass(app.spawner_class, DetailedKubeSpawner):
        undone[SPAWNER_CLASS] = f"{SPAWNER_CLASS} is {app.spawner_class.__name__}."
    # behind the Hub's own folder ours would never be asked
    stock = str(Path(app.data_files_path) / "templates")
    paths = list(app.template_paths)
    before_stock = paths[: paths.index(stock)] if stock in paths else paths
    if not set(template_paths()) <= set(before_stock):
        undone[TEMPLATES] = f"{TEMPLATES} was set after configure(c)."
    declared = {handler[0] for handler in app.extra_handlers}
    if absent := [handler[0] for handler in extra if handler[0] not in declared]:
        undone[HANDLERS] = f"{HANDLERS} lacks {', '.join(absent)}."
    if getattr(app, "tornado_application", None) is not None:
        for part, wanted in ((HANDLERS, extra), (FIRST_HANDLERS, first)):
            if others := list(_others(app, wanted)):
                undone.setdefault(part, " ".join(others))
    return undone


def _others(app: Any, wanted: Sequence[Any]) -> Iterator[str]:
    """Tell of each path that something else answers than the handler that should."""
    for pattern, handler, *_ in app.add_url_prefix(app.hub_prefix, wanted):
        path = _example(pattern)
        request = HTTPServerRequest(
            start_line=RequestStartLine("GET", path, "HTTP/1.1"),
            headers=HTTPHeaders({"Host": "127.0.0.1"}),
        )
        # who would answer is known only to what asks the rules in their order
        found = app.tornado_application.find_handler(request).handler_class
        if found is not handler:
            yield f"{path} is answered by {found.__module__}.{found.__qualname__}."


def _example(pattern: str) -> str:
    """Return a path that a handler's pattern matches."""
    return re.sub(r"\([^()]*\)", "x", pattern).replace("\\", "")


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
    except NO_ANSWER as error:
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
