"""One start of one server: what is known of its pod, and what follows from it.

A `Start` is told about the pod, its events and what the API answered; it judges
them by the pure function of `pods`, publishes what changed, and says when the
start is decided. It reads nothing by itself and knows no Hub.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .models import ServerState, ServerStatus, StartWarning, Step, StepStatus
from .models.text import clean
from .pods import PodSettings, PodView, Problem, Seen, Verdict, judge
from .tracking import StatusTracker

PROGRESS_ANSWERING = 95
RAW_MESSAGE_LIMIT = 4096


class Start:
    """What is known of one start, and its statuses so far.

    The clock gives seconds since the epoch.
    """

    def __init__(
        self,
        planned: Mapping[str, Any],
        settings: PodSettings,
        *,
        log: logging.Logger | logging.LoggerAdapter[Any],
        start_id: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.id = start_id or secrets.token_hex(3)
        self.tracker = StatusTracker(self.id)
        self.state = ServerState.STARTING
        self.ended = False
        self.decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._log = log
        self._clock = clock
        self._began = clock()
        self._planned: Mapping[str, Any] = planned
        self._settings = settings
        self._pod: Mapping[str, Any] | None = None
        self._events: tuple[Mapping[str, Any], ...] = ()
        self._claims: tuple[Mapping[str, Any], ...] = ()
        self._claim_events: tuple[Mapping[str, Any], ...] = ()
        self._create_error: Mapping[str, Any] | None = None
        self._failure: str | None = None
        self._all_else_done = False
        self._seen: Seen | None = None
        self._told_events: set[tuple[Any, Any]] = set()
        self._told_notes: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.view: PodView = self._judge()
        self._publish()

    # --- what the start is told -------------------------------------------------

    def plan(self, pod: Mapping[str, Any], settings: PodSettings | None = None) -> None:
        """Take the pod that is going to be created."""
        self._planned = pod
        self._settings = settings or self._settings
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

    def create_refused(self, status: Mapping[str, Any]) -> None:
        """Take the v1 Status with which the API refused the pod."""
        self._create_error = status
        self.refresh()

    def all_else_done(self) -> None:
        """Take that only the pod is waited for: the start may end when it is ready."""
        self._all_else_done = True
        self._decide()

    def fail(self, message: str) -> None:
        """Take a failure that is not the pod's, in words for the user."""
        self._failure = message
        self.refresh()

    def become(self, state: ServerState) -> None:
        """Take what the Hub now says of the server."""
        if state is not self.state:
            self.state = state
            self.refresh()

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
    def problem(self) -> Problem | None:
        """What keeps the server from starting, if anything does."""
        return self.view.problem

    @property
    def failed(self) -> bool:
        """Whether this start has failed."""
        return self.state is ServerState.FAILED

    def unfinished_step(self) -> Step | None:
        """The step that the start hangs on: the first that is not ready."""
        for step in self.view.steps:
            if step.status is not StepStatus.READY:
                return step
        return None

    def refresh(self, gone: bool = False) -> None:
        """Judge anew, publish what changed, and plan the next look."""
        if self.failed:
            # what happens to the pod afterwards is the clean-up, not the cause
            return
        self.view = self._judge(gone)
        starting = self.state is ServerState.STARTING
        # whoever deletes the pod of a start, it was not its user
        ends = self.view.verdict in (Verdict.FAILED, Verdict.STOPPING)
        if starting and (self._failure or ends):
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
            settings=self._settings,
        )
        self._seen = view.seen
        for note in view.notes:
            if note not in self._told_notes:
                self._told_notes.add(note)
                self._log.warning("Start %s: odd pod or event: %s", self.id, note)
        return view

    def _decide(self) -> None:
        """Resolve `decided` once the start has failed or may end well."""
        running = self.view.verdict is Verdict.RUNNING and self._all_else_done
        if (self.failed or running) and not self.decided.done():
            self.decided.set_result(None)

    def _publish(self) -> None:
        view, now = self.view, self._clock()
        progress, message = min(view.progress, PROGRESS_ANSWERING), view.message
        if self.state is ServerState.RUNNING:
            progress, message = 100, "The server is running."
        elif self.state is ServerState.FAILED:
            message = self._failure or view.message
        elif self.state is not ServerState.STARTING:
            message = STATE_MESSAGES.get(self.state, message)
        elif view.verdict is Verdict.RUNNING:
            progress, message = PROGRESS_ANSWERING, "Waiting for the server to answer."
        self.tracker.publish(
            ServerStatus(
                start_id=self.id,
                revision="",
                state=self.state,
                progress=progress,
                message=message,
                details=view.steps,
                ready_containers=view.ready,
                total_containers=view.total,
                containers=view.containers,
                warnings=tuple(
                    StartWarning(
                        step=warning.step or "", message=warning.message, hint=warning.hint
                    )
                    for warning in view.warnings
                ),
                cancellable=self.state is ServerState.STARTING,
                started_at=self._began,
                updated_at=now,
            )
        )

    def _publish_events(self) -> None:
        """Pass on each Kubernetes event, again when it happened again."""
        for event in (*self._events, *self._claim_events):
            metadata = event.get("metadata") or {}
            mark = (metadata.get("uid"), metadata.get("resourceVersion"))
            if mark in self._told_events:
                continue
            self._told_events.add(mark)
            text = str(event.get("message") or "")
            when = event.get("lastTimestamp") or event.get("eventTime")
            line = f"{when or ''} [{event.get('type')}] {clean(text, 1000)}".strip()
            self.tracker.publish_event(line, {**event, "message": text[:RAW_MESSAGE_LIMIT]})


STATE_MESSAGES = {
    ServerState.CANCELLING: "The start is being cancelled.",
    ServerState.STOPPING: "The server is being stopped.",
    ServerState.STOPPED: "The server is stopped.",
    ServerState.CHECKING: "The Hub was restarted and is looking for the server.",
    ServerState.UNKNOWN: "Nothing is known about the server.",
}
