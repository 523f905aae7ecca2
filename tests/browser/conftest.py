"""A stand-in for the Hub that serves the real pages with canned statuses, and a browser for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader
from jupyterhub._data import DATA_FILES_PATH
from jupyterhub.utils import url_escape_path
from playwright.async_api import Browser, Error, Page, async_playwright

HERE = Path(__file__).parent
TEMPLATES = HERE.parent.parent / "templates"
HUB_FILES = Path(DATA_FILES_PATH)
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
# A space and an "@", so that forgotten escaping is noticed.
BASE_URL = "/@/space%20word/hub/"
XSRF = "token|1:2+3"


def jinja_environment(*first: Path) -> Environment:
    """Make the environment as JupyterHub does: a site's pages first, ours, its own as fallback."""
    stock = str(HUB_FILES / "templates")
    loader = ChoiceLoader(
        [
            PrefixLoader({"templates": FileSystemLoader([stock])}, "/"),
            FileSystemLoader([*map(str, first), str(TEMPLATES), stock]),
        ]
    )
    return Environment(loader=loader, autoescape=True, enable_async=True)


class FakeHub:
    """Serves one user's server: its page, event stream, status and DELETE.

    `status` is what the status endpoint answers (None: 404), `stream_code` what the
    event stream does, `stream_held_back` lets nothing of it through, as a proxy that
    buffers does, and `requests` records what the page asked for.
    """

    def __init__(self) -> None:
        self.user_name = "ada@example.org"
        self.server_name = ""
        self.changed = asyncio.Event()
        self._status: dict[str, Any] | None = None
        self.rendered: dict[str, Any] | None = None
        self.stream_code = 200
        self.stream_held_back = False
        self.status_code = 200
        self.delete_code = 202
        self.post_code = 201
        self.settings: dict[str, Any] = {}
        self.logs: dict[str, str] = {}
        self.log_code = 403
        self.on_delete: Callable[[], None] = lambda: None
        self.pending = "spawn"
        self.options_form = ""
        self.headers: dict[str, str] = {}
        self.template_vars: dict[str, Any] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.streams: list[asyncio.Queue[Any]] = []
        self.origin = ""
        self._jinja = jinja_environment()

    # ---- what a test says ----

    @property
    def status(self) -> dict[str, Any] | None:
        """What the status endpoint answers; whoever waits for another one gets it."""
        return self._status

    @status.setter
    def status(self, status: dict[str, Any] | None) -> None:
        self._status = status
        self._tell()

    def _tell(self) -> None:
        # several may wait, so each change has an event of its own
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    async def send(self, status: dict[str, Any] | None = None, **event: Any) -> None:
        """Send one event to the open stream, and make its status the present one."""
        if status is not None:
            self.status = status
            event = {
                "progress": status["progress"],
                "message": status["message"],
                "html_message": status["message"],
                "status": status,
                **event,
            }
        await self.until(lambda: bool(self.streams))
        for queue in self.streams:
            queue.put_nowait(event)

    def break_streams(self) -> None:
        """Close the open streams in the middle."""
        for queue in self.streams:
            queue.put_nowait(None)
        self.streams.clear()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a request has made the condition true."""

        async def wait() -> None:
            while not condition():
                changed = self.changed
                await changed.wait()

        await asyncio.wait_for(wait(), 20)

    def asked(self, method: str, ending: str) -> list[str]:
        """Return the raw paths asked for with a method that end in something."""
        return [path for verb, path, _ in self.requests if verb == method and path.endswith(ending)]

    @property
    def server_url(self) -> str:
        """The path of the user's server, which answers with a plain page."""
        name = url_escape_path(self.server_name)
        path = f"/@/space%20word/user/{url_escape_path(self.user_name)}/"
        return f"{path}{name}/" if name else path

    @property
    def page_url(self) -> str:
        """The address of the spawn page."""
        name = f"/{url_escape_path(self.server_name)}" if self.server_name else ""
        return f"{self.origin}{BASE_URL}spawn-pending/{url_escape_path(self.user_name)}{name}"

    def put_templates_first(self, folder: Path) -> None:
        """Look for pages in a folder of the site first."""
        self._jinja = jinja_environment(folder)

    # ---- how it runs ----

    async def start(self) -> None:
        """Listen, after a stop at the same port again."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.handle)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        port = int(self.origin.rpartition(":")[2] or 0)
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        host, port = self._runner.addresses[0][:2]
        self.origin = f"http://{host}:{port}"

    async def stop(self) -> None:
        """Close all connections and the port."""
        self.break_streams()
        await self._runner.cleanup()

    # ---- what a page gets ----

    def _namespace(self) -> dict[str, Any]:
        spawner = SimpleNamespace(
            name=self.server_name, pending=self.pending, options_form=self.options_form
        )
        if self.rendered is not None:
            spawner.detailed_snapshot = lambda scopes: self.rendered
            spawner.detailed_version = "1.2.3"
            spawner.page_settings = lambda: self.settings
        user = SimpleNamespace(
            name=self.user_name,
            escaped_name=url_escape_path(self.user_name),
            json_escaped_name=json.dumps(self.user_name)[1:-1],
            server_url=lambda name="": self.server_url,
            spawner=spawner,
            spawners={self.server_name: spawner},
        )
        return {
            "user": user,
            "spawner": spawner,
            "base_url": BASE_URL,
            "prefix": "/@/space%20word/",
            "static_url": lambda path, **_: f"{BASE_URL}static/{path}",
            "xsrf_token": XSRF,
            "parsed_scopes": [],
            "logout_url": f"{BASE_URL}logout",
            **self.template_vars,
        }

    async def render(self, name: str, **more: Any) -> web.Response:
        """Render a page with what the Hub gives to its templates."""
        html = await self._jinja.get_template(name).render_async({**self._namespace(), **more})
        return web.Response(text=html, content_type="text/html", headers=self.headers)

    async def spawn_pending(self, request: web.Request) -> web.StreamResponse:
        api = f"{BASE_URL}api/users/{url_escape_path(self.user_name)}"
        which = f"servers/{url_escape_path(self.server_name)}" if self.server_name else "server"
        return await self.render(
            "spawn_pending.html", progress_url=f"{api}/{which}/progress?_xsrf=token%7C1%3A2%2B3"
        )

    async def not_running(self, request: web.Request) -> web.StreamResponse:
        return await self.render(
            "not_running.html",
            server_name=self.server_name,
            spawn_url=f"{BASE_URL}spawn/{url_escape_path(self.user_name)}",
            **self.template_vars,
        )

    # ---- the API ----

    async def progress(self, request: web.Request) -> web.StreamResponse:
        if self.stream_code != 200:
            raise web.HTTPBadRequest()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if self.stream_held_back:
            await asyncio.Event().wait()
        await response.prepare(request)
        queue: asyncio.Queue[Any] = asyncio.Queue()
        self.streams.append(queue)
        self._tell()
        with contextlib.suppress(ConnectionResetError, asyncio.CancelledError):
            while (event := await queue.get()) is not None:
                await response.write(f"data: {json.dumps(event)}\n\n".encode())
        if queue in self.streams:
            self.streams.remove(queue)
        return response

    async def status_endpoint(self, request: web.Request) -> web.StreamResponse:
        if "wait" in request.query:
            # as the Hub: until there is another revision
            known = request.query["revision"]
            with contextlib.suppress(asyncio.TimeoutError):
                await self.until(lambda: (self.status or {}).get("revision") != known)
        if self.status is None:
            raise web.HTTPNotFound()
        return web.json_response(self.status, status=self.status_code)

    async def post(self, request: web.Request) -> web.StreamResponse:
        if self.post_code >= 400:
            return web.json_response({"message": "not today"}, status=self.post_code)
        return web.Response(status=self.post_code)

    async def log(self, request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/")[2]
        if name not in self.logs:
            message = {"message": "The Hub does not show logs"}
            return web.json_response(message, status=self.log_code)
        return web.json_response({"container": name, "text": self.logs[name]})

    async def delete(self, request: web.Request) -> web.StreamResponse:
        self.on_delete()
        if self.delete_code >= 400:
            return web.json_response({"message": "not today"}, status=self.delete_code)
        return web.Response(status=self.delete_code)

    async def server(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="<title>The server</title>", content_type="text/html")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Record a request and answer it; paths are compared as they were sent."""
        self.requests.append((request.method, request.raw_path, dict(request.headers)))
        self._tell()
        path = request.raw_path.partition("?")[0]
        which = r"api/users/[^/]+/(server|servers/[^/]+)"
        table: list[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]]] = [
            ("GET", f"{BASE_URL}spawn-pending/.+", self.spawn_pending),
            ("GET", f"{BASE_URL}not-running", self.not_running),
            ("GET", f"{BASE_URL}{which}/progress", self.progress),
            ("DELETE", f"{BASE_URL}{which}", self.delete),
            ("POST", f"{BASE_URL}{which}", self.post),
            ("GET", BASE_URL + which.replace("api", "api/detailedspawner") + "/logs/.+", self.log),
            (
                "GET",
                BASE_URL + which.replace("api", "api/detailedspawner") + "/status",
                self.status_endpoint,
            ),
            ("GET", f"{BASE_URL}(detailedspawner/static|static|logo).*", self.file),
            ("GET", f"{BASE_URL}(home|spawn/.*)|/@/space%20word/user/.*", self.server),
        ]
        for method, pattern, handler in table:
            if method == request.method and re.fullmatch(pattern, path):
                return await handler(request)
        raise web.HTTPNotFound()

    async def file(self, request: web.Request) -> web.StreamResponse:
        path = request.raw_path.partition("?")[0].removeprefix(BASE_URL)
        if path == "logo":
            path = "static/images/jupyterhub-80.png"
        ours = path.startswith("detailedspawner/")
        folder = TEMPLATES if ours else HUB_FILES
        return web.FileResponse(folder / path.removeprefix("detailedspawner/"))


