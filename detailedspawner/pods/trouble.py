"""What is wrong with a pod: as a rule found it, after its grace, and as `judge` returns it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from ..models import Container, Step
from .containers import ContainerFacts
from .details import detail, raw_detail
from .settings import PodSettings
from .texts import render

# Classes whose failures come from what was asked for: image, command, option, quota, rule.
_USERS = frozenset(
    {
        *("spec", "gone", "pull_definite", "config", "create", "crash", "hook", "completed"),
        *("schedule_hopeless", "schedule_full", "volume_mount", "probe"),
    }
)
# What the cluster or the hub did, although it is of one of those classes.
_NOT_USERS = frozenset(
    {
        *("create.rbac", "create.namespace", "claim.Lost", "NodeLost", "shutdown", "rejected"),
        *("gone", "preempted", "Terminating", "PodFailed"),
    }
)
# What may be the cluster's, but what a user can also bring about alone: a registry that is not
# there, an option that is too large for now, storage that another server of theirs holds.
_PROVOKED = frozenset(
    {"pull_transient", "config_transient", "schedule_waiting", "schedule_scaling"}
)
_PROVOKED_TEXTS = frozenset({"FailedAttachVolume.multi"})

# Order of the rules: the first kind that applies is the one that is told.
RANK_NODE = 1_000
RANK_SCHEDULING = 2_000
RANK_GATES = 3_000
RANK_POD_REASON = 4_000
RANK_STORAGE = 5_000
RANK_SANDBOX = 6_000
RANK_EVENT = 7_000
RANK_PROBE = 8_000

# A clock at which no trouble waits any more is stopped, and starts anew the next time.
Clocks = Mapping[tuple[str, str], float]


class Verdict(str, Enum):
    """What has become of the pod, as far as the cluster knows."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    STOPPING = "stopping"


class Severity(str, Enum):
    """How bad a problem is: FATAL is the one that ended the start."""

    NONE = "none"
    INFO = "info"
    WARNING = "warning"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that stands in the way, in the words of the user.

    `message` and `hint` are for the server's owner. `detail` is the cluster's own
    text, cleaned, for administrators. `category` is the class whose grace applies.
    """

    reason: str
    message: str
    severity: Severity
    container: str | None = None
    step: str | None = None
    # What is behind a reason that only says "again", like CrashLoopBackOff.
    cause: str | None = None
    hint: str | None = None
    category: str | None = None
    detail: str | None = None
    exit_code: int | None = None
    log_tail: str | None = None
    # Key of the table of texts.
    key: str = ""
    # How often the cluster has said so.
    count: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """What earlier calls saw of this start; opaque to callers. Start with `Seen()`."""

    EMPTY: ClassVar[Seen]

    uid: str | None = None
    pod_seen: bool = False
    # (container or "", class of trouble) to the time at which it was first seen.
    first_seen: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # Name of a step to when it started and finished.
    times: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    # Kinds of steps that the pod's own status once showed to be over.
    done: frozenset[str] = frozenset()
    # Container to its last pull error that named a cause.
    pull_errors: Mapping[str, str] = field(default_factory=dict)
    last_pod: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    progress: int = 0


Seen.EMPTY = Seen()


@dataclass(frozen=True, slots=True)
class PodView:
    """One pod at one moment, as `judge` sees it."""

    verdict: Verdict
    ready: int
    total: int
    containers: tuple[Container, ...]
    steps: tuple[Step, ...]
    # The root problem; while starting it may be information or a warning.
    problem: Problem | None
    # What is worth showing as a warning now; leaves out what heals in a moment.
    warnings: tuple[Problem, ...]
    message: str
    # 0 to 90 until the pod runs, then 100; never less than before.
    progress: int
    # Whether the pod has a machine; claims need a look only before that.
    scheduled: bool
    # Clock time at which a grace ends or a warning is due with nothing else happening.
    next_check: float | None
    seen: Seen
    # What was malformed in the input, to be logged once by the caller.
    notes: tuple[str, ...] = ()


def users_fault(problem: Problem) -> bool:
    """Tell whether a failure says nothing against the cluster: another user's start may work."""
    return problem.category in _USERS and problem.key not in _NOT_USERS


