"""What a start knows beside its pod: preparations, what hooks say, health, warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from .composing import Around, Failure, connection_step, running_health, unfinished
from .durations import Expected
from .models import Health, HealthStatus, ServerState, StartWarning, Step, StepKind, StepStatus
from .models.redaction import redact
from .models.text import clean
from .pods import PodSettings, PodView

TOLD_LIMIT = 300
NAME_LIMIT = 100


class Surroundings:
    """The steps around a pod's own, as they were told; `Start` adds what follows from it.

    The clock gives seconds since the epoch.
    """

    # what the pod says
    view: PodView

    def __init__(self, settings: PodSettings, clock: Callable[[], float], connects: bool) -> None:
        self.settings = settings
        # values that must not be shown, known from the pod and the user's options
        self.secrets: tuple[str, ...] = ()
        # whether a server that answers is waited for, so that there is a step for it
        self.connects = connects
        self.failure: Failure | None = None
        self.expected: Expected | None = None
        self._clock = clock
        self._preparations: dict[str, Step] = {}
        self._notes: dict[str, str] = {}
        self._health: Health | None = None
        self._connection: Step | None = None
        self._warnings: dict[str, StartWarning] = {}
        # from here on what a hook says is about the pod
        self._creating = False

    def shown(self, text: str, limit: int = TOLD_LIMIT) -> str:
        """Return a text from outside as it may be shown: no secrets, no control characters."""
        return clean(redact(text, self.secrets), limit)

    def refresh(self) -> None:
        """Called after each of these was taken."""
        raise NotImplementedError

    def expect(self, expected: Expected | None) -> None:
        """Take how long such a start usually takes."""
        self.expected = expected
        self.refresh()

    def prepare(self, names: Iterable[str]) -> None:
        """Take the steps that come before the pod, those to come as waiting."""
        for name in names:
            step = Step(step=name, status=StepStatus.WAITING, kind=StepKind.PREPARATION)
            self._preparations.setdefault(name, step)
        self.refresh()

    def prepared(self, name: str, status: StepStatus, message: str | None = None) -> None:
        """Take how far a step before the pod is; a message stays until the next one."""
        self._prepared(name, status, message)
        self.refresh()

    def _prepared(self, name: str, status: StepStatus, message: str | None = None) -> None:
        now, step = self._clock(), self._preparations.get(name)
        if step is None:
            step = Step(step=name, status=status, kind=StepKind.PREPARATION)
        ended = status in (StepStatus.READY, StepStatus.FAILED)
        self._preparations[name] = replace(
            step,
            status=status,
            message=self.shown(message) if message else step.message,
            started_at=None if status is StepStatus.WAITING else step.started_at or now,
            finished_at=(step.finished_at or now) if ended else None,
        )

    def all_prepared(self) -> None:
        """Take that the pod is next: what hooks opened is done."""
        self._creating = True
        for name, step in self._preparations.items():
            if step.status is not StepStatus.READY:
                self._prepared(name, StepStatus.READY)
        self.refresh()

    def report(self, message: str, step: str | None = None) -> None:
        """Take what a hook says, about a step or else the one that is under way."""
        executing = [
            name for name, item in self._preparations.items() if item.status is StepStatus.EXECUTING
        ]
        default = self.settings.kind_step("preparation")
        if step is None and executing:
            step = executing[-1]
        elif step is None:
            step = (unfinished(self.view.steps) if self._creating else None) or default
        name = clean(step, NAME_LIMIT) or default
        of_the_pod = name in {item.step for item in self.view.steps} or self._creating
        if name in self._preparations or not of_the_pod:
            self._prepared(name, StepStatus.EXECUTING, message)
        else:
            self._notes[name] = self.shown(message)
        self.refresh()

    def observe_health(self, health: Health) -> None:
        """Take what became of asking the server."""
        self._health = health
        self._connection = connection_step(self.settings, health, self._connection, self._clock())
        self.refresh()

    def warn(self, warning: StartWarning) -> None:
        """Take a warning that stays with this start."""
        self._warnings[warning.message] = warning
        self.refresh()

    def around(self, state: ServerState, began: float) -> Around:
        """Return all of it, for the status of a server in this state."""
        connection = None
        if self.connects:
            connection = self._connection or connection_step(self.settings, None, None, 0)
            if self._connection is None and state is ServerState.RUNNING:
                # found after a restart of the Hub, which has looked for it
                connection = replace(connection, status=StepStatus.READY)
        health = self._health or Health(
            status=HealthStatus.INITIALIZING if self.connects else HealthStatus.DISABLED
        )
        return Around(
            state=state,
            began=began,
            preparations=tuple(self._preparations.values()),
            connection=connection,
            health=running_health(health, self.view) if state is ServerState.RUNNING else health,
            failure=self.failure,
            warnings=tuple(self._warnings.values()),
            expected=self.expected,
        )

    def noted(self) -> PodView:
        """Return the view with what hooks said about steps that say nothing themselves."""
        view = self.view
        if not self._notes:
            return view
        steps = tuple(
            replace(step, message=self._notes[step.step])
            if step.message is None
            and step.step in self._notes
            and step.status is not StepStatus.READY
            else step
            for step in view.steps
        )
        return replace(view, steps=steps)