@pytest_asyncio.fixture(loop_scope="session")
async def hub() -> AsyncIterator[FakeHub]:
    """A stand-in for the Hub on a free port of the loopback address."""
    fake = FakeHub()
    await fake.start()
    yield fake
    await fake.stop()


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run a headless Chromium that talks to nobody but the test."""
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield launched
        await launched.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all pages, since to start it takes longer than most tests."""
    async with chromium() as launched:
        yield launched


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page in a light theme; an error of its scripts fails the test."""
    context = await browser.new_context(viewport={"width": 1100, "height": 900})
    page = await context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    # a browser that is closed while it loads a page may never end
    with contextlib.suppress(Error):  # "interrupted by another navigation"
        await page.goto("about:blank")
    await page.wait_for_load_state()
    await context.close()
    assert errors == []


@pytest.fixture
def screenshot(tmp_path: Path) -> Callable[[Page, str], Awaitable[None]]:
    """Save a picture of the page under a name, in $SCREENSHOT_DIR or the test's folder."""
    folder = Path(os.environ.get("SCREENSHOT_DIR") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)

    async def save(page: Page, name: str) -> None:
        # The bar would still be on its way.
        await page.emulate_media(reduced_motion="reduce")
        await page.screenshot(path=folder / f"{name}.png", full_page=True, animations="disabled")

    return save


