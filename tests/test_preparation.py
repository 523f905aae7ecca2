"""Preparations: which entries are taken, and how they run, fail, stop and are undone."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tornado import web
from traitlets import TraitError

from detailedspawner import preparation as module
from detailedspawner.preparation import PreparationFailed, Preparing, Threads
from detailedspawner.traits import Preparation, check_preparations

LOG = logging.getLogger("test.preparation")


async def prepare(spawner: Any) -> None:
    """An async step that does nothing."""


def work(spawner: Any) -> None:
    """A plain step that does nothing."""


class Callee:
    """An object that is called as an async function."""

    async def __call__(self, spawner: Any) -> None:
        """Note that it ran on the loop."""
        asyncio.get_running_loop()
        spawner.ran.append("callee")


# --- the entries ----------------------------------------------------------------

RIGHT = [
    {"value": [], "names": []},
    {"value": [{"name": "A", "run": prepare}], "names": ["A"]},
    {"value": ({"name": " A ", "run": work, "timeout": 0.5, "undo": work},), "names": ["A"]},
    {"value": [{"name": "A", "run": work, "timeout": None, "undo": None}], "names": ["A"]},
    {"value": [Preparation("A", work), {"name": "B", "run": print}], "names": ["A", "B"]},
    {"value": [{"name": "A", "run": functools.partial(work)}], "names": ["A"]},
]


@pytest.mark.parametrize("row", RIGHT, ids=lambda row: str(row["names"]))
def test_right_entries(row: dict[str, Any]) -> None:
    found = check_preparations(row["value"])
    assert [entry.name for entry in found] == row["names"]
    # as traitlets does with a value that was checked before
    assert check_preparations(found) == found


def generator(_spawner: Any) -> Any:
    yield


async def asynchronous_generator(_spawner: Any) -> Any:
    yield


WRONG = [
    {"value": {"name": "A", "run": work}, "why": "must be a list"},
    {"value": None, "why": "must be a list"},
    {"value": ["A"], "why": "must be a dict"},
    {"value": [{"run": work}], "why": "needs a `name`"},
    {"value": [{"name": "", "run": work}], "why": "needs a `name`"},
    {"value": [{"name": "  ", "run": work}], "why": "needs a `name`"},
    {"value": [{"name": 3, "run": work}], "why": "needs a `name`"},
    {"value": [{"name": "A"}], "why": "`run` must be a function"},
    {"value": [{"name": "A", "run": "work"}], "why": "`run` must be a function"},
    {"value": [{"name": "A", "run": lambda: None}], "why": "takes the spawner"},
    # to call one does nothing of what it says
    {"value": [{"name": "A", "run": generator}], "why": "`run` must be a function"},
    {"value": [{"name": "A", "run": asynchronous_generator}], "why": "`run` must be a function"},
    {"value": [{"name": "A", "run": work, "undo": "work"}], "why": "`undo` must be a function"},
    {"value": [{"name": "A", "run": work, "undo": lambda: None}], "why": "takes the spawner"},
    {"value": [{"name": "A", "run": work, "timeout": 0}], "why": "`timeout` must be seconds"},
    {"value": [{"name": "A", "run": work, "timeout": -1}], "why": "`timeout` must be seconds"},
    {"value": [{"name": "A", "run": work, "timeout": "9"}], "why": "`timeout` must be seconds"},
    {"value": [{"name": "A", "run": work, "timeout": True}], "why": "`timeout` must be seconds"},
    {
        "value": [{"name": "A", "run": work, "timeout": float("nan")}],
        "why": "`timeout` must be seconds",
    },
    {"value": [{"name": "A", "run": work, "time_out": 1}], "why": "'time_out' is not known"},
    {
        "value": [{"name": "A", "run": work}, {"name": "A ", "run": work}],
        "why": "two with the name",
    },
]


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row["why"])
@pytest.mark.parametrize("kind", [ValueError, TraitError])
def test_wrong_entries_are_named(row: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=row["why"]) as caught:
        check_preparations(row["value"])
    guilty = row["value"][-1] if isinstance(row["value"], list) else row["value"]
    assert str(caught.value).startswith("preparations: ")
    assert repr(guilty)[:100] in str(caught.value)


# --- the run ----------------------------------------------------------------------


class Run:
    """One start's preparations, and what they said."""

    def __init__(self, *entries: Any, workers: int = 4, server: str = "alice") -> None:
        self.spawner = SimpleNamespace(ran=[])
        self.reports: list[tuple[str, str, str | None]] = []
        self.threads = Threads(workers)
        self.preparing = Preparing(
            check_preparations(list(entries)), self.threads, server=server, log=LOG
        )

    def report(self, name: str, status: Any, message: str | None) -> None:
        """Note what a step said."""
        self.reports.append((name, status.value, message))

    def begin(self) -> asyncio.Task[None]:
        """Start the run."""
        return asyncio.ensure_future(self.preparing.run(self.spawner, self.report))


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No test leaves something to be undone."""
    yield
    assert Preparing.undoing == {}


def entry(name: str, run: Callable[[Any], Any], **more: Any) -> dict[str, Any]:
    """Return an entry of the trait."""
    return {"name": name, "run": run, **more}


def noting(name: str, *, thread: bool = False) -> Callable[[Any], Any]:
    """Return a step, or an undo, that notes its name."""

    def note(spawner: Any) -> None:
        spawner.ran.append(name)
        spawner.thread = threading.current_thread()

    async def note_on_loop(spawner: Any) -> None:
        note(spawner)

    return note if thread else note_on_loop


async def until(condition: Callable[[], Any]) -> None:
    """Let the loop run until a condition holds."""

    async def poll() -> None:
        while not condition():
            await asyncio.sleep(0.002)

    await asyncio.wait_for(poll(), 10)


async def test_steps_run_in_order_and_say_so() -> None:
    run = Run(entry("A", noting("a")), entry("B", noting("b", thread=True)), entry("C", Callee()))
    await run.begin()
    assert run.spawner.ran == ["a", "b", "callee"]
    assert run.spawner.thread is not threading.main_thread()
    expected = [(name, status, None) for name in "ABC" for status in ("executing", "ready")]
    assert run.reports == expected
    assert not run.spawner.cancelled.is_set()


async def test_a_plain_function_may_make_a_coroutine() -> None:
    def plain(spawner: Any) -> Any:
        return noting("a")(spawner)

    run = Run(entry("A", plain))
    await run.begin()
    assert run.spawner.ran == ["a"]
    assert run.spawner.thread is threading.main_thread()


async def test_without_preparations_there_is_nothing() -> None:
    run = Run()
    await run.begin()
    assert run.reports == []
    assert run.preparing.undo(run.spawner) is None


@pytest.mark.parametrize("result", [True, 0, {"image": "x"}, object()])
@pytest.mark.parametrize("thread", [True, False])
async def test_what_is_returned_is_ignored_with_a_warning(
    result: Any, thread: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def on_loop(spawner: Any) -> Any:
        return result

    run = Run(entry("A", (lambda spawner: result) if thread else on_loop))
    await run.begin()
    assert run.reports[-1] == ("A", "ready", None)
    assert "'A' returned" in caplog.text


# --- failures ---------------------------------------------------------------------


def told(message: str) -> Exception:
    """Return an error with a text for users."""
    error = RuntimeError("not for users")
    error.jupyterhub_message = message  # type: ignore[attr-defined]
    return error


FAILURES = [
    {"error": ValueError("token=abc"), "text": "“Fetch” failed: ValueError. The log", "log": True},
    {"error": TimeoutError(), "text": "“Fetch” failed: TimeoutError.", "log": True},
    {"error": SystemExit(3), "text": "“Fetch” failed: SystemExit.", "log": True},
    {"error": KeyboardInterrupt(), "text": "“Fetch” failed: KeyboardInterrupt.", "log": True},
    {"error": asyncio.CancelledError(), "text": "“Fetch” failed: CancelledError.", "log": True},
    {"error": told("no quota left"), "text": "“Fetch” failed: no quota left", "log": True},
    {"error": web.HTTPError(403, "not yours"), "text": "“Fetch” failed: not yours", "users": True},
    {"error": web.HTTPError(403, "%s is", "x"), "text": "“Fetch” failed: x is", "users": True},
    {
        "error": web.HTTPError(403, reason="Closed"),
        "text": "“Fetch” failed: Closed",
        "users": True,
    },
    {"error": web.HTTPError(500, "100 % full"), "text": "“Fetch” failed: 100 % full", "log": True},
]


@pytest.mark.parametrize("row", FAILURES, ids=lambda row: repr(row["error"]))
@pytest.mark.parametrize("thread", [True, False])
async def test_a_failure_names_the_step(
    row: dict[str, Any], thread: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def plain(spawner: Any) -> None:
        raise row["error"]

    async def on_loop(spawner: Any) -> None:
        await asyncio.sleep(0)
        raise row["error"]

    run = Run(entry("Fetch", plain if thread else on_loop), entry("Later", noting("later")))
    with pytest.raises(PreparationFailed) as caught:
        await run.begin()
    text = str(caught.value)
    assert text.startswith(row["text"])
    assert "abc" not in text
    assert caught.value.jupyterhub_message == text
    assert caught.value.users is row.get("users", False)
    assert run.reports[-1] == ("Fetch", "failed", text)
    assert run.spawner.ran == []
    # the traceback is for the admin, a refusal has none
    assert ("Traceback" in caplog.text) is row.get("log", False)


@pytest.mark.parametrize("thread", [True, False])
async def test_a_step_that_hangs_ends_with_its_timeout(thread: bool) -> None:
    ended = threading.Event()

    def plain(spawner: Any) -> None:
        # what it looks at is set at the timeout
        assert spawner.cancelled.wait(10)
        ended.set()

    async def on_loop(spawner: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    run = Run(entry("Fetch", plain if thread else on_loop, timeout=0.05))
    with pytest.raises(PreparationFailed, match=r"“Fetch” did not finish within 0\.05 seconds"):
        await run.begin()
    await until(ended.is_set)


# --- cancelling -------------------------------------------------------------------


def stubborn(swallows: int) -> Callable[[Any], Any]:
    """Return an async step that swallows so many cancels."""

    async def run(spawner: Any) -> None:
        spawner.ran.append("begun")
        for _ in range(swallows):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                spawner.ran.append("swallowed")
        await spawner.release.wait()
        spawner.ran.append("ended")

    return run


@pytest.mark.parametrize("swallows", [0, 1, 3])
async def test_a_cancel_is_done_within_a_tenth_of_a_second(
    swallows: int, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(entry("A", stubborn(swallows), undo=noting("undone")))
    run.spawner.release = asyncio.Event()
    start = run.begin()
    await until(lambda: run.spawner.ran)
    began = time.monotonic()
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert time.monotonic() - began < 0.15
    assert run.spawner.cancelled.is_set()
    let_go = swallows > 1
    assert ("goes on though interrupted" in caplog.text) is let_go
    # its undo waits for its end
    undoing = run.preparing.undo(run.spawner)
    assert undoing is not None
    if let_go:
        await asyncio.sleep(0)
        assert not undoing.done()
        for task in asyncio.all_tasks():
            if "_outcome" in repr(task.get_coro()):
                task.cancel()
    run.spawner.release.set()
    await undoing
    assert run.spawner.ran[-1] == "undone"


async def test_a_thread_sees_the_cancel_and_is_undone_once_it_has_ended() -> None:
    release = threading.Event()

    def plain(spawner: Any) -> None:
        spawner.ran.append("begun")
        spawner.cancelled.wait(10)
        spawner.ran.append("told")
        release.wait(10)
        spawner.ran.append("ended")

    run = Run(entry("A", plain, undo=noting("undone")))
    start = run.begin()
    await until(lambda: run.spawner.ran)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(start, 1)
    undoing = run.preparing.undo(run.spawner)
    await until(lambda: "told" in run.spawner.ran)
    assert undoing is not None
    assert not undoing.done()
    release.set()
    await undoing
    assert run.spawner.ran == ["begun", "told", "ended", "undone"]


async def test_only_what_has_begun_is_undone_the_last_first() -> None:
    release = asyncio.Event()

    async def waits(spawner: Any) -> None:
        spawner.ran.append("b")
        await release.wait()

    run = Run(
        entry("A", noting("a"), undo=noting("undo a", thread=True)),
        entry("None", noting("none")),
        entry("B", waits, undo=noting("undo b")),
        entry("C", noting("c"), undo=noting("undo c")),
    )
    start = run.begin()
    await until(lambda: "b" in run.spawner.ran)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    undoing = run.preparing.undo(run.spawner)
    assert run.preparing.undo(run.spawner) is None
    assert undoing is not None
    await undoing
    assert run.spawner.ran == ["a", "none", "b", "undo b", "undo a"]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), asyncio.CancelledError()])
@pytest.mark.parametrize("thread", [True, False])
async def test_an_undo_that_raises_is_logged_and_stops_no_other(
    error: BaseException, thread: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def plain(spawner: Any) -> None:
        raise error

    async def on_loop(spawner: Any) -> None:
        raise error

    run = Run(
        entry("A", noting("a"), undo=noting("undo a")),
        entry("B", noting("b"), undo=plain if thread else on_loop),
    )
    await run.begin()
    await (run.preparing.undo(run.spawner) or asyncio.sleep(0))
    assert run.spawner.ran == ["a", "b", "undo a"]
    assert "Undoing 'B' of alice failed" in caplog.text
    assert type(error).__name__ in caplog.text


async def test_an_undo_that_hangs_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "UNDO_TIMEOUT", 0.02)

    async def hangs(spawner: Any) -> None:
        await asyncio.sleep(60)

    run = Run(entry("A", noting("a"), undo=noting("undo a")), entry("B", noting("b"), undo=hangs))
    await run.begin()
    await (run.preparing.undo(run.spawner) or asyncio.sleep(0))
    assert run.spawner.ran[-1] == "undo a"
    assert "Undoing 'B' of alice failed" in caplog.text


async def test_the_next_start_waits_for_what_is_being_undone() -> None:
    release = asyncio.Event()

    async def slow(spawner: Any) -> None:
        await release.wait()

    first = Run(entry("A", noting("a"), undo=slow))
    await first.begin()
    undoing = first.preparing.undo(first.spawner)
    second, other = Run(entry("A", noting("a"))), Run(entry("A", noting("a")), server="bob")
    start = second.begin()
    await other.begin()
    assert second.spawner.ran == []
    assert second.reports == [("A", "executing", "Waiting until the earlier start is cleaned up.")]
    release.set()
    await start
    assert undoing is not None
    assert undoing.done()
    assert second.spawner.ran == ["a"]


async def test_but_not_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    release = asyncio.Event()

    async def slow(spawner: Any) -> None:
        await release.wait()

    first, second = Run(entry("A", noting("a"), undo=slow)), Run()
    await first.begin()
    undoing = first.preparing.undo(first.spawner)
    assert await second.preparing.settled(timeout=0.01) is False
    assert "not undone after 0.01 seconds" in caplog.text
    release.set()
    await (undoing or asyncio.sleep(0))
    await asyncio.sleep(0)
    assert await second.preparing.settled() is True


# --- threads ----------------------------------------------------------------------


async def test_a_step_that_waits_for_a_thread_says_so_and_can_be_cancelled() -> None:
    release = threading.Event()
    first = Run(entry("A", lambda spawner: release.wait(10) and None), workers=1)
    second = Run(entry("B", noting("b", thread=True), undo=noting("undo b")))
    second.preparing._threads = first.threads
    starts = [first.begin(), second.begin()]
    await until(lambda: len(second.reports) == 2)
    message = "Waiting for one of 1 workers, all are busy."
    assert second.reports[-1] == ("B", "executing", message)
    starts[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await starts[1]
    # it has not begun, so there is nothing to undo
    await (second.preparing.undo(second.spawner) or asyncio.sleep(0))
    assert second.spawner.ran == []
    release.set()
    await starts[0]
    third = Run(entry("C", noting("c", thread=True)))
    third.preparing._threads = first.threads
    await asyncio.wait_for(third.begin(), 5)


async def test_forty_blocking_steps_do_not_block_the_loop() -> None:
    threads = Threads(8)
    runs = [Run(entry("A", lambda spawner: time.sleep(0.2)), server=str(n)) for n in range(40)]
    for run in runs:
        run.preparing._threads = threads
    lags: list[float] = []

    async def measure() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.005)
            lags.append(time.monotonic() - began - 0.005)

    measuring = asyncio.ensure_future(measure())
    began = time.monotonic()
    await asyncio.gather(*(run.begin() for run in runs))
    measuring.cancel()
    # in five rounds of eight, and nobody else waited
    assert time.monotonic() - began >= 1
    assert len(lags) > 50
    assert max(lags) < 0.1


async def test_a_thread_that_cannot_be_made_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    run = Run(entry("A", noting("a", thread=True)), workers=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(PreparationFailed, match="“A” failed"):
            await run.begin()
    again = Run(entry("A", noting("a", thread=True)))
    again.preparing._threads = run.threads
    await asyncio.wait_for(again.begin(), 5)
