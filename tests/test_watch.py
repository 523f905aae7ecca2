"""The reflectors: what they follow, what they tell, and how they survive faults."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp.test_utils import TestServer
from kubernetes_asyncio.client import ApiException, Configuration

from detailedspawner.tracking import Notifier
from detailedspawner.watch import (
    FollowingEventReflector,
    FollowingPodReflector,
    ReflectorPool,
    event_time,
    read_list,
    resource_key,
)

from .fakeapi import FakeApi, event, pod

Make = Callable[..., Any]


async def until(condition: Callable[[], Any]) -> None:
    """Let the loop run until a condition holds."""

    async def poll() -> None:
        while not condition():
            await asyncio.sleep(0.001)

    await asyncio.wait_for(poll(), 10)


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    """The scripted API server, as every client's default."""
    fake = FakeApi()
    server = TestServer(fake.app())
    await server.start_server()
    configuration = Configuration()
    configuration.host = str(server.make_url("")).rstrip("/")
    Configuration.set_default(configuration)
    yield fake
    fake.hang_up()
    await server.close()


@pytest.fixture
async def make(api: FakeApi) -> AsyncIterator[Make]:
    """Makes reflectors, and stops them at the end."""
    made: list[Any] = []

    def build(kind: type = FollowingPodReflector, **more: Any) -> Any:
        more.setdefault("notifier", Notifier())
        made.append(kind(namespace="ns", **more))
        return made[-1]

    yield build
    for reflector in made:
        await reflector.stop()
        await reflector.api.api_client.close()


async def test_it_lists_once_and_follows_from_there(api: FakeApi, make: Make) -> None:
    api.items, api.version = [pod("a", "5")], "7"
    reflector = make()
    await reflector.start()
    assert list(reflector.pods) == ["ns/a"]
    await until(lambda: api.watches)
    assert len(api.lists) == 1
    assert api.watches[0]["resourceVersion"] == "7"
    assert api.watches[0]["allowWatchBookmarks"] in ("true", "True")


CHANGES = [
    {"line": ("ADDED", pod("b", "8")), "tells": "ns/b", "pods": ["ns/a", "ns/b"]},
    {"line": ("MODIFIED", pod("a", "8")), "tells": "ns/a", "pods": ["ns/a"]},
    {"line": ("DELETED", pod("a", "8")), "tells": "ns/a", "pods": []},
    {"line": ("BOOKMARK", pod("", "8")), "tells": None, "pods": ["ns/a"]},
    {"line": ("MODIFIED", {"metadata": {"name": 3}}), "tells": None, "pods": ["ns/a"]},
    {"line": ("MODIFIED", {"metadata": None}), "tells": None, "pods": ["ns/a"]},
]


@pytest.mark.parametrize("row", CHANGES)
async def test_a_change_is_told_to_those_who_follow_that_pod(
    api: FakeApi, make: Make, row: dict[str, Any]
) -> None:
    api.items = [pod("a", "5")]
    reflector, told = make(), []
    for key in ("ns/a", "ns/b"):
        reflector.notifier.subscribe(key, lambda key=key: told.append(key))
    await reflector.start()
    told.clear()
    api.send(*row["line"])
    # what comes after it shows that it was taken
    api.send("ADDED", pod("z", "9"))
    await until(lambda: "ns/z" in reflector.pods)
    assert told == ([row["tells"]] if row["tells"] else [])
    assert [key for key in reflector.pods if key != "ns/z"] == row["pods"]


async def test_a_reconnect_goes_on_after_the_last_bookmark(api: FakeApi, make: Make) -> None:
    reflector = make()
    await reflector.start()
    api.send("BOOKMARK", {"metadata": {"resourceVersion": "41"}})
    api.hang_up()
    await until(lambda: len(api.watches) == 2)
    assert api.watches[1]["resourceVersion"] == "41"
    assert len(api.lists) == 1


async def test_a_change_during_the_reconnect_is_not_lost(api: FakeApi, make: Make) -> None:
    reflector = make()
    await reflector.start()
    api.send("ADDED", pod("a", "3"))
    api.hang_up()
    api.send("ADDED", pod("b", "4"))
    await until(lambda: "ns/b" in reflector.pods)
    assert api.watches[1]["resourceVersion"] == "3"


EXPIRED = [
    {"name": "410 as an event", "line": {"code": 410, "message": "too old"}, "status": None},
    {"name": "410 as an answer", "line": None, "status": 410},
    {"name": "500 as an answer", "line": None, "status": 500},
]


