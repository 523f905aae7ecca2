"""From what the rules found to what is shown: problems, containers and the message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..models import Container, StepStatus
from .container_rules import log_tail
from .containers import ContainerFacts
from .graces import Timed
from .podfacts import PodFacts
from .settings import PodSettings
from .texts import render
from .trouble import Trouble, to_problem
from .view import Problem, Severity, Verdict

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
