"""What `judge` returns, and what it wants back at the next call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from ..models import Container, Step


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
