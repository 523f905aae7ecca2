"""The stand-in's API over HTTP, as kubernetes_asyncio and KubeSpawner use it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from kubernetes_asyncio import client, watch
from kubernetes_asyncio.client import ApiException
from kubespawner.spawner import PodReflector

from detailedspawner.demo.api import make_app
from detailedspawner.demo.cluster import Cluster
from detailedspawner.demo.store import Store

from .demoobjects import (
    Object,
    container,
    create,
    new_store,
    pod,
    run_on_a_node,
    serving,
    until,
)

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def store() -> Store:
    return new_store()


# Over HTTP, with the client that KubeSpawner uses.


@pytest.fixture
async def url(store: Store) -> AsyncIterator[str]:
    async with serving(store) as address:
        yield address


@pytest.fixture
async def core(url: str) -> AsyncIterator[client.CoreV1Api]:
    async with client.ApiClient() as connection:
        yield client.CoreV1Api(connection)


@pytest.fixture
async def http(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(url) as session:
        yield session


async def test_the_life_of_a_pod(store: Store, core: Any) -> None:
    made = await core.create_namespaced_pod("default", pod(labels={"app": "x"}))
    assert made.status.phase == "Pending"
    run_on_a_node(store, podIP="127.0.0.2")
    found = await core.list_namespaced_pod("default", label_selector="app=x")
    assert [item.status.pod_ip for item in found.items] == ["127.0.0.2"]
    assert found.metadata.resource_version == str(store.version)
    other = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="other"))
    with pytest.raises(ApiException) as refused:
        await core.delete_namespaced_pod("a", "default", body=other)
    assert refused.value.status == 409
    options = client.V1DeleteOptions(grace_period_seconds=2)
    ending = await core.delete_namespaced_pod("a", "default", body=options)
    assert ending.metadata.deletion_grace_period_seconds == 2
    await core.delete_namespaced_pod("a", "default", grace_period_seconds=0)
    with pytest.raises(ApiException) as refused:
        await core.read_namespaced_pod("a", "default")
    assert refused.value.status == 404
    assert json.loads(refused.value.body or b"")["message"] == 'pods "a" not found'


async def test_the_status_of_a_pod_has_a_path_of_its_own(store: Store, core: Any) -> None:
    create(store, pod())
    found = await core.read_namespaced_pod_status("a", "default")
    assert found.status.phase == "Pending"


LOGS: list[Object] = [
    {"query": {}, "text": "default a main False None\n"},
    {"query": {"tailLines": "5"}, "text": "default a main False 5\n"},
    {"query": {"container": "main", "previous": "true"}, "text": "default a main True None\n"},
    {"query": {"container": "zz"}, "refused": "container zz is not valid for pod a"},
    {
        "pod": pod(initContainers=[container("init")]),
        "query": {"container": "init"},
        "text": "default a init False None\n",
    },
]


@pytest.mark.parametrize("case", LOGS)
async def test_logs(store: Store, http: aiohttp.ClientSession, case: Object) -> None:
    create(store, case.get("pod", pod()))
    async with http.get(f"{PODS}/a/log", params={"container": "main"}) as answer:
        assert await answer.text() == ""  # not yet on a node
    run_on_a_node(store)
    async with http.get(f"{PODS}/a/log", params=case["query"]) as answer:
        if "refused" in case:
            assert (answer.status, (await answer.json())["message"]) == (400, case["refused"])
        else:
            assert (answer.status, await answer.text()) == (200, case["text"])


ANSWERS: list[Object] = [
    {"method": "GET", "path": "/api/v1/namespaces/default/things", "status": 404},
    {"method": "GET", "path": "/api/v1/namespaces/default/pods/a/exec", "status": 404},
    {"method": "GET", "path": "/api/v1/namespaces/default/nodes", "status": 404},
    {"method": "GET", "path": "/api/v1/namespaces/nowhere/pods", "status": 200},
    {"method": "GET", "path": f"{PODS}?resourceVersion=abc", "status": 400},
    {"method": "GET", "path": f"{PODS}?resourceVersion=999", "status": 504},
    {"method": "GET", "path": f"{PODS}?resourceVersion=0", "status": 200},
    {"method": "GET", "path": f"{PODS}?resourceVersion={9 * '9'}", "status": 504},
    {
        "method": "GET",
        "path": f"{PODS}?resourceVersion=1&resourceVersionMatch=NotOlderThan",
        "status": 200,
    },
    {
        "method": "GET",
        "path": f"{PODS}?resourceVersion=1&resourceVersionMatch=Exact",
        "status": 410,
    },
    {"method": "GET", "path": f"{PODS}?labelSelector=x", "status": 400},
    {"method": "GET", "path": f"{PODS}?watch=1&labelSelector=x", "status": 400},
    {"method": "GET", "path": f"{PODS}?watch=1&timeoutSeconds=-1", "status": 400},
    {"method": "PUT", "path": PODS, "status": 405},
    {"method": "PATCH", "path": f"{PODS}/a", "status": 405},
    {"method": "POST", "path": "/api/v1/pods", "status": 405},
    {"method": "DELETE", "path": "/api/v1/namespaces", "status": 405},
    {"method": "POST", "path": f"{PODS}?dryRun=All", "status": 400},
    {"method": "GET", "path": "/version", "status": 200},
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: f"{case['method']} {case['path']}")
async def test_answers(http: aiohttp.ClientSession, case: Object) -> None:
    async with http.request(case["method"], case["path"]) as answer:
        assert answer.status == case["status"]
        if answer.status >= 400:
            assert (await answer.json())["kind"] == "Status"


BODIES = ["[]", "5", "null", '"pod"', "pod", "[" * 99_999, '{"a":' * 99_999, "\ufffd", "9" * 9_999]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:5])
async def test_what_is_no_json_object_is_refused(http: aiohttp.ClientSession, body: str) -> None:
    for method, path in (("POST", PODS), ("DELETE", f"{PODS}/a")):
        async with http.request(method, path, data=body.encode()) as answer:
            assert answer.status == 400
            assert (await answer.json())["reason"] == "BadRequest"


CREDENTIALS = {"demo:secret@": 200, "demo:other@": 401, "demo:@": 401, "demo:%C3%A9@": 401, "": 401}


@pytest.mark.parametrize("credentials", CREDENTIALS)
async def test_only_who_has_the_token_may_ask(store: Store, credentials: str) -> None:
    asked = [("GET", PODS), ("POST", PODS), ("GET", "/api/v1"), ("GET", "/version")]
    async with serving(store, "secret") as url, aiohttp.ClientSession() as session:
        address = url.replace("demo:secret@", credentials)
        for method, path in asked:
            body = pod() if method == "POST" else None
            async with session.request(method, f"{address}{path}", json=body) as answer:
                assert answer.status - (method == "POST" and answer.ok) == CREDENTIALS[credentials]
                if not answer.ok:
                    assert (await answer.json())["reason"] == "Unauthorized"
    assert len(store.list("pods")) == (CREDENTIALS[credentials] == 200)


def test_the_kubeconfig_with_the_token_is_for_this_user_only(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.touch(mode=0o644)
    Cluster(tmp_path).kubeconfig(path)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_list_names_its_kind_only_once(core: Any) -> None:
    found = await core.list_namespaced_service_account("default", _preload_content=False)
    answer = await found.json()
    assert answer["kind"] == "ServiceAccountList"
    assert "kind" not in answer["items"][0]


# Watches over HTTP.


async def lines_of(answer: aiohttp.ClientResponse) -> list[Object]:
    """Return the events of a watch that has ended."""
    text = await asyncio.wait_for(answer.text(), 10)
    return [json.loads(line) for line in text.splitlines()]


async def test_the_client_watches(store: Store, core: Any) -> None:
    create(store, pod("a"))
    seen = []
    stream = watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=20)
    async with stream as events:
        async for event in events:
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 1:
                create(store, pod("b"))
            else:
                break
    assert seen == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_ends_with_a_bookmark_of_how_far_it_came(
    store: Store, http: aiohttp.ClientSession
) -> None:
    query = {
        "watch": "True",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "1",
        "resourceVersion": str(store.version),
    }
    async with http.get(PODS, params=query) as answer:
        store.create("secrets", "default", {"metadata": {"name": "unseen"}})
        events = await lines_of(answer)
    assert [event["type"] for event in events] == ["BOOKMARK"]
    assert events[0]["object"] == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(store.version)},
    }


async def test_bookmarks_come_while_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, http: aiohttp.ClientSession
) -> None:
    monkeypatch.setattr("detailedspawner.demo.store.BOOKMARK_SECONDS", 0.01)
    query = {"watch": "1", "allowWatchBookmarks": "1", "timeoutSeconds": "60"}
    async with http.get(PODS, params=query) as answer:
        lines = [json.loads(await answer.content.readline()) for _ in range(3)]
    assert [line["type"] for line in lines] == ["BOOKMARK"] * 3
    annotations = [line["object"]["metadata"].get("annotations") for line in lines]
    assert annotations == [{"k8s.io/initial-events-end": "true"}, None, None]


async def test_a_watch_from_a_forgotten_version_says_so() -> None:
    store = new_store(history=1)
    create(store, pod("a"), pod("b"))
    query = {"watch": "1", "resourceVersion": "1"}
    async with (
        serving(store) as url,
        aiohttp.ClientSession(url) as session,
        session.get(PODS, params=query) as answer,
    ):
        (event,) = await lines_of(answer)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert event["object"]["message"] == f"too old resource version: 1 ({store.version - 1})"


async def test_a_watch_ends_with_the_server(store: Store) -> None:
    create(store, pod())
    server = TestServer(make_app(store, lambda *_: ""))
    await server.start_server(shutdown_timeout=0.1)
    async with (
        aiohttp.ClientSession() as session,
        session.get(server.make_url(PODS), params={"watch": "1"}) as answer,
    ):
        await answer.content.readline()
        await asyncio.wait_for(server.close(), 5)


async def test_the_reflector_of_kubespawner_follows(store: Store, url: str) -> None:
    labels = {"component": "singleuser-server"}
    create(store, pod("a", labels), pod("other"))
    # With no time for a watch, each event is followed by a new list and a new watch.
    reflector = PodReflector(namespace="default", labels=labels, restart_seconds=0)
    await reflector.start()
    try:
        assert list(reflector.pods) == ["default/a"]
        for number in range(5):
            create(store, pod(f"p{number}", labels))
            await until(lambda: len(reflector.pods) == 2)
            assert f"default/p{number}" in reflector.pods
            store.delete("pods", "default", f"p{number}")
            await until(lambda: len(reflector.pods) == 1)
        run_on_a_node(store)
        await until(lambda: reflector.pods["default/a"]["status"]["phase"] == "Running")
    finally:
        await reflector.stop()
        await reflector.api.api_client.close()