@pytest.fixture(scope="session")
def axe_source(request: pytest.FixtureRequest) -> str:
    """The source of axe-core, which is fetched from npm once and kept in pytest's cache."""
    inside = Path("node_modules/axe-core/axe.min.js")
    folders = [HERE, request.config.cache.mkdir("axe-core")]
    if not any((folder / inside).exists() for folder in folders):
        shutil.copy(HERE / "package.json", folders[1])
        command = [shutil.which("npm") or "npm", "install", "--no-audit", "--no-package-lock"]
        try:
            subprocess.run(command, cwd=folders[1], check=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            required = "browser" in os.environ.get("REQUIRE", "")
            (pytest.fail if required else pytest.skip)(f"no axe-core from npm: {error}")
    return next((folder / inside).read_text() for folder in folders if (folder / inside).exists())


@pytest.fixture
def axe(axe_source: str) -> Callable[[Page], Awaitable[list[str]]]:
    """Return what axe finds wrong with a page, one line for each element."""

    async def violations(page: Page) -> list[str]:
        await page.evaluate(axe_source)
        found = await page.evaluate("axe.run()")
        return [
            f"{violation['id']}: {node['html']} {node['failureSummary']}"
            for violation in found["violations"]
            for node in violation["nodes"]
        ]

    return violations
