"""Starting and stopping by the REST API: quick, idempotent, and strict."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from jupyterhub import orm
from traitlets.config import Config

from detailedspawner.handlers import hubhandlers, place_first, stopping
from detailedspawner.handlers.stopping import Ending

from . import slowspawner
from .resthub import NoProxy, RestHub, resthub, until
from .slowspawner import SlowSpawner

# one Hub for all, each test with a user of its own
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    # JupyterHub 5's own
    pytest.mark.filterwarnings("ignore:The `version` property of an event schema"),
]

NUMBERS = itertools.count()


def quickly(c: Config) -> None:
    """Leave the Hub's timeouts as they come, but for what a test would wait for."""
    c.JupyterHub.tornado_settings = {}
    c.KubeSpawner.http_timeout = 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub_of_all(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RestHub]:
    """A Hub with spawners that hang where a test wants."""
    folder = tmp_path_factory.mktemp("hub")
    with pytest.MonkeyPatch.context() as monkeypatch:
        async with resthub(folder, monkeypatch, quickly, SlowSpawner) as running:
            assert place_first(running.app)
            yield running


@pytest.fixture
def hub(hub_of_all: RestHub) -> Iterator[RestHub]:
    """The Hub, without what earlier tests noted."""
    slowspawner.reset()
    yield hub_of_all
    SlowSpawner.release.set()


@pytest.fixture
def settings(hub: RestHub) -> Iterator[dict[str, Any]]:
    """The settings that a Hub's handlers look at; as they were afterwards."""
    found = hub.app.tornado_application.settings
    before = dict(found)
    yield found
    found.clear()
    found.update(before)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer quick starts as such also on a machine that is busy."""
    monkeypatch.setattr(stopping, "QUICK", 5)


class Server:
    """One server of a new user, and the requests that concern it."""

    def __init__(self, hub: RestHub, name: str = "") -> None:
        self.hub = hub
        self.name = name
        self.user = hub.user(f"user{next(NUMBERS)}")
        self.token = hub.token(self.user)
        self.path = f"/users/{self.user.name}/server{f's/{name}' if name else ''}"
        self.tokens = self._tokens()

    async def post(self, **options: Any) -> httpx.Response:
        """Ask for a start."""
        # as JupyterHub 5 takes it, and 6 as well
        return await self.hub.hub("POST", self.path, self.token, json=options)

    async def delete(self, **body: Any) -> httpx.Response:
        """Ask for the end."""
        return await self.hub.hub("DELETE", self.path, self.token, json=body)

    @property
    def spawner(self) -> Any:
        """The Hub's object for it, None when there is none."""
        return self.user.spawners.get(self.name)

    def _tokens(self) -> int:
        return self.hub.app.db.query(orm.APIToken).count()

    async def settled(self) -> None:
        """Wait until nothing is pending."""
        await until(lambda: self.spawner is None or not self.spawner.pending)
        await until(lambda: self.spawner is None or Ending.of(self.spawner) is None)

    def assert_nothing_is_left(self) -> None:
        """Hold a stopped server to what it may leave."""
        assert self.spawner is None or not self.spawner.active
        db = self.hub.app.db
        assert self._tokens() == self.tokens
        assert db.query(orm.Server).filter(orm.Server.spawner != None).all() == []  # noqa: E711
        assert self.hub.app.proxy.routes == {}

    async def assert_starts_and_stops(self) -> None:
        """Hold it to that it can be used again."""
        answer = await self.post(phase="none")
        assert answer.status_code in (201, 202), answer.text
        await until(lambda: self.spawner is not None and self.spawner.ready)
        assert (await self.delete()).status_code == 204
        self.assert_nothing_is_left()


PHASES = [
    "hook",
    "start",
    "slow to let go",
    "swallows a cancel",
    "swallows and starts",
    "fails on cancel",
    "no answer",
    "fails",
    "stops slowly",
    "proxy",
]
WAYS = ["one", "two at once", "then a start", "with a start"]


