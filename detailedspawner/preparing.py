"""What happens to a spawner before its pod is made: hooks, options, preparations, state."""

from __future__ import annotations

import asyncio
import html
import inspect
from typing import Any
from weakref import WeakKeyDictionary

from traitlets import TraitError

from .durations import Sample, sample_of
from .ending import Outcome, record_line, record_of, to_spawn_error
from .following import DURATIONS_KEY, FAILED_KEY, STATE_KEY, FollowingSpawner, kept_failure
from .hub import forgive_failure, no_answer, save_state, spawn_error
from .models import StepStatus
from .preparation import Preparing, Threads
from .profiling import configured, unusable
from .starting import Start
from .traits import Preparation, check_preparations

# one pool of threads for each Hub
_threads: WeakKeyDictionary[asyncio.AbstractEventLoop, Threads] = WeakKeyDictionary()


class PreparingSpawner(FollowingSpawner):
    """A spawner whose options are loaded once, and whose preparations are steps."""

    _cancel_asked: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._options_loaded = False
        # what to take back if this start fails
        self._preparing: Preparing | None = None
        # what the state says of a start that the Hub's restart interrupted
        self._interrupted: dict[str, Any] | None = None

    # --- before the start -----------------------------------------------------------

    def clear_state(self) -> None:
        """Forget an earlier start when the Hub begins a new one with the same object."""
        super().clear_state()
        start = self._detailed_start
        # the Hub also calls this at the end of stop(), where a failure stays readable
        if self.pending == "spawn":
            self._passed_gate = False
            self._cancel_asked = self._asked_to_stop = False
            self._interrupted = None
            if start is not None and start.ended:
                self._detailed_start = None

    async def run_pre_spawn_hook(self) -> None:
        """Run the hook, load the user's options, then run the preparations.

        In this order each sees what the one before has set, and the pod all of it.
        """
        self._passed_gate = False
        self._options_loaded = False
        start = self._present_start()
        hook_step = start.step_name("preparation")
        named = [hook_step] if self.pre_spawn_hook else []
        start.prepare([*named, *(item.name for item in check_preparations(self.preparations))])
        done = False
        try:
            if self.pre_spawn_hook:
                start.prepared(hook_step, StepStatus.EXECUTING)
            hook = super().run_pre_spawn_hook()
            if inspect.isawaitable(hook):
                await hook
            if self.pre_spawn_hook:
                start.prepared(hook_step, StepStatus.READY)
            await self.load_user_options()
            start.expect(self.durations.expected(self._profile_key()))
            start.plan(self._plan(), self.pod_settings(), self.health_enabled)
            # those of a profile are known only now
            preparations = check_preparations(self.preparations)
            start.prepare(item.name for item in preparations)
            if preparations or self.log_name in Preparing.undoing:
                self._save_pending(start)
                await self._prepare(start, preparations)
            start.plan(self._plan(), self.pod_settings(), self.health_enabled)
            done = True
        except Exception as error:
            raise self._failure(start, error) from error
        finally:
            if not done:
                self._end(start)

    async def _prepare(self, start: Start, preparations: list[Preparation]) -> None:
        loop = asyncio.get_running_loop()
        threads = _threads.get(loop)
        if threads is None:
            # of the Hub, so a profile cannot change it
            workers = configured(type(self), self.config, "preparation_workers")
            threads = _threads[loop] = Threads(workers)
        self._preparing = Preparing(preparations, threads, server=self.log_name, log=self.log)
        if not preparations:
            # what an earlier start has left to be undone must not undo this one's pod
            await self._preparing.settled()
        await self._preparing.run(self, start.prepared)

    def report(self, message: str, step: str | None = None) -> None:
        """Show the user what a hook is doing, at once.

        `step` is the name of a step; without it the message belongs to the one that is
        under way. For auth_state_hook, pre_spawn_hook, modify_pod_hook,
        after_pod_created_hook and preparations; does nothing while no start goes on.
        """
        start = self._current_start()
        if start is not None and not start.ended:
            start.report(str(message), None if step is None else str(step))

    def _failure(self, start: Start, error: Exception) -> Exception:
        silent = no_answer(error, self.api.api_client.configuration.host)
        if silent is not None:
            start.create_refused(silent)
        # before there is one, nothing of it can be missed
        unseen = self.pods_outage if self._maybe_pod else None
        failure = to_spawn_error(start, error, self.start_timeout, self.log, unseen)
        # JupyterHub 5 counts a user's mistake like a failure of the cluster
        forgive_failure(self, failure)
        return failure

    def _present_start(self) -> Start:
        start = self._detailed_start
        return self._begin() if start is None or start.ended else start

    def _end(self, start: Start) -> None:
        """Take that a start is over; what it says last stays readable if it failed."""
        self._options_loaded = False
        self._over(start)
        if start.failed:
            self._last_failure = start.status
            self._record(start, Outcome.FAILED)
        elif start.cancelled:
            self._record(start, Outcome.CANCELLED)
        # neither: the Hub goes on with it, or ends, and goes on when it is back

    def _record(self, start: Start, outcome: Outcome) -> None:
        record = record_of(start, outcome, self.user.name, self.name)
        self.log.info("%s", record_line(record))
        for tell in self.at_record:
            tell(record)
        if outcome is Outcome.READY and not start.resumed:
            self._last_duration = sample_of(start.status, self._profile_key())
            self.durations.add(self._last_duration)
            try:
                save_state(self)
            except Exception:
                # the Hub writes it again when the server stops
                self.log.exception("The state of %s could not be saved", self.log_name)

    async def load_user_options(self) -> None:
        """Load the options once per start, however often KubeSpawner asks.

        Raises what the Hub answers with 400 where a profile sets something wrong.
        """
        if self._options_loaded:
            return
        try:
            await super().load_user_options()
            start = self._detailed_start
            if start is not None and not start.ended:
                self._options_loaded = True
                for warning in self.choice_warnings:
                    start.warn(warning)
            self.pod_settings()
            self.health_settings()
        except TraitError as error:
            text = unusable(error)
            raise spawn_error(text, html.escape(text), "profile", users=True) from error

    # --- what outlives this process -----------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return what the Hub keeps: of a start under way its id, of one that failed why."""
        state: dict[str, Any] = super().get_state()
        failed = self._last_failure
        if self._last_duration is not None:
            state[DURATIONS_KEY] = self._last_duration.to_dict()
        if self._interrupted is not None:
            state[STATE_KEY] = self._interrupted
        elif failed is not None:
            state[STATE_KEY] = {FAILED_KEY: failed.to_dict()}
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Take up what an earlier Hub has kept."""
        super().load_state(state)
        self._last_duration = Sample.from_dict(state.get(DURATIONS_KEY))
        self.durations.add(self._last_duration)
        kept = state.get(STATE_KEY)
        if isinstance(kept, dict) and isinstance(kept.get("start_id"), str):
            self._interrupted = kept
            self._passed_gate = False
        else:
            self._last_failure = kept_failure(state)

    @property
    def _makes_more_than_a_pod(self) -> bool:
        """Whether something comes after the pod is created: secrets, a service, a hook."""
        return bool(self.internal_ssl or self.services_enabled or self.after_pod_created_hook)

    def all_made(self) -> None:
        """Keep that a Hub that is restarted has nothing left to make."""
        kept = self._interrupted
        if kept is not None and not kept.get("all_made") and self._makes_more_than_a_pod:
            self._interrupted = {**kept, "all_made": True}
            save_state(self)

    def _save_pending(self, start: Start, deadline: float | None = None) -> None:
        """Keep in the database what a start needs that outlives this process."""
        self._interrupted = {"start_id": start.id, "began": start.began, "deadline": deadline}
        save_state(self)
