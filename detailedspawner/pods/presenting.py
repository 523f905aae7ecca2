"""What the rules found as it is shown: in the built-in words, or an administrator's own."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..models import Container, StepStatus
from .container_rules import log_tail
from .containers import TROUBLE_WAITING, ContainerFacts
from .events import SANDBOX, SCHEDULING, VOLUMES
from .podfacts import PodFacts
from .settings import MessageRule, PodSettings, Replacement
from .texts import TEXTS, render
from .trouble import Problem, Severity, Timed, Trouble, Verdict, to_problem

# Texts about room on machines: what is missing now may be there in a moment.
_PATIENT = frozenset(
    {
        "Unschedulable",
        "Unschedulable.resource",
        "Unschedulable.device",
        "Unschedulable.taint",
        "Unschedulable.affinity",
        "NotTriggerScaleUp",
    }
)

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


@dataclass(frozen=True, slots=True)
class Told:
    """The problems of one moment, in the order in which they are told."""

    # The one that is the message, None if nothing is wrong.
    problem: Problem | None
    warnings: tuple[Problem, ...]
    # As they are shown with a step or a container.
    shown: tuple[Problem, ...]


def tell(
    found: Iterable[Timed], chosen: Timed | None, verdict: Verdict, settings: PodSettings
) -> Told:
    """Put what was found into words; what heals in a moment is not a warning yet."""
    problem = None
    warnings: dict[tuple[str | None, str], Problem] = {}
    shown = []
    for item in sorted(found, key=lambda item: item.trouble.told_first):
        ends_it = item.fatal and verdict is Verdict.FAILED
        severity = Severity.FATAL if ends_it else item.trouble.severity
        made = to_problem(item.trouble, severity, settings)
        if item is chosen:
            problem = made
        if item.due and severity is Severity.WARNING:
            counted = replace(made, message=with_count(made.message, made.count))
            warnings.setdefault((made.step, made.message), counted)
        shown.append(_softened(made, item, settings))
    return Told(problem, tuple(warnings.values()), tuple(shown))


def with_count(message: str, count: int) -> str:
    """Say once what was said several times, and how often."""
    return f"{message.rstrip('.')} ({count} times)." if count > 1 else message


def _softened(problem: Problem, item: Timed, settings: PodSettings) -> Problem:
    """Waiting for a machine is nothing to worry about before the warning is due."""
    trouble: Trouble = item.trouble
    if item.due or item.fatal or trouble.text not in _PATIENT:
        return problem
    message, hint = render("machine.waiting", {}, trouble.raw, settings)
    return replace(problem, message=message, hint=hint)


def to_container(
    facts: ContainerFacts, problems: Iterable[Problem], settings: PodSettings
) -> Container:
    """Make the public form of a container, with its own problem if it has one."""
    own = next((item for item in problems if item.container == facts.name), None)
    ending = facts.ended or (facts.last if facts.status is StepStatus.FAILED else None)
    failed = ending is not None and ending.failed
    reason = facts.waiting or (facts.ended.label if facts.ended else "")
    return Container(
        name=facts.name,
        kind=facts.kind,
        image=facts.image or None,
        status=facts.status,
        restarts=facts.restarts,
        reason=(own.reason if own else reason) or None,
        message=own.message if own else None,
        exit_code=ending.exit_code if ending else None,
        log_tail=log_tail(facts, ending, settings) if failed else None,
    )


def message(verdict: Verdict, pod: PodFacts, problem: Problem | None) -> str:
    """Say in one sentence where the start is; on failure, why."""
    if verdict is Verdict.RUNNING:
        return "All containers are ready."
    if verdict is not Verdict.STARTING and problem is not None:
        return problem.message
    left = [item.name for item in pod.containers if item.status is not StepStatus.READY]
    if left:
        return f"Containers with non-ready statuses: {', '.join(left)}."
    return problem.message if problem is not None else "The server is starting."


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