async def bring_into(phase: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a server and wait until the start hangs in a phase."""
    if phase == "proxy":

        async def hang(self: Any, routespec: str, target: str, data: Any) -> None:
            SlowSpawner.hanging.append("proxy")
            monkeypatch.undo()
            await asyncio.Event().wait()

        monkeypatch.setattr(NoProxy, "add_route", hang)
    asked = asyncio.ensure_future(server.post(phase=phase))
    if phase == "no answer":
        await until(lambda: server.spawner and slowspawner.answering(server.spawner))
    elif phase == "stops slowly":
        await until(lambda: server.spawner and server.spawner.ready)
        stopping = asyncio.ensure_future(server.delete())
        await until(lambda: "stop" in SlowSpawner.hanging)
        asyncio.get_running_loop().call_later(0.2, SlowSpawner.release.set)
        asked.add_done_callback(lambda _: stopping)
    else:
        await until(lambda: SlowSpawner.hanging)
    if phase == "fails":
        asyncio.get_running_loop().call_later(0.2, SlowSpawner.release.set)
    assert (await asked).status_code in (201, 202, 409)


@pytest.mark.parametrize("name", ["", "lab"], ids=["default", "named"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("phase", PHASES)
async def test_cancel(
    phase: str, way: str, name: str, hub: RestHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a matrix need not wait
    monkeypatch.setattr(stopping, "QUICK", 0.01)
    monkeypatch.setattr(stopping, "CANCEL_AGAIN", 0.1)
    server = Server(hub, name)
    with monkeypatch.context() as patch:
        await bring_into(phase, server, patch)
    deletes = [asyncio.ensure_future(server.delete())]
    posts = []
    if way == "two at once":
        deletes.append(asyncio.ensure_future(server.delete()))
    if way == "then a start":
        ending = lambda: server.spawner is None or Ending.of(server.spawner)  # noqa: E731
        await until(lambda: ending() or deletes[0].done())
    if "start" in way:
        posts.append(asyncio.ensure_future(server.post(phase="none")))
    answers = [(await task).status_code for task in deletes]
    assert set(answers) <= {202, 204}, answers
    again = [(await task).status_code for task in posts]
    assert set(again) <= {201, 202}, again
    await server.settled()
    if way == "then a start":
        await until(lambda: server.spawner is not None and server.spawner.ready)
        assert (await server.delete()).status_code == 204
    elif way == "with a start" and server.spawner is not None and server.spawner.ready:
        assert (await server.delete()).status_code == 204
    server.assert_nothing_is_left()
    await server.assert_starts_and_stops()


# --- the start ----------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["start", "hook", "no answer"])
async def test_a_slow_start_is_answered_at_once(phase: str, hub: RestHub) -> None:
    server, took = Server(hub), []
    for _ in range(3):
        began = time.monotonic()
        assert (await server.post(phase=phase)).status_code == 202
        took.append(time.monotonic() - began)
        await server.delete()
        await server.settled()
    # the machine may be busy with something else
    assert min(took) < 0.3
    server.assert_nothing_is_left()


QUICK_ENDS = [
    {"phase": "none", "code": 201},
    {"phase": "refused", "code": 403, "message": "not for you"},
    {"phase": "fails at once", "code": 500},
]


@pytest.mark.parametrize("row", QUICK_ENDS, ids=lambda row: row["phase"])
async def test_a_quick_start_is_answered_as_by_the_hub(
    row: dict[str, Any], hub: RestHub, patient: None
) -> None:
    server = Server(hub)
    answer = await server.post(phase=row["phase"])
    assert answer.status_code == row["code"]
    assert row.get("message", "") in answer.text
    await server.delete()
    server.assert_nothing_is_left()


async def test_what_the_admin_chose_counts(hub: RestHub, settings: dict[str, Any]) -> None:
    server = Server(hub)
    settings["slow_spawn_timeout"] = 30
    start = asyncio.ensure_future(server.post(phase="start"))
    await until(lambda: SlowSpawner.hanging)
    await asyncio.wait({start}, timeout=2 * stopping.QUICK)
    assert not start.done()
    # the request that still waits is told
    assert (await server.delete()).status_code == 204
    answer = await start
    assert answer.status_code == 409
    assert "cancelled" in answer.text
    settings["slow_spawn_timeout"] = 0
    assert (await server.post(phase="none")).status_code == 202
    await until(lambda: server.spawner.ready)
    await server.delete()


async def test_a_request_is_told_that_its_start_was_cancelled_at_once(
    hub: RestHub, patient: None
) -> None:
    server = Server(hub)
    start = asyncio.ensure_future(server.post(phase="start"))
    await until(lambda: SlowSpawner.hanging)
    assert (await server.delete()).status_code == 204
    answer = await start
    assert answer.status_code == 409
    assert "cancelled" in answer.text
    server.assert_nothing_is_left()


async def test_a_second_start_is_answered_as_by_the_hub(hub: RestHub) -> None:
    server = Server(hub)
    assert (await server.post(phase="start")).status_code == 202
    assert (await server.post(phase="start")).status_code == 202
    assert (await server.delete()).status_code == 204
    await server.post(phase="none")
    await until(lambda: server.spawner.ready)
    answer = await server.post(phase="none")
    assert answer.status_code == 400
    assert "already running" in answer.text
    await server.delete()


async def test_after_a_failure_a_slow_start_is_no_finished_one(hub: RestHub) -> None:
    server = Server(hub)
    await server.post(phase="fails at once")
    await server.settled()
    # the Hub's own handler says 201
    assert (await server.post(phase="start")).status_code == 202
    assert (await server.delete()).status_code == 204


async def test_a_start_does_not_wait_for_ever_for_a_stop(
    hub: RestHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "RESTART_WAIT", 0.1)
    server = Server(hub)
    await server.post(phase="stops slowly")
    await until(lambda: server.spawner.ready)
    stop = asyncio.ensure_future(server.delete())
    await until(lambda: "stop" in SlowSpawner.hanging)
    answer = await server.post(phase="none")
    assert answer.status_code == 400
    assert "still being stopped" in answer.text
    SlowSpawner.release.set()
    assert (await stop).status_code == 204


async def test_a_users_mistakes_do_not_end_the_hub(
    hub: RestHub, settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    hub.app.config.KubeSpawner.consecutive_failure_limit = 2
    settings["failure_count"] = 0
    for _ in range(3):
        server = Server(hub)
        await server.post(phase="refused")
        await server.settled()
    assert settings["failure_count"] == 0
    server = Server(hub)
    await server.post(phase="fails at once")
    await server.settled()
    assert settings["failure_count"] == 1
    del hub.app.config.KubeSpawner["consecutive_failure_limit"]
    assert "Aborting" not in caplog.text


# --- the end ------------------------------------------------------------------------


async def test_a_start_is_told_once_that_it_is_cancelled(hub: RestHub) -> None:
    server = Server(hub, "lab")
    await server.post(phase="slow to let go")
    answers = await asyncio.gather(*(server.delete() for _ in range(5)))
    assert [answer.status_code for answer in answers] == [204] * 5
    assert SlowSpawner.told == ["lab"]
    assert SlowSpawner.stops == ["lab"]


async def test_a_cancel_takes_no_longer_than_the_start_needs_to_let_go(hub: RestHub) -> None:
    server = Server(hub)
    await server.post(phase="start")
    began = time.monotonic()
    assert (await server.delete()).status_code == 204
    assert time.monotonic() - began < 0.3


async def test_while_a_server_stops_the_answer_is_202_at_once(hub: RestHub) -> None:
    server = Server(hub)
    await server.post(phase="stops slowly")
    await until(lambda: server.spawner.ready)
    first = asyncio.ensure_future(server.delete())
    await until(lambda: "stop" in SlowSpawner.hanging)
    began = time.monotonic()
    assert (await server.delete()).status_code == 202
    assert time.monotonic() - began < 0.3
    SlowSpawner.release.set()
    assert (await first).status_code == 204


async def test_a_start_that_does_not_let_go_is_ended_in_the_background(
    hub: RestHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubhandlers, "INTERRUPT_WAIT", 0.05)
    monkeypatch.setattr(stopping, "CANCEL_AGAIN", 0.1)
    server = Server(hub)
    hub.app.tornado_application.settings["slow_stop_timeout"] = 0.05
    await server.post(phase="swallows a cancel")
    assert (await server.delete()).status_code == 202
    await server.settled()
    server.assert_nothing_is_left()
    del hub.app.tornado_application.settings["slow_stop_timeout"]


async def test_a_server_that_is_looked_for_after_a_restart_is_stopped_afterwards(
    hub: RestHub, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubhandlers, "INTERRUPT_WAIT", 0.05)
    server = Server(hub)
    await server.post(phase="none")
    await until(lambda: server.spawner.ready)
    spawner = server.spawner
    settings["slow_stop_timeout"] = 0.05
    spawner._check_pending = True
    assert (await server.delete()).status_code == 202
    assert SlowSpawner.told == [""]
    assert spawner.pending == "check"
    spawner._check_pending = False
    await server.settled()
    server.assert_nothing_is_left()


async def test_a_server_whose_stop_failed_can_be_stopped_again(
    hub: RestHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(hub)
    await server.post(phase="none")
    await until(lambda: server.spawner.ready)
    with monkeypatch.context() as patch:

        async def unreachable(self: Any, routespec: str) -> None:
            raise OSError("no proxy")

        patch.setattr(NoProxy, "delete_route", unreachable)
        # a spawner may say so until it is stopped
        patch.setattr(SlowSpawner, "ready", False)
        assert (await server.delete()).status_code < 500
        assert "could not be stopped" in caplog.text
        assert server.spawner.server is not None
        patch.undo()
        patch.setattr(SlowSpawner, "ready", False)
        assert (await server.delete()).status_code == 204
    server.assert_nothing_is_left()


async def test_a_start_that_cannot_be_told_is_cancelled_all_the_same(
    hub: RestHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(SlowSpawner, "cancel_start", broken)
    server = Server(hub)
    await server.post(phase="start")
    assert (await server.delete()).status_code == 204
    server.assert_nothing_is_left()
    assert "Cannot mark the start" in caplog.text


async def test_a_named_server_is_removed_once_it_has_stopped(hub: RestHub) -> None:
    for phase in ("start", "none", "slow to let go"):
        server = Server(hub, "lab")
        await server.post(phase=phase)
        answers = await asyncio.gather(server.delete(remove=True), server.delete())
        assert {answer.status_code for answer in answers} <= {202, 204}
        await server.settled()
        assert "lab" not in server.user.orm_spawners
        server.assert_nothing_is_left()


@pytest.mark.parametrize("name", ["", "lab"], ids=["default", "named"])
@pytest.mark.parametrize("phase", ["start", "none", "hook"])
async def test_a_user_is_deleted_with_all_servers(
    phase: str, name: str, hub: RestHub, settings: dict[str, Any]
) -> None:
    server = Server(hub, name)
    settings["slow_stop_timeout"] = 10
    admin = hub.service(f"service{next(NUMBERS)}", "admin:users")
    await server.post(phase=phase)
    await until(lambda: SlowSpawner.hanging if phase != "none" else server.spawner.ready)
    answer = await hub.hub("DELETE", f"/users/{server.user.name}", admin)
    assert answer.status_code == 204, answer.text
    assert orm.User.find(hub.app.db, server.user.name) is None
    assert hub.app.proxy.routes == {}


async def test_a_user_whose_server_stops_slowly_is_kept_with_all_that_is_stored(
    hub: RestHub, settings: dict[str, Any]
) -> None:
    server = Server(hub, "lab")
    settings["slow_stop_timeout"] = 0
    admin = hub.service(f"service{next(NUMBERS)}", "admin:users")
    await server.post(phase="stops slowly")
    await until(lambda: server.spawner.ready)
    answer = await hub.hub("DELETE", f"/users/{server.user.name}", admin)
    assert answer.status_code == 400
    assert "please wait" in answer.text
    SlowSpawner.release.set()
    await server.settled()
    answer = await hub.hub("DELETE", f"/users/{server.user.name}", admin)
    assert answer.status_code == 204, answer.text


ENDS = [
    {"name": "stopped", "path": "/users/{user}/server", "code": 204},
    {"name": "no user", "path": "/users/nobody/server", "code": 404},
    {"name": "no server", "path": "/users/{user}/servers/none", "code": 404},
    {
        "name": "default removed",
        "path": "/users/{user}/server",
        "body": {"remove": True},
        "code": 400,
    },
    {"name": "no object", "path": "/users/{user}/server", "body": [1], "code": 400},
]


@pytest.mark.parametrize("row", ENDS, ids=lambda row: row["name"])
async def test_an_end_that_is_none(row: dict[str, Any], hub: RestHub) -> None:
    server, other = Server(hub), Server(hub)
    token = hub.service(f"service{next(NUMBERS)}", "servers", "users")
    await other.post(phase="start")
    path = row["path"].format(user=server.user.name)
    answer = await hub.hub("DELETE", path, token, json=row.get("body", {}))
    assert answer.status_code == row["code"], answer.text
    assert (await other.delete()).status_code == 204


async def test_a_start_goes_on_when_its_end_is_refused(
    hub: RestHub, settings: dict[str, Any]
) -> None:
    server, named = Server(hub), Server(hub, "lab")
    await server.post(phase="start")
    await named.post(phase="start")
    assert (await server.delete(remove=True)).status_code == 400
    reader = hub.token(server.user, "read:servers!user")
    assert (await hub.hub("DELETE", server.path, reader)).status_code == 403
    settings["allow_named_servers"] = False
    assert (await named.delete()).status_code == 400
    assert server.spawner.pending == named.spawner.pending == "spawn"
    settings["allow_named_servers"] = True
    await server.delete()
    await named.delete()


# --- the form -----------------------------------------------------------------------


async def submit(server: Server, phase: str) -> httpx.Response:
    """Send the form that asks for a start, as the user's browser does."""
    async with httpx.AsyncClient(base_url=server.hub.client.base_url, timeout=60) as browser:
        login = await browser.get("/hub/login")
        fields = {"_xsrf": login.cookies["_xsrf"], "username": server.user.name, "password": "x"}
        await browser.post("/hub/login", data=fields)
        page = await browser.get("/hub/home")
        fields = {"_xsrf": browser.cookies["_xsrf"], "phase": phase}
        assert page.status_code == 200
        return await browser.post(f"/hub/spawn/{server.user.name}", data=fields)


async def test_the_form_of_a_slow_start_leads_to_its_page_at_once(hub: RestHub) -> None:
    server = Server(hub)
    answer = await submit(server, "start")
    assert answer.status_code == 302, answer.text
    assert "/hub/spawn-pending/" in answer.headers["Location"]
    assert (await server.delete()).status_code == 204
    server.assert_nothing_is_left()


@pytest.mark.parametrize(
    ("phase", "code", "told", "traceback"),
    [("refused", 403, "not for you", False), ("fails at once", 500, "broken", True)],
)
async def test_the_form_tells_what_ends_a_start_at_once(
    phase: str,
    code: int,
    told: str,
    traceback: bool,
    hub: RestHub,
    patient: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer = await submit(Server(hub), phase)
    assert answer.status_code == code
    assert told in answer.text or code == 500
    (record,) = (r for r in caplog.records if "spawn single-user server with" in r.getMessage())
    # a user's mistake is no fault of the Hub
    assert bool(record.exc_info) is traceback


async def test_the_form_waits_for_the_end_of_a_cancelled_start(hub: RestHub) -> None:
    server = Server(hub)
    await server.post(phase="slow to let go")
    cancel = asyncio.ensure_future(server.delete())
    await until(lambda: Ending.of(server.spawner))
    answer = await submit(server, "none")
    assert (await cancel).status_code == 204
    assert answer.status_code == 302, answer.text
    await until(lambda: server.spawner.ready)
    await server.delete()


# --- the options --------------------------------------------------------------------

PROFILES = [
    {
        "slug": "small",
        "display_name": "Small",
        "profile_options": {
            "image": {"display_name": "Image", "choices": {"a": {"display_name": "A"}}}
        },
    },
    {"slug": "big", "display_name": "Big"},
]


async def offer(spawner: Any) -> list[dict[str, Any]]:
    """Return the profiles that a user has by name, as an admin's function may."""
    return [*PROFILES, {"slug": f"own-{spawner.user.name}", "display_name": "Own"}]


@pytest.fixture
def profiles(hub: RestHub) -> Iterator[None]:
    """Have spawners offer profiles."""
    hub.app.config.KubeSpawner.profile_list = offer
    yield
    del hub.app.config.KubeSpawner["profile_list"]


OPTIONS = [
    {"options": {"profile": "huge"}, "told": ["'huge'", "small, big, own-"]},
    {"options": {"profile": "small", "image": "z"}, "told": ["`image`", "'z'", "a."]},
    {"options": {"image": "z"}, "told": ["`image`", "'z'", "a."]},
    {
        "options": {"profile": "small", "image--unlisted-choice": "b"},
        "told": ["none but the listed"],
    },
    {"options": {"profile": ["small"]}, "told": ["must be text", "small, big, own-"]},
]


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: str(row["options"]))
@pytest.mark.parametrize("name", ["", "lab"], ids=["default", "named"])
@pytest.mark.parametrize("timeout", [None, 0])
async def test_wrong_options_are_refused_before_anything_is_made(
    row: dict[str, Any],
    name: str,
    timeout: int | None,
    hub: RestHub,
    settings: dict[str, Any],
    profiles: None,
) -> None:
    if timeout is not None:
        settings["slow_spawn_timeout"] = timeout
    server = Server(hub, name)
    answer = await server.post(**row["options"])
    assert answer.status_code == 400
    assert [text for text in row["told"] if text not in answer.text] == []
    assert set(server.user.orm_spawners) == {""}
    server.assert_nothing_is_left()
    reader = hub.token(server.user, "read:servers!user")
    refused = await hub.hub("POST", server.path, reader, json=row["options"])
    # who may not start it learns nothing
    assert refused.status_code == 403
    assert "small" not in refused.text


WRONG_OVERRIDES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown class": ({"failure_graces": {"nonsense": 1}}, "the kinds are spec, gone, pull_d"),
    "a negative grace": ({"failure_graces": {"crash": -1}}, "seconds from 0 on"),
    "no number": ({"failure_graces": {"crash": float("nan")}}, "seconds from 0 on"),
    "a flag": ({"failure_graces": {"crash": True}}, "seconds from 0 on"),
    "text": ({"failure_graces": {"crash": "5"}}, "seconds from 0 on"),
    "no dict": ({"failure_graces": 5}, "failure_graces"),
    "an unknown reason": ({"failure_messages": {"ErrImagPull": "x"}}, "did you mean ErrImagePull?"),
    "an unknown part": ({"failure_messages": {"crash": {"hnt": "x"}}}, "known are message, hint"),
    "an unknown field": ({"failure_messages": {"crash": "{pod}"}}, "known are account"),
    "time that runs backwards": ({"progress_timeout": -2.5}, "seconds from 0 on"),
    "time that is a flag": ({"progress_timeout": True}, "progress_timeout"),
    "a path that leaves the server": ({"health_path": "../admin"}, "health_path"),
}


