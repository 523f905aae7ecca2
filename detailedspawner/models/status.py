"""The status of one server, as every reader gets it; of its logs; and of the Hub's parts.

The values are frozen, so one computed status can be handed to many readers.
They hold only what the server's owner may see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from .redaction import LONGEST_TEXT, redact
from .text import last_lines, printable
from .values import Value

# of the end of a log
SHOWN_LINES = 200


class ServerState(str, Enum):
    """What a server is doing, in the word that clients decide on."""

    STARTING = "starting"
    RUNNING = "running"
    CANCELLING = "cancelling"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    CHECKING = "checking"
    UNKNOWN = "unknown"


class StepStatus(str, Enum):
    """How far one step is: to come, at work, done, or in trouble."""

    WAITING = "waiting"
    EXECUTING = "executing"
    READY = "ready"
    FAILED = "failed"


class StepKind(str, Enum):
    """What a step stands for, in the order in which the kinds come."""

    PREPARATION = "preparation"
    STORAGE = "storage"
    MACHINE = "machine"
    IMAGE = "image"
    INIT = "init"
    SIDECAR = "sidecar"
    SESSION = "session"
    CONNECTION = "connection"


class ContainerKind(str, Enum):
    """The part a container plays in its pod."""

    INIT = "init"
    SIDECAR = "sidecar"
    MAIN = "main"


class HealthStatus(str, Enum):
    """Whether the server answers where its user will reach it."""

    DISABLED = "disabled"
    INITIALIZING = "initializing"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class Step(Value):
    """One named step of a start; containers that share a name share a step."""

    step: str
    status: StepStatus
    kind: StepKind
    containers: tuple[str, ...] = ()
    message: str | None = None
    hint: str | None = None
    reason: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    expected_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Container(Value):
    """One container of the pod, in the order of the pod's spec."""

    name: str
    kind: ContainerKind
    image: str | None
    status: StepStatus
    restarts: int = 0
    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None
    log_tail: str | None = None


@dataclass(frozen=True, slots=True)
class HealthCheck(Value):
    """The outcome of the last health check, in a word and in a sentence."""

    at: float
    outcome: str
    message: str


@dataclass(frozen=True, slots=True)
class Health(Value):
    """Whether the server answered, and how often in a row it did not."""

    status: HealthStatus = HealthStatus.DISABLED
    path: str | None = None
    failures: int = 0
    threshold: int | None = None
    last: HealthCheck | None = None


@dataclass(frozen=True, slots=True)
class StartWarning(Value):
    """Something the user should know that does not end the start."""

    step: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ServerStatus(Value):
    """Everything that one reader is told about one server at one moment."""

    start_id: str | None
    revision: str
    state: ServerState
    progress: int
    message: str
    details: tuple[Step, ...] = ()
    ready_containers: int = 0
    total_containers: int = 0
    containers: tuple[Container, ...] = ()
    health: Health = field(default_factory=Health)
    warnings: tuple[StartWarning, ...] = ()
    cancellable: bool = False
    # the median of past starts, and what 95 % of them stayed within
    expected_seconds: float | None = None
    expected_at_most_seconds: float | None = None
    started_at: float | None = None
    updated_at: float | None = None

    def without_logs(self) -> ServerStatus:
        """Return the status for who may see the server but not what its programs write."""
        return replace(self, containers=tuple(replace(c, log_tail=None) for c in self.containers))


@dataclass(frozen=True, slots=True)
class Check(Value):
    """Whether a part is well: `ok` is null when that is not known; the message says what is."""

    ok: bool | None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Watch(Value):
    """One watch on the API server; `namespace` is null for one on all namespaces.

    `failing_since` is when it began to fail, null while it works.
    """

    kind: str
    namespace: str | None
    ok: bool
    message: str | None = None
    failing_since: float | None = None


@dataclass(frozen=True, slots=True)
class HubHealth(Value):
    """All parts; `ok` when none is known to be broken."""

    version: str
    ok: bool
    watches: tuple[Watch, ...]
    api_server: Check
    proxy_route: Check
    templates: Check
    handlers: Check
    spawner_class: Check


@dataclass(frozen=True, slots=True)
class ContainerLog(Value):
    """The end of one container's log; empty if it has written nothing yet."""

    container: str
    text: str


def shown_log(raw: str, secrets: Iterable[str] = ()) -> str:
    """Return the end of a log as text: without secrets, escape sequences and blank lines.

    At most 200 lines and 16 384 characters; a line longer than 500 is cut.
    """
    text = raw[-LONGEST_TEXT:]
    if len(raw) > LONGEST_TEXT:
        # half a line may begin with half a secret, which nobody could tell
        text = text.partition("\n")[2]
    return last_lines(redact(printable(text), secrets), SHOWN_LINES)
