"""Looks at one picture of a pod, and checks what must be true of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from detailedspawner.pods import PodSettings, PodView, Seen, Severity, Verdict, judge

from .podmaker import BEGIN, Raw, container

MACHINE, IMAGE_STEP, STORAGE = "Finding a machine", "Downloading image", "Preparing storage"
SESSION = "Starting session"
# The stock init container that zero-to-jupyterhub adds.
FIREWALL = container("block-cloud-metadata", "tools:3")


def look(
    pod: object, *events: Raw, at: float = 60, seen: Seen | None = None, **more: Any
) -> PodView:
    """Judge a pod so many seconds after its creation."""
    return judge(pod, events, seen=seen, now=BEGIN + at, **more)


def steps(view: PodView) -> dict[str, str]:
    return {step.step: step.status.value for step in view.steps}


def step_message(view: PodView, name: str) -> str:
    return next(step.message for step in view.steps if step.step == name) or ""


def full(*refusals: str, of: int = 4) -> str:
    """Make what the scheduler says when nobody takes the pod."""
    said = ", ".join(refusals)
    return (
        f"0/{of} nodes are available: {said}. preemption: 0/{of} nodes are available: "
        f"{of} Preemption is not helpful for scheduling."
    )


@dataclass
class Case:
    """One picture, and what must be true of it."""

    pod: Raw
    events: list[Raw] = field(default_factory=list)
    claims: list[Raw] = field(default_factory=list)
    verdict: Verdict = Verdict.STARTING
    steps: dict[str, str] = field(default_factory=dict)
    counts: tuple[int, int] | None = None
    reason: str | None = None
    # Parts of the problem's message (and hint).
    says: tuple[str, ...] = ()
    says_not: tuple[str, ...] = ()
    warned: bool | None = None
    settings: PodSettings = field(default_factory=PodSettings)


def check_case(case: Case) -> None:
    """Judge the picture of a case and compare."""
    view = look(case.pod, *case.events, claims=case.claims, settings=case.settings)
    assert view.verdict is case.verdict
    found = steps(view)
    assert {name: found.get(name) for name in case.steps} == case.steps
    if case.counts:
        assert (view.ready, view.total) == case.counts
    problem = view.problem
    if case.reason is not None or case.says:
        assert problem is not None
        said = f"{problem.message} {problem.hint}"
        assert case.reason in (None, problem.reason)
        assert [part for part in case.says if part not in said] == []
        assert [part for part in case.says_not if part in problem.message] == []
        expected = Severity.FATAL if case.verdict is Verdict.FAILED else problem.severity
        assert problem.severity is expected
    elif case.verdict is Verdict.STARTING and not case.says:
        assert problem is None
    if case.warned is not None:
        assert bool(view.warnings) is case.warned
    # Nothing is complete on a failed start, and never more is ready than there is.
    assert (view.progress == 100) is (case.verdict is Verdict.RUNNING)
