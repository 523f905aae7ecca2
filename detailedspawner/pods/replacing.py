"""An administrator's own words instead of the built-in texts: read and checked."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Iterable, Mapping
from typing import Any

from .containers import TROUBLE_WAITING
from .events import SANDBOX, SCHEDULING, VOLUMES
from .settings import MessageRule, Replacement
from .texts import TEXTS

_PARTS = ("message", "hint", "help_url")
# Reasons of Kubernetes that the table of texts does not have as a key.
_REASONS = frozenset(
    {
        *("ErrImagePull", "ImagePullBackOff", "ErrImagePullBackOff", "ImageInspectError"),
        *("RunContainerError", "StartError", "CrashLoopBackOff", "Error", "Completed"),
        *("Preempting", "Preempted", "PreemptionByScheduler", "NodeAffinity", "NodePorts"),
        *("UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods", "Terminated"),
        *("NodeShutdown", "PodDeleted", "ClaimLost", "SchedulerError", "EvictionByEvictionAPI"),
        *("Forbidden", "Invalid", "NotFound", "AlreadyExists", "BadRequest", "Unauthorized"),
        *("NoAnswer", "CreateFailed", "Conflict", "TooManyRequests", "InternalError"),
        *("ServiceUnavailable", "Timeout", "ServerTimeout", "ReadinessGatesNotReady"),
    }
)
KNOWN_REASONS = frozenset(
    {
        *TEXTS,
        *(key.partition(".")[0] for key in TEXTS),
        *(_REASONS | TROUBLE_WAITING | SCHEDULING | VOLUMES | SANDBOX),
    }
)
FIELDS = frozenset(
    name
    for text in TEXTS.values()
    for part in (text.message, text.hint or "")
    for _, name, _, _ in string.Formatter().parse(part)
    if name
)
_URL = re.compile(r"https?://[^\s<>\"']{1,2000}")


def read_messages(given: Mapping[Any, object]) -> dict[str, Replacement]:
    """Return the replacements of texts by reason.

    A value is the message, or a dict of message, hint and help_url. Raises ValueError
    that names what is wrong.
    """
    return {_reason(reason): _replacement(reason, value) for reason, value in given.items()}


def read_rules(given: Iterable[object]) -> tuple[MessageRule, ...]:
    """Return the rules of a list of dicts: `match`, a regular expression, and what is said.

    Raises ValueError that names what is wrong.
    """
    return tuple(_rule(number, item) for number, item in enumerate(given))


def _rule(number: int, item: object) -> MessageRule:
    parts = dict(item) if isinstance(item, Mapping) else {}
    match = parts.pop("match", None)
    if not isinstance(match, str) or not match:
        raise ValueError(f"rule {number} needs `match`, a regular expression, and what to say")
    try:
        pattern = re.compile(match)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{match!r} is no regular expression: {error}") from None
    return MessageRule(pattern, _replacement(match, parts))


def _reason(reason: object) -> str:
    if isinstance(reason, str) and reason in KNOWN_REASONS:
        return reason
    near = difflib.get_close_matches(str(reason)[:100], sorted(KNOWN_REASONS), 1)
    hint = f"did you mean {near[0]}?" if near else f"some are {', '.join(sorted(TEXTS)[:5])}"
    raise ValueError(f"{reason!r} is no known reason; {hint}")


def _replacement(reason: object, value: object) -> Replacement:
    parts = {"message": value} if isinstance(value, str) else value
    if not isinstance(parts, Mapping) or not parts:
        raise ValueError(f"{reason!r} needs a text, or a dict of {', '.join(_PARTS)}")
    for name, part in parts.items():
        if name not in _PARTS:
            raise ValueError(f"{reason!r} has {name!r}; known are {', '.join(_PARTS)}")
        if not isinstance(part, str) or not part.strip():
            raise ValueError(f"{name} of {reason!r} must be text, not empty")
        if name == "help_url":
            if not _URL.fullmatch(part):
                raise ValueError(f"help_url of {reason!r} must begin with http:// or https://")
        else:
            _check_fields(f"{name} of {reason!r}", part)
    return Replacement(**{str(name): str(part) for name, part in parts.items()})


def _check_fields(where: str, template: str) -> None:
    try:
        parts = [part for part in string.Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        raise ValueError(f"{where} has a brace too many or too few: {error}") from None
    for _, name, form, conversion in parts:
        if form or conversion:
            raise ValueError(f"{where} has {{{name}}} with a format; write its name only")
        if name not in FIELDS:
            raise ValueError(f"{where} has {{{name}}}; known are {', '.join(sorted(FIELDS))}")
