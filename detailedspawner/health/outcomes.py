"""What one request brought, and whether that means that the server is up."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote, urlsplit

from .settings import HealthSettings


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
