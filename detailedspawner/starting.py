"""One start of one server: what is known of its pod, and what follows from it.

A `Start` is told about the pod, its events and what the API answered; it judges
them by the pure function of `pods`, publishes what changed, and says when the
start is decided. It reads nothing by itself and knows no Hub.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .composing import Failure, compose, unfinished
from .models import ServerState, ServerStatus
from .models.redaction import redact_all
from .models.text import clean
from .pods import PodSettings, PodView, Problem, Seen, Verdict, judge, pod_secrets
from .surroundings import Surroundings
from .tracking import Log, StatusTracker

RAW_MESSAGE_LIMIT = 4096
FAILURE_LIMIT = 500


class Start(Surroundings):
    """What is known of one start, and its statuses so far.

    The clock gives seconds since the epoch.
    """

    def __init__(
        self,
        planned: Mapping[str, Any],
        settings: PodSettings,
        *,
        log: Log,
        start_id: str | None = None,
        began: float | None = None,
        connects: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(settings, clock, connects)
        self.id = start_id or secrets.token_hex(3)
        # a restart of the Hub lies between its beginning and its end
        self.resumed = start_id is not None
        self.tracker = StatusTracker(self.id)
        self.state = ServerState.STARTING
        self.ended = False
        # all of the start is done, whatever readers have been shown since
        self.in_use = False
        # of which kind a failure is, whether it is the user's to mend, and whether it counts
        # toward the Hub's limit of failures in a row
        self.category = "error"
        self.users_fault, self.counts = False, True
        loop = asyncio.get_running_loop()
        # the start may go on to its gate, or has failed
        self.decided: asyncio.Future[None] = loop.create_future()
        # whatever the start is doing, it is over
        self.lost: asyncio.Future[None] = loop.create_future()
        self._log = log
        # seconds since the epoch
        self.began = clock() if began is None else began
        self._planned: Mapping[str, Any] = planned
        self._pod: Mapping[str, Any] | None = None
        self._events: tuple[Mapping[str, Any], ...] = ()
        self._claims: tuple[Mapping[str, Any], ...] = ()
        self._claim_events: tuple[Mapping[str, Any], ...] = ()
        self._create_error: Mapping[str, Any] | None = None
        self._all_else_done = False
        self._cancelled = False
        # what tells that a start without progress is over
        self._changed_at = self.began
        self._seen: Seen | None = None
        self._told_events: set[tuple[Any, Any]] = set()
        self._told_notes: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.view: PodView = self._judge()
        self._publish()

    # --- what the start is told -------------------------------------------------

    def plan(
        self,
        pod: Mapping[str, Any],
        settings: PodSettings | None = None,
        connects: bool | None = None,
    ) -> None:
        """Take the pod that is going to be created, and what else is to come."""
        self._planned = pod
        self.settings = settings or self.settings
        if connects is not None:
            self.connects = connects
        self.secrets = (*self.settings.secrets, *pod_secrets(pod))
        self.refresh()

    def observe(
        self, pod: Mapping[str, Any] | None, events: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Take the pod of this start (None: there is none) and the events about it."""
        if pod is not None:
            self._pod, self._create_error = pod, None
        self._events = tuple(events)
        self.refresh(gone=pod is None and self._pod is not None)

    def observe_claims(
        self, claims: Iterable[Mapping[str, Any]], events: Iterable[Mapping[str, Any]]
    ) -> None:
        """Take the claims of the pod and the events about them."""
        self._claims, self._claim_events = tuple(claims), tuple(events)
        self.refresh()

    def create_refused(self, status: Mapping[str, Any]) -> Problem | None:
        """Take the v1 Status with which the API refused the pod, or something beside it.

        Returns what it means.
        """
        self._create_error = status
        self.refresh()
        if not self.has_pod:
            return self.problem
        planned = {"spec": self._planned.get("spec")}
        now = self._clock()
        return judge(planned, create_error=status, now=now, settings=self.settings).problem

    def all_else_done(self) -> None:
        """Take that only the pod is waited for: the start may end when it is ready."""
        self._all_else_done = True
        self._decide()

    def fail(
        self,
        message: str,
        *,
        hint: str | None = None,
        step: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Take a failure that is not the pod's, in words for the user."""
        shown = self.shown(message, FAILURE_LIMIT)
        self.failure = Failure(shown, hint, step, reason)
        self.refresh()

    def blame(self, category: str, users: bool, counts: bool | None = None) -> None:
        """Take of which kind the failure is, whether its user has to mend it, and if it counts.

        By default it counts if it is not the user's.
        """
        self.category, self.users_fault = category, users
        self.counts = not users if counts is None else counts

    def fail_late(self, message: str | None = None) -> None:
        """Take what ended the server after its start was over: why stays readable.

        Without a message it is what its pod tells.
        """
        if message is not None:
            self.failure = Failure(self.shown(message, FAILURE_LIMIT))
        self.state = ServerState.FAILED
        self._publish()

    def cancel(self) -> None:
        """Take that the user wants the start no more."""
        if not self.failed:
            self._cancelled = True
            self.state = ServerState.CANCELLING
            if not self.lost.done():
                self.lost.set_result(None)
            self.refresh()

    def become(self, state: ServerState) -> None:
        """Take what the Hub now says of the server."""
        if state is not self.state:
            self.state = state
            self.refresh()

    def use(self) -> None:
        """Take that the server is in use: how it ends is no failure of its start any more."""
        self.in_use = True
        self.become(ServerState.RUNNING)

    def end(self) -> None:
        """Take that the start is over; its readers are told no more."""
        self.ended = True
        if self._timer:
            self._timer.cancel()
        self.tracker.close()

    # --- what follows from it ---------------------------------------------------

    @property
    def status(self) -> ServerStatus:
        """The present status."""
        status = self.tracker.status
        assert status is not None  # noqa: S101 (published from the first moment on)
        return status

    @property
    def pod(self) -> Mapping[str, Any]:
        """The pod, or before there is one the pod to come."""
        return self._planned if self._pod is None else self._pod

    @property
    def has_pod(self) -> bool:
        """Whether there has been a pod of this start."""
        return self._pod is not None

    @property
    def problem(self) -> Problem | None:
        """What keeps the server from starting, if anything does."""
        return self.view.problem

    def step_name(self, kind: str) -> str:
        """The name of a step that stands for no container, such as "connection"."""
        return self.settings.kind_step(kind)

    @property
    def unchanged_for(self) -> float:
        """For how many seconds nothing has changed."""
        return self._clock() - self._changed_at

    @property
    def hint(self) -> str | None:
        """What the user may do about the failure, if anything is known."""
        if self.failure is not None:
            return self.failure.hint
        return self.problem.hint if self.problem else None

    @property
    def cancelled(self) -> bool:
        """Whether the user cancelled this start."""
        return self._cancelled

    @property
    def failed(self) -> bool:
        """Whether this start has failed."""
        return self.state is ServerState.FAILED

    def unfinished_step(self) -> str | None:
        """The name of the step that the start hangs on, None if all are ready."""
        return unfinished(self.status.details)

    def refresh(self, gone: bool = False) -> None:
        """Judge anew, publish what changed, and plan the next look."""
        if self.failed:
            # what happens to the pod afterwards is the clean-up, not the cause
            return
        self.view = self._judge(gone)
        starting = self.state is ServerState.STARTING and not self.in_use
        if starting and self.view.verdict is Verdict.STOPPING:
            # whoever deletes the pod of a start, it was not its user
            self.view = self._judge(gone=True)
        ends = self.view.verdict is Verdict.FAILED
        if starting and (self.failure or ends):
            self.state = ServerState.FAILED
        self._publish()
        self._publish_events()
        self._decide()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        due = self.view.next_check
        if due is not None and not self.ended and self.state is ServerState.STARTING:
            delay = max(0.01, due - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay, self.refresh)

    def _judge(self, gone: bool = False) -> PodView:
        # before there is a pod, the one to come: its spec alone, all of it waiting
        pod = {"spec": self._planned.get("spec")} if self._pod is None else self._pod
        view = judge(
            None if gone else pod,
            (*self._events, *self._claim_events),
            self._claims,
            create_error=self._create_error,
            pod_gone=gone,
            seen=self._seen,
            now=self._clock(),
            settings=self.settings,
        )
        self._seen = view.seen
        for note in view.notes:
            if note not in self._told_notes:
                self._told_notes.add(note)
                self._log.warning("Start %s: odd pod or event: %s", self.id, note)
        return view

    def _decide(self) -> None:
        """Resolve `decided` once the start has failed or its pod is ready."""
        running = self.view.verdict is Verdict.RUNNING and self._all_else_done
        if (self.failed or running) and not self.decided.done():
            self.decided.set_result(None)
        if self.failed and not self.lost.done():
            self.lost.set_result(None)

    def _publish(self) -> None:
        before, now = self.tracker.status, self._clock()
        progress = before.progress if before and before.progress < 100 else 0
        around = self.around(self.state, self.began)
        status = compose(self.id, self.noted(), around, progress, now)
        if self.tracker.publish(status):
            self._changed_at = now

    def _publish_events(self) -> None:
        """Pass on each Kubernetes event, again when it happened again."""
        if self.ended:
            return
        for event in (*self._events, *self._claim_events):
            metadata = event.get("metadata") or {}
            mark = (metadata.get("uid"), metadata.get("resourceVersion"))
            if mark in self._told_events:
                continue
            self._told_events.add(mark)
            shown = redact_all(event, self.secrets, RAW_MESSAGE_LIMIT)
            text = str(shown.get("message") or "")
            when = event.get("lastTimestamp") or event.get("eventTime")
            line = f"{when or ''} [{event.get('type')}] {clean(text, 1000)}".strip()
            self.tracker.publish_event(line, {**shown, "message": text})
