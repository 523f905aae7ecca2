"""Graces: how long trouble may last, and what one look remembers for the next."""

from __future__ import annotations

import pytest

from detailedspawner.pods import EMPTY, PodSettings, Seen, Severity, Verdict, judge

from .podmaker import (
    BEGIN,
    ON_MACHINE,
    SCHEDULED,
    Raw,
    claim,
    claim_event,
    condition,
    crashing,
    event,
    make_pod,
    normal,
    running,
    unschedulable,
    waiting,
)

FULL = "0/2 nodes are available: 2 Insufficient cpu."
PENDING_CLAIM = claim("home", "Pending")
GRACES = [
    # pod, events, claims, seconds until the start fails (None: never)
    (make_pod(waiting("notebook", "InvalidImageName")), [], [], 0),
    (make_pod(waiting("notebook", "ErrImagePull", "not found")), [], [], 60),
    (make_pod(waiting("notebook", "ErrImagePull", "timeout")), [], [], 300),
    (make_pod(waiting("notebook", "CreateContainerConfigError", "no secret")), [], [], 30),
    (make_pod(waiting("notebook", "CreateContainerConfigError", "failed to sync")), [], [], 300),
    (make_pod(waiting("notebook", "CreateContainerError", "x")), [], [], 60),
    (make_pod(waiting("notebook", "CreateContainerError", "name is reserved")), [], [], 300),
    (make_pod(crashing("notebook", 2)), [], [], None),
    (make_pod(conditions=unschedulable(FULL)), [], [], None),
    (
        make_pod(conditions=unschedulable(FULL)),
        [normal("FailedScaleUp", "no quota")],
        [],
        300,
    ),
    (
        make_pod(conditions=unschedulable(FULL)),
        [normal("NotTriggerScaleUp", at=10), normal("TriggeredScaleUp", at=11)],
        [],
        None,
    ),
    (
        make_pod(
            conditions=unschedulable(
                "0/3 nodes are available: 1 node(s) had volume node affinity conflict, "
                "2 node(s) didn't match Pod's node affinity/selector."
            )
        ),
        [],
        [],
        120,
    ),
    (
        # One that is only full may become free
        make_pod(
            conditions=unschedulable(
                "0/3 nodes are available: 1 Insufficient memory, "
                "2 node(s) didn't match Pod's node affinity/selector."
            )
        ),
        [],
        [],
        None,
    ),
    (make_pod(conditions=unschedulable('persistentvolumeclaim "home" not found')), [], [], 120),
    (make_pod(conditions=[condition("PodScheduled", False, "SchedulingGated")]), [], [], None),
    (make_pod(claims=("home",)), [], [claim("home", "Lost")], 0),
    (
        make_pod(claims=("home",)),
        [claim_event("home", "ProvisioningFailed", "no such storage class")],
        [PENDING_CLAIM],
        120,
    ),
    (
        make_pod(conditions=[SCHEDULED]),
        [event("FailedMount", 'MountVolume.SetUp failed for volume "x" : secret "y" not found')],
        [],
        180,
    ),
    (make_pod(conditions=[SCHEDULED]), [event("FailedAttachVolume", "Multi-Attach")], [], 360),
    (make_pod(conditions=[SCHEDULED]), [event("FailedMount", "timed out waiting")], [], 360),
    (make_pod(conditions=[SCHEDULED]), [event("FailedCreatePodSandBox", "cni")], [], 300),
    (make_pod(conditions=[SCHEDULED]), [event("NetworkNotReady", "cni")], [], 300),
    (make_pod(), [event("SomethingOdd", "x")], [], None),
]  # fmt: skip


