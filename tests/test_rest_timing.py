"""What happens to a request that waits when something goes from under it: an answer, no leak."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from detailedspawner.hub import rows_notifier

from .resthub import RestHub, resthub, start_body, until


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch) as hub:
        yield hub


class Waiting:
    """A request for a status that waits, by a service that may read all."""

    def __init__(self, hub: RestHub, path: str) -> None:
        self.hub = hub
        self.path = f"/users/{path}/status"
        self.token = hub.service("all", "read:servers")

    async def now(self) -> dict[str, Any]:
        """Return the present status once it does not change by itself any more."""
        seen: dict[str, Any] = (await self.hub.get(self.path, self.token)).json()
        while True:
            params = {"wait": 0.3, "revision": seen["revision"]}
            later = (await self.hub.get(self.path, self.token, params=params)).json()
            if later["revision"] == seen["revision"]:
                return seen
            seen = later

    async def begin(self, number: int = 1) -> list[asyncio.Task[httpx.Response]]:
        """Begin requests, and return them once all wait."""
        params = {"wait": 30, "revision": (await self.now())["revision"]}
        before = self.hub.waiters.listening
        tasks = [
            asyncio.create_task(self.hub.get(self.path, self.token, params=params))
            for _ in range(number)
        ]
        await until(lambda: self.hub.waiters.listening == before + number, 30)
        return tasks


def tasks() -> set[asyncio.Task[Any]]:
    """Return what goes on in the loop beside the caller."""
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


def listeners(hub: RestHub) -> int:
    """Return how many listen to the Hub's notices and to pods."""
    return sum(
        len(found)
        for notifier in (hub.waiters, rows_notifier, hub.app.spawner_class.notifier)
        for found in notifier._listeners.values()
    )


async def test_a_user_who_is_deleted(hub: RestHub) -> None:
    admin = hub.token(hub.user("admin", admin=True))
    hub.user("alice")
    (task,) = await Waiting(hub, "alice/server").begin()
    assert (await hub.hub("DELETE", "/users/alice", admin)).status_code == 204
    answer = await asyncio.wait_for(task, 5)
    assert (answer.status_code, answer.json()["message"]) == (
        404,
        "No access to resources or resources not found",
    )


async def test_a_user_who_is_deleted_while_their_server_runs(hub: RestHub) -> None:
    admin = hub.token(hub.user("admin", admin=True))
    alice = hub.user("alice")
    await hub.start(alice)
    waiting = Waiting(hub, "alice/server")
    (task,) = await waiting.begin()
    # the Hub stops the server, and wants to be asked again
    assert (await hub.hub("DELETE", "/users/alice", admin)).status_code == 400
    assert (await asyncio.wait_for(task, 10)).json()["state"] == "stopping"
    await until(lambda: not alice.spawners[""].pending)
    (task,) = await waiting.begin()
    assert (await hub.hub("DELETE", "/users/alice", admin)).status_code == 204
    assert (await asyncio.wait_for(task, 10)).status_code == 404


async def test_a_user_who_is_renamed(hub: RestHub) -> None:
    admin = hub.token(hub.user("admin", admin=True))
    hub.user("alice")
    (task,) = await Waiting(hub, "alice/server").begin()
    answer = await hub.hub("PATCH", "/users/alice", admin, json={"name": "alicia"})
    assert answer.status_code == 200
    # the next user of the name is not the one that was asked for
    other = hub.user("alice")
    await hub.begin(other)
    answer = await asyncio.wait_for(task, 5)
    assert answer.status_code == 404


async def test_a_named_server_that_is_removed(hub: RestHub) -> None:
    alice = hub.user("alice")
    token = hub.token(alice)
    await hub.start(alice, "lab")
    await hub.stop(alice, "lab")
    (task,) = await Waiting(hub, "alice/servers/lab").begin()
    answer = await hub.hub("DELETE", "/users/alice/servers/lab", token, json={"remove": True})
    assert answer.status_code == 204
    assert (await asyncio.wait_for(task, 5)).status_code == 404


async def test_a_start_that_is_cancelled(hub: RestHub) -> None:
    alice = hub.user("alice")
    await hub.begin(alice)
    (task,) = await Waiting(hub, "alice/server").begin()
    await hub.hub("DELETE", "/users/alice/server", hub.token(alice))
    answer = await asyncio.wait_for(task, 5)
    assert answer.json()["state"] in ("cancelling", "stopped")


async def test_two_hundred_requests_of_one_client(hub: RestHub) -> None:
    alice = hub.user("alice")
    await hub.begin(alice)
    waiting = Waiting(hub, "alice/server")
    limits = httpx.Limits(max_connections=250)
    headers = dict(hub.client.headers)
    async with httpx.AsyncClient(
        base_url=hub.client.base_url, timeout=60, limits=limits, headers=headers
    ) as client:
        hub.client, own = client, hub.client
        before = listeners(hub)
        all_waiting = await waiting.begin(200)
        # others are answered meanwhile
        assert (await hub.get(waiting.path, waiting.token)).status_code == 200
        hub.make_ready("jupyter-alice")
        answers = await asyncio.wait_for(asyncio.gather(*all_waiting), 30)
        hub.client = own
    assert {answer.status_code for answer in answers} == {200}
    assert hub.waiters.listening == 0
    await until(lambda: alice.spawners[""].ready)
    assert listeners(hub) <= before


async def test_clients_that_leave(hub: RestHub) -> None:
    alice = hub.user("alice")
    await hub.begin(alice)
    waiting = Waiting(hub, "alice/server")
    await waiting.now()
    start = alice.spawners[""]._detailed_start
    before, reading = listeners(hub), len(start.tracker._waiters)
    going_on = tasks()
    for task in await waiting.begin(20):
        task.cancel()
    await until(lambda: hub.waiters.listening == 0)
    await until(lambda: listeners(hub) == before)
    await until(lambda: len(start.tracker._waiters) == reading)
    await until(lambda: not {t for t in tasks() - going_on if "follow" in repr(t)})


async def test_a_hub_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with resthub(tmp_path, monkeypatch) as hub:
        await hub.begin(hub.user("alice"))
        (task,) = await Waiting(hub, "alice/server").begin()
    with pytest.raises(httpx.TransportError):
        await asyncio.wait_for(task, 5)
    assert hub.waiters.listening == 0
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_start_under_way_is_seen_by_who_waited_before_there_was_a_server(
    hub: RestHub,
) -> None:
    alice = hub.user("alice")
    body = start_body({})
    token = hub.token(alice)
    (task,) = await Waiting(hub, "alice/server").begin()
    await hub.hub("POST", "/users/alice/server", token, json=body)
    assert (await asyncio.wait_for(task, 5)).json()["state"] == "starting"