@pytest.mark.parametrize("row", EXPIRED, ids=lambda row: row["name"])
async def test_an_expired_version_is_listed_again_and_the_difference_told(
    api: FakeApi, make: Make, row: dict[str, Any]
) -> None:
    api.items = [pod("a", "1"), pod("b", "1"), pod("same", "1")]
    reflector, told = make(), []
    for key in ("ns/a", "ns/b", "ns/c", "ns/same"):
        reflector.notifier.subscribe(key, lambda key=key: told.append(key))
    await reflector.start()
    told.clear()
    await until(lambda: api.watches)
    api.items = [pod("a", "2"), pod("c", "2"), pod("same", "1")]
    if row["line"]:
        api.send("ERROR", row["line"])
    else:
        api.watch_answers.append(row["status"])
        api.hang_up()
    await until(lambda: len(api.lists) == 2 and "ns/c" in reflector.pods)
    assert sorted(told) == ["ns/a", "ns/b", "ns/c"]
    assert sorted(reflector.pods) == ["ns/a", "ns/c", "ns/same"]


JUNK = [b"", b"<html>Sign in", b"null", b"[]", b'{"items": []}', b'{"metadata": {}, "items": []}',
        b'{"metadata": null}', b'{"metadata": {"resourceVersion": "1"}, "items": {"a": 1}}',
        b"\xff", b"[" * 100_000]  # fmt: skip


@pytest.mark.parametrize("body", JUNK, ids=lambda body: repr(body[:30]))
def test_what_is_no_list_is_told_as_no_answer(body: bytes) -> None:
    with pytest.raises(ApiException, match="no API server") as caught:
        read_list(body)
    assert json.loads(caught.value.body)["reason"] == "NoAnswer"