@pytest.mark.parametrize("wrong", WRONG_OVERRIDES)
@pytest.mark.parametrize("where", ["profile", "default profile", "choice"])
async def test_what_a_profile_sets_wrongly_is_refused_before_anything_is_made(
    wrong: str, where: str, hub: RestHub
) -> None:
    override, told = WRONG_OVERRIDES[wrong]
    sound = {"slug": "sound", "display_name": "Sound", "kubespawner_override": {"image": "x"}}
    by_choice = {"big": {"display_name": "Big", "kubespawner_override": override}}
    size = {"display_name": "Size", "choices": by_choice}
    profile: dict[str, Any] = {"slug": "p", "display_name": "P"}
    profile |= (
        {"profile_options": {"size": size}}
        if where == "choice"
        else {"kubespawner_override": override}
    )
    config = hub.app.config.KubeSpawner
    config.profile_list = [profile, sound] if where == "default profile" else [sound, profile]
    server = Server(hub, "lab")
    options = {} if where == "default profile" else {"profile": "p"}
    answer = await server.post(**options)
    assert answer.status_code == 400
    assert "The profile cannot be used" in answer.json()["message"]
    assert told in answer.json()["message"]
    assert set(server.user.orm_spawners) == {""}
    server.assert_nothing_is_left()
    # the others can be used
    answer = await server.post(profile="sound", phase="none")
    assert answer.status_code in (201, 202), answer.text
    await until(lambda: server.spawner.ready)
    await server.delete()
    del config["profile_list"]


