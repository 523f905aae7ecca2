"""What stays readable of a start that failed: until the next one, and only of this server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from traitlets.config import Config

from .resthub import RestHub, names, resthub, start_body, until

# JupyterHub 5's own
pytestmark = pytest.mark.filterwarnings("ignore:The `version` property of an event schema")


def config(c: Config) -> None:
    """Offer profiles."""
    c.KubeSpawner.profile_list = profiles


def profiles(spawner: Any) -> list[dict[str, Any]]:
    """Return profiles that only a function knows; the API refuses the pods of one."""
    return [
        {"slug": "good", "display_name": f"Good for {spawner.user.name}"},
        {
            "slug": "bad",
            "display_name": "Bad",
            "kubespawner_override": {"image": "lab:1", "uid": -5},
        },
    ]


@pytest_asyncio.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    """A Hub with a profile whose starts fail at once."""
    async with resthub(tmp_path, monkeypatch, config) as running:
        yield running


async def fail(hub: RestHub, user: Any) -> dict[str, Any]:
    """Let a start of a user's default server fail; returns its last status."""
    path = f"/users/{user.name}/server"
    await hub.hub("POST", path, hub.token(user), json=start_body({"profile": "bad"}))
    spawner = user.spawners[""]
    await until(lambda: not spawner.pending)
    return await status(hub, user.name)


def reader(hub: RestHub) -> str:
    return hub.service("all", "read:servers")


async def status(hub: RestHub, name: str) -> dict[str, Any]:
    token = reader(hub)
    return (await hub.get(f"/users/{name}/server/status", token)).json()  # type: ignore[no-any-return]


async def failed(hub: RestHub, query: str = "state=failed") -> list[str]:
    return names(await hub.get(f"/servers?{query}", reader(hub)))


async def test_a_failure_is_read_from_the_database_when_nothing_else_knows_it(
    hub: RestHub,
) -> None:
    alice, _ = hub.user("alice"), hub.user("bob")
    before = await fail(hub, alice)
    assert before["state"] == "failed"
    # as after a restart of the Hub
    alice.spawners.clear()
    assert await status(hub, "alice") == before
    assert await failed(hub) == ["alice/"]
    assert await failed(hub, "state=stopped") == ["bob/"]
    assert await failed(hub, "state=stopped&state=failed") == ["alice/", "bob/"]
    assert await failed(hub, "state=running") == []
    assert "" not in alice.spawners


async def test_a_new_start_ends_what_was_told_of_the_one_before(hub: RestHub) -> None:
    alice = hub.user("alice")
    await fail(hub, alice)
    await hub.start(alice, profile="good")
    assert (await status(hub, "alice"))["state"] == "running"
    await hub.stop(alice)
    alice.spawners.clear()
    assert (await status(hub, "alice"))["state"] == "stopped"
    assert await failed(hub) == []


async def test_a_new_user_of_the_same_name_inherits_nothing(hub: RestHub) -> None:
    admin, alice = hub.user("admin", admin=True), hub.user("alice")
    number = alice.id
    await hub.get("/profiles", hub.token(alice))
    await fail(hub, alice)
    answer = await hub.hub("DELETE", "/users/alice", hub.token(admin))
    assert answer.status_code == 204
    alice = hub.user("alice")
    # as some databases do
    assert alice.id == number
    alice.orm_spawners[""].user_options = {"profile": "good"}
    hub.app.db.commit()
    assert (await status(hub, "alice"))["message"] == "The server has not been started yet."
    assert await failed(hub) == []
    listed = await hub.get("/servers?user=alice", reader(hub))
    (server,) = listed.json()
    # the function was not called for this one
    assert server["profile"]["display_name"] == "good"
    assert server["profile"]["missing"] is None


async def test_a_named_server_that_is_made_anew_inherits_nothing(hub: RestHub) -> None:
    alice = hub.user("alice")
    token, path = hub.token(alice), "/users/alice/servers/lab"
    await hub.hub("POST", path, token, json=start_body({"profile": "bad"}))
    await until(lambda: not alice.spawners["lab"].pending)
    assert await failed(hub) == ["alice/lab"]
    answer = await hub.hub("DELETE", path, token, json={"remove": True})
    assert answer.status_code == 204
    hub.server(alice, "lab")
    assert await failed(hub) == []
