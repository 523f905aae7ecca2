"""A Hub in the test's own process, with its REST API but no proxy, in front of an API server.

Quicker than a real Hub, and a test sees its objects and database. Servers answer where the
pods' address leads: on a port of this machine that the Hub here serves itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import warnings
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import jupyterhub
from aiohttp import web
from aiohttp.test_utils import TestServer
from jupyterhub import orm
from jupyterhub.app import JupyterHub
from jupyterhub.proxy import Proxy
from jupyterhub.roles import assign_default_roles
from kubernetes_asyncio.client import Configuration
from kubespawner import spawner as kubespawner_module
from sqlalchemy import event
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from traitlets.config import Config

from detailedspawner import DetailedKubeSpawner
from detailedspawner.configuration import configure
from detailedspawner.demo.api import make_app
from detailedspawner.demo.store import Store
from detailedspawner.handlers import API
from detailedspawner.hub import HubKubeSpawner, NoticesHub
from detailedspawner.profiling import ProfilesMixin
from detailedspawner.tracking import Notifier

PAGED = {"Accept": "application/jupyterhub-pagination+json"}


class NoProxy(Proxy):  # type: ignore[misc]
    """Keeps routes and forwards nothing."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.routes: dict[str, Any] = {}

    async def add_route(self, routespec: str, target: str, data: Any) -> None:
        self.routes[routespec] = {"routespec": routespec, "target": target, "data": data}

    async def delete_route(self, routespec: str) -> None:
        self.routes.pop(routespec, None)

    async def get_all_routes(self) -> dict[str, Any]:
        return dict(self.routes)


