"""GET the status of one server: in every state, at once or when it has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jupyterhub import orm

from .resthub import RestHub, resthub, until


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch) as hub:
        yield hub


async def status(hub: RestHub, path: str, token: str, **params: Any) -> dict[str, Any]:
    """Return the status, which must be there."""
    answer = await hub.get(f"/users/{path}/status", token, params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def settled(hub: RestHub, path: str, token: str) -> dict[str, Any]:
    """Return the status once it does not change by itself any more."""
    seen = await status(hub, path, token)
    while True:
        later = await status(hub, path, token, wait=0.3, revision=seen["revision"])
        if later["revision"] == seen["revision"]:
            return seen
        seen = later


async def test_a_server_from_never_started_to_stopped(hub: RestHub) -> None:
    alice = hub.user("alice")
    token = hub.token(alice)
    seen = await status(hub, "alice/server", token)
    assert (seen["state"], seen["start_id"]) == ("stopped", None)
    assert seen["message"] == "The server has not been started yet."
    await hub.begin(alice)
    seen = await status(hub, "alice/server", token)
    assert (seen["state"], seen["cancellable"]) == ("starting", True)
    hub.make_ready("jupyter-alice")
    await until(lambda: alice.spawners[""].ready)
    seen = await status(hub, "alice/server", token)
    assert (seen["state"], seen["progress"]) == ("running", 100)
    await hub.stop(alice)
    seen = await status(hub, "alice/server", token)
    assert (seen["state"], seen["message"]) == ("stopped", "The server is stopped.")


async def waiting(hub: RestHub, path: str, token: str, **params: Any) -> asyncio.Task[Any]:
    """Return a request that waits for a change, once it does."""
    before = hub.waiters.listening
    task = asyncio.create_task(status(hub, path, token, **params))
    await until(lambda: hub.waiters.listening > before or task.done())
    assert not task.done()
    return task


# what happens to a server -> the state that who waits is told at once
CHANGES = {
    "a start begins": ("stopped", "starting"),
    "the server is ready": ("starting", "running"),
    "the pod is deleted": ("starting", "failed"),
    "a stop begins": ("running", "stopping"),
}


async def change(hub: RestHub, what: str, alice: Any) -> None:
    """Let something happen to the server of alice."""
    if what == "a start begins":
        await hub.begin(alice)
    elif what == "the server is ready":
        hub.make_ready("jupyter-alice")
    elif what == "the pod is deleted":
        hub.store.delete("pods", "ns", "jupyter-alice", grace=0)
    else:
        await hub.hub("DELETE", "/users/alice/server", hub.token(alice))


@pytest.mark.parametrize("what", CHANGES)
async def test_who_waits_is_told_of_a_change_at_once(hub: RestHub, what: str) -> None:
    alice = hub.user("alice")
    token = hub.token(alice)
    before, after = CHANGES[what]
    if before != "stopped":
        await hub.begin(alice)
    if before == "running":
        hub.make_ready("jupyter-alice")
        await until(lambda: alice.spawners[""].ready)
    seen = await settled(hub, "alice/server", token)
    assert seen["state"] == before
    task = await waiting(hub, "alice/server", token, wait=30, revision=seen["revision"])
    await change(hub, what, alice)
    while seen["state"] != after:
        seen = await asyncio.wait_for(task, 2)
        task = asyncio.create_task(
            status(hub, "alice/server", token, wait=2, revision=seen["revision"])
        )
    task.cancel()


async def test_who_waits_for_the_end_is_told_only_then(hub: RestHub) -> None:
    alice = hub.user("alice")
    token = hub.token(alice)
    assert (await status(hub, "alice/server", token, until="done"))["state"] == "stopped"
    await hub.begin(alice)
    task = await waiting(hub, "alice/server", token, until="done")
    hub.make_ready("jupyter-alice")
    assert (await asyncio.wait_for(task, 2))["state"] == "running"
    seen = await status(hub, "alice/server", token, until="done", wait=30)
    assert seen["state"] == "running"


async def test_a_revision_of_another_start_is_answered_at_once(hub: RestHub) -> None:
    alice = hub.user("alice")
    token = hub.token(alice)
    await hub.begin(alice)
    for old in ("000000.1", "0.0", "no revision", ""):
        answered = status(hub, "alice/server", token, wait=30, revision=old)
        assert (await asyncio.wait_for(answered, 2))["state"] == "starting"


async def test_without_a_change_the_present_status_comes_after_the_time(hub: RestHub) -> None:
    alice = hub.user("alice")
    token = hub.token(alice)
    seen = await status(hub, "alice/server", token)
    task = await waiting(hub, "alice/server", token, wait=0.1, revision=seen["revision"])
    assert await asyncio.wait_for(task, 2) == seen


async def test_a_client_that_leaves_leaves_nothing_behind(hub: RestHub) -> None:
    alice = hub.user("alice")
    token = hub.token(alice)
    await hub.begin(alice)
    seen = await settled(hub, "alice/server", token)
    task = await waiting(hub, "alice/server", token, wait=30, revision=seen["revision"])
    task.cancel()
    await until(lambda: hub.waiters.listening == 0)


async def test_an_unchanged_status_is_not_sent_again(hub: RestHub) -> None:
    token = hub.token(hub.user("alice"))
    first = await hub.get("/users/alice/server/status", token)
    again = {"If-None-Match": first.headers["ETag"]}
    second = await hub.get("/users/alice/server/status", token, headers=again)
    assert (second.status_code, second.text) == (304, "")


# a path or query -> the answer's code and a part of its message
REFUSALS = {
    "/users/nobody/server/status": (404, "No access"),
    "/users/alice/servers/none/status": (404, "No access"),
    "/users/alice/servers/a%2Fb/status": (404, "No access"),
    "/users/al%2Fice/server/status": (404, "No access"),
    "/users/alice/servers/%C3%A4%F0%9F%90%B3/status": (404, "No access"),
    "/users/alice/servers/..%2f..%2f/status": (404, "No access"),
    "/users/%ff/server/status": (400, ""),
    "/users/alice/server/status?wait=soon": (400, "wait must be a number"),
    "/users/alice/server/status?wait=-1": (400, "from 0 on"),
    "/users/alice/server/status?wait=nan": (400, "from 0 on"),
    "/users/alice/server/status?until=ready": (400, "until must be one of done"),
    "/users/alice/server/status?unitl=done": (400, "Unknown argument 'unitl'"),
    "/users/alice/server/status?until=%25s": (400, "not '%s'"),
    "/users/alice/server/status?wait=%ff": (400, ""),
}


@pytest.mark.parametrize("path", REFUSALS)
async def test_bad_input_is_refused_in_the_hubs_form(hub: RestHub, path: str) -> None:
    hub.user("alice")
    token = hub.service("all", "read:servers", "read:users")
    answer = await hub.get(path, token)
    code, message = REFUSALS[path]
    assert (answer.status_code, answer.json()["status"]) == (code, code)
    assert message in answer.json()["message"]
    assert [row.name for row in hub.app.db.query(orm.Spawner)] == [""]
