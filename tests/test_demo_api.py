"""The stand-in's API over HTTP, as kubernetes_asyncio and KubeSpawner use it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from kubernetes_asyncio import client, watch
from kubernetes_asyncio.client import ApiException
from kubespawner.spawner import PodReflector

from detailedspawner.demo.api import make_app
from detailedspawner.demo.merging import STRATEGIC_KEYS, merge
from detailedspawner.demo.parsing import Query, Target
from detailedspawner.demo.store import Store
from detailedspawner.demo.streaming import WatchStream

from .demoobjects import (
    Object,
    container,
    create,
    names,
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


async def test_a_deleted_secret_answers_with_a_status(core: Any, store: Store) -> None:
    await core.create_namespaced_secret("default", {"metadata": {"name": "s"}})
    uid = store.get("secrets", "default", "s")["metadata"]["uid"]
    answer = await core.delete_namespaced_secret("s", "default")
    assert (answer.status, answer.details.kind, answer.details.uid) == ("Success", "secrets", uid)


async def test_patches(core: Any, http: aiohttp.ClientSession) -> None:
    await core.create_namespaced_pod("default", pod(labels={"app": "x", "tier": "front"}))
    merge = {"Content-Type": "application/merge-patch+json"}
    body: Object = {"metadata": {"labels": {"app": None, "new": "y"}}}
    async with http.patch(f"{PODS}/a", json=body, headers=merge) as answer:
        assert (await answer.json())["metadata"]["labels"] == {"tier": "front", "new": "y"}
    strategic = {"Content-Type": "application/strategic-merge-patch+json"}
    body = {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}
    async with http.patch(f"{PODS}/a", json=body, headers=strategic) as answer:
        changed = (await answer.json())["spec"]["containers"]
    assert [(c["image"], c["imagePullPolicy"]) for c in changed] == [("busybox:2", "IfNotPresent")]
    body = {"metadata": {"resourceVersion": "1"}}
    async with http.patch(f"{PODS}/a", json=body, headers=merge) as answer:
        assert answer.status == 409
        assert (await answer.json())["message"] == (
            'Operation cannot be fulfilled on pods "a": the object has been modified; please apply '
            "your changes to the latest version and try again"
        )
    body = {"spec": {"containers": []}}
    async with http.patch(f"{PODS}/a", json=body, headers=merge) as answer:
        assert answer.status == 422
    async with http.patch(f"{PODS}/a", data="x", headers={"Content-Type": "text/json"}) as answer:
        assert answer.status == 400
    async with http.patch(f"{PODS}/a", json=[], headers={"Content-Type": "text/yaml"}) as answer:
        assert answer.status == 415


PATCHES: list[Object] = [
    {"old": {"a": 1, "b": 2}, "patch": {"b": None, "c": {"d": 3}}, "new": {"a": 1, "c": {"d": 3}}},
    {"old": {"a": {"b": 1}}, "patch": {"a": {"c": 2}}, "new": {"a": {"b": 1, "c": 2}}},
    {"old": {"list": [1]}, "patch": {"list": [2]}, "new": {"list": [2]}},
    {
        "old": {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        "patch": {
            "env": [{"name": "A", "$patch": "delete"}, {"name": "B", "extra": "3"}, {"name": "C"}],
            "$setElementOrder/env": [],
        },
        "new": {"env": [{"name": "B", "value": "2", "extra": "3"}, {"name": "C"}]},
    },
]


@pytest.mark.parametrize("case", PATCHES)
def test_merging(case: Object) -> None:
    assert merge(case["old"], case["patch"], STRATEGIC_KEYS) == case["new"]


async def test_status_and_spec_are_changed_apart(
    store: Store, core: Any, http: aiohttp.ClientSession
) -> None:
    await core.create_namespaced_pod("default", pod())
    stored = store.get("pods", "default", "a")
    uid = stored["metadata"]["uid"]
    changed = {**stored, "status": {"phase": "Running"}, "spec": {}}
    changed["metadata"] = {**stored["metadata"], "uid": "mine"}
    async with http.put(f"{PODS}/a/status", json=changed) as answer:
        assert answer.status == 200
    after = store.get("pods", "default", "a")
    assert (after["status"], after["spec"]) == ({"phase": "Running"}, stored["spec"])
    assert after["metadata"]["uid"] == uid
    changed = {**after, "status": {}, "spec": {**stored["spec"], "activeDeadlineSeconds": 5}}
    async with http.put(f"{PODS}/a", json=changed) as answer:
        assert answer.status == 200
    after = store.get("pods", "default", "a")
    assert after["status"] == {"phase": "Running"}
    assert after["spec"]["activeDeadlineSeconds"] == 5


async def test_binding_and_eviction(store: Store, http: aiohttp.ClientSession) -> None:
    create(store, pod())
    binding = {"target": {"apiVersion": "v1", "kind": "Node", "name": "node"}}
    async with http.post(f"{PODS}/a/binding", json=binding) as answer:
        assert answer.status == 201
    assert store.get("pods", "default", "a")["spec"]["nodeName"] == "node"
    async with http.post(f"{PODS}/a/binding", json=binding) as answer:
        assert (await answer.json())["message"] == (
            'Operation cannot be fulfilled on pods/binding "a": '
            'pod a is already assigned to node "node"'
        )
    eviction = {"metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 3}}
    async with http.post(f"{PODS}/a/eviction", json=eviction) as answer:
        assert (await answer.json())["status"] == "Success"
    assert store.get("pods", "default", "a")["metadata"]["deletionGracePeriodSeconds"] == 3


LOGS: list[Object] = [
    {"query": {}, "text": "default a main False None\n"},
    {"query": {"tailLines": "5"}, "text": "default a main False 5\n"},
    {"query": {"container": "main", "previous": "true"}, "text": "default a main True None\n"},
    {"query": {"container": "zz"}, "refused": "container zz is not valid for pod a"},
    {
        "pod": pod(initContainers=[container("init")]),
        "query": {},
        "refused": "a container name must be specified for pod a, choose one of: [init main]",
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


async def test_a_collection_is_deleted(store: Store, core: Any) -> None:
    create(store, pod("a", {"app": "x"}), pod("b", {"app": "x"}), pod("c"))
    await core.delete_collection_namespaced_pod("default", label_selector="app=x")
    assert names(store.list("pods")) == ["c"]


ANSWERS: list[Object] = [
    {"method": "GET", "path": "/api/v1/namespaces/default/things", "status": 404},
    {"method": "GET", "path": "/api/v1/namespaces/default/pods/a/exec", "status": 404},
    {"method": "GET", "path": "/api/v1/namespaces/default/nodes", "status": 404},
    {"method": "GET", "path": "/api/v1/namespaces/nowhere/pods", "status": 200},
    {"method": "GET", "path": f"{PODS}?resourceVersion=abc", "status": 400},
    {"method": "GET", "path": f"{PODS}?resourceVersion=999", "status": 504},
    {"method": "PUT", "path": PODS, "status": 405},
    {"method": "POST", "path": "/api/v1/pods", "status": 405},
    {"method": "DELETE", "path": "/api/v1/namespaces", "status": 405},
    {"method": "POST", "path": f"{PODS}?dryRun=All", "status": 400},
    {"method": "GET", "path": "/readyz", "status": 200},
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: f"{case['method']} {case['path']}")
async def test_answers(http: aiohttp.ClientSession, case: Object) -> None:
    async with http.request(case["method"], case["path"]) as answer:
        assert answer.status == case["status"]
        if answer.status >= 400:
            assert (await answer.json())["kind"] == "Status"


async def test_another_site_cannot_use_it(http: aiohttp.ClientSession, store: Store) -> None:
    headers = {"Host": "demo.example.org"}
    async with http.post(PODS, json=pod(), headers=headers) as answer:
        assert answer.status == 403
    # What a browser may send without asking first.
    async with http.post(PODS, data=json.dumps(pod())) as answer:
        assert answer.status == 415
    assert store.list("pods") == []


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
    monkeypatch.setattr("detailedspawner.demo.streaming.BOOKMARK_SECONDS", 0.01)
    query = {"watch": "1", "allowWatchBookmarks": "1", "timeoutSeconds": "60"}
    async with http.get(PODS, params=query) as answer:
        lines = [json.loads(await answer.content.readline()) for _ in range(3)]
    assert [line["type"] for line in lines] == ["BOOKMARK"] * 3
    annotations = [line["object"]["metadata"].get("annotations") for line in lines]
    assert annotations == [{"k8s.io/initial-events-end": "true"}, None, None]


async def test_a_watch_from_a_forgotten_version_says_so() -> None:
    store = new_store(history=1)
    create(store, pod("a"), pod("b"))
    written: list[bytes] = []

    async def write(line: bytes) -> None:
        written.append(line)

    query = Query(None, None, 1, True, False, 60, None, "", False, None)
    stream = WatchStream(store, Target("pods", "default", "", ""), query, lambda obj: obj)
    await stream.run(write)
    event = json.loads(written[0])
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert event["object"]["message"] == f"too old resource version: 1 ({store.version - 1})"


async def test_a_watch_ends_with_the_server(store: Store) -> None:
    create(store, pod())
    server = TestServer(make_app(store, lambda *_: ""))
    await server.start_server()
    async with (
        aiohttp.ClientSession() as session,
        session.get(server.make_url(PODS), params={"watch": "1"}) as answer,
    ):
        await answer.content.readline()
        await asyncio.wait_for(server.close(), 5)
        assert await answer.text() == ""


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