async def test_what_breaks_off_in_a_line_comes_again(
    api: FakeApi, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    reflector = make()
    await reflector.start()
    api.send("ADDED", pod("a", "3"))
    api.send_raw(b'{"type": "ADDED", "object": {"meta')
    api.hang_up()
    api.send("ADDED", pod("b", "4"))
    await until(lambda: "ns/b" in reflector.pods)
    assert [watch["resourceVersion"] for watch in api.watches] == ["1", "3"]
    assert len(api.lists) == 1
    assert "Traceback" not in caplog.text


async def test_others_get_their_turn_between_changes_that_come_together(
    api: FakeApi, make: Make
) -> None:
    reflector, applied, turns = make(), [], []
    await reflector.start()
    await until(lambda: api.watches)
    apply = reflector.apply
    loop = asyncio.get_running_loop()

    def note(change: dict[str, Any]) -> None:
        apply(change)
        applied.append(change)
        loop.call_soon(lambda: turns.append(len(applied)))

    reflector.apply = note
    lines = [{"type": "ADDED", "object": pod(f"p{n}", str(n + 2))} for n in range(20)]
    api.send_raw(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    await until(lambda: len(turns) == 20)
    assert turns == list(range(1, 21))


async def test_it_lists_again_after_its_time(api: FakeApi, make: Make) -> None:
    reflector = make(relist_seconds=0)
    await reflector.start()
    await until(lambda: len(api.lists) >= 2)


async def test_it_never_gives_up(api: FakeApi, make: Make) -> None:
    reflector = make()
    await reflector.start()
    api.watch_answers.extend([500, 503])
    api.list_answers.extend([500])
    api.hang_up()
    api.send("ADDED", pod("late", "2"))
    await until(lambda: "ns/late" in reflector.pods)
    assert reflector.healthy()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what fails tried again at once."""
    monkeypatch.setattr(FollowingPodReflector, "_next_delay", staticmethod(lambda delay: 0.001))


OUTAGES = [
    {
        "name": "the right to watch was taken away",
        "watches": 403,
        "problem": "the API server answers 403 Forbidden",
        "detail": "403 scripted",
    },
    {
        "name": "no right at all is left",
        "watches": 403,
        "lists": 403,
        "problem": "the API server answers 403 Forbidden",
        "detail": "403 scripted",
    },
    {
        "name": "the API server is overloaded",
        "watches": 429,
        "problem": "the API server answers 429 Too Many Requests",
        "detail": "429 scripted",
    },
    {
        "name": "each version has expired, also the newest",
        "watches": 410,
        "problem": "the API server answers 410 Gone",
        "detail": "410 scripted",
    },
    {
        "name": "a status that nobody knows",
        "watches": 599,
        "problem": "the API server answers 599",
        "detail": "599 scripted",
    },
]


@pytest.mark.parametrize("row", OUTAGES, ids=lambda row: row["name"])
async def test_a_watch_that_fails_for_ever_tells_since_when_and_why(
    api: FakeApi,
    make: Make,
    at_once: None,
    row: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "traitlets")
    reflector, before = make(), time.time()
    await reflector.start()
    await until(lambda: api.watches)
    assert reflector.outage is None
    api.watch_answers = [row["watches"]] * 1000
    api.list_answers = [row["lists"]] * 1000 if "lists" in row else []
    api.hang_up()
    await until(lambda: reflector.outage)
    since, asked = reflector.outage.since, len(api.watches) + len(api.lists)
    assert before <= since <= time.time()
    assert (reflector.outage.problem, reflector.outage.detail) == (row["problem"], row["detail"])
    # each further try is not news
    await until(lambda: len(api.watches) + len(api.lists) >= asked + 10)
    assert reflector.outage.since == since
    told = [record for record in caplog.records if record.levelname == "WARNING"]
    assert len(told) == 1
    assert f"pods in namespace ns fails, and is tried again until it works: {row['detail']}" in (
        told[0].getMessage()
    )
    api.watch_answers, api.list_answers = [], []
    await until(lambda: reflector.outage is None)
    assert "Watching pods works again after" in caplog.text
    api.send("ADDED", pod("late", "2"))
    await until(lambda: "ns/late" in reflector.pods)


async def test_an_api_server_that_is_gone(make: Make, at_once: None) -> None:
    reflector = make(timeout_seconds=1)
    await reflector.start()
    # another answers there by the time that the watch has to come back
    reflector.api.api_client.configuration.host = "http://127.0.0.1:1"
    await until(lambda: reflector.outage)
    assert reflector.outage.problem == "the API server does not answer"
    # the address is for administrators
    assert "127.0.0.1:1" in reflector.outage.detail
    assert reflector.healthy()


async def test_each_problem_of_an_outage_is_logged_once(
    api: FakeApi, make: Make, at_once: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "traitlets")
    reflector = make()
    await reflector.start()
    await until(lambda: api.watches)
    api.watch_answers = [403, 500] * 10
    api.hang_up()
    await until(lambda: not api.watch_answers and reflector.outage is None)
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.rpartition(": ")[2] for text in told] == ["403 scripted", "500 scripted"]


async def test_one_expired_version_is_no_outage(
    api: FakeApi, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    reflector = make()
    await reflector.start()
    await until(lambda: api.watches)
    api.watch_answers.append(410)
    api.hang_up()
    await until(lambda: len(api.watches) == 3)
    assert reflector.outage is None
    assert not caplog.records


async def test_an_answer_that_nobody_can_read(
    api: FakeApi, make: Make, at_once: None, caplog: pytest.LogCaptureFixture
) -> None:
    reflector, told = make(), []
    await reflector.start()
    await until(lambda: api.watches)
    reflector._works = lambda: told.append(reflector.outage)
    api.send_raw(b"<html>\n")
    await until(lambda: reflector.outage)
    assert reflector.outage.problem == "the answer of the API server cannot be read"
    assert "Traceback" in caplog.text
    await until(lambda: told)


async def test_events_are_found_by_the_uid_of_their_pod(api: FakeApi, make: Make) -> None:
    api.items = [event("e1", "1", "a"), event("e2", "1", "b")]
    reflector, told = make(FollowingEventReflector), []
    reflector.notifier.subscribe("ns/a", lambda: told.append("a"))
    await reflector.start()
    assert [e["metadata"]["name"] for e in reflector.events_of("uid-a")] == ["e1"]
    api.send("ADDED", event("e3", "2", "a"))
    await until(lambda: len(reflector.events_of("uid-a")) == 2)
    assert told == ["a", "a"]
    api.send("DELETED", event("e1", "3", "a"))
    await until(lambda: len(reflector.events_of("uid-a")) == 1)
    assert reflector.events_of("unknown") == []


TIMES = [
    ({"series": {"lastObservedTime": "4"}, "lastTimestamp": "3", "eventTime": "2"}, "4"),
    ({"series": None, "lastTimestamp": "3", "eventTime": "2"}, "3"),
    ({"lastTimestamp": None, "eventTime": "2", "metadata": {"creationTimestamp": "1"}}, "2"),
    ({"lastTimestamp": None, "eventTime": None, "metadata": {"creationTimestamp": "1"}}, "1"),
    ({"lastTimestamp": None, "eventTime": None}, ""),
]


@pytest.mark.parametrize(("document", "expected"), TIMES)
def test_time_of_an_event(document: dict[str, Any], expected: str) -> None:
    assert event_time(document) == expected


@pytest.mark.parametrize("document", [None, 3, {}, {"metadata": []}, {"metadata": {"name": "a"}}])
def test_an_object_without_a_name_has_no_key(document: object) -> None:
    assert resource_key(document) is None


# --- one reflector for many servers -----------------------------------------------


async def test_a_pool_starts_one_reflector_for_all_who_ask(api: FakeApi, make: Make) -> None:
    pool = ReflectorPool({})
    found = await asyncio.gather(*(pool.ensure("pods", make) for _ in range(5)))
    assert len({id(reflector) for reflector in found}) == 1
    assert len(api.lists) == 1


async def test_whoever_is_cancelled_during_the_first_list_takes_nobody_along(
    api: FakeApi, make: Make
) -> None:
    pool, answer = ReflectorPool({}), asyncio.Event()
    api.list_answers.append(answer)
    first = asyncio.create_task(pool.ensure("pods", make))
    await until(lambda: api.lists)
    second = asyncio.create_task(pool.ensure("pods", make))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    answer.set()
    reflector = await asyncio.wait_for(second, 5)
    assert reflector.healthy()
    assert await pool.ensure("pods", make) is reflector


async def test_a_failed_first_list_fails_those_who_wait_and_the_next_try_works(
    api: FakeApi, make: Make
) -> None:
    pool = ReflectorPool({})
    api.list_answers.append(403)
    results = await asyncio.gather(
        *(pool.ensure("pods", make) for _ in range(3)), return_exceptions=True
    )
    assert [type(result) for result in results] == [ApiException] * 3
    assert (await pool.ensure("pods", make)).healthy()


async def test_a_dead_watch_is_replaced_and_what_went_away_meanwhile_is_told(
    api: FakeApi, make: Make
) -> None:
    pool, notifier, told = ReflectorPool({}), Notifier(), []
    api.items = [pod("a", "1")]
    dead = await pool.ensure("pods", lambda: make(notifier=notifier))
    dead.watch_task.cancel()
    await until(dead.watch_task.done)
    api.items = []
    notifier.subscribe("ns/a", lambda: told.append("a"))
    fresh = await pool.ensure("pods", lambda: make(notifier=notifier))
    assert fresh is not dead
    assert fresh.pods == {}
    assert told == ["a"]


async def test_whoever_is_told_of_a_change_finds_it_though_a_reflector_was_made_anew(
    api: FakeApi, make: Make
) -> None:
    reflectors: dict[Any, Any] = {}
    pool, notifier, seen = ReflectorPool(reflectors), Notifier(), []

    def look() -> None:
        pods = reflectors["pods"].pods if "pods" in reflectors else {}
        seen.append(pods.get("ns/a", {}).get("metadata", {}).get("resourceVersion"))

    notifier.subscribe("ns/a", look)
    api.items = [pod("a", "1")]
    dead = await pool.ensure("pods", lambda: make(notifier=notifier))
    assert seen[-1] == "1"
    dead.watch_task.cancel()
    await until(dead.watch_task.done)
    api.items = [pod("a", "2")]
    await pool.ensure("pods", lambda: make(notifier=notifier))
    assert seen[-1] == "2"


async def test_while_a_reflector_is_replaced_the_old_one_still_serves(
    api: FakeApi, make: Make
) -> None:
    reflectors: dict[Any, Any] = {}
    pool, answer = ReflectorPool(reflectors), asyncio.Event()
    api.items = [pod("a", "1")]
    old = await pool.ensure("pods", make)
    api.list_answers.append(answer)
    replacing = asyncio.create_task(pool.ensure("pods", make, replace=True))
    await until(lambda: len(api.lists) == 2)
    assert reflectors["pods"] is old
    assert list(reflectors["pods"].pods) == ["ns/a"]
    answer.set()
    assert await replacing is reflectors["pods"]
    assert old.watch_task is None


def test_a_listener_that_fails_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    notifier, told = Notifier(), []

    def fail() -> None:
        raise RuntimeError("mine")

    notifier.subscribe("ns/a", fail)
    notifier.subscribe("ns/a", lambda: told.append("a"))
    notifier.notify("ns/a")
    assert told == ["a"]
    assert "mine" in caplog.text
