"""DetailedKubeSpawner: the start and the end of a server; what it decides is decided elsewhere."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

from .ending import NoProgress, Outcome, OutOfTime, Unhealthy, to_spawn_error
from .gate import STARTUP_PATIENCE, wait_at_gate
from .hub import goes_on_elsewhere, save_state
from .kubeapi import CLAIMS_INTERVAL, claim_names, read_claims
from .models import StartWarning
from .pods import Verdict
from .preparation import UNDO_TIMEOUT
from .preparing import PreparingSpawner
from .probe import remove_early_route
from .starting import Start
from .tracking import let_go

# seconds before the Hub's own timeout, so that the message names the step
DEADLINE_MARGIN = 1.0
# seconds that the Hub waits in vain for a server that is known not to come
GIVEN_UP_TIMEOUT = 1
# seconds since the epoch that can still be written as a date
LATEST_TIME = 2e11
# nothing listens on the port that is kept for it
NOWHERE = "http://127.0.0.1:1"


class DetailedKubeSpawner(PreparingSpawner):
    """A KubeSpawner whose starts are followed step by step."""

    # the route that this start has made, until the Hub has made its own
    _early_route: str | None = None
    # told before the start was there, as it may be while the Hub looks for its servers
    _cancel_asked = False
    # the poll that is under way
    _polling: asyncio.Task[Any] | None = None

    # --- the start ------------------------------------------------------------------

    def start(self) -> asyncio.Future[str]:
        """Start the pod; gives its URL once the server answers.

        Begins at once, awaited or not, so that `progress` has something to follow. Fails
        with what the Hub shows the user: the cause, not a timeout.
        """
        self._passed_gate = False
        return asyncio.ensure_future(self._run_start(self._present_start()))

    async def _run_start(self, start: Start) -> str:
        try:
            await self.load_user_options()
            start.plan(self._plan(), self.pod_settings(), self.health_enabled)
            self._save_pending(start, time.time() + max(self.start_timeout, 0))
            self._follow(start)
            timeout = self.start_timeout - DEADLINE_MARGIN if self.start_timeout > 0 else None
            url = await self._within(timeout, self._start_and_ask(start), start)
            self._maybe_pod = False
            self._interrupted = None
            return url
        except Exception as error:
            raise self._failure(start, error) from error
        finally:
            self._end(start)

    async def _within(self, seconds: float | None, doing: Any, start: Start) -> str:
        """Await something for so long; nothing of it outlives this call."""
        task: asyncio.Future[str] = asyncio.ensure_future(doing)
        stalled: asyncio.Future[None] = asyncio.ensure_future(self._stalled(start))
        try:
            waited: set[asyncio.Future[Any]] = {task, stalled}
            await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if stalled.done():
                raise NoProgress(f"{self.progress_timeout:g}")
            raise OutOfTime
        finally:
            stalled.cancel()
            await let_go(task)
            if not task.cancelled():
                task.exception()

    async def _stalled(self, start: Start) -> None:
        """Wait until a start has not changed for longer than it may."""
        limit: float = self.progress_timeout or 0
        if limit <= 0:
            await asyncio.get_running_loop().create_future()
        while (left := limit - start.unchanged_for) > 0:
            await asyncio.sleep(left)

    async def _start_and_ask(self, start: Start) -> str:
        url = await self._start_watched(start)
        await self._ask(start, url)
        return url

    async def _start_watched(self, start: Start) -> str:
        """Run KubeSpawner's start beside our own watch; the first to know decides."""
        kube: asyncio.Future[str] = asyncio.ensure_future(super().start())
        self._kube_task = kube
        claims = asyncio.ensure_future(self._follow_claims(start))
        try:
            waited: set[asyncio.Future[Any]] = {kube, start.decided}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            pod = self.current_pod()
            if start.failed:
                raise RuntimeError(start.status.message)
            if kube.done() or pod is None:
                return await kube
            # what KubeSpawner does when it notices, up to 5 s later
            self.pod_id = pod["metadata"]["uid"]
            return self.pod_url(pod)
        finally:
            self._kube_task = None
            claims.cancel()
            # nothing of it may outlive the start
            await let_go(kube)
            if not kube.cancelled():
                kube.exception()

    async def _ask(self, start: Start, url: str) -> None:
        """Wait until the server answers; raises Unhealthy if it is not to be waited for."""
        settings = self.health_settings()
        if not settings.enabled:
            return
        self._early_route = self.proxy_spec
        asking = asyncio.ensure_future(
            wait_at_gate(
                self,
                url,
                settings,
                start.observe_health,
                proxy_ca=self.health_proxy_ca,
                starting=self.pending == "check",
                checked=self._checked,
            )
        )
        try:
            # the pod may die while it is asked
            waited: set[asyncio.Future[Any]] = {asking, start.lost}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if start.lost.done():
                raise RuntimeError(start.status.message)
            result = asking.result()
        finally:
            await let_go(asking)
        if not result.unhealthy:
            return
        message = result.message or "The server could not be reached."
        if settings.on_unhealthy == "open":
            start.warn(StartWarning(start.step_name("connection"), message, result.hint))
            return
        start.fail(
            message,
            hint=result.hint,
            step=start.step_name("connection"),
            reason=result.health.last.outcome if result.health.last else None,
        )
        raise Unhealthy(message)

    def _checked(self, outcome: str) -> None:
        for tell in self.at_check:
            tell(outcome)

    async def _follow_claims(self, start: Start) -> None:
        """Look at the claims of a pod for as long as it waits for its machine."""
        while True:
            await asyncio.sleep(CLAIMS_INTERVAL)
            names = [] if start.view.scheduled else claim_names(start.pod)
            if names:
                found = await read_claims(self.api, self.namespace, names, self.log)
                start.observe_claims(*found)

    def add_poll_callback(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Take that the Hub is done with a start: it calls this last, with its own route made."""
        start = self._detailed_start
        if self._passed_gate is False and start is not None and not start.failed:
            self._passed_gate = True
            self._record(start, Outcome.READY)
            start.use()
        self._early_route = None
        self._preparing = None
        super().add_poll_callback(callback, *args, **kwargs)

    # --- a start that the Hub's restart interrupted -----------------------------------

    async def get_url(self) -> str:
        """Return the URL of the server; finishes a start that a restart interrupted.

        Never raises: that would keep the Hub from starting.
        """
        kept = self._interrupted
        if kept is None:
            return str(await super().get_url())
        try:
            url = await self._finish(kept)
        except Exception as error:
            self.log.error("The start of %s did not go on: %s", self.log_name, error)
            # the Hub asks there in vain, and then stops the server as any that has died
            self.http_timeout = GIVEN_UP_TIMEOUT
            return NOWHERE
        try:
            save_state(self)
        except Exception:
            # the Hub writes it again when the server stops
            self.log.exception("The state of %s could not be saved", self.log_name)
        return url

    async def _finish(self, kept: dict[str, Any]) -> str:
        """Go on with a start that was under way; raises what ended it."""
        start = self._begin(kept["start_id"], _seconds(kept.get("began")))
        if self._cancel_asked:
            start.cancel()
        try:
            try:
                # a profile may have changed how long to wait, and what for
                await self.load_user_options()
            except Exception as error:
                # its pod is there all the same
                self.log.warning("Options of %s are not valid any more: %s", self.log_name, error)
            start.plan(self._plan(), self._checked_settings(), self.health_enabled)
            if self._makes_more_than_a_pod and not kept.get("all_made"):
                # its server would wait in vain for what was not made
                self._tell_interrupted(start)
                raise RuntimeError(start.status.message)
            self._follow(start)
            start.all_else_done()
            deadline = _seconds(kept.get("deadline")) or time.time() + self.start_timeout
            # the Hub itself begins to answer only now
            left = max(deadline - time.time(), STARTUP_PATIENCE)
            url = await self._within(left, self._resume(start), start)
            self._interrupted = None
            self._maybe_pod = False
            return url
        except Exception as error:
            unseen = self.pods_outage
            raise to_spawn_error(start, error, self.start_timeout, self.log, unseen) from error
        finally:
            self._end(start)

    def _tell_interrupted(self, start: Start) -> None:
        start.fail(
            "The start was interrupted by a restart of the Hub.", hint="Start the server again."
        )

    def cancel_start(self) -> None:
        """Take that the user wants this start no more; the Hub ends it."""
        self._passed_gate = False
        self._cancel_asked = True
        if self._detailed_start is not None:
            self._detailed_start.cancel()

    @property
    def start_cancelled(self) -> bool:
        """Whether somebody cancelled the present or last start."""
        start = self._detailed_start
        return self._cancel_asked or (start is not None and start.cancelled)

    async def _resume(self, start: Start) -> str:
        await asyncio.wait({start.decided, start.lost}, return_when=asyncio.FIRST_COMPLETED)
        pod = self.current_pod()
        if start.lost.done() or pod is None:
            raise RuntimeError(start.status.message)
        url = self.pod_url(pod)
        await self._ask(start, url)
        return url

    # --- the end ------------------------------------------------------------------

    async def poll(self) -> int | None:
        """Return None while a pod runs or may exist, else its exit code."""
        if self._maybe_pod:
            # the watch may not have shown it yet; only stop() makes sure
            return None
        self._polling = asyncio.current_task()
        try:
            code: int | None = await super().poll()
        finally:
            self._polling = None
        if code is not None and self._interrupted is not None and self.pending == "check":
            start = self._begin(self._interrupted["start_id"])
            self._tell_interrupted(start)
            self._over(start)
            self._interrupted = None
            self._last_failure = start.status
        return code

    async def stop(self, now: bool = False) -> None:
        """Delete the pod, and return as soon as the watch shows that it is gone."""
        # a poll has what is left of a dead server cleared away
        if self._polling is not asyncio.current_task() or not self._has_died():
            # from here on the end of the pod is no failure
            self._asked_to_stop = True
        if asyncio.current_task() is self._kube_task:
            # KubeSpawner clears away its pod and then tells why: that is the cause
            self._unfollow()
        self.detailed_status()
        await self.created_or_not()
        await self.watch_pods()
        key, was_there = self.pod_key, self.current_pod() is not None
        gone = asyncio.Event()

        def look() -> None:
            if was_there and self.current_pod() is None:
                gone.set()

        unsubscribe = self.notifier.subscribe(key, look)
        kube = asyncio.ensure_future(super().stop(now))
        seen_gone = asyncio.ensure_future(gone.wait())
        try:
            await asyncio.wait({kube, seen_gone}, return_when=asyncio.FIRST_COMPLETED)
            if kube.done():
                kube.result()
            self._maybe_pod = False
        finally:
            unsubscribe()
            await let_go(kube, seen_gone)

    async def run_post_stop_hook(self) -> None:
        """Remove what a start left outside the cluster; runs after every stop."""
        self._unfollow()
        self._interrupted = None
        start = self._detailed_start
        if start is not None:
            if not start.ended:
                # it failed before it came to its own part, of which `detailed_status` tells
                self._end(start)
            self._remember_death(start)
        # a Hub that ends stops servers while their starts go on
        self._asked_to_stop = True
        if self._preparing is not None:
            undone = self._preparing.undo(self)
            self._preparing = None
            if undone is not None and goes_on_elsewhere(self):
                await asyncio.wait({undone}, timeout=UNDO_TIMEOUT)
        proxy = self.user.settings.get("proxy")
        if self._early_route is not None and proxy is not None:
            await remove_early_route(proxy, self._early_route, log=self.log)
            self._early_route = None
        hook = super().run_post_stop_hook()
        if inspect.isawaitable(hook):
            await hook

    def _has_died(self) -> bool:
        """Whether a server that ran has failed, not ended; keeps why, which its pod tells now."""
        start = self._detailed_start
        if start is None or self._passed_gate is False:
            return False
        if start.view.verdict is Verdict.STOPPING and not self._asked_to_stop:
            # somebody else is deleting the pod, of which nothing is left to be seen soon
            start.refresh(gone=True)
        problem = start.problem
        if problem is None or problem.exit_code == 0:
            return False
        start.fail_late(None if start.view.verdict is Verdict.FAILED else problem.message)
        self._last_failure = start.status
        return True

    def _remember_death(self, start: Start) -> None:
        """Keep why a server died that had been running, if its pod has told."""
        # whatever readers have been shown since
        died = self._passed_gate is not False and not self._asked_to_stop
        if died and start.view.verdict is Verdict.FAILED:
            start.fail_late()
            self._last_failure = start.status


def _seconds(kept: object) -> float | None:
    """Return a time from the saved state; None for anything else."""
    return float(kept) if isinstance(kept, (int, float)) and 0 < kept < LATEST_TIME else None