@pytest.mark.parametrize(("pod", "events", "claims", "grace"), GRACES)
def test_grace(pod: Raw, events: list[Raw], claims: list[Raw], grace: float | None) -> None:
    seen: Seen | None = None
    if grace != 0:
        seen = judge(pod, events, claims, now=BEGIN).seen
        before = BEGIN + (grace or 100_000) - 0.5
        assert judge(pod, events, claims, now=before, seen=seen).verdict is Verdict.STARTING
    if grace is not None:
        view = judge(pod, events, claims, now=BEGIN + grace, seen=seen)
        assert view.verdict is Verdict.FAILED
        assert view.problem is not None
        assert view.problem.severity is Severity.FATAL
        assert view.next_check is None


@pytest.mark.parametrize("grace", [None, 0.0, 7.0])
def test_a_grace_is_a_setting(grace: float | None) -> None:
    settings = PodSettings(graces={"pull_definite": grace})
    pod = make_pod(waiting("notebook", "ErrImagePull", "not found"))
    first = judge(pod, now=BEGIN, settings=settings)
    assert first.verdict == ("failed" if grace == 0 else "starting")
    assert first.next_check == (BEGIN + 7 if grace else None)
    later = judge(pod, now=BEGIN + 9999, seen=first.seen, settings=settings)
    assert later.verdict == ("starting" if grace is None else "failed")


def test_the_caller_is_told_when_to_look_again() -> None:
    pod = make_pod(waiting("notebook", "ErrImagePull", "not found"))
    view = judge(pod, now=BEGIN)
    assert view.next_check == BEGIN + 60
    assert judge(pod, now=BEGIN + 59, seen=view.seen).next_check == BEGIN + 60
    assert judge(make_pod(), now=BEGIN).next_check is None


def test_reasons_that_alternate_share_a_clock() -> None:
    error = make_pod(waiting("notebook", "ErrImagePull", "not found"))
    back_off = make_pod(waiting("notebook", "ImagePullBackOff", "Back-off pulling"))
    view = judge(error, now=BEGIN)
    for second in (15, 30, 45):
        view = judge(back_off if second % 2 else error, now=BEGIN + second, seen=view.seen)
    assert judge(back_off, now=BEGIN + 60, seen=view.seen).verdict is Verdict.FAILED


def test_a_definite_pull_error_is_not_forgiven_for_a_transient_one_between() -> None:
    definite = make_pod(waiting("notebook", "ErrImagePull", "not found"))
    transient = make_pod(waiting("notebook", "ErrImagePull", "i/o timeout"))
    view = judge(definite, now=BEGIN)
    view = judge(transient, now=BEGIN + 30, seen=view.seen)
    assert view.verdict is Verdict.STARTING
    assert judge(definite, now=BEGIN + 60, seen=view.seen).verdict is Verdict.FAILED


def test_a_clock_stops_when_its_trouble_is_gone() -> None:
    error = make_pod(waiting("notebook", "ErrImagePull", "not found"))
    view = judge(error, now=BEGIN)
    view = judge(make_pod(running("notebook", ready=False)), now=BEGIN + 50, seen=view.seen)
    view = judge(error, now=BEGIN + 70, seen=view.seen)
    assert view.verdict is Verdict.STARTING
    assert view.next_check == BEGIN + 130


def test_another_pod_of_the_same_name_starts_anew_but_progress_stays() -> None:
    error = make_pod(waiting("notebook", "ErrImagePull", "not found"), conditions=ON_MACHINE)
    view = judge(error, now=BEGIN)
    other = make_pod(waiting("notebook", "ErrImagePull", "not found"))
    other["metadata"]["uid"] = "another"
    again = judge(other, now=BEGIN + 100, seen=view.seen)
    assert again.verdict is Verdict.STARTING
    assert again.progress >= view.progress


def test_a_clock_that_is_set_back_gives_the_whole_grace_again() -> None:
    pod = make_pod(waiting("notebook", "ErrImagePull", "not found"))
    seen = judge(pod, now=BEGIN + 1000).seen
    view = judge(pod, now=BEGIN, seen=seen)
    assert (view.verdict, view.next_check) == (Verdict.STARTING, BEGIN + 60)


def test_nothing_seen_is_a_constant() -> None:
    assert Seen() == EMPTY == Seen.EMPTY