async def until(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """Let the loop run until a condition holds; returns its result."""

    async def look() -> Any:
        while not (result := condition()):
            await asyncio.sleep(0.005)
        return result

    return await asyncio.wait_for(look(), seconds)


class CountedNotifier(Notifier):
    """Says how many listen, so that a test knows that a request waits."""

    def __init__(self) -> None:
        super().__init__()
        self.listening = 0

    def subscribe(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        self.listening += 1
        end = super().subscribe(key, listener)

        def unsubscribe() -> None:
            self.listening -= 1
            end()

        return unsubscribe


def start_body(options: dict[str, Any]) -> dict[str, Any]:
    """Return the body with which a server is started with these options."""
    return {"user_options": options} if jupyterhub.version_info >= (6,) else options


@dataclass
class RestHub:
    """The Hub, and a client for whoever asks."""

    app: JupyterHub
    client: httpx.AsyncClient
    store: Store
    waiters: CountedNotifier
    queries: list[str] = field(default_factory=list)
    services: dict[str, str] = field(default_factory=dict)
    # what the containers have written, by their names
    logs: dict[str, str] = field(default_factory=dict)

    def user(self, name: str, *, groups: tuple[str, ...] = (), admin: bool = False) -> Any:
        """Create a user as its first login does, and return the Hub's object for it."""
        row = orm.User(name=name, admin=admin)
        self.app.db.add(row)
        self.app.db.commit()
        assign_default_roles(self.app.db, entity=row)
        for group in groups:
            found = orm.Group.find(self.app.db, group) or orm.Group(name=group)
            self.app.db.add(found)
            row.groups.append(found)
        self.app.db.commit()
        return self.app.users[row.id]

    def server(self, user: Any, name: str, **columns: Any) -> Any:
        """Add a row for a server that is not running."""
        row = orm.Spawner(name=name, user=user.orm_user, **columns)
        self.app.db.add(row)
        self.app.db.commit()
        return row

    def token(self, user: Any, *scopes: str) -> str:
        """Return a token of a user: with all the user may do, or with some scopes only."""
        return str(user.new_api_token(scopes=list(scopes) if scopes else None))

    def service(self, name: str, *scopes: str) -> str:
        """Return the token of a service that may do what these scopes allow."""
        if name in self.services:
            return self.services[name]
        db = self.app.db
        service = orm.Service(name=name)
        db.add(service)
        role = orm.Role(name=f"role-{name}", scopes=list(scopes))
        db.add(role)
        service.roles.append(role)
        db.commit()
        return self.services.setdefault(name, str(service.new_api_token()))

    async def get(self, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        """GET a path below ours."""
        headers = {**more.pop("headers", {})}
        if token is not None:
            headers["Authorization"] = f"token {token}"
        return await self.client.get(f"/hub{API}{path}", headers=headers, **more)

    async def hub(self, method: str, path: str, token: str, **more: Any) -> httpx.Response:
        """Send a request to the Hub's own API."""
        headers = {"Authorization": f"token {token}"}
        return await self.client.request(method, f"/hub/api{path}", headers=headers, **more)

    def pod(self, name: str) -> dict[str, Any] | None:
        """Return a pod, None when there is none."""
        found = [pod for pod in self.store.list("pods", "ns") if pod["metadata"]["name"] == name]
        return found[0] if found else None

    def make_ready(self, name: str) -> None:
        """Have a pod and all its containers ready."""

        def change(pod: dict[str, Any]) -> None:
            state = {"running": {"startedAt": "2025-11-30T12:00:00Z"}}
            more = {"ready": True, "restartCount": 0, "imageID": "", "state": state}
            pod["status"].update(
                phase="Running",
                podIP="127.0.0.1",
                conditions=[{"type": "Ready", "status": "True"}],
                containerStatuses=[
                    {"name": c["name"], "image": c["image"], **more}
                    for c in pod["spec"]["containers"]
                ],
            )

        self.store.update("pods", "ns", name, change)

    async def start(self, user: Any, server: str = "", **options: Any) -> None:
        """Start a server and wait until it runs."""
        await self.begin(user, server, **options)
        spawner = user.spawners[server]
        self.make_ready(spawner.pod_name)
        await until(lambda: spawner.ready)

    async def begin(self, user: Any, server: str = "", **options: Any) -> None:
        """Start a server and wait until there is a pod."""
        path = f"/users/{user.name}/servers/{server}"
        answer = await self.hub("POST", path, self.token(user), json=start_body(options))
        assert answer.status_code == 202, answer.text
        spawner = user.spawners[server]
        await until(lambda: self.pod(spawner.pod_name) or not spawner.pending)

    async def stop(self, user: Any, server: str = "") -> None:
        """Stop a server and wait until it is gone."""
        spawner = user.spawners[server]
        await self.hub("DELETE", f"/users/{user.name}/servers/{server}", self.token(user))
        await until(lambda: not spawner.pending)

    @contextlib.contextmanager
    def counted(self) -> Any:
        """Collect the queries that the database gets meanwhile."""
        self.queries.clear()
        engine = self.app.db.get_bind()

        def note(conn: Any, cursor: Any, statement: str, *more: Any) -> None:
            self.queries.append(statement)

        event.listen(engine, "before_cursor_execute", note)
        try:
            yield self.queries
        finally:
            event.remove(engine, "before_cursor_execute", note)


class SoundSpawner(DetailedKubeSpawner):
    """The spawner as the Hub here uses it."""


@contextlib.asynccontextmanager
async def resthub(
    folder: Path,
    monkeypatch: Any,
    config: Callable[[Config], object] = lambda c: None,
    spawner_class: type = SoundSpawner,
) -> AsyncIterator[RestHub]:
    """Run a Hub whose servers are pods of an API server that a test moves by hand."""
    store = Store()
    logs: dict[str, str] = {}
    store.create("namespaces", None, {"metadata": {"name": "ns"}})
    server = TestServer(make_app(store, lambda _, pod, container, *__: logs.get(container, "")))
    await server.start_server()
    configuration = Configuration()
    configuration.host = str(server.make_url("")).rstrip("/")
    Configuration.set_default(configuration)
    monkeypatch.setattr(kubespawner_module, "load_config", lambda *_, **__: None)
    monkeypatch.setattr(HubKubeSpawner, "events_refused", set())
    monkeypatch.setattr(ProfilesMixin, "evaluated", OrderedDict())
    waiters = CountedNotifier()
    monkeypatch.setattr(NoticesHub, "hub_notifier", waiters)
    monkeypatch.chdir(folder)
    answering = web.Application()
    answering.router.add_get("/{path:.*}", _answer)
    session = TestServer(answering)
    await session.start_server()

    c = Config()
    configure(c)
    c.JupyterHub.spawner_class = spawner_class
    c.JupyterHub.authenticator_class = "dummy"
    c.JupyterHub.db_url = "sqlite:///:memory:"
    c.JupyterHub.proxy_class = NoProxy
    c.JupyterHub.allow_named_servers = True
    c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0, "slow_stop_timeout": 0}
    c.JupyterHub.log_level = logging.INFO
    c.JupyterHub.cleanup_servers = False
    c.Authenticator.allow_all = True
    c.KubeSpawner.namespace = "ns"
    c.KubeSpawner.image = "lab:1"
    c.KubeSpawner.port = session.port
    c.DetailedKubeSpawner.health_enabled = False
    config(c)
    JupyterHub.clear_instance()
    # JupyterHub 5 with a newer jupyter_events
    warnings.filterwarnings("ignore", message="The `version` property of an event schema")
    app = JupyterHub.instance(config=c)
    await app.initialize([])
    app.log.propagate = True
    web_server = HTTPServer(app.tornado_application)
    (socket,) = bind_sockets(0, "127.0.0.1")
    web_server.add_socket(socket)
    url = f"http://127.0.0.1:{socket.getsockname()[1]}"
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        try:
            yield RestHub(app, client, store, waiters, logs=logs)
        finally:
            web_server.stop()
            await web_server.close_all_connections()
            await _end(app)
            for reflector in list(HubKubeSpawner.reflectors.values()):
                await reflector.stop()
            HubKubeSpawner.reflectors.clear()
            await session.close()
            await server.close()


async def _answer(request: web.Request) -> web.Response:
    return web.Response(text="{}")


async def _end(app: JupyterHub) -> None:
    """End what the Hub has begun: its starts, clients and database."""
    for user in list(app.users.values()):
        for spawner in list(user.spawners.values()):
            future = spawner._spawn_future
            if future is not None and not future.done():
                future.cancel()
                await asyncio.wait({future})
            spawner.stop_polling()
            await spawner.api.api_client.close()
    await app.cleanup()
    app.db.close()
    app.db.get_bind().dispose()
    app._atexit_ran = True
    app.log.handlers.clear()
    JupyterHub.clear_instance()


def names(answer: httpx.Response) -> list[str]:
    """Return "user/server" of each server in a list."""
    document = json.loads(answer.text)
    items = document["items"] if isinstance(document, dict) else document
    return [f"{item['user']}/{item['name']}" for item in items]


async def logged_in(hub: RestHub, name: str) -> str:
    """Log a user in as a browser does; returns the token against forged requests."""
    login = await hub.client.get("/hub/login")
    xsrf = login.cookies["_xsrf"]
    answer = await hub.client.post(
        "/hub/login", params={"_xsrf": xsrf}, data={"username": name, "password": "x"}
    )
    assert answer.status_code == 302
    await hub.client.get("/hub/token")
    return hub.client.cookies["_xsrf"]
