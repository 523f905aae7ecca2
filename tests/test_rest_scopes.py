"""Who gets which answer: every kind of asker at every endpoint, and nothing about others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jupyterhub import orm

from .resthub import PAGED, RestHub, logged_in, names, resthub
from .test_rest_profiles import listed


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch, listed) as hub:
        yield hub


PATHS = {
    "own default": "/users/alice/server/status",
    "own named": "/users/alice/servers/lab/status",
    "own none": "/users/alice/servers/none/status",
    "another's": "/users/bob/server/status",
    "another's none": "/users/bob/servers/none/status",
    "nobody's": "/users/nobody/server/status",
    "own list": "/users/alice/servers",
    "another's list": "/users/bob/servers",
    "nobody's list": "/users/nobody/servers",
    "every list": "/servers",
    "own profiles": "/profiles?user=alice",
    "another's profiles": "/profiles?user=bob",
    "nobody's profiles": "/profiles?user=nobody",
    "namespaces": "/namespaces",
    "health": "/health",
    "description": "/openapi.yaml",
}
REFUSED = dict.fromkeys(PATHS, 403) | {"description": 200}
OF_ALICE = {
    "own default": 200,
    "own named": 200,
    "own none": 404,
    "another's": 404,
    "another's none": 404,
    "nobody's": 404,
    "own list": 200,
    "another's list": 404,
    "nobody's list": 404,
    "every list": 200,
}
OF_BOB = OF_ALICE | {
    "own default": 404,
    "own named": 404,
    "another's": 200,
    "own list": 404,
    "another's list": 200,
}
ONLY_LAB = OF_ALICE | {"own default": 404}
PROFILES_OF_ALICE = {
    "own profiles": 200,
    "another's profiles": 404,
    "nobody's profiles": 404,
}
EVERY = OF_ALICE | {"another's": 200, "another's list": 200}
PROFILES_OF_ALL = PROFILES_OF_ALICE | {"another's profiles": 200}
OF_THE_HUB = {"namespaces": 200, "health": 200}
NO_SERVERS = dict.fromkeys(OF_ALICE, 404)
NOTHING_OF_BOTH = NO_SERVERS | dict.fromkeys(PROFILES_OF_ALICE, 404)

# who asks -> the code at each endpoint, and what the list of all servers gives
MATRIX: dict[str, tuple[dict[str, int], list[str]]] = {
    "nobody": (REFUSED, []),
    "a wrong token": (REFUSED, []),
    "the user": (REFUSED | OF_ALICE | PROFILES_OF_ALICE, ["alice/", "alice/lab"]),
    "the user's server": (REFUSED, []),
    "an admin": (
        REFUSED | EVERY | PROFILES_OF_ALL | OF_THE_HUB,
        ["alice/", "alice/lab", "bob/", "root/"],
    ),
    "a token for one server": (REFUSED | ONLY_LAB, ["alice/lab"]),
    "a service of one user": (REFUSED | OF_ALICE, ["alice/", "alice/lab"]),
    "a service of a group": (REFUSED | OF_BOB, ["bob/"]),
    "a service of an empty group": (
        REFUSED | NO_SERVERS | {"every list": 200},
        [],
    ),
    "a service of all servers": (REFUSED | EVERY, ["alice/", "alice/lab", "bob/", "root/"]),
    "a service of all users": (REFUSED | PROFILES_OF_ALL, []),
    "a service of the users of a group": (
        REFUSED | dict.fromkeys(PROFILES_OF_ALICE, 404) | {"another's profiles": 200},
        [],
    ),
    "a service of the Hub": (REFUSED | OF_THE_HUB, []),
    "a service of nothing": (REFUSED, []),
    "who has access to a shared server": (
        REFUSED | NOTHING_OF_BOTH | {"every list": 200},
        ["carol/"],
    ),
    "who may read a shared server": (
        REFUSED | NOTHING_OF_BOTH | ONLY_LAB,
        ["carol/", "alice/lab"],
    ),
}


async def tokens(hub: RestHub) -> dict[str, str | None]:
    """Make all who ask, and what they ask for."""
    alice = hub.user("alice")
    hub.user("bob", groups=("staff",))
    hub.server(alice, "lab")
    hub.app.db.add(orm.Group(name="empty"))
    hub.app.db.commit()
    root = hub.user("root", admin=True)
    await hub.start(alice)
    return {
        "nobody": None,
        "a wrong token": "wrong",
        "the user": hub.token(alice),
        "the user's server": alice.spawners[""].api_token,
        "an admin": hub.token(root),
        "a token for one server": hub.token(alice, "read:servers!server=alice/lab"),
        "a service of one user": hub.service("one", "read:servers!user=alice"),
        "a service of a group": hub.service("group", "read:servers!group=staff"),
        "a service of an empty group": hub.service("empty", "read:servers!group=empty"),
        "a service of all servers": hub.service("all", "read:servers"),
        "a service of all users": hub.service("users", "read:users"),
        "a service of the users of a group": hub.service("staff", "read:users!group=staff"),
        "a service of the Hub": hub.service("hub", "read:hub"),
        "a service of nothing": hub.service("nothing", "read:groups"),
    }


def shared(hub: RestHub, *scopes: str) -> str:
    """Share a server of alice with carol; returns carol's token."""
    carol, row = hub.user("carol"), hub.app.users["alice"].orm_spawners["lab"]
    orm.Share.grant(hub.app.db, row, carol.orm_user, scopes=list(scopes))
    hub.app.db.commit()
    return hub.token(carol)


