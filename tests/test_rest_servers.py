"""GET servers: running and stopped, filtered, in pages, at a cost that does not grow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jupyterhub import orm
from sqlalchemy.dialects import mysql, postgresql
from traitlets.config import Config

from detailedspawner.models import ServerState
from detailedspawner.models.servers import Namespace, Server
from detailedspawner.repositories import rows, servers
from detailedspawner.repositories.servers import Filters, Servers

from .resthub import PAGED, RestHub, names, resthub
from .test_rest_profiles import PROFILES, listed


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch, listed) as hub:
        yield hub


async def listing(hub: RestHub, path: str, token: str, **params: Any) -> list[dict[str, Any]]:
    """Return the servers of a list."""
    answer = await hub.get(path, token, params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


async def test_all_that_is_told_of_a_server(hub: RestHub) -> None:
    alice = hub.user("alice")
    token = hub.token(alice)
    await hub.start(alice, profile="small", image="2025")
    (running,) = await listing(hub, "/users/alice/servers", token)
    assert (running["state"], running["paused"], running["paused_time"]) == ("running", False, None)
    assert (running["name"], running["user"], running["namespace"]) == ("", "alice", "ns")
    assert (running["ready_containers"], running["total_containers"]) == (1, 1)
    assert running["profile"] == {
        "id": "small",
        "display_name": "Small",
        "missing": False,
        "icon": {"url": "https://example.org/small.svg"},
        "logo": None,
        "redirect_chain": [],
    }
    options = running["pod_template"]["options"]
    assert options["image"]["current"] == {
        "id": "2025",
        "display_name": "2025",
        "description": "",
        "labels": [],
        "missing": False,
    }
    (step,) = options["image"]["redirect_chain"]
    assert (step["source"], step["target"]["id"]) == ("2025", "2026")
    assert step["target"]["labels"] == [{"key": "python", "value": "3.14"}]
    assert step["message"]["level"] == "danger"
    assert running["pod_template"]["volumes"]["home"] == {
        "claim": "claim-alice",
        "mount_path": "/home/jovyan",
        "read_only": False,
    }
    own = (await hub.hub("GET", "/users/alice", token)).json()["servers"][""]
    assert (running["url"], running["progress_url"]) == (own["url"], own["progress_url"])
    status = (await hub.get("/users/alice/server/status", token)).json()
    assert running["revision"] == status["revision"]
    assert running["activity"]["last_update"] == status["updated_at"]
    assert Server.from_dict(running).to_dict() == running
    await hub.stop(alice)
    (stopped,) = await listing(hub, "/users/alice/servers", token)
    assert stopped["paused"]
    assert stopped["paused_time"] is not None
    assert stopped["profile"]["id"] == "small"
    assert stopped["pod_template"]["volumes"]["home"]["mount_path"] == "/home/jovyan"


async def test_a_server_that_was_never_started(hub: RestHub) -> None:
    alice = hub.user("alice")
    (server,) = await listing(hub, "/users/alice/servers", hub.token(alice))
    assert (server["state"], server["paused"], server["paused_time"]) == ("stopped", True, None)
    assert server["state_message"] == "The server has not been started yet."
    # what it would be started with
    assert server["profile"]["id"] == "small"
    assert server["pod_template"]["options"]["image"]["current"]["id"] == "2024"
    assert [
        step["target"]["id"]
        for step in server["pod_template"]["options"]["image"]["redirect_chain"]
    ] == ["2025", "2026"]


async def test_what_was_removed_while_a_server_is_stopped(hub: RestHub) -> None:
    alice = hub.user("alice")
    state = {"namespace": "ns", "pvc_name": "claim-alice", "stopped_at": 1764504000.5}
    options: dict[str, dict[str, Any]] = {
        "profile-gone": {"profile": "gone", "image": "2026", "gpu": "two"},
        "choice-gone": {"profile": "small", "image": "2019"},
        "option-gone": {"profile": "old", "disk": "ssd"},
        "nonsense": {"profile": ["x"], "image": {"a": 1}, "": "x", "\u2028": "\x1b[1m"},
    }
    for name, chosen in options.items():
        hub.server(alice, name, user_options=chosen, state=state)
    found = {
        server["name"]: server
        for server in await listing(hub, "/users/alice/servers", hub.token(alice))
    }
    gone = found["profile-gone"]
    assert (gone["profile"]["id"], gone["profile"]["missing"]) == ("gone", True)
    assert gone["paused_time"] == "2025-11-30T12:00:00.500Z"
    assert gone["pod_template"]["volumes"]["home"] == {
        "claim": "claim-alice",
        "mount_path": "__UNKNOWN_HOME_MOUNT_PATH__",
        "read_only": False,
    }
    unknown = {name: option["current"] for name, option in gone["pod_template"]["options"].items()}
    assert unknown == {
        name: {
            "id": chosen,
            "display_name": placeholder,
            "description": placeholder,
            "labels": None,
            "missing": True,
        }
        for name, chosen, placeholder in (
            ("image", "2026", "__UNKNOWN_IMAGE_CONFIG__"),
            ("gpu", "two", "__UNKNOWN_POD_CONFIG__"),
        )
    }
    image = found["choice-gone"]["pod_template"]["options"]["image"]
    assert (image["current"]["id"], image["current"]["missing"]) == ("2019", True)
    assert not found["choice-gone"]["profile"]["missing"]
    disk = found["option-gone"]["pod_template"]["options"]["disk"]["current"]
    assert (disk["id"], disk["missing"]) == ("ssd", True)
    assert found["nonsense"]["profile"]["id"] == "small"


async def test_profiles_that_only_a_function_knows_are_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def of_user(spawner: Any) -> list[dict[str, Any]]:
        calls.append(spawner.user.name)
        return PROFILES

    def config(c: Config) -> None:
        c.KubeSpawner.profile_list = of_user

    async with resthub(tmp_path, monkeypatch, config) as hub:
        alice = hub.user("alice")
        token = hub.token(alice)
        hub.server(alice, "one", user_options={"profile": "old", "disk": "ssd"})
        default, one = await listing(hub, "/servers", token)
        assert calls == []
        assert default["profile"] is None
        assert (one["profile"]["id"], one["profile"]["missing"]) == ("old", None)
        assert one["pod_template"]["options"]["disk"]["current"]["missing"] is None
        await hub.get("/profiles", token)
        _, one = await listing(hub, "/servers", token)
        assert (one["profile"]["display_name"], one["profile"]["missing"]) == ("Old", False)
        assert one["pod_template"]["options"]["disk"]["current"]["missing"]


async def some_servers(hub: RestHub) -> str:
    """Make servers in different states; returns a token that may see all."""
    alice, bob, carol = hub.user("alice"), hub.user("bob"), hub.user("carol")
    hub.server(alice, "gpu", user_options={"profile": "old"})
    hub.server(bob, "OLD", user_options={"profile": "Old"})
    hub.server(bob, "inner", user_options={"other": {"profile": "old"}})
    hub.server(carol, "empty", user_options={"profile": ""})
    await hub.start(alice, profile="old")
    await hub.begin(bob, profile="old")
    await hub.begin(carol)
    hub.store.delete("pods", "ns", "jupyter-carol", grace=0)
    return hub.service("all", "read:servers")


ALL = ["alice/", "bob/", "carol/", "alice/gpu", "bob/OLD", "bob/inner", "carol/empty"]
# a query -> the servers that it gives, in this order
QUERIES: dict[str, list[str]] = {
    "": ALL,
    "state=running": ["alice/"],
    "state=starting": ["bob/"],
    "state=starting&state=running": ["alice/", "bob/"],
    "state=failed": ["carol/"],
    "state=stopped": ["alice/gpu", "bob/OLD", "bob/inner", "carol/empty"],
    "state=stopped&state=failed": [
        "carol/", "alice/gpu", "bob/OLD", "bob/inner", "carol/empty"
    ],
    "state=checking": [],
    "user=alice": ["alice/", "alice/gpu"],
    "user=alice&user=bob&state=stopped": ["alice/gpu", "bob/OLD", "bob/inner"],
    "user=nobody": [],
    "user=": [],
    "user=al%25": [],
    "profile=old": ["alice/", "bob/", "alice/gpu"],
    "profile=old&limit=1": ["alice/"],
    "profile=Old": ["bob/OLD"],
    # the default one is also that of servers for which none was chosen
    "profile=small": ["carol/", "bob/inner", "carol/empty"],
    "profile=none": [],
    "profile=%25": [],
    "offset=1&limit=2": ["bob/", "carol/"],
    "offset=100": [],
    "offset=-1&limit=-1": ["bob/"],
    "limit=0": ["alice/"],
    "limit=1000000": ALL,
}  # fmt: skip


async def test_lists_are_narrowed_and_sorted_alike_every_time(hub: RestHub) -> None:
    token = await some_servers(hub)
    carol = hub.app.users["carol"].spawners[""]
    while (await hub.get("/users/carol/server/status?until=done", token)).json()[
        "state"
    ] != "failed":
        pass
    assert carol is not None
    for query, expected in QUERIES.items():
        answer = await hub.get(f"/servers?{query}", token)
        assert answer.status_code == 200, (query, answer.text)
        assert names(answer) == expected, query


# a query -> a part of the reason why it is refused
REFUSALS = {
    "state=ready": "state must be one of starting, running",
    "state=": "state must be one of",
    "status=running": "Unknown argument 'status'; known: state, user, profile, offset, limit",
    "limit=many": "offset and limit must be integers",
    "offset=1.5": "offset and limit must be integers",
    "offset=99999999999999999999": "offset is too large",
}


@pytest.mark.parametrize("query", REFUSALS)
async def test_a_query_that_makes_no_sense_is_refused(hub: RestHub, query: str) -> None:
    token = hub.service("all", "read:servers")
    answer = await hub.get(f"/servers?{query}", token)
    assert (answer.status_code, answer.json()["status"]) == (400, 400)
    assert REFUSALS[query] in answer.json()["message"]


async def test_pages_have_the_hubs_form(hub: RestHub) -> None:
    alice = hub.user("alice")
    for number in range(4):
        hub.server(alice, f"s{number}")
    token, seen, path = hub.token(alice), [], "/servers?limit=2"
    while path:
        answer = (await hub.get(path, token, headers=PAGED)).json()
        seen += [server["name"] for server in answer["items"]]
        page = answer["_pagination"]
        assert page["total"] == 5
        path = page["next"] and page["next"]["url"].split("/detailedspawner")[1]
    assert seen == ["", "s0", "s1", "s2", "s3"]


async def test_the_servers_of_one_user(hub: RestHub) -> None:
    alice, bob = hub.user("alice"), hub.user("bob")
    hub.server(alice, "one")
    hub.server(bob, "two")
    every = hub.service("all", "read:servers")
    assert names(await hub.get("/users/alice/servers", every)) == ["alice/", "alice/one"]
    assert names(await hub.get("/users/alice/servers?state=running", every)) == []
    assert (await hub.get("/users/nobody/servers", every)).status_code == 404
    assert (await hub.get("/users/alice/servers?user=bob", every)).status_code == 400
    one = hub.service("one", "read:servers!server=alice/one")
    assert names(await hub.get("/users/alice/servers", one)) == ["alice/one"]
    for path in ("/users/bob/servers", "/users/nobody/servers"):
        answer = await hub.get(path, one)
        assert (answer.status_code, answer.json()["message"]) == (
            404,
            "No access to resources or resources not found",
        )


async def test_urls_are_those_of_the_hub_with_subdomains_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def config(c: Config) -> None:
        c.JupyterHub.subdomain_host = "http://hub.example.org:8000"
        c.JupyterHub.base_url = "/a b/"

    async with resthub(tmp_path, monkeypatch, config) as hub:
        user = hub.user("ä@x")
        hub.server(user, "one")
        page, _ = await Servers(hub.app.db, hub.app.users, hub.app.tornado_settings).page(
            rows.Scope.ALL, Filters(), 0, 10
        )
        assert [(server.url, server.progress_url) for server in page] == [
            (user.server_url(name), user.progress_url(name)) for name in ("", "one")
        ]


# --- what it costs ------------------------------------------------------------------


async def crowd(hub: RestHub) -> None:
    """Make 5,000 servers of 5,000 users, 500 of them running."""
    db = hub.app.db
    db.add(orm.Group(name="big"))
    db.commit()
    db.execute(
        orm.User.__table__.insert(),
        [{"name": f"user-{number}", "cookie_id": str(number)} for number in range(5000)],
    )
    group = orm.Group.find(db, "big").id
    ids = dict(db.query(orm.User.name, orm.User.id).all())
    db.execute(
        orm.Base.metadata.tables["user_group_map"].insert(),
        [{"user_id": number, "group_id": group} for number in ids.values()],
    )
    state = {"namespace": "ns", "pod_name": "x", "stopped_at": 1764504000.5}
    db.execute(
        orm.Spawner.__table__.insert(),
        [
            {
                "name": "",
                "user_id": ids[f"user-{number}"],
                "state": state,
                "user_options": {"profile": "small", "image": "2025"},
            }
            for number in range(5000)
        ],
    )
    db.commit()
    for number in range(500):
        spawner = hub.app.users[f"user-{number}"].spawners[""]
        spawner.orm_spawner.server = orm.Server()
        spawner._passed_gate = True
    db.commit()


# a name -> who asks, what, and how many servers there are of it
COSTS: dict[str, tuple[str, str, int]] = {
    "all": ("read:servers", "", 5000),
    "running": ("read:servers", "&state=running", 500),
    "stopped": ("read:servers", "&state=stopped", 4500),
    "of a profile": ("read:servers", "&profile=small", 5000),
    "the last page": ("read:servers", "&offset=4900", 5000),
    "of a group": ("read:servers!group=big", "", 5000),
    "of a group, running": ("read:servers!group=big", "&state=running", 500),
}


async def test_a_page_costs_the_same_however_many_servers_there_are(hub: RestHub) -> None:
    await crowd(hub)
    seconds, queries, longest = {}, {}, {}
    for number, (name, (scope, query, total)) in enumerate(COSTS.items()):
        token = hub.service(f"asker-{number}", scope)
        path = f"/servers?limit=100{query}"
        await hub.get(path, token, headers=PAGED)
        with hub.counted() as found:
            answer = await hub.get(path, token, headers=PAGED)
            queries[name] = [text for text in found if "FROM spawners" in text]
        seconds[name] = min([await own_seconds(hub, path, token) for _ in range(3)])
        assert len(answer.json()["items"]) == 100
        assert answer.json()["_pagination"]["total"] == total
        # the rest is the Hub's, to know who asks
        assert len(queries[name]) == (3 if "profile=" in query else 2), queries[name]
        assert len(found) < 15, found
        longest[name] = min([await longest_turn(hub, path, token) for _ in range(3)])
    print(f"\nseconds: {seconds}\nlongest: {longest}")
    assert max(seconds.values()) < 0.1, seconds
    lister = hub.service("lister", "list:users", "read:servers", "read:users")
    hubs_own = [
        await longest_turn(hub, "/users?state=active&limit=100", lister, ours=False)
        for _ in range(3)
    ]
    print(f"the Hub's own list of users: {min(hubs_own)}")
    assert max(longest.values()) < min(hubs_own) + 0.010


async def own_seconds(hub: RestHub, path: str, token: str) -> float:
    """Return how long a request keeps this thread, the client included and no other process."""
    began = time.thread_time()
    await hub.get(path, token, headers=PAGED)
    return time.thread_time() - began


async def longest_turn(hub: RestHub, path: str, token: str, *, ours: bool = True) -> float:
    """Return for how many seconds at most a request kept all others from their turn."""
    worst, last, going = 0.0, time.thread_time(), True

    async def look() -> None:
        nonlocal worst, last
        while going:
            now = time.thread_time()
            worst, last = max(worst, now - last), now
            await asyncio.sleep(0)

    task = asyncio.create_task(look())
    answer = await (hub.get(path, token, headers=PAGED) if ours else hub.hub("GET", path, token))
    assert answer.status_code == 200
    going = False
    await task
    return worst


async def test_namespaces_are_counted_in_few_queries(hub: RestHub) -> None:
    await crowd(hub)
    hub.app.users["user-0"].spawners[""].namespace = "other"
    token = hub.service("reader", "read:hub")
    with hub.counted() as found:
        answer = await hub.get("/namespaces", token)
    assert answer.json() == [
        {"name": "ns", "servers_count": 4999, "active_count": 499},
        {"name": "other", "servers_count": 1, "active_count": 1},
    ]
    assert [Namespace.from_dict(item).to_dict() for item in answer.json()] == answer.json()
    assert len([text for text in found if "FROM spawners" in text]) == 11


@pytest.mark.parametrize("dialect", [postgresql.dialect(), mysql.dialect()], ids=lambda d: d.name)
def test_the_queries_are_such_as_other_databases_take(dialect: Any) -> None:
    wanted = rows.Wanted(
        users=["a"], profile="x", default_profile=True, only=[1], never=[2], failed=False,
    )  # fmt: skip
    scope = {"user": {"a"}, "group": {"g"}, "server": {"a/b"}}
    profile = rows._has_profile("x", True)
    query = rows._columns().where(rows.visible(scope), *rows._conditions(wanted), profile)
    text = str(query.compile(dialect=dialect))
    assert "replace(spawners.user_options" in text
    assert "EXISTS" in text


def test_every_state_is_that_of_a_server_with_a_pod_or_without() -> None:
    with_pod = {"starting", "running", "cancelling", "stopping", "checking"}
    assert {state.value for state in set(ServerState) - servers.PAUSED} == with_pod
