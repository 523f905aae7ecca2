"""The state of a server's health: what each check makes of the one before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..models import Health, HealthCheck, HealthStatus
from .outcomes import Judgement, Kind
from .settings import HealthSettings

# seconds from the start of the main container, and between the looks in that time
QUICK_SECONDS = 10.0
QUICK_INTERVAL = 0.1

_HINTS = {
    Kind.REFUSED: (
        "Its command must listen on all addresses of the pod and on the port that the Hub expects."
    ),
    Kind.UNREACHABLE: "A network policy or the network of its machine may be in the way.",
    Kind.DNS: "The name of its service may not be known to the cluster.",
    Kind.TIMEOUT: "It may be overloaded, or wait for something that does not come.",
    Kind.RESET: "It may be crashing, or expect another protocol.",
    Kind.TLS: "The certificates of the Hub, the proxy and the server must fit together.",
    Kind.HUB_ANSWERED: "The proxy may be slow to take routes, or have lost them.",
    Kind.PROXY_ANSWERED: "The proxy may not be allowed to reach the pods of servers.",
    Kind.ROUTE_MISSING: "The API of the proxy may be out of reach for the Hub.",
}


@dataclass(frozen=True, slots=True)
class HealthState:
    """What is known after some checks. Times are seconds on the caller's clock."""

    status: HealthStatus
    # when the main container started
    started_at: float
    failures: int = 0
    successes: int = 0
    # the first of the failures that count, in a row
    failing_since: float | None = None
    last: HealthCheck | None = None
    kind: Kind | None = None


def begin(settings: HealthSettings, started_at: float) -> HealthState:
    """Return the state before the first check; `started_at` is the main container's start."""
    status = HealthStatus.INITIALIZING if settings.enabled else HealthStatus.DISABLED
    return HealthState(status, started_at)


def after(
    state: HealthState,
    judgement: Judgement,
    now: float,
    settings: HealthSettings,
    began: float | None = None,
) -> HealthState:
    """Return the state after one check that ended at `now` and began at `began`.

    Exactly `threshold` failures in a row make it unhealthy, exactly `successes`
    good ones healthy. A bad quick look, and one that is not the server's fault,
    changes what is told but counts for nothing.
    """
    if state.status is HealthStatus.DISABLED:
        return state
    last = HealthCheck(at=now, outcome=judgement.kind.value, message=judgement.message)
    state = replace(state, last=last, kind=judgement.kind)
    if judgement.good:
        successes = state.successes + 1
        healthy = successes >= settings.successes
        return replace(
            state,
            status=HealthStatus.HEALTHY if healthy else state.status,
            failures=0,
            failing_since=None,
            successes=successes,
        )
    state = replace(state, successes=0)
    if not judgement.counts or is_quick(state, now if began is None else began):
        return state
    failures = state.failures + 1
    since = now if state.failing_since is None else state.failing_since
    state = replace(state, failures=failures, failing_since=since)
    count, seconds = settings.threshold_count, settings.threshold_seconds
    # the same sum as in `next_check_at`, so that rounding makes no difference
    if (count is not None and failures >= count) or (
        seconds is not None and now >= since + seconds
    ):
        return replace(state, status=HealthStatus.UNHEALTHY)
    return state


def is_quick(state: HealthState, now: float) -> bool:
    """Whether a check at `now` is one of the quick looks right after the start."""
    return now - state.started_at < QUICK_SECONDS


def next_check_at(state: HealthState, now: float, settings: HealthSettings) -> float | None:
    """Return when to check next after a check that ended at `now`; None for never."""
    if state.status is HealthStatus.DISABLED:
        return None
    if is_quick(state, now):
        return now + min(QUICK_INTERVAL, settings.interval)
    due = now + settings.interval
    seconds = settings.threshold_seconds
    if seconds is not None and state.failing_since is not None:
        end = state.failing_since + seconds
        # the last check comes when the time is over, not up to one interval later
        if now < end:
            return min(due, end)
    return due


def to_model(state: HealthState, path: str, settings: HealthSettings) -> Health:
    """Return what readers see; `path` is the one below the server's own URL."""
    if state.status is HealthStatus.DISABLED:
        return Health()
    return Health(
        status=state.status,
        path=path,
        failures=state.failures,
        threshold=settings.threshold_count,
        last=state.last,
    )


def failure_message(state: HealthState) -> tuple[str, str | None]:
    """Return why a server is unhealthy, and what may be done about it."""
    what = state.last.message if state.last else "it was not checked"
    times = "once" if state.failures == 1 else f"{state.failures} times in a row"
    message = f"The server could not be reached: {what} (checked {times})."
    return message, _HINTS.get(state.kind) if state.kind else None
