"""Whatever is asked, and however: a reason in the Hub's form, no row and no 500."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from jupyterhub import orm

from .resthub import PAGED, RestHub, resthub
from .test_rest_profiles import listed

# one Hub for all: nothing here may change it
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    # JupyterHub 5's own
    pytest.mark.filterwarnings("ignore:The `version` property of an event schema"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RestHub]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        async with resthub(tmp_path_factory.mktemp("hub"), monkeypatch, listed) as hub:
            hub.server(hub.user("alice"), "lab")
            yield hub


@pytest.fixture
def every(hub: RestHub) -> str:
    """A token that may read all."""
    return hub.service("every", "read:servers", "read:users", "read:hub")


PATHS = [
    "/users/alice/server/status",
    "/users/alice/servers/lab/status",
    "/users/alice/servers",
    "/servers",
    "/profiles?user=alice",
    "/namespaces",
    "/health",
    "/openapi.yaml",
]
# a name as it stands in a path
NAMES = [
    "nobody", "a%2Fb", "..%2f..", "%2e%2e", "%00", "al%00ice", "%0d%0a", "%E2%80%A8",
    "%F0%9F%90%B3", "%C3%A4", "alice%20", "%20alice", "'%20OR%201=1--", "%25", "%25s", "*",
    "None", "\\", "<b>", "x" * 255, "x" * 5000, "{0}", "alice%2F", "ALICE%00", "%7B%7D", ";",
    "_", "a_b",
]  # fmt: skip
# paths with a place for a name of a user, and of a server
PLACES = [
    "/users/{}/server/status",
    "/users/{}/servers",
    "/users/{}/servers/lab/status",
    "/users/alice/servers/{}/status",
    "/profiles?user={}",
]


def checked(answer: Any, codes: set[int], where: object) -> str:
    """Return the reason of a refusal, which must have the Hub's form."""
    assert answer.status_code in codes, (where, answer.status_code, answer.text[:300])
    assert answer.json()["status"] == answer.status_code, where
    message: str = answer.json()["message"]
    assert message, where
    return message


@pytest.mark.parametrize("place", PLACES)
async def test_unknown_names_are_not_there_and_make_nothing(
    hub: RestHub, every: str, place: str
) -> None:
    of_group = hub.service("of-group", "read:servers!group=x", "read:users!group=x")
    for name, token in itertools.product(NAMES, (every, of_group)):
        answer = await hub.get(place.format(name), token)
        in_argument = "?" in place and "%00" in name
        message = checked(answer, {400} if in_argument else {404}, (place, name))
        assert in_argument or message == "No access to resources or resources not found", name
    db = hub.app.db
    assert [row.name for row in db.query(orm.User)] == ["alice"]
    assert sorted(row.name for row in db.query(orm.Spawner)) == ["", "lab"]


@pytest.mark.parametrize("name", NAMES)
async def test_unknown_names_in_filters_find_nothing(hub: RestHub, every: str, name: str) -> None:
    for key in ("user", "profile"):
        answer = await hub.get(f"/servers?{key}={name}", every, headers=PAGED)
        if "%00" in name:
            assert "must not hold a NUL" in checked(answer, {400}, name)
            continue
        assert answer.status_code == 200, (key, name, answer.text)
        assert answer.json()["_pagination"]["total"] == 0, (key, name)


WAITS = {
    "nan": "from 0 on",
    "-nan": "from 0 on",
    "inf": "from 0 on",
    "1e999": "from 0 on",
    "-1": "from 0 on",
    "-1e99": "from 0 on",
    "": "from 0 on",
    "1,5": "from 0 on",
    "0x10": "from 0 on",
    "[1]": "from 0 on",
    "true": "from 0 on",
    "1&wait=2": "only once",
    "1%00": "NUL",
}
# an argument -> its wrong values with a part of the reason
ARGUMENTS: dict[str, dict[str, str]] = {
    "/users/alice/server/status?wait=": WAITS,
    "/users/alice/servers/lab/status?until=done&wait=": WAITS,
    "/users/alice/server/status?until=": {
        "": "one of done",
        "Done": "one of done",
        "running": "one of done",
        "done&until=done": "only once",
    },
    "/users/alice/server/status?revision=": {"1&revision=2": "only once", "%00": "NUL"},
    "/servers?state=": {
        "": "one of",
        "Running": "one of",
        "running,stopped": "one of",
        "running&state=x": "one of",
        "%00": "NUL",
    },
    "/users/alice/servers?state=": {"x": "one of", "running&user=alice": "Unknown argument"},
    "/servers?profile=": {"a&profile=b": "only once"},
    "/servers?limit=": {
        "": "must be integers",
        "1.0": "must be integers",
        "nan": "must be integers",
        "1e3": "must be integers",
        "1&limit=2": "only once",
        "x" * 5000: "must be integers",
    },
    "/users/alice/servers?offset=": {
        "a": "must be integers",
        "9" * 30: "too large",
        "9" * 5000: "",
        "0&offset=0": "only once",
    },
    "/profiles?user=": {"alice&user=alice": "only once", "alice&name=x": "Unknown argument"},
    "/namespaces?": {
        "limit=1": "Unknown argument",
        "=": "Unknown argument",
        "a": "Unknown argument",
    },
    "/health?": {"x[]=1": "Unknown argument", "%F0%9F%90%B3=1": "Unknown argument"},
    "/openapi.yaml?": {"format=json": "Unknown argument"},
}


@pytest.mark.parametrize("place", ARGUMENTS)
async def test_arguments_that_make_no_sense_are_refused_with_a_reason(
    hub: RestHub, every: str, place: str
) -> None:
    for value, reason in ARGUMENTS[place].items():
        answer = await hub.get(place + value, every)
        assert reason in checked(answer, {400}, (place, value))


async def test_a_very_long_wait_is_as_long_as_the_longest(hub: RestHub, every: str) -> None:
    answer = await hub.get("/users/alice/server/status?wait=1e99&revision=other", every)
    assert answer.status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD"])
async def test_other_methods_than_get_are_refused_as_by_the_hub(
    hub: RestHub, every: str, path: str, method: str
) -> None:
    headers = {"Authorization": f"token {every}"}
    url = f"/hub/api/detailedspawner{path}"
    answer = await hub.client.request(method, url, headers=headers)
    assert answer.status_code == 405
    if method != "HEAD":
        assert answer.json()["status"] == 405


@pytest.mark.parametrize("path", PATHS)
async def test_options_says_nothing_of_what_is_there(hub: RestHub, path: str) -> None:
    hubs_own = await hub.client.options("/hub/api/users/alice")
    for name in ("alice", "nobody"):
        url = f"/hub/api/detailedspawner{path}".replace("alice", name)
        answer = await hub.client.options(url)
        assert (answer.status_code, answer.text) == (hubs_own.status_code, hubs_own.text)


BODIES: list[tuple[str, bytes]] = [
    ("application/json", b'{"state": "running"}'),
    ("application/json", b"{"),
    ("application/x-www-form-urlencoded", b"state=running&user=bob&wait=nan&limit=x&until=x"),
    ("text/plain", b"\xff\x00"),
]


@pytest.mark.parametrize("path", PATHS)
async def test_a_body_has_no_effect(hub: RestHub, every: str, path: str) -> None:
    without = await hub.get(path, every)
    for kind, body in BODIES:
        headers = {"Authorization": f"token {every}", "Content-Type": kind}
        url = f"/hub/api/detailedspawner{path}"
        answer = await hub.client.request("GET", url, headers=headers, content=body)
        assert (answer.status_code, answer.text) == (without.status_code, without.text), kind