def counts(problem: Problem) -> bool:
    """Tell whether a failure may be a reason to restart the hub, if it happens again and again.

    Nothing that a user can do is one, whoever has to mend it.
    """
    provoked = problem.category in _PROVOKED or problem.key in _PROVOKED_TEXTS
    return not (provoked or users_fault(problem))


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that a rule found in the pod, its events or its claims."""

    reason: str
    # Class whose grace applies.
    category: str
    # Key of the table of texts.
    text: str
    rank: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)
    severity: Severity = Severity.WARNING
    container: ContainerFacts | None = None
    step: str | None = None
    cause: str | None = None
    # The cluster's own words.
    raw: str = ""
    exit_code: int | None = None
    log_tail: str | None = None
    out_of_memory: bool = False
    # It ended with 0: a real failure elsewhere is told first.
    completed: bool = False
    # False while it has not happened often enough for its grace to begin.
    counted: bool = True
    # Classes that alternate share one clock; by default the class has its own.
    clock: str = ""
    # Seconds that it may last before it is worth a warning.
    warn_after: float = 0.0
    # Not even a problem before that.
    quiet: bool = False
    # How often the cluster has said so.
    count: int = 1

    @property
    def key(self) -> tuple[str, str]:
        return (self.container.name if self.container else "", self.clock or self.category)

    @property
    def told_first(self) -> tuple[bool, bool, bool, int]:
        """Sort key: containers first; among them memory, failures, then the pod's order."""
        return (self.rank >= RANK_NODE, not self.out_of_memory, self.completed, self.rank)


def to_problem(trouble: Trouble, severity: Severity, settings: PodSettings) -> Problem:
    """Put a trouble into words."""
    named = trouble.container.name if trouble.container else ""
    fields = {
        "container": f'container "{named}"' if named else "session",
        "reason": trouble.reason,
        "image": trouble.container.image if trouble.container else "",
        "detail": detail(trouble.raw).rstrip("."),
        **trouble.fields,
    }
    message, hint = render(trouble.text, fields, trouble.raw, settings)
    return Problem(
        reason=trouble.reason,
        message=message or trouble.reason,
        severity=severity,
        container=named or None,
        step=trouble.step,
        cause=trouble.cause,
        hint=hint,
        category=trouble.category,
        detail=raw_detail(trouble.raw),
        exit_code=trouble.exit_code,
        log_tail=trouble.log_tail,
        key=trouble.text,
        count=trouble.count,
    )


@dataclass(frozen=True, slots=True)
class Timed:
    """A trouble, and what time has made of it."""

    trouble: Trouble
    fatal: bool
    # It lasts long enough to be worth a warning.
    due: bool


@dataclass(frozen=True, slots=True)
class Timing:
    """All troubles of one moment, in time."""

    timed: tuple[Timed, ...]
    clocks: Clocks
    # When the next grace ends or the next warning is due; None if nothing is to come.
    next_check: float | None


def apply_graces(
    troubles: Iterable[Trouble], clocks: Clocks, now: float, settings: PodSettings
) -> Timing:
    """Start, keep and stop clocks; `now` and the result are on the caller's clock."""
    running: dict[tuple[str, str], float] = {}
    timed, coming = [], []
    for trouble in troubles:
        begun = _begun(clocks, trouble.key, now)
        running[trouble.key] = begun
        due_at = begun + trouble.warn_after
        if due_at > now:
            coming.append(due_at)
        fatal, ends_at = False, None
        grace = settings.grace(trouble.reason, trouble.category)
        if grace is not None and trouble.counted:
            # What counts occurrences has a clock of its own from the one too many.
            key = (trouble.key[0], f"{trouble.key[1]}:counted")
            since = begun
            if trouble.category in ("crash", "hook"):
                since = running[key] = _begun(clocks, key, now)
            ends_at = since + max(0.0, grace)
            fatal = ends_at <= now
        if ends_at is not None and ends_at > now:
            coming.append(ends_at)
        timed.append(Timed(trouble, fatal, due_at <= now))
    finite = [moment for moment in coming if math.isfinite(moment)]
    return Timing(tuple(timed), running, min(finite, default=None))


def _begun(clocks: Clocks, key: tuple[str, str], now: float) -> float:
    # A clock from the future means that the time was set back: it starts again.
    return min(clocks.get(key, now), now)


def root(timed: Iterable[Timed]) -> Timed | None:
    """Return the one to tell: what ends the start, else by the order of the rules."""
    return min(
        timed,
        key=lambda item: (
            not item.fatal,
            *item.trouble.told_first,
        ),
        default=None,
    )
