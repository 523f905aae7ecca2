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
from dataclasses import replace
from typing import Any

from .composing import Around, Failure, compose, connection_step, running_health, unfinished
from .models import (
    Health,
    HealthStatus,
    ServerState,
    ServerStatus,
    StartWarning,
    Step,
    StepKind,
    StepStatus,
)
from .models.text import clean
from .pods import PodSettings, PodView, Problem, Seen, Verdict, judge
from .tracking import StatusTracker

RAW_MESSAGE_LIMIT = 4096
TOLD_LIMIT = 300


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
        began: float | None = None,
        connects: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.id = start_id or secrets.token_hex(3)
        self.tracker = StatusTracker(self.id)
        self.state = ServerState.STARTING
        self.ended = False
        loop = asyncio.get_running_loop()
        # the start may go on to its gate, or has failed
        self.decided: asyncio.Future[None] = loop.create_future()
        # whatever the start is doing, it is over
        self.lost: asyncio.Future[None] = loop.create_future()
        # whether a server that answers is waited for, so that there is a step for it
        self.connects = connects
        self._log = log
        self._clock = clock
        self._began = clock() if began is None else began
        self._planned: Mapping[str, Any] = planned
        self._settings = settings
        self._pod: Mapping[str, Any] | None = None
        self._events: tuple[Mapping[str, Any], ...] = ()
        self._claims: tuple[Mapping[str, Any], ...] = ()
        self._claim_events: tuple[Mapping[str, Any], ...] = ()
        self._create_error: Mapping[str, Any] | None = None
        self._failure: Failure | None = None
        self._all_else_done = False
        self._preparations: dict[str, Step] = {}
        self._notes: dict[str, str] = {}
        self._health: Health | None = None
        self._connection: Step | None = None
        self._warnings: dict[str, StartWarning] = {}
        self._cancelled = False
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
        self._settings = settings or self._settings
        self.connects = self.connects if connects is None else connects
        self.refresh()

    def prepare(self, names: Iterable[str]) -> None:
        """Take the steps that come before the pod, those to come as waiting."""
        for name in names:
            step = Step(step=name, status=StepStatus.WAITING, kind=StepKind.PREPARATION)
            self._preparations.setdefault(name, step)
        self.refresh()

    def prepared(self, name: str, status: StepStatus, message: str | None = None) -> None:
        """Take how far a step before the pod is; a message stays until the next one."""
        now, step = self._clock(), self._preparations.get(name)
        if step is None:
            step = Step(step=name, status=status, kind=StepKind.PREPARATION)
        ended = status in (StepStatus.READY, StepStatus.FAILED)
        self._preparations[name] = replace(
            step,
            status=status,
            message=clean(message, TOLD_LIMIT) if message else step.message,
            started_at=None if status is StepStatus.WAITING else step.started_at or now,
            finished_at=(step.finished_at or now) if ended else None,
        )
        self.refresh()

    def report(self, message: str, step: str | None = None) -> None:
        """Take what a hook says, about a step or else the one that is under way."""
        executing = [
            name for name, item in self._preparations.items() if item.status is StepStatus.EXECUTING
        ]
        name = step or (executing[-1] if executing else unfinished(self.view.steps)) or "Starting"
        if name in self._preparations or name not in {item.step for item in self.view.steps}:
            self.prepared(name, StepStatus.EXECUTING, message)
        else:
            self._notes[name] = clean(message, TOLD_LIMIT)
            self.refresh()

    def all_prepared(self) -> None:
        """Take that the pod is next: what hooks opened is done."""
        for name, step in self._preparations.items():
            if step.status is not StepStatus.READY:
                self.prepared(name, StepStatus.READY)

    def observe_health(self, health: Health) -> None:
        """Take what became of asking the server."""
        now, before = self._clock(), self._connection
        self._health = health
        self._connection = connection_step(self._settings, health, before, now)
        self.refresh()

    def warn(self, warning: StartWarning) -> None:
        """Take a warning that stays with this start."""
        self._warnings[warning.message] = warning
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

    def fail(
        self,
        message: str,
        *,
        hint: str | None = None,
        step: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Take a failure that is not the pod's, in words for the user."""
        self._failure = Failure(message, hint, step, reason)
        self.refresh()

    def fail_running(self) -> None:
        """Take that the server died after it had run: why stays readable."""
        self.state = ServerState.FAILED
        self._publish()

    def cancel(self) -> None:
        """Take that the user wants the start no more."""
        if not self.failed and not self.ended:
            self._cancelled = True
            self.state = ServerState.CANCELLING
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
    def began(self) -> float:
        """When the start began, in seconds since the epoch."""
        return self._began

    def step_name(self, kind: str) -> str:
        """The name of a step that stands for no container, such as "connection"."""
        return self._settings.kind_step(kind)

    @property
    def hint(self) -> str | None:
        """What the user may do about the failure, if anything is known."""
        if self._failure is not None:
            return self._failure.hint
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
        """Resolve `decided` once the start has failed or its pod is ready."""
        running = self.view.verdict is Verdict.RUNNING and self._all_else_done
        if (self.failed or running) and not self.decided.done():
            self.decided.set_result(None)
        if self.failed and not self.lost.done():
            self.lost.set_result(None)

    def _publish(self) -> None:
        before = self.tracker.status
        progress = before.progress if before and before.progress < 100 else 0
        self.tracker.publish(
            compose(self.id, self._noted(), self._around(), progress, self._clock())
        )

    def _around(self) -> Around:
        connection = None
        if self.connects:
            connection = self._connection or connection_step(self._settings, None, None, 0)
        health = self._health or Health(
            status=HealthStatus.INITIALIZING if self.connects else HealthStatus.DISABLED
        )
        if self.state is ServerState.RUNNING:
            health = running_health(health, self.view)
        return Around(
            state=self.state,
            began=self._began,
            preparations=tuple(self._preparations.values()),
            connection=connection,
            health=health,
            failure=self._failure,
            warnings=tuple(self._warnings.values()),
        )

    def _noted(self) -> PodView:
        """The view with what hooks said about steps that say nothing themselves."""
        if not self._notes:
            return self.view
        steps = tuple(
            replace(step, message=self._notes[step.step])
            if step.message is None
            and step.step in self._notes
            and step.status is not StepStatus.READY
            else step
            for step in self.view.steps
        )
        return replace(self.view, steps=steps)

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
