"""What one request brought, and what each makes of the state of a server's health."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from enum import Enum
from urllib.parse import unquote, urlsplit

from ..models import Health, HealthCheck, HealthStatus
from .settings import HealthSettings

# seconds from the start of the main container, and between the looks in that time
QUICK_SECONDS = 10.0
QUICK_INTERVAL = 0.1


class Kind(str, Enum):
    """In one word, what became of a request."""

    ANSWERED = "answered"
    REDIRECTED = "redirected"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    DNS = "dns"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_SLOW = "too_slow"
    RESET = "reset"
    BAD_ANSWER = "bad_answer"
    # these come from a judgement or from the proxy's API, not from a request
    HUB_ANSWERED = "hub_answered"
    PROXY_ANSWERED = "proxy_answered"
    UNWANTED_STATUS = "unwanted_status"
    ROUTE_MISSING = "route_missing"
    PROXY_UNREACHABLE = "proxy_unreachable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request; never an exception.

    `status` is None without an answer. `location` is where a redirect leads, made
    absolute. `text` is the beginning of the body if it was asked for; without an
    answer, what went wrong in the words of the library, for the log.
    """

    kind: Kind
    status: int | None = None
    location: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an outcome means. `counts`: a bad one is the server's own fault."""

    good: bool
    kind: Kind
    message: str
    counts: bool = True


# what is said of a request without an answer; {who} is the server or the proxy
_NO_ANSWER = {
    Kind.REFUSED: "nothing listens at {whose} port yet",
    Kind.UNREACHABLE: "{whose} address cannot be reached",
    Kind.DNS: "{whose} name is not known",
    Kind.TLS: "no secure connection to {who}: its certificate or protocol does not fit",
    Kind.TIMEOUT: "{who} took the connection but did not answer in time",
    Kind.TOO_SLOW: "{who} began to answer but did not finish in time",
    Kind.RESET: "{who} closed the connection without an answer",
    Kind.BAD_ANSWER: "{who} answered something that is not HTTP",
}


def judge_pod_answer(outcome: Outcome, path: str = "", hub_prefix: str | None = None) -> Judgement:
    """Judge what the pod's own address answered: any status below 500 means up.

    Unless it redirects to the Hub's pages of servers: that would send its user in
    a circle. `path` is where it was asked, for the sentence.
    """
    status = outcome.status
    if status is None:
        return Judgement(False, outcome.kind, _sentence(outcome, "the server"))
    if status >= 500:
        return Judgement(False, outcome.kind, _answered("the server", status, path))
    if hub_prefix is not None and _leads_to_hub(outcome.location, hub_prefix):
        message = f"the server answered {status} and sends its users to the Hub's pages of servers"
        return Judgement(False, outcome.kind, message)
    return Judgement(True, outcome.kind, _answered("the server", status, path))


def judge_proxy_answer(
    outcome: Outcome,
    pod_status: int | None,
    hub_prefix: str,
    settings: HealthSettings,
    path: str = "",
) -> Judgement:
    """Judge what came through the proxy: it must be the server's own answer.

    That is the status that the pod itself gave, below 500, no redirect into the
    Hub's pages of servers, and one of `settings.statuses` if they are given.
    `hub_prefix` is the Hub's base URL, such as "/hub/".
    """
    status = outcome.status
    if status is None:
        return Judgement(False, outcome.kind, _sentence(outcome, "the proxy"))
    if _leads_to_hub(outcome.location, hub_prefix):
        message = "the proxy has no route to the server yet: the Hub answered"
        return Judgement(False, Kind.HUB_ANSWERED, message)
    if status >= 500 or status != pod_status:
        message = _answered("the proxy", status, path)
        if pod_status is not None:
            message += f", the server itself {pod_status}"
        return Judgement(False, Kind.PROXY_ANSWERED, message)
    if settings.statuses is not None and status not in settings.statuses:
        wanted = ", ".join(str(item) for item in sorted(settings.statuses))
        message = f"{_answered('the server', status, path)}, not {wanted}"
        return Judgement(False, Kind.UNWANTED_STATUS, message)
    return Judgement(True, outcome.kind, _answered("the server", status, path))


def _leads_to_hub(location: str | None, hub_prefix: str) -> bool:
    """Whether a redirect leads where the Hub sends those whose server does not run."""
    if not location:
        return False
    try:
        path = urlsplit(location).path
    except ValueError:
        return False
    # "//" at the beginning would survive normpath
    path = posixpath.normpath("/" + unquote(path).lstrip("/"))
    hub = "/" + unquote(hub_prefix).strip("/")
    first, _, _ = path.removeprefix(hub).lstrip("/").partition("/")
    inside = path.startswith(hub.rstrip("/") + "/")
    # also spawn-pending
    return inside and (first == "user" or first.startswith("spawn"))


def _sentence(outcome: Outcome, who: str) -> str:
    return _NO_ANSWER[outcome.kind].format(who=who, whose=f"{who}'s")


def _answered(who: str, status: int, path: str) -> str:
    at = f" at {path}" if path else ""
    return f"{who} answered {status}{at}"


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