async def check(hub: RestHub, who: str, token: str | None) -> None:
    """Ask everything, and compare with the matrix."""
    codes, servers = MATRIX[who]
    found, messages = {}, {}
    for name, path in PATHS.items():
        answer = await hub.get(path, token)
        found[name] = answer.status_code
        if answer.status_code >= 400:
            assert answer.json()["status"] == answer.status_code
            messages.setdefault(answer.status_code, set()).add(
                answer.json()["message"].split("; requires")[0]
            )
    assert found == codes, who
    # what is not there and what must not be seen read the same
    assert all(len(texts) == 1 for texts in messages.values()), messages
    answer = await hub.get("/servers", token, headers=PAGED)
    if codes["every list"] == 200:
        assert sorted(names(answer)) == sorted(servers)
        assert answer.json()["_pagination"]["total"] == len(servers)


async def test_every_asker_at_every_endpoint(hub: RestHub) -> None:
    for who, token in (await tokens(hub)).items():
        await check(hub, who, token)


async def test_a_shared_server(hub: RestHub) -> None:
    await tokens(hub)
    name = "who has access to a shared server"
    await check(hub, name, shared(hub, "access:servers!server=alice/lab"))


async def test_a_shared_server_that_may_be_read(hub: RestHub) -> None:
    await tokens(hub)
    token = shared(hub, "access:servers!server=alice/lab", "read:servers!server=alice/lab")
    await check(hub, "who may read a shared server", token)


async def test_what_others_have_does_not_show_in_counts(hub: RestHub) -> None:
    asked = await tokens(hub)
    bob = hub.app.users["bob"]
    hub.server(bob, "two", user_options={"profile": "old"})
    own = await hub.get("/profiles", asked["the user"])
    assert [profile["servers_count"] for profile in own.json()] == [2, 0, 0]


COOKIE_PATHS = ["/users/alice/server/status", "/users/alice/servers", "/servers", "/profiles"]


@pytest.mark.parametrize("path", COOKIE_PATHS)
async def test_a_cookie_alone_is_refused_as_by_the_hub(hub: RestHub, path: str) -> None:
    xsrf = await logged_in(hub, "alice")
    elsewhere = {"Sec-Fetch-Mode": "cors"}
    hubs_own = await hub.client.get("/hub/api/users/alice", headers=elsewhere)
    alone = await hub.get(path, headers=elsewhere)
    assert (alone.status_code, alone.json()) == (hubs_own.status_code, hubs_own.json())
    assert alone.status_code == 403
    for more in ({"params": {"_xsrf": xsrf}}, {"headers": {"X-XSRFToken": xsrf, **elsewhere}}):
        answer: Any = await hub.get(path, **more)  # type: ignore[arg-type]
        assert answer.status_code == 200, answer.text
