"""However late, often or mixed up a cluster tells a start: its end is the same."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detailedspawner.models import StepStatus
from detailedspawner.pods import DEFAULT_GRACES, PodView, Seen, Severity, Verdict, judge

from .podmaker import BEGIN, Raw
from .recordedfailures import FAILURES
from .recordedstarts import STARTS, Recorded

ALL = STARTS | FAILURES

QUICK = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
# How late an event or a status may come; no grace and no warning is due sooner.
LATEST = 15.0
PATIENCE = 4000.0


def happened(event: Raw) -> float:
    """Return the second of the start at which an event was last seen."""
    moment = event["lastTimestamp"]
    hours, minutes, seconds = (float(part) for part in moment[11:19].split(":"))
    return (hours - 9) * 3600 + minutes * 60 + seconds


def look(recorded: Recorded, chance: random.Random | None, *, missed: bool = True) -> list[PodView]:
    """Judge a start as it was told; with `chance`, as a bad day would tell it.

    `missed`: statuses but the last may be missed too, of which events tell then.
    """
    pods, events = list(recorded.pods), list(recorded.events)
    late = {id(event): chance.uniform(0, LATEST) if chance else 0.0 for event in events}
    if chance:
        # the last one always comes, others may be missed or come twice
        kept = [
            pod
            for pod in pods[:-1]
            for _ in range(chance.choice((0, 1, 1, 2) if missed else (1, 1, 2)))
        ]
        # a watch may be late, but it keeps the order
        arrived = 0.0
        pods, known = [], [*kept, pods[-1]]
        for at, pod in known:
            arrived = max(arrived, at + chance.uniform(0, LATEST))
            pods.append((arrived, pod))
    moments = [(at, pod) for at, pod in pods]
    # an event alone wakes the judge too
    moments += [(happened(event) + late[id(event)], None) for event in events]
    moments.append((PATIENCE, None))
    views: list[PodView] = []
    shown: object = None
    for moment, pod in sorted(moments, key=lambda item: item[0]):
        due = views[-1].next_check if views else None
        # and so does the clock, when a grace ends
        while due is not None and due - BEGIN < moment:
            at = due - BEGIN
            there = [event for event in events if happened(event) + late[id(event)] <= at]
            views.append(judged(shown, there, at, views[-1].seen, chance))
            due = views[-1].next_check
        if views and views[-1].verdict is not Verdict.STARTING:
            break
        shown = pod or shown
        if shown is not None and moment < PATIENCE:
            there = [event for event in events if happened(event) + late[id(event)] <= moment]
            views.append(
                judged(shown, there, moment, views[-1].seen if views else Seen.EMPTY, chance)
            )
    return views


def judged(
    pod: object, events: list[Raw], at: float, seen: Seen, chance: random.Random | None
) -> PodView:
    if chance:
        events = [event for event in events for _ in range(chance.choice((1, 1, 2)))]
        chance.shuffle(events)
    return judge(pod, events, seen=seen, now=BEGIN + at)


def told(view: PodView) -> tuple[object, ...]:
    """What a user reads at the end."""
    problem = view.problem
    return (
        view.verdict,
        view.message,
        problem and (problem.reason, problem.hint, problem.container, problem.step),
        [(step.step, step.status, step.message, step.hint) for step in view.steps],
        [(item.name, item.status, item.exit_code, item.log_tail) for item in view.containers],
        [warning.message for warning in view.warnings],
    )


@pytest.mark.parametrize("recorded", ALL.values(), ids=ALL.keys())
def test_as_it_was_told(recorded: Recorded) -> None:
    last = look(recorded, None)[-1]
    assert last.verdict.value == recorded.verdict
    assert recorded.says in last.message


@pytest.mark.parametrize("recorded", ALL.values(), ids=ALL.keys())
@QUICK
@given(chance=st.randoms(use_true_random=False))
def test_mixed_up_missed_doubled_and_late_it_ends_the_same(
    recorded: Recorded, chance: random.Random
) -> None:
    assert told(look(recorded, chance)[-1]) == told(look(recorded, None)[-1])


@pytest.mark.parametrize("recorded", ALL.values(), ids=ALL.keys())
@QUICK
@given(chance=st.randoms(use_true_random=False))
def test_no_state_flashes(recorded: Recorded, chance: random.Random) -> None:
    views = look(recorded, chance)
    progress = [view.progress for view in views]
    assert progress == sorted(progress)
    # failed is said once, at the end
    assert [view for view in views[:-1] if view.verdict is Verdict.FAILED] == []
    if recorded.troubled:
        return
    for view in views:
        assert {step.status for step in view.steps} <= set(StepStatus) - {StepStatus.FAILED}
        assert view.warnings == ()
        assert view.problem is None or view.problem.severity is not Severity.FATAL


def category(recorded: Recorded) -> str | None:
    problem = look(recorded, None)[-1].problem
    return problem.category if problem else None


def test_every_class_that_ends_a_start_has_ended_one() -> None:
    ends = {name for name, grace in DEFAULT_GRACES.items() if grace is not None}
    # what is refused at the creation has no pod: it is tried again, or is of the class spec
    assert ends - {category(recorded) for recorded in ALL.values()} <= {"create_transient"}


def failed_steps(view: PodView) -> list[str]:
    return [step.step for step in view.steps if step.status is StepStatus.FAILED]


def by_status(recorded: Recorded) -> bool:
    """Whether the pod's own status tells how a start ended."""
    alone = look(Recorded(recorded.pods, (), "", ""), None)[-1]
    return (alone.verdict.value, alone.message) == (
        recorded.verdict,
        look(recorded, None)[-1].message,
    )


BY_STATUS = {name: recorded for name, recorded in ALL.items() if by_status(recorded)}


def test_most_ends_need_no_event() -> None:
    assert len(BY_STATUS) > len(ALL) / 2
    assert [name for name, recorded in ALL.items() if recorded.verdict == "running"] == [
        name for name, recorded in BY_STATUS.items() if recorded.verdict == "running"
    ]


@pytest.mark.parametrize("recorded", BY_STATUS.values(), ids=BY_STATUS.keys())
@QUICK
@given(chance=st.randoms(use_true_random=False))
def test_events_that_never_come_change_no_end_that_the_status_tells(
    recorded: Recorded, chance: random.Random
) -> None:
    come = tuple(event for event in recorded.events if chance.random() < 0.6)
    some = Recorded(recorded.pods, come, recorded.verdict, recorded.says, recorded.troubled)
    last, whole = look(some, chance, missed=False)[-1], look(recorded, None)[-1]
    assert (last.verdict, last.message) == (whole.verdict, whole.message)
    assert failed_steps(last) == failed_steps(whole)
