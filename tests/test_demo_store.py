"""The stand-in's store: selectors, versions, the end of objects, and watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from detailedspawner.demo.errors import ApiError
from detailedspawner.demo.store import Store, selected

from .demoobjects import Object, create, names, new_store, pod, uid_of


@pytest.fixture
def store() -> Store:
    return new_store()


# Lists and selectors.

SELECTORS: list[Object] = [
    {"labels": None, "found": ["a", "b", "c"]},
    {"labels": "", "found": ["a", "b", "c"]},
    {"labels": "app=x", "found": ["a", "b"]},
    {"labels": "app==x,tier=front", "found": ["a"]},
    {"labels": "app!=x", "found": ["c"]},
    {"labels": "tier!=front", "found": ["b", "c"]},
    {"fields": "metadata.name=b", "found": ["b"]},
    {"fields": "metadata.name!=b", "found": ["a", "c"]},
    {"fields": "metadata.namespace=default,spec.nodeName=node", "found": ["b"]},
    {"fields": "spec.nodeName=", "found": ["a", "c"]},
    {"fields": "status.phase==Pending", "labels": "tier=front", "found": ["a"]},
    {"labels": "app===x", "refused": "unable to parse requirement: 'app===x'"},
    {"labels": "app in (x)", "refused": "unable to parse requirement: 'app in (x)'"},
    {"fields": "name", "refused": "unable to parse requirement: 'name'"},
]


@pytest.mark.parametrize("case", SELECTORS)
def test_selectors(store: Store, case: Object) -> None:
    create(store, pod("c", {"app": "y"}), pod("b", {"app": "x"}, nodeName="node"))
    create(store, pod("a", {"app": "x", "tier": "front"}))
    selectors = {key: case.get(key) for key in ("labels", "fields")}
    if "refused" in case:
        with pytest.raises(ApiError, match=r".*") as refused:
            store.list("pods", "default", selected(**selectors))
        assert (refused.value.code, refused.value.message) == (400, case["refused"])
    else:
        assert names(store.list("pods", "default", selected(**selectors))) == case["found"]


def test_events_are_found_by_what_they_are_about(store: Store) -> None:
    for name in ("a", "b"):
        about = {"kind": "Pod", "name": name, "namespace": "default", "uid": f"uid-{name}"}
        body = {"metadata": {"name": name}, "involvedObject": about, "type": "Normal"}
        store.create("events", "default", body)
    fields = "involvedObject.kind=Pod,involvedObject.uid=uid-b,type=Normal"
    assert names(store.list("events", "default", selected(fields=fields))) == ["b"]


def test_namespaces_are_apart(store: Store) -> None:
    store.create("namespaces", None, {"metadata": {"name": "ns"}})
    create(store, pod())
    store.create("pods", "ns", pod())
    assert len(store.list("pods")) == 2
    store.delete("pods", "ns", "a")
    assert store.list("pods", "ns") == []
    assert names(store.list("pods", "default")) == ["a"]


def test_what_a_caller_does_to_an_object_stays_with_the_caller(store: Store) -> None:
    body = pod(labels={"app": "x"})
    made = store.create("pods", "default", body)
    for mine in (body, made, store.get("pods", "default", "a"), store.list("pods")[0]):
        mine["metadata"]["labels"]["app"] = "changed"
    assert store.get("pods", "default", "a")["metadata"]["labels"] == {"app": "x"}


# Changes and the end of objects.


def test_a_change_is_a_new_version_and_no_change_is_none(store: Store) -> None:
    create(store, pod())
    before = store.version
    store.update("pods", "default", "a", lambda obj: None)
    assert store.version == before
    changed = store.update("pods", "default", "a", lambda obj: obj["spec"].update(nodeName="n"))
    assert changed["metadata"]["resourceVersion"] == str(before + 1) == str(store.version)


DELETIONS: list[Object] = [
    {"about": "not on a node", "pod": pod(), "seconds": None},
    {"about": "on a node", "pod": pod(nodeName="n"), "seconds": 30},
    {
        "about": "its own time",
        "pod": pod(nodeName="n", terminationGracePeriodSeconds=5),
        "seconds": 5,
    },
    {"about": "asked for less", "pod": pod(nodeName="n"), "grace": 1, "seconds": 1},
    {"about": "asked for none", "pod": pod(nodeName="n"), "grace": 0, "seconds": None},
    {"about": "has ended", "pod": pod(nodeName="n"), "phase": "Failed", "seconds": None},
]


@pytest.mark.parametrize("case", DELETIONS, ids=lambda case: case["about"])
def test_a_pod_on_a_node_has_time_to_end(store: Store, case: Object) -> None:
    create(store, case["pod"])
    phase = case.get("phase", "Running")
    store.update("pods", "default", "a", lambda obj: obj["status"].update(phase=phase))
    answer = store.delete("pods", "default", "a", grace=case.get("grace"))["metadata"]
    seconds = case["seconds"]
    assert answer["deletionGracePeriodSeconds"] == (seconds or 0)
    assert answer["deletionTimestamp"] == f"2027-01-15T08:00:{seconds or 0:02}Z"
    if seconds is None:
        assert store.list("pods") == []
        return
    assert store.get("pods", "default", "a")["metadata"] == answer
    # A second request may shorten the time only, and the node ends it.
    for grace in (case.get("grace"), 60):
        assert store.delete("pods", "default", "a", grace=grace)["metadata"] == answer
    store.delete("pods", "default", "a", grace=0)
    assert store.list("pods") == []


def test_a_finalizer_holds_an_object(store: Store) -> None:
    body = {"metadata": {"name": "a", "finalizers": ["example.org/hold"]}}
    store.create("configmaps", "default", body)
    store.delete("configmaps", "default", "a")
    assert "deletionTimestamp" in store.get("configmaps", "default", "a")["metadata"]
    store.update("configmaps", "default", "a", lambda obj: obj["metadata"].update(finalizers=[]))
    assert names(store.list("configmaps", "default")) == []


def test_only_the_object_that_was_meant_is_deleted(store: Store) -> None:
    create(store, pod())
    with pytest.raises(ApiError) as refused:
        store.delete("pods", "default", "a", uid="other")
    assert refused.value.message == (
        'pods "a" cannot be deleted: the UID in the precondition (other) does not match '
        f"the UID in record ({uid_of(store)})"
    )
    store.delete("pods", "default", "a", uid=uid_of(store))


def test_what_loses_its_owner_is_deleted(store: Store) -> None:
    create(store, pod())
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": uid_of(store)}
    for name, owners in {"own": [owner], "free": [], "stray": [{**owner, "uid": "gone"}]}.items():
        metadata = {"name": name, "ownerReferences": owners}
        store.create("secrets", "default", {"metadata": metadata})
    assert names(store.list("secrets")) == ["free", "own"]
    store.delete("pods", "default", "a")
    assert names(store.list("secrets")) == ["free"]


def test_a_namespace_goes_after_what_is_in_it(store: Store) -> None:
    store.create("namespaces", None, {"metadata": {"name": "ns"}})
    store.create("pods", "ns", pod(nodeName="n"))
    made = store.create("secrets", "ns", {"metadata": {"name": "s"}})
    owner = {"apiVersion": "v1", "kind": "Secret", "name": "s"}
    owners = [{**owner, "uid": made["metadata"]["uid"]}]
    store.create("secrets", "ns", {"metadata": {"name": "t", "ownerReferences": owners}})
    assert store.delete("namespaces", None, "ns")["status"] == {"phase": "Terminating"}
    assert store.list("secrets", "ns") == []
    with pytest.raises(ApiError, match="because it is being terminated") as refused:
        store.create("pods", "ns", pod("late"))
    assert refused.value.code == 403
    store.delete("pods", "ns", "a", grace=0)
    assert names(store.list("namespaces")) == ["default"]


# Watches of the store.


async def next_of(events: AsyncIterator[tuple[str, Object]], count: int) -> list[tuple[str, str]]:
    """Return the next events as (type, name); fails if they do not come."""

    async def take() -> list[tuple[str, str]]:
        taken = [await anext(events) for _ in range(count)]
        return [(kind, obj["metadata"]["name"]) for kind, obj in taken]

    return await asyncio.wait_for(take(), 5)


async def test_a_watch_begins_with_what_is_there(store: Store) -> None:
    create(store, pod("b"), pod("a"))
    events = store.watch("pods", "default")
    assert await next_of(events, 2) == [("ADDED", "a"), ("ADDED", "b")]
    store.update("pods", "default", "b", lambda obj: obj["spec"].update(nodeName="n"))
    store.delete("pods", "default", "a")
    assert await next_of(events, 2) == [("MODIFIED", "b"), ("DELETED", "a")]


async def test_a_watch_from_a_version_tells_what_came_after(store: Store) -> None:
    create(store, pod("a"))
    since = store.version
    create(store, pod("b"))
    store.create("secrets", "default", {"metadata": {"name": "s"}})
    events = store.watch("pods", since=since)
    assert await next_of(events, 1) == [("ADDED", "b")]
    waiting = asyncio.ensure_future(next_of(events, 1))
    await asyncio.sleep(0)
    assert not waiting.done()
    create(store, pod("c"))
    assert await waiting == [("ADDED", "c")]


def relabel(labels: dict[str, str], obj: Object) -> None:
    obj["metadata"]["labels"] = labels


async def test_an_object_enters_and_leaves_what_is_watched(store: Store) -> None:
    events = store.watch("pods", "default", store.version, selected("app=x"))
    create(store, pod("a"), pod("other", {"app": "y"}))
    for label in ("x", "y"):
        store.update("pods", "default", "a", partial(relabel, {"app": label}))
    kinds = [await asyncio.wait_for(anext(events), 5) for _ in range(2)]
    assert [kind for kind, _ in kinds] == ["ADDED", "DELETED"]
    _, gone = kinds[1]
    assert gone["metadata"]["resourceVersion"] == str(store.version)


async def test_a_version_that_is_forgotten_is_gone() -> None:
    store = new_store(history=3)
    create(store, *(pod(f"p{number}") for number in range(5)))
    assert await next_of(store.watch("pods", since=store.version - 3), 3)
    with pytest.raises(ApiError) as gone:
        await anext(store.watch("pods", since=1))
    assert (gone.value.code, gone.value.reason) == (410, "Expired")
    assert gone.value.message == f"too old resource version: 1 ({store.version - 3})"
