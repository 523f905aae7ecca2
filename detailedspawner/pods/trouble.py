"""Trouble: what a rule found, before time decides how bad it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .containers import ContainerFacts
from .details import detail, raw_detail
from .settings import PodSettings
from .texts import render
from .view import Problem, Severity

# Order of the rules: the first kind that applies is the one that is told.
RANK_NODE = 1_000
RANK_SCHEDULING = 2_000
RANK_GATES = 3_000
RANK_POD_REASON = 4_000
RANK_STORAGE = 5_000
RANK_SANDBOX = 6_000
RANK_EVENT = 7_000
RANK_PROBE = 8_000


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that a rule found in the pod, its events or its claims."""

    reason: str
    # Class whose grace applies.
    category: str
    # Key of the table of texts.
    text: str
    rank: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)
    severity: Severity = Severity.WARNING
    container: ContainerFacts | None = None
    step: str | None = None
    cause: str | None = None
    # The cluster's own words.
    raw: str = ""
    exit_code: int | None = None
    log_tail: str | None = None
    out_of_memory: bool = False
    # It ended with 0: a real failure elsewhere is told first.
    completed: bool = False
    # False while it has not happened often enough for its grace to begin.
    counted: bool = True
    # Classes that alternate share one clock; by default the class has its own.
    clock: str = ""
    # Seconds that it may last before it is worth a warning.
    warn_after: float = 0.0
    # Not even a problem before that.
    quiet: bool = False
    # How often the cluster has said so.
    count: int = 1

    @property
    def key(self) -> tuple[str, str]:
        return (self.container.name if self.container else "", self.clock or self.category)

    @property
    def told_first(self) -> tuple[bool, bool, bool, int]:
        """Sort key: containers first; among them memory, failures, then the pod's order."""
        return (self.rank >= RANK_NODE, not self.out_of_memory, self.completed, self.rank)


def to_problem(trouble: Trouble, severity: Severity, settings: PodSettings) -> Problem:
    """Put a trouble into words."""
    named = trouble.container.name if trouble.container else ""
    fields = {
        "container": f'container "{named}"' if named else "session",
        "reason": trouble.reason,
        "image": trouble.container.image if trouble.container else "",
        "detail": detail(trouble.raw).rstrip("."),
        **trouble.fields,
    }
    message, hint = render(trouble.text, fields, trouble.raw, settings)
    return Problem(
        reason=trouble.reason,
        message=message or trouble.reason,
        severity=severity,
        container=named or None,
        step=trouble.step,
        cause=trouble.cause,
        hint=hint,
        category=trouble.category,
        detail=raw_detail(trouble.raw),
        exit_code=trouble.exit_code,
        log_tail=trouble.log_tail,
        key=trouble.text,
        count=trouble.count,
    )
