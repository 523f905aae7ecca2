"""GET health: each part well or not, and what is said of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tornado.web import RequestHandler
from traitlets.config import Config

from detailedspawner import __version__
from detailedspawner.hub import HubKubeSpawner
from detailedspawner.models.status import HubHealth
from detailedspawner.models.values import iso_time
from detailedspawner.repositories.status import NOT_YET

from .resthub import RestHub, resthub, until


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch) as hub:
        yield hub


async def asked(hub: RestHub) -> dict[str, Any]:
    """Return what is said, which must be the same after a round trip."""
    answer = await hub.get("/health", hub.service("reader", "read:hub"))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert HubHealth.from_dict(found).to_dict() == found
    return found


WELL = {"ok": True, "message": None}


async def test_before_the_first_start_little_is_known(hub: RestHub) -> None:
    assert await asked(hub) == {
        "version": __version__,
        "ok": True,
        "watches": [],
        "api_server": {"ok": None, "message": NOT_YET},
        "proxy_route": {
            "ok": None,
            "message": "Not asked: c.DetailedKubeSpawner.health_enabled is off.",
        },
        "templates": WELL,
        "handlers": WELL,
        "spawner_class": WELL,
    }


async def test_with_a_server_all_is_asked(hub: RestHub) -> None:
    await hub.start(hub.user("alice"))
    found = await asked(hub)
    assert found["ok"]
    assert found["api_server"] == WELL
    assert [(watch["kind"], watch["namespace"]) for watch in found["watches"]] == [
        ("events", "ns"),
        ("pods", "ns"),
    ]
    assert all(watch["ok"] for watch in found["watches"])


async def test_a_watch_that_has_ended(hub: RestHub) -> None:
    await hub.start(hub.user("alice"))
    await HubKubeSpawner.reflectors["pods", "ns"].stop()
    found = await asked(hub)
    (broken,) = [watch for watch in found["watches"] if not watch["ok"]]
    assert (broken["kind"], found["ok"]) == ("pods", False)
    assert "the watch has ended" in broken["message"]


async def test_a_watch_that_fails_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def config(c: Config) -> None:
        c.FollowingReflector.timeout_seconds = 1

    async with resthub(tmp_path, monkeypatch, config) as hub:
        alice = hub.user("alice")
        await hub.start(alice)
        configuration = alice.spawners[""].api.api_client.configuration
        there = configuration.host
        # the API server is gone when the watch comes back
        monkeypatch.setattr(configuration, "host", "http://127.0.0.1:1")
        reflector = HubKubeSpawner.reflectors["pods", "ns"]
        await until(lambda: reflector.outage)
        found = await asked(hub)
        broken = next(watch for watch in found["watches"] if watch["kind"] == "pods")
        assert (broken["ok"], found["ok"]) == (False, False)
        assert broken["failing_since"] == iso_time(reflector.outage.since)
        assert "Cannot connect to host 127.0.0.1:1" in broken["message"]
        # it was never given up
        monkeypatch.setattr(configuration, "host", there)
        await until(lambda: not reflector.outage)
        (works,) = [one for one in (await asked(hub))["watches"] if one["kind"] == "pods"]
        assert (works["ok"], works["failing_since"]) == (True, None)


async def test_events_that_may_not_be_read(hub: RestHub) -> None:
    HubKubeSpawner.events_refused.add(("events", "ns"))
    found = await asked(hub)
    assert not found["ok"]
    assert found["watches"][0]["message"] == "Refused: steps go without events."


async def test_an_api_server_that_does_not_answer(
    hub: RestHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = hub.user("alice")
    await hub.start(alice)
    configuration = alice.spawners[""].api.api_client.configuration
    monkeypatch.setattr(configuration, "host", "http://127.0.0.1:1")
    found = await asked(hub)
    assert not found["ok"]
    assert "The API server does not answer" in found["api_server"]["message"]
    monkeypatch.undo()


async def test_the_hubs_own_route(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def config(c: Config) -> None:
        c.DetailedKubeSpawner.health_enabled = True
        c.DetailedKubeSpawner.health_proxy_url = "http://127.0.0.1:1"

    async with resthub(tmp_path, monkeypatch, config) as hub:
        found = await asked(hub)
        assert (found["ok"], found["proxy_route"]["ok"]) == (False, False)
        assert "http://127.0.0.1:1/hub/api/: refused" in found["proxy_route"]["message"]
        # without a proxy the Hub itself answers there
        hub.app.config.DetailedKubeSpawner.health_proxy_url = str(hub.client.base_url)
        assert (await asked(hub))["proxy_route"] == WELL


async def test_parts_that_a_later_assignment_undid(hub: RestHub) -> None:
    hub.app.template_paths = [path for path in hub.app.template_paths if "detailed" not in path][
        -1:
    ]
    hub.app.extra_handlers = hub.app.extra_handlers[2:]
    hub.app.spawner_class = "simple"
    found = await asked(hub)
    assert (
        found["spawner_class"]["message"]
        == "JupyterHub.spawner_class is SimpleLocalProcessSpawner."
    )
    assert "set after configure(c)" in found["templates"]["message"]
    assert "/server/status" in found["handlers"]["message"]
    assert not found["ok"]


class Theirs(RequestHandler):
    """The handler of another extension."""


BEFORE = [
    {"path": "/hub/spawn", "who": "the page of the start"},
    {"path": "/hub/api/users/([^/]+)/server", "who": "start and stop"},
    {"path": "/hub/api/users/([^/]+)/servers/([^/]*)", "who": "start and stop of named servers"},
    {"path": "/hub/api/users/([^/]+)/server/progress", "who": "the progress"},
    {"path": "/hub/api/detailedspawner/servers", "who": "the API"},
]


@pytest.mark.parametrize("row", BEFORE, ids=lambda row: row["who"])
async def test_another_extension_that_answers_in_our_place(
    hub: RestHub, row: dict[str, str]
) -> None:
    assert (await asked(hub))["handlers"] == WELL
    rules = hub.app.tornado_application.default_router.rules
    # as an extension does that came first
    hub.app.tornado_application.add_handlers(".*$", [(row["path"], Theirs)])
    rules.insert(0, rules.pop(-2))
    found = await asked(hub)
    path = row["path"].replace("([^/]+)", "x").replace("([^/]*)", "x")
    assert (found["ok"], found["handlers"]) == (
        False,
        {"ok": False, "message": f"{path} is answered by {__name__}.Theirs."},
    )


async def test_handlers_that_were_never_put_first(hub: RestHub) -> None:
    rules = hub.app.tornado_application.default_router.rules
    del rules[:-1]
    message = (await asked(hub))["handlers"]["message"]
    for path, handler in (
        ("/hub/api/users/x/servers/x", "jupyterhub.apihandlers.users.UserServerAPIHandler"),
        ("/hub/spawn", "jupyterhub.handlers.pages.SpawnHandler"),
    ):
        assert f"{path} is answered by {handler}." in message
