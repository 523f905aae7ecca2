"""Who reads the end of a container's log: only who could read it elsewhere as well."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jupyterhub import orm
from traitlets.config import Config

from .resthub import RestHub, logged_in, resthub, until

TOKEN = "the last line of the log"


def config(c: Config) -> None:
    """Let those who may start servers of a group see the pages of their starts."""
    c.JupyterHub.load_roles = [{"name": "helper", "scopes": ["self", "servers!group=staff"]}]


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch, config) as hub:
        yield hub


def crash(pod: dict[str, Any]) -> None:
    """Let the main container of a pod end, with the end of its log as Kubernetes keeps it."""
    name, image = (pod["spec"]["containers"][0][key] for key in ("name", "image"))
    ended = {"exitCode": 1, "reason": "Error", "message": f"starting up\nTraceback\n{TOKEN}\n"}
    pod["status"].update(
        phase="Failed",
        containerStatuses=[
            {"name": name, "image": image, "imageID": "", "ready": False, "restartCount": 0,
             "state": {"terminated": ended}}
        ],
    )  # fmt: skip


async def failed(hub: RestHub) -> Any:
    """Let a start of bob's server fail; returns bob."""
    bob = hub.user("bob", groups=("staff",))
    await hub.begin(bob)
    hub.store.update("pods", "ns", "jupyter-bob", crash)
    await until(lambda: not bob.spawners[""].pending)
    return bob


def askers(hub: RestHub, bob: Any) -> dict[str, tuple[str, bool]]:
    """Return who asks, with a token, and whether the end of the log is for them."""
    shared = "access:servers!server=bob/", "read:servers!server=bob/"
    carol, dave = hub.user("carol"), hub.user("dave")
    row = bob.orm_spawners[""]
    orm.Share.grant(hub.app.db, row, carol.orm_user, scopes=list(shared))
    orm.Share.grant(hub.app.db, row, dave.orm_user, scopes=[shared[1]])
    hub.app.db.commit()
    every = "read:servers"
    return {
        "the owner": (hub.token(bob), True),
        "a token of the owner for less": (hub.token(bob, "read:servers!user=bob"), False),
        "an admin": (hub.token(hub.user("root", admin=True)), True),
        "who has access to it": (hub.token(carol), True),
        "who may only read it": (hub.token(dave), False),
        "a service of all servers": (hub.service("all", every), False),
        "a service of its group": (hub.service("group", f"{every}!group=staff"), False),
        "a service that starts and stops": (hub.service("servers", "servers"), False),
        "a service with access": (hub.service("access", every, "access:servers"), True),
        "a service with access to a group": (
            hub.service("of-group", every, "access:servers!group=staff"),
            True,
        ),
        "a service with access to another": (
            hub.service("other", every, "access:servers!user=carol"),
            False,
        ),
        "a service that reads what is saved": (
            hub.service("state", every, "admin:server_state"),
            True,
        ),
        "a service that is admin of servers": (hub.service("admin", "admin:servers"), True),
    }


async def test_the_end_of_a_log_is_for_who_could_read_it_elsewhere(hub: RestHub) -> None:
    bob = await failed(hub)
    for who, (token, shown) in askers(hub, bob).items():
        answer = await hub.get("/users/bob/server/status", token)
        (container,) = answer.json()["containers"]
        assert (answer.json()["state"], container["exit_code"]) == ("failed", 1), who
        assert (container["log_tail"] is not None) == shown, who
        assert ("Traceback" in answer.text) == shown, who
        stream = (await hub.hub("GET", "/users/bob/server/progress", token)).text
        (event,) = [json.loads(line[6:]) for line in stream.splitlines() if line[:6] == "data: "]
        assert event["status"] == answer.json(), who


async def test_it_is_the_same_when_only_the_database_has_it(hub: RestHub) -> None:
    bob = await failed(hub)
    asked = askers(hub, bob)
    # as after a restart of the Hub
    bob.spawners.clear()
    for who, (token, shown) in asked.items():
        answer = await hub.get("/users/bob/server/status", token)
        assert answer.json()["state"] == "failed", who
        assert ("Traceback" in answer.text) == shown, who
        own = await hub.hub("GET", "/users/bob", token)
        reads_saved = own.status_code == 200 and "Traceback" in own.text
        assert not reads_saved or shown, who


@pytest.mark.parametrize("who", ["bob", "helper"])
async def test_the_page_of_a_start_shows_the_same(hub: RestHub, who: str) -> None:
    await failed(hub)
    if who == "helper":
        helper = hub.user("helper")
        helper.orm_user.roles.append(orm.Role.find(hub.app.db, "helper"))
        hub.app.db.commit()
    await logged_in(hub, who)
    page = await hub.client.get("/hub/spawn-pending/bob", follow_redirects=True)
    assert "detailedspawner.css" in page.text
    assert 'data-status="failed"' in page.text
    assert ("Traceback" in page.text) == (who == "bob")
