"""The status of one server, as every reader gets it.

The values are frozen, so one computed status can be handed to many readers.
They hold only what the server's owner may see. Times are seconds since the
epoch (UTC) inside the program and ISO 8601 with milliseconds in `to_dict()`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from enum import Enum
from typing import Any


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


def iso_time(seconds: float) -> str:
    """Write a time (seconds since the epoch) as ISO 8601 UTC with milliseconds."""
    moment = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(name: str, value: object) -> object:
    """Turn one field into what JSON can hold; times go by the name of their field."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, _Value):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(name, item) for item in value]
    if isinstance(value, float) and (name == "at" or name.endswith("_at")):
        return iso_time(value)
    return value


class _Value:
    """Shared by the dataclasses below: one way to become a plain dict."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: snake_case keys, ISO 8601 times, no enums."""
        return {
            item.name: _plain(item.name, getattr(self, item.name))
            for item in fields(self)  # type: ignore[arg-type]
        }


@dataclass(frozen=True, slots=True)
class Step(_Value):
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
class Container(_Value):
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
class HealthCheck(_Value):
    """The outcome of the last health check, in a word and in a sentence."""

    at: float
    outcome: str
    message: str


@dataclass(frozen=True, slots=True)
class Health(_Value):
    """Whether the server answered, and how often in a row it did not."""

    status: HealthStatus = HealthStatus.DISABLED
    path: str | None = None
    failures: int = 0
    threshold: int | None = None
    last: HealthCheck | None = None


@dataclass(frozen=True, slots=True)
class StartWarning(_Value):
    """Something the user should know that does not end the start."""

    step: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ServerStatus(_Value):
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
    expected_seconds: float | None = None
    started_at: float | None = None
    updated_at: float | None = None
