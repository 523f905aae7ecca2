"""One container of a pod: its spec and its status, read and judged by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..models import ContainerKind, StepStatus
from ..models.text import clean, readable_amount
from .reading import Reader

# Reasons that mean trouble although their names do not end like the others.
TROUBLE_WAITING = frozenset(
    {
        "InvalidImageName",
        "ErrImageNeverPull",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "ContainerCannotRun",
    }
)


def is_trouble(reason: str) -> bool:
    """Tell whether a reason for waiting says that something went wrong."""
    return reason in TROUBLE_WAITING or (
        reason.startswith("Err") or reason.endswith(("Error", "BackOff"))
    )


@dataclass(frozen=True, slots=True)
class Ending:
    """How one run of a container ended."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: float | None = None
    finished_at: float | None = None

    @property
    def out_of_memory(self) -> bool:
        # The kernel can kill a child while the container itself ends with code 0.
        return self.reason == "OOMKilled"

    @property
    def failed(self) -> bool:
        return self.exit_code != 0 or self.out_of_memory

    @property
    def label(self) -> str:
        """The reason in one word, also where the kubelet gave none."""
        if not self.failed:
            return "Completed"
        if self.reason:
            return self.reason
        return f"Signal:{self.signal}" if self.signal else f"ExitCode:{self.exit_code}"


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What the spec and the status say about one container."""

    index: int
    name: str
    kind: ContainerKind
    # From spec.initContainers; with kind SIDECAR that is a native sidecar.
    init: bool
    image: str
    memory_limit: str
    # Seconds until its probes should have succeeded; None without a probe.
    probe_window: float | None
    completing: bool
    known: bool
    # Why it waits, "" if it does not.
    waiting: str
    waiting_message: str
    running: bool
    ended: Ending | None
    last: Ending | None
    restarts: int
    ready: bool
    started_at: float | None
    will_restart: bool
    status: StepStatus

    @property
    def main(self) -> bool:
        return self.kind is ContainerKind.MAIN

    @property
    def started_ever(self) -> bool:
        return self.running or self.ended is not None or self.last is not None or self.restarts > 0

    @property
    def finished_well(self) -> bool:
        """It exited with 0 and may: nothing waits for it any more."""
        return self.ended is not None and self.status is StepStatus.READY

    @property
    def must_stay_ready(self) -> bool:
        """The pod can only be ready while this container is."""
        return not self.init or self.kind is ContainerKind.SIDECAR


def read_ending(reader: Reader, value: object, where: str) -> Ending | None:
    """Read a `terminated` state; None if there is none."""
    if not isinstance(value, dict):
        reader.mapping(value, where)
        return None
    return Ending(
        exit_code=reader.integer(value.get("exitCode"), f"{where}.exitCode") or 0,
        signal=reader.integer(value.get("signal"), f"{where}.signal") or 0,
        reason=clean(reader.string(value.get("reason"), f"{where}.reason"), 100),
        message=reader.text(value.get("message"), f"{where}.message", end=True),
        # the kubelet says 1970 of a container that it could not start
        started_at=reader.time(value.get("startedAt"), f"{where}.startedAt") or None,
        finished_at=reader.time(value.get("finishedAt"), f"{where}.finishedAt"),
    )


def probe_window(reader: Reader, spec: dict[str, Any]) -> float | None:
    """Return the seconds in which a healthy container passes its probes."""
    window: float | None = None
    for key in ("startupProbe", "readinessProbe"):
        probe = reader.mapping(spec.get(key), key)
        if not probe:
            continue

        def number(name: str, default: int, probe: dict[str, Any] = probe) -> int:
            return max(0, reader.integer(probe.get(name), name) or default)

        # The readiness probe begins when the startup probe has succeeded.
        window = (window or 0.0) + (
            number("initialDelaySeconds", 0)
            + number("periodSeconds", 10) * number("failureThreshold", 3)
        )
    return window


def will_restart(reader: Reader, spec: dict[str, Any], pod_policy: str, ending: Ending) -> bool:
    """Tell whether the kubelet runs this container again after such an end."""
    for rule in reader.mappings(spec.get("restartPolicyRules"), "restartPolicyRules"):
        codes = reader.mapping(rule.get("exitCodes"), "exitCodes")
        listed = ending.exit_code in [
            reader.integer(code, "exitCodes.values")
            for code in reader.items(codes.get("values"), "exitCodes.values")
        ]
        if codes and listed == (codes.get("operator") != "NotIn"):
            return rule.get("action") in ("Restart", "RestartAllContainers")
    policy = reader.string(spec.get("restartPolicy"), "restartPolicy") or pod_policy or "Always"
    return policy == "Always" or (policy == "OnFailure" and ending.failed)


def read_container(
    reader: Reader,
    spec: dict[str, Any],
    raw: dict[str, Any] | None,
    *,
    index: int,
    name: str,
    kind: ContainerKind,
    init: bool,
    completing: bool,
    pod_policy: str,
    initialized: bool,
) -> ContainerFacts:
    """Join a container's spec with its status (None if the kubelet has not said any)."""
    status = raw or {}
    state = reader.mapping(status.get("state"), "state")
    # `running: {}` is a state, `state: {}` is none; unlike the rest, {} counts here.
    running = isinstance(state.get("running"), dict)
    ended = None if running else read_ending(reader, state.get("terminated"), "terminated")
    waiting = reader.mapping(state.get("waiting"), "waiting") if not (running or ended) else {}
    reason = clean(reader.string(waiting.get("reason"), "waiting.reason"), 100)
    last_state = reader.mapping(status.get("lastState"), "lastState")
    last = read_ending(reader, last_state.get("terminated"), "lastState.terminated")
    ready = status.get("ready") is True
    restarts = max(0, reader.integer(status.get("restartCount"), "restartCount") or 0)
    run = reader.mapping(state.get("running"), "running")
    restart = ended is not None and (
        # A plain init container that ended well is over under every policy.
        (not init or kind is ContainerKind.SIDECAR or ended.failed)
        and will_restart(reader, spec, pod_policy, ended)
    )
    if running:
        done = ready and not (init and kind is ContainerKind.INIT)
        look = StepStatus.READY if done else StepStatus.EXECUTING
    elif ended is not None:
        look = _ended_look(ended, kind, init, completing)
    elif is_trouble(reason):
        look = StepStatus.FAILED
    elif initialized and kind is ContainerKind.INIT and not state:
        # The pod says that its init containers are over; their statuses were left out.
        look = StepStatus.READY
    else:
        look = StepStatus.WAITING
    resources = reader.mapping(spec.get("resources"), "resources")
    limits = reader.mapping(resources.get("limits"), "resources.limits")
    return ContainerFacts(
        index=index,
        name=name,
        kind=kind,
        init=init,
        image=clean(reader.string(spec.get("image"), "image"), 300),
        memory_limit=readable_amount("memory", clean(str(limits.get("memory", ""))[:50], 50))
        if isinstance(limits.get("memory"), (str, float))
        else "",
        probe_window=probe_window(reader, spec),
        completing=completing,
        known=raw is not None,
        waiting=reason,
        waiting_message=reader.text(waiting.get("message"), "waiting.message"),
        running=running,
        ended=ended,
        last=last,
        restarts=restarts,
        ready=ready,
        started_at=reader.time(run.get("startedAt"), "running.startedAt")
        if running
        else (ended.started_at if ended else None),
        will_restart=restart,
        status=look,
    )


def _ended_look(ended: Ending, kind: ContainerKind, init: bool, completing: bool) -> StepStatus:
    if ended.failed:
        return StepStatus.FAILED
    if kind is ContainerKind.INIT or completing:
        return StepStatus.READY
    # A native sidecar is always run again; any other container should not have ended.
    return StepStatus.WAITING if init else StepStatus.FAILED