async def test_right_options_and_those_of_hooks_are_taken(hub: RestHub, profiles: None) -> None:
    server = Server(hub, "lab")
    own = f"own-{server.user.name}"
    assert (await server.post(profile=own, for_a_hook=[1])).status_code in (201, 202)
    await until(lambda: server.spawner.ready)
    # a server that is there is answered as by the Hub, whatever the options
    assert "already running" in (await server.post(profile="huge")).text
    await server.delete()
    # without options those of the last time count
    hub.app.config.KubeSpawner.profile_list = PROFILES
    answer = await hub.hub("POST", server.path, server.token)
    assert answer.status_code == 400
    assert own in answer.text


async def test_profiles_that_cannot_be_told_are_left_to_the_start(
    hub: RestHub, profiles: None
) -> None:
    def broken(spawner: Any) -> Any:
        raise RuntimeError("broken")

    hub.app.config.KubeSpawner.profile_list = broken
    server = Server(hub)
    assert (await server.post(profile="huge", phase="none")).status_code in (201, 202)
    await until(lambda: server.spawner.ready)
    await server.delete()


async def test_what_the_profiles_depend_on_is_there_before_they_are_asked(hub: RestHub) -> None:
    async def learn(spawner: Any, auth_state: Any) -> None:
        spawner.learned = [{"slug": "learned", "display_name": "Learned"}]

    config = hub.app.config.KubeSpawner
    config.auth_state_hook = learn
    config.profile_list = lambda spawner: spawner.learned
    server = Server(hub)
    answer = await server.post(profile="huge")
    assert answer.status_code == 400
    assert "learned" in answer.text
    del config["auth_state_hook"], config["profile_list"]


