"""What an admin wants done before a server's pod is made, one named step each.

The steps run in order, beside everything else the Hub does: an async one on the
loop, a plain function in a thread. Each can be interrupted, and what it did is
taken back when the start fails or is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tornado import web

from .models import StepStatus
from .models.text import clean
from .tracking import Log
from .traits import Preparation

# seconds that an interrupted step has to end, and when it is told so again
GRACE = 0.09
AGAIN = 0.04
# seconds after which the undoing of one step is given up
UNDO_TIMEOUT = 60.0
# seconds that a start waits for what an earlier one left to be undone
SETTLE_TIMEOUT = 30.0

MESSAGE_LIMIT = 300

Report = Callable[[str, StepStatus, "str | None"], None]
# what a step returned, and what it raised
Outcome = tuple[Any, "BaseException | None"]


class PreparationFailed(Exception):
    """A step before the pod failed; the text names it and is fit for the user.

    `users`: it is the user's to mend, so no infrastructure failure.
    """

    def __init__(self, name: str, message: str, *, users: bool = False) -> None:
        super().__init__(message)
        self.name = name
        self.users = users
        self.jupyterhub_message = message


class Threads:
    """At most so many threads at once, shared by all starts of a Hub.

    They are daemons, so that one that hangs keeps no Hub from ending.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._free = asyncio.Semaphore(workers)

    async def take(self, queued: Callable[[], None]) -> None:
        """Wait for a free thread; calls `queued` if none is free at once."""
        if self._free.locked():
            queued()
        await self._free.acquire()

    def begin(self, function: Callable[[Any], Any], spawner: Any) -> asyncio.Future[Outcome]:
        """Run a function in the thread that was taken; never raises by itself."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Outcome] = loop.create_future()

        def hand_back(outcome: Outcome) -> None:
            self._free.release()
            if not ended.done():
                ended.set_result(outcome)

        def work() -> None:
            outcome: Outcome
            try:
                outcome = (function(spawner), None)
            except BaseException as error:
                # also SystemExit, which is the step's and not the Hub's
                outcome = (None, error)
            # the Hub may have ended meanwhile
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(hand_back, outcome)

        try:
            threading.Thread(target=work, name="preparation", daemon=True).start()
        except RuntimeError as error:
            hand_back((None, error))
        return ended


class Preparing:
    """The preparations of one start of one server.

    `server` is the server's name in the log, the same for every start of it: what
    one start left to be undone is waited for by the next.
    """

    # by server: what is still being undone; outlives the spawner objects
    undoing: ClassVar[dict[str, set[asyncio.Task[None]]]] = {}

    def __init__(
        self,
        preparations: Sequence[Preparation],
        threads: Threads,
        *,
        server: str,
        log: Log,
    ) -> None:
        self.preparations = tuple(preparations)
        # what a step in a thread looks at; set once it should end
        self.cancelled = threading.Event()
        self._threads = threads
        self._server = server
        self._log = log
        # the steps that have begun, with what tells that they have ended
        self._begun: list[tuple[Preparation, asyncio.Future[Outcome]]] = []

    async def run(self, spawner: Any, report: Report) -> None:
        """Run all steps in order; `report` is told what each is doing.

        Raises PreparationFailed with a message for the user. When cancelled, the
        running step is interrupted and has 0.1 s to end before it is let go.
        """
        if not self.preparations:
            return
        spawner.cancelled = self.cancelled
        if self.undoing.get(self._server):
            message = "Waiting until the earlier start is cleaned up."
            report(self.preparations[0].name, StepStatus.EXECUTING, message)
            await self.settled()
        for preparation in self.preparations:
            if self.cancelled.is_set():
                raise _stopped(preparation.name)
            report(preparation.name, StepStatus.EXECUTING, None)
            try:
                await self._run(preparation, spawner, report)
            except PreparationFailed as failure:
                self.cancelled.set()
                report(preparation.name, StepStatus.FAILED, str(failure))
                raise
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            report(preparation.name, StepStatus.READY, None)

    def undo(self, spawner: Any) -> asyncio.Task[None] | None:
        """Take back in the background what has begun, the last first; None if nothing has.

        Called when the start failed or was cancelled; a second call does nothing.
        """
        self.cancelled.set()
        begun, self._begun = self._begun, []
        for _, work in begun:
            # one that is still at work when the Hub ends; a thread ends by itself
            if isinstance(work, asyncio.Task):
                work.cancel()
        if not any(preparation.undo for preparation, _ in begun):
            return None
        task = asyncio.get_running_loop().create_task(self._undo_all(begun[::-1], spawner))
        pending = self.undoing.setdefault(self._server, set())
        pending.add(task)

        def forget(done: asyncio.Task[None]) -> None:
            pending.discard(done)
            if not pending and self.undoing.get(self._server) is pending:
                del self.undoing[self._server]

        task.add_done_callback(forget)
        return task

    async def settled(self, timeout: float = SETTLE_TIMEOUT) -> bool:
        """Wait until earlier starts of this server are undone; False after `timeout` seconds."""
        pending = self.undoing.get(self._server)
        if not pending:
            return True
        _, late = await asyncio.wait(set(pending), timeout=timeout)
        if late:
            self._log.warning(
                "Preparations of an earlier start of %s are not undone after %s seconds, "
                "going on without", self._server, timeout,
            )  # fmt: skip
        return not late

    async def _run(self, preparation: Preparation, spawner: Any, report: Report) -> None:
        work: asyncio.Future[Outcome]
        if _is_async(preparation.run):
            work = _task(preparation.run, spawner)
        else:
            busy = f"Waiting for one of {self._threads.workers} workers, all are busy."
            await self._threads.take(lambda: report(preparation.name, StepStatus.EXECUTING, busy))
            work = self._threads.begin(preparation.run, spawner)
        place = len(self._begun)
        self._begun.append((preparation, work))
        result, error = await self._ended(preparation, work)
        if error is None and inspect.isawaitable(result):
            # a plain function, such as a lambda, that only makes the coroutine
            work = _task(lambda made: made, result)
            self._begun[place] = (preparation, work)
            result, error = await self._ended(preparation, work)
        if isinstance(error, asyncio.CancelledError) and self.cancelled.is_set():
            raise _stopped(preparation.name) from error
        if error is not None:
            raise self._failure(preparation.name, error) from error
        if result is not None:
            self._log.warning(
                "Preparing %s: %r returned %.200r, which is ignored",
                self._server, preparation.name, result,
            )  # fmt: skip

    async def _ended(self, preparation: Preparation, work: asyncio.Future[Outcome]) -> Outcome:
        """Return the (result, error) of a step, or interrupt it when it is time."""
        try:
            done, _ = await asyncio.wait({work}, timeout=preparation.timeout)
        except asyncio.CancelledError:
            await self._interrupt(preparation, work)
            raise
        if done:
            return work.result()
        await self._interrupt(preparation, work)
        text = f"“{preparation.name}” did not finish within {preparation.timeout:g} seconds."
        self._log.warning("Preparing %s: %s", self._server, text)
        raise PreparationFailed(preparation.name, text)

    async def _interrupt(self, preparation: Preparation, work: asyncio.Future[Outcome]) -> None:
        self.cancelled.set()
        if not isinstance(work, asyncio.Task):
            # nothing ends a thread but itself
            return
        work.cancel()
        await asyncio.wait({work}, timeout=AGAIN)
        if not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=GRACE - AGAIN)
        if not work.done():
            self._log.warning(
                "Preparing %s: %r goes on though interrupted", self._server, preparation.name
            )

    def _failure(self, name: str, error: BaseException) -> PreparationFailed:
        shown = _text_for_users(error)
        users = isinstance(error, web.HTTPError) and error.status_code < 500
        if shown is None:
            text = f"“{name}” failed: {type(error).__name__}. The log of the Hub tells more."
        else:
            text = f"“{name}” failed: {shown}"
        # with the traceback, unless it is a plain refusal
        self._log.log(
            logging.WARNING if users else logging.ERROR,
            "Preparing %s: %r failed: %r",
            self._server, name, error, exc_info=None if users else error,
        )  # fmt: skip
        return PreparationFailed(name, text, users=users)

    async def _undo_all(
        self, begun: Sequence[tuple[Preparation, asyncio.Future[Outcome]]], spawner: Any
    ) -> None:
        for preparation, work in begun:
            # one in a thread, or that goes on though interrupted, is not undone before it ended
            await asyncio.wait({work})
            if preparation.undo is None:
                continue
            undone = _task(self._undo(preparation.undo), spawner)
            done, _ = await asyncio.wait({undone}, timeout=UNDO_TIMEOUT)
            if not done:
                undone.cancel()
            error = undone.result()[1] if done else TimeoutError(f"after {UNDO_TIMEOUT} seconds")
            if error is not None:
                self._log.error(
                    "Undoing %r of %s failed", preparation.name, self._server, exc_info=error
                )

    def _undo(self, undo: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Make an async function of one that may be plain."""
        if _is_async(undo):
            return undo

        async def in_a_thread(spawner: Any) -> Any:
            await self._threads.take(lambda: None)
            result, error = await self._threads.begin(undo, spawner)
            if error is not None:
                raise error
            return await result if inspect.isawaitable(result) else result

        return in_a_thread


def _stopped(name: str) -> PreparationFailed:
    return PreparationFailed(name, f"“{name}” was interrupted: the server was stopped.")


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 (an object with an async __call__)
    )


def _task(function: Callable[[Any], Any], argument: Any) -> asyncio.Task[Outcome]:
    return asyncio.get_running_loop().create_task(_outcome(function, argument))


async def _outcome(function: Callable[[Any], Any], argument: Any) -> Outcome:
    """Await what a function makes and return what came of it, whatever it raises.

    A SystemExit that left its task would end the Hub.
    """
    try:
        return (await function(argument), None)
    except BaseException as error:
        return (None, error)


def _text_for_users(error: BaseException) -> str | None:
    """Return the text that an error holds for users, None if it has none."""
    text = getattr(error, "jupyterhub_message", None)
    if text is None and isinstance(error, web.HTTPError):
        # tornado keeps it ready for formatting, with `%%` for a plain one
        text = (error.log_message or "") % error.args or error.reason
    return clean(str(text), MESSAGE_LIMIT) if text else None
