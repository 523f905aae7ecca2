"""One start: what it is told, what it says, and when it is decided."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from detailedspawner.models import ServerState
from detailedspawner.pods import DEFAULT_GRACES, PodSettings
from detailedspawner.starting import Start

PLAN = {
    "spec": {
        "initContainers": [{"name": "git-clone", "image": "git:1"}],
        "containers": [{"name": "notebook", "image": "lab:1"}],
    }
}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
RUNNING = {"running": {"startedAt": "2025-11-30T12:00:00Z"}}
PULL_ERROR = {"waiting": {"reason": "ErrImagePull", "message": "manifest unknown"}}


def pod(clone: dict[str, Any] | None = None, notebook: dict[str, Any] | None = None) -> Any:
    """Return the planned pod with its containers in the given states."""
    running = notebook == RUNNING
    conditions = [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": "True" if running else "False"},
    ]
    status = {
        "phase": "Running" if running else "Pending",
        "conditions": conditions,
        "initContainerStatuses": [{"name": "git-clone", "state": clone or {}, "restartCount": 0}],
        "containerStatuses": [{"name": "notebook", "state": notebook or {}, "ready": running}],
    }
    return {**PLAN, "metadata": {"name": "p", "namespace": "n", "uid": "u"}, "status": status}


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def start(clock: Clock) -> Start:
    return Start(PLAN, PodSettings(), log=logging.getLogger("test"), clock=clock)


def steps(start: Start) -> list[tuple[str, str]]:
    """Return the steps with their statuses."""
    return [(step.step, step.status.value) for step in start.status.details]


async def test_all_steps_are_there_before_there_is_a_pod(start: Start) -> None:
    assert steps(start) == [
        ("Finding a machine", "waiting"),
        ("Downloading image", "waiting"),
        ("Git clone", "waiting"),
        ("Starting session", "waiting"),
    ]
    assert start.status.revision == f"{start.id}.1"
    assert (start.status.ready_containers, start.status.total_containers) == (0, 2)
    assert start.status.cancellable


async def test_the_pod_moves_the_steps(start: Start) -> None:
    start.observe(pod(clone=RUNNING))
    assert ("Git clone", "executing") in steps(start)
    start.observe(pod(clone=DONE))
    assert ("Git clone", "ready") in steps(start)
    assert start.status.ready_containers == 1


async def test_it_ends_well_when_the_pod_is_ready_and_all_else_is_done(start: Start) -> None:
    start.observe(pod(DONE, RUNNING))
    assert not start.decided.done()
    start.all_else_done()
    assert start.decided.done()
    assert not start.failed
    # ready is what the Hub says, after it asked the server
    assert start.status.state is ServerState.STARTING
    assert start.status.progress < 100


async def test_a_pod_that_somebody_deletes_was_removed_and_is_not_being_stopped(
    start: Start,
) -> None:
    start.observe(pod(clone=RUNNING))
    deleted = pod(clone=RUNNING)
    deleted["metadata"]["deletionTimestamp"] = "2025-11-30T12:01:00Z"
    start.observe(deleted)
    assert start.failed
    assert start.status.message == "The server was removed from the cluster."
    assert start.hint == "Start it again. If it happens again, tell the administrator."
    assert ("Git clone", "failed") in steps(start)


async def test_the_end_of_a_server_in_use_is_no_failed_start(start: Start) -> None:
    start.observe(pod(DONE, RUNNING))
    start.all_else_done()
    start.end()
    start.use()
    assert start.status.state is ServerState.RUNNING
    # as the Hub says while nobody has asked since the start
    start.state = ServerState.STARTING
    start.observe(pod(DONE, DONE) | {"status": {"phase": "Succeeded"}})
    assert not start.failed


DECIDES = [
    {"name": "the pod is deleted", "do": lambda start: start.observe(None), "failed": True},
    {
        "name": "the API refuses the pod",
        "do": lambda start: start.create_refused({"code": 422, "message": "invalid"}),
        "failed": True,
    },
    {
        "name": "the API is busy",
        "do": lambda start: start.create_refused({"code": 503, "message": "busy"}),
        "failed": False,
    },
    {"name": "something else fails", "do": lambda start: start.fail("no"), "failed": True},
    {
        "name": "a pull error is new",
        "do": lambda s: s.observe(pod(DONE, PULL_ERROR)),
        "failed": False,
    },
]


@pytest.mark.parametrize("row", DECIDES, ids=lambda row: row["name"])
async def test_what_ends_a_start_at_once(start: Start, row: dict[str, Any]) -> None:
    if not row["name"].startswith("the API"):
        start.observe(pod(clone=RUNNING))
    act: Callable[[Start], None] = row["do"]
    act(start)
    assert start.decided.done() is row["failed"]
    assert (start.status.state is ServerState.FAILED) is row["failed"]
    assert len(steps(start)) == 4


async def test_a_grace_ends_a_start_without_any_change_of_the_pod(clock: Clock) -> None:
    settings = PodSettings(graces={**DEFAULT_GRACES, "pull_definite": 0.05})
    start = Start(PLAN, settings, log=logging.getLogger("test"), clock=clock)
    start.observe(pod(DONE, PULL_ERROR))
    assert not start.decided.done()
    clock.now += 1
    # the timer that it set by itself
    await asyncio.wait_for(start.decided, 5)
    assert start.failed
    assert "lab:1" in start.status.message


async def test_a_failed_start_stays_failed_and_keeps_its_cause(start: Start) -> None:
    start.observe(pod(clone=RUNNING))
    start.observe(None)
    said = start.status.message
    start.observe(pod(DONE, RUNNING))
    start.all_else_done()
    assert start.failed
    assert start.status.state is ServerState.FAILED
    assert start.status.message == said


async def test_after_the_api_refused_once_the_pod_counts(start: Start) -> None:
    start.create_refused({"code": 503, "message": "busy"})
    start.observe(pod(clone=RUNNING))
    assert ("Git clone", "executing") in steps(start)
    assert start.problem is None


async def test_kubernetes_events_are_told_once_and_again_when_they_happen_again(
    start: Start,
) -> None:
    first = {"metadata": {"uid": "e", "resourceVersion": "1"}, "type": "Normal", "message": "one"}
    again = {"metadata": {"uid": "e", "resourceVersion": "2"}, "type": "Normal", "message": "one"}
    for events in ([first], [first], [again]):
        start.observe(pod(clone=RUNNING), events)
    start.end()
    raw = [event["raw_event"] async for event in start.tracker.follow() if "raw_event" in event]
    assert [event["metadata"]["resourceVersion"] for event in raw] == ["1", "2"]


async def test_a_huge_or_hostile_event_is_cut_and_escaped(start: Start) -> None:
    text = "<script>alert(1)</script>\x1b[31m\ud800" + "x" * 100_000
    event = {"metadata": {"uid": "e"}, "type": "Warning", "message": text}
    start.observe(pod(clone=RUNNING), [event])
    start.end()
    told = [event async for event in start.tracker.follow() if "raw_event" in event]
    assert len(told[0]["message"]) < 2_000
    assert "\x1b" not in told[0]["message"]
    assert "<script>" not in told[0]["html_message"]
    assert len(told[0]["raw_event"]["message"]) < 10_000


async def test_an_odd_pod_is_logged_once_and_waits(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    odd = pod()
    odd["status"]["initContainerStatuses"] = "none"
    odd["status"]["containerStatuses"] = [3, {"name": "notebook", "state": []}]
    with caplog.at_level(logging.WARNING):
        start.observe(odd)
        start.observe(odd)
    assert ("Git clone", "waiting") in steps(start)
    assert ("Starting session", "waiting") in steps(start)
    messages = [record.getMessage() for record in caplog.records]
    assert messages
    assert len(messages) == len(set(messages))