@pytest.mark.parametrize("overrides", ["dict", "function"])
async def test_profiles_that_come_by_group_are_left_to_the_start(
    overrides: str, hub: RestHub, profiles: None
) -> None:
    config = hub.app.config.KubeSpawner
    by_group = {"x": {"groups": ["x"], "spawner_override": {"profile_list": PROFILES}}}
    config.group_overrides = by_group if overrides == "dict" else lambda spawner: by_group
    server = Server(hub)
    assert (await server.post(profile="huge", phase="none")).status_code in (201, 202)
    await until(lambda: server.spawner.ready)
    await server.delete()
    del config["group_overrides"]


async def test_profiles_of_a_new_server_are_asked_for_by_its_own_name(hub: RestHub) -> None:
    config = hub.app.config.KubeSpawner
    config.profile_list = lambda spawner: [{"slug": f"of-{spawner.name}", "display_name": "X"}]
    server = Server(hub, "lab")
    answer = await server.post(profile="of-other")
    assert answer.status_code == 400
    assert "The profiles are: of-lab." in answer.text
    assert set(server.user.orm_spawners) == {""}
    assert (await server.post(profile="of-lab", phase="none")).status_code in (201, 202)
    await until(lambda: server.spawner.ready)
    await server.delete()
    del config["profile_list"]


