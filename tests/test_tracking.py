"""What readers of one start are told, and when."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from detailedspawner import tracking
from detailedspawner.models import ServerState, ServerStatus
from detailedspawner.tracking import KEPT_AFTERWARDS, KEPT_EVENTS, StatusTracker, let_go


def status(message: str, **more: Any) -> ServerStatus:
    """Return a status that differs from others by its message."""
    values = {"state": ServerState.STARTING, "progress": 10, "updated_at": 1.0, **more}
    return ServerStatus(start_id=None, revision="", message=message, **values)


async def read(tracker: StatusTracker, count: int) -> list[dict[str, Any]]:
    """Return the next events that a new reader gets."""
    events: list[dict[str, Any]] = []
    stream = tracker.follow()
    while len(events) < count:
        events.append(await asyncio.wait_for(anext(stream), 5))
    return events


async def test_a_new_reader_gets_the_present_status_at_once() -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status("one"))
    tracker.publish(status("two"))
    (first,) = await read(tracker, 1)
    assert first["message"] == "two"
    assert first["status"]["revision"] == "abc.2"
    assert first["status"]["start_id"] == "abc"


async def test_a_reader_gets_every_change_in_order() -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status("one"))
    stream = tracker.follow()
    assert (await anext(stream))["message"] == "one"
    for word in ("two", "three", "four"):
        tracker.publish(status(word))
    later = [(await anext(stream))["message"] for _ in range(3)]
    assert later == ["two", "three", "four"]


async def test_a_reader_that_waits_is_woken() -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status("one"))
    stream = tracker.follow()
    await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    assert not waiting.done()
    tracker.publish(status("two"))
    assert (await asyncio.wait_for(waiting, 5))["message"] == "two"


async def test_the_same_status_is_told_once() -> None:
    tracker = StatusTracker("abc")
    assert tracker.publish(status("one"))
    assert not tracker.publish(status("one", updated_at=2.0))
    assert tracker.publish(status("two"))
    assert tracker.status is not None
    assert tracker.status.revision == "abc.2"


async def test_a_late_reader_gets_the_log_so_far_with_the_present_status() -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status("one"))
    tracker.publish_event("pulled", {"reason": "Pulled"})
    tracker.publish(status("two"))
    first, second = await read(tracker, 2)
    assert "raw_event" not in first
    assert second["raw_event"] == {"reason": "Pulled"}
    assert second["message"] == "pulled"
    assert second["status"]["message"] == "two"


async def test_a_slow_late_reader_never_goes_back_to_an_older_status() -> None:
    tracker = StatusTracker("s")
    tracker.publish(status("first"))
    for number in range(3):
        tracker.publish_event(f"event {number}", {})
    stream = tracker.follow()
    seen = [await anext(stream)]
    tracker.publish_event("event 3", {})
    tracker.publish(status("second"))
    tracker.close()
    seen += [event async for event in stream]
    numbers = [int(event["status"]["revision"].rpartition(".")[2]) for event in seen]
    assert numbers == sorted(numbers)


async def test_readers_end_after_they_have_read_all() -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status("one"))
    stream = tracker.follow()
    await anext(stream)
    tracker.publish(status("last"))
    tracker.close()
    assert [event["message"] async for event in stream] == ["last"]


async def test_one_computation_serves_all_readers() -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status("one"))
    events = [(await read(tracker, 1))[0] for _ in range(3)]
    assert len({id(event["status"]) for event in events}) == 1


async def test_a_reader_that_fell_behind_goes_on_at_the_oldest_kept_event() -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status("first"))
    stream = tracker.follow()
    await anext(stream)
    for number in range(KEPT_EVENTS + 50):
        tracker.publish(status(str(number)))
    assert (await anext(stream))["message"] == "50"


async def test_a_reader_that_leaves_harms_nobody() -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status("one"))
    leaving, staying = tracker.follow(), tracker.follow()
    for stream in (leaving, staying):
        await anext(stream)
    waiting = [asyncio.ensure_future(anext(stream)) for stream in (leaving, staying)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    tracker.publish(status("two"))
    assert (await asyncio.wait_for(waiting[1], 5))["message"] == "two"


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", "a & b", "\ud800", "\x1b[31m"])
async def test_html_is_escaped_and_everything_fits_into_json(text: str) -> None:
    tracker = StatusTracker("abc")
    tracker.publish(status(text))
    (event,) = await read(tracker, 1)
    assert "<" not in event["html_message"]
    assert json.loads(json.dumps(event)) == event


async def test_what_a_start_has_said_is_forgotten_some_time_after_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("detailedspawner.tracking.READERS_TIME", 0)
    tracker = StatusTracker("abc")
    for number in range(100):
        tracker.publish(status(str(number)))
        tracker.publish_event("event", {"metadata": {"uid": str(number)}})
    behind = tracker.follow()
    await anext(behind)
    tracker.close()
    while tracker._raw_events:
        await asyncio.sleep(0)
    assert len([event async for event in behind]) <= KEPT_AFTERWARDS + 100
    assert [event["message"] async for event in tracker.follow()] == ["99"]


async def test_a_task_that_loses_a_cancel_is_cancelled_until_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracking, "CANCEL_AGAIN", 0.01)
    lost: list[int] = []

    async def stubborn(times: int) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if len(lost) >= times:
                    raise
                lost.append(times)

    async def failing() -> None:
        raise ValueError("at once")

    tasks = [asyncio.ensure_future(task) for task in (stubborn(2), stubborn(0), failing())]
    await asyncio.sleep(0)
    await let_go(*tasks)
    assert [task.done() for task in tasks] == [True, True, True]
    assert lost == [2, 2]
    assert isinstance(tasks[2].exception(), ValueError)
