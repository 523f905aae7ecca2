"""What an administrator can decide about the check of a server's URL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ..models.text import clean

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(s|m|h)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
# what a client, a proxy or a server in between may take for a separator
_HIDDEN_SEPARATOR = re.compile(r"%(?:2f|5c|00)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """Settings of the check, by the names of the traits without their prefix.

    `interval` and `timeout` are seconds. `threshold` is a number of failed checks
    in a row, or a duration such as "90s", "2m" or "1.5s".
    """

    enabled: bool = True
    path: str = "api"
    interval: float = 1.0
    timeout: float = 5.0
    threshold: int | str = 60
    successes: int = 1
    statuses: tuple[int, ...] | None = None
    proxy_url: str = ""
    on_unhealthy: str = "stop"

    @property
    def threshold_count(self) -> int | None:
        """Failed checks in a row until unhealthy; None if it is a duration."""
        return None if isinstance(self.threshold, str) else self.threshold

    @property
    def threshold_seconds(self) -> float | None:
        """Seconds of failed checks until unhealthy; None if it is a number of checks."""
        return _seconds(self.threshold) if isinstance(self.threshold, str) else None


def check_setting(name: str, value: Any) -> None:
    """Check one setting by its name in `HealthSettings`.

    Raises ValueError that names the trait and the value.
    """
    why = _CHECKS[name](value)
    if why:
        trait = name if name == "on_unhealthy" else f"health_{name}"
        raise ValueError(f"{trait}: {clean(repr(value), 200)} is wrong: {why}")


def server_path(base_url: str, path: str) -> str:
    """Return where a server is asked: its own base URL and the path below it."""
    return base_url.rstrip("/") + "/" + path.lstrip("/")


def _seconds(duration: str) -> float | None:
    found = _DURATION.fullmatch(duration)
    return float(found[1]) * _UNITS[found[2]] if found else None


def _wrong_flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "it must be True or False"


def _wrong_seconds(value: Any) -> str | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # the comparison refuses NaN as well
    if not (number and 0 < value < math.inf):
        return "it must be a number of seconds above 0"
    return None


def _wrong_count(value: Any) -> str | None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        return "it must be a whole number from 1 on"
    return None


def _wrong_threshold(value: Any) -> str | None:
    why = 'it must be a number of checks from 1 on, or a duration such as "90s" or "2m"'
    if isinstance(value, str):
        return None if _seconds(value) else why
    return why if _wrong_count(value) else None


def _wrong_statuses(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple, set, frozenset)) or not value:
        return "it must be None or a list of statuses, not empty"
    for status in value:
        whole = isinstance(status, int) and not isinstance(status, bool)
        if not (whole and 200 <= status < 500):
            return f"{status!r} is no status from 200 to 499; from 500 on none is healthy"
    return None


def _wrong_path(value: Any) -> str | None:
    if not isinstance(value, str):
        return "it must be text"
    if not value.isascii() or not value.isprintable() or " " in value:
        return "only visible ASCII characters; write others percent-encoded"
    if value.startswith("//") or _SCHEME.match(value):
        return "it must be a path below the server's own URL"
    if "\\" in value or "#" in value:
        return "it must have no backslash and no fragment"
    path = value.partition("?")[0]
    if _BAD_PERCENT.search(value):
        return "a % must be followed by two hexadecimal digits"
    # some decode more than once, so what is encoded twice is looked at as well
    while True:
        if _HIDDEN_SEPARATOR.search(path):
            return "it must hide no separator"
        # "..;x" is ".." for servers that know path parameters
        if any(part.partition(";")[0] in (".", "..") for part in path.split("/")):
            return "it must not leave the server's own URL"
        decoded = unquote(path, errors="replace")
        if decoded == path:
            return None
        if any(sign in decoded for sign in "\\?#") or not decoded.isprintable():
            return "it must hide no separator and no control character"
        path = decoded


def _wrong_proxy_url(value: Any) -> str | None:
    if not isinstance(value, str):
        return "it must be text"
    if not value:
        return None
    why = "it must be http:// or https://, a host and perhaps a port"
    if not value.isascii() or not value.isprintable() or " " in value or "\\" in value:
        return why
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError:
        return why
    if url.scheme not in ("http", "https") or not url.hostname or port == 0:
        return why
    if "@" in url.netloc:
        return "it must hold no credentials"
    if url.path not in ("", "/") or url.query or url.fragment or value[-1] in "?#":
        return "it must end after the port: the base URL of the Hub is added to it"
    return None


def _wrong_on_unhealthy(value: Any) -> str | None:
    return None if value in ("stop", "open") else 'it must be "stop" or "open"'


_CHECKS: dict[str, Callable[[Any], str | None]] = {
    "enabled": _wrong_flag,
    "path": _wrong_path,
    "interval": _wrong_seconds,
    "timeout": _wrong_seconds,
    "threshold": _wrong_threshold,
    "successes": _wrong_count,
    "statuses": _wrong_statuses,
    "proxy_url": _wrong_proxy_url,
    "on_unhealthy": _wrong_on_unhealthy,
}