def profiles_of_auth_state(spawner: Any, auth_state: Any) -> None:
    """Offer a profile that nobody knows before."""
    spawner.profile_list = [{"slug": "from-the-hook", "display_name": "From the hook"}]


def options_that_are_applied(spawner: Any, options: dict[str, Any]) -> None:
    """Start with something else than was asked for."""
    spawner.user_options = {**spawner.user_options, "profile": "small"}


HOOKS = [
    # run before, as for the Hub's form
    {"trait": "auth_state_hook", "hook": profiles_of_auth_state, "profile": "from-the-hook"},
    {"trait": "apply_user_options", "hook": options_that_are_applied, "profile": "huge"},
]


@pytest.mark.parametrize("row", HOOKS, ids=lambda row: row["hook"].__name__)
@pytest.mark.parametrize("name", ["", "lab"], ids=["default", "named"])
async def test_what_a_hook_of_the_start_makes_right_is_not_refused_before(
    row: dict[str, Any], name: str, hub: RestHub
) -> None:
    config = hub.app.config.KubeSpawner
    config.profile_list = [{"slug": "small", "display_name": "Small"}]
    config[row["trait"]] = row["hook"]
    server = Server(hub, name)
    answer = await server.post(profile=row["profile"], phase="none")
    assert answer.status_code in (201, 202), answer.text
    await until(lambda: server.spawner.ready)
    await server.delete()
    del config[row["trait"]], config["profile_list"]


@pytest.mark.parametrize("trait", ["pre_spawn_hook", "auth_state_hook"])
@pytest.mark.parametrize("name", ["", "lab"], ids=["default", "named"])
async def test_a_hook_does_not_keep_a_wrong_profile_from_being_refused_at_once(
    trait: str, name: str, hub: RestHub
) -> None:
    config = hub.app.config.KubeSpawner
    config.profile_list = [{"slug": "small", "display_name": "Small"}]
    config[trait] = lambda spawner, *more: None
    server = Server(hub, name)
    answer = await server.post(profile="huge", phase="none")
    assert answer.status_code == 400
    assert "small" in answer.text
    assert set(server.user.orm_spawners) == {""}
    del config[trait], config["profile_list"]
