"""Events: only this pod's, each once, in order, and only while they are true."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from detailedspawner.pods import PodSettings, judge
from detailedspawner.pods.events import current, read_events
from detailedspawner.pods.podfacts import read_pod
from detailedspawner.pods.reading import Reader, parse_time
from detailedspawner.pods.scheduling import parse_refusals

from .podmaker import (
    BEGIN,
    NOT_READY,
    ON_MACHINE,
    SCHEDULED,
    Raw,
    claim_event,
    container,
    event,
    iso,
    make_pod,
    normal,
    running,
)


def reasons(events: list[Raw], pod: Raw | None = None, only_current: bool = False) -> list[str]:
    facts = read_pod(Reader(), pod or make_pod(claims=("home",)), PodSettings())
    found = read_events(Reader(), events, facts)
    return [item.reason for item in (current(found, facts) if only_current else found)]


# --- times


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T00:00:10.5Z", 10.5),
        ("1970-01-01T00:00:10.123456Z", 10.123456),
        ("1970-01-01T00:00:10.123456789Z", 10.123456),
        ("1970-01-01 00:00:10+00:00", 10.0),
        ("1970-01-01T02:00:10+02:00", 10.0),
        ("1970-01-01T00:00:10", 10.0),
        ("1970-01-01T00:00:60Z", 59.0),
        ("1970-13-01T00:00:10Z", None),
        ("9999-12-31T23:59:59Z", None),
        ("0001-01-01T00:00:00Z", None),
        ("soon", None),
        ("", None),
        (10, None),
        (float("nan"), None),
        (None, None),
    ],
)
def test_time(text: object, seconds: float | None) -> None:
    assert parse_time(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    "times",
    [
        {"series": {"lastObservedTime": iso(20), "count": 4}, "lastTimestamp": iso(1)},
        {"lastTimestamp": iso(20), "eventTime": iso(1)},
        {"lastTimestamp": None, "eventTime": iso(20, digits=6)},
        {"lastTimestamp": None, "metadata": {"creationTimestamp": iso(20)}},
    ],
)
def test_the_time_of_an_event_is_when_it_was_last_seen(times: dict[str, Any]) -> None:
    middle = event("Middle", **times)
    mixed = [event("Last", at=21), middle, event("First", at=19)]
    for order in itertools.permutations(mixed):
        assert reasons(list(order)) == ["First", "Middle", "Last"]


def test_events_of_one_second_keep_their_order() -> None:
    assert reasons([event("A"), event("B"), event("C"), event("N", at=None)]) == list("NABC")


# --- whose they are


def about(**involved: Any) -> Raw:
    return {**event("X"), "involvedObject": involved}


@pytest.mark.parametrize(
    ("item", "ours"),
    [
        (event("X"), True),
        (about(kind="Pod", name="jupyter-ada", uid="the one before"), False),
        (about(kind="Pod", name="jupyter-ada"), True),
        (about(kind="Pod", name="jupyter-bob"), False),
        (about(kind="Node", name="jupyter-ada"), False),
        (about(kind="PersistentVolumeClaim", name="home"), True),
        (about(kind="PersistentVolumeClaim", name="other"), False),
        ({"reason": "X"}, True),
    ],
)
def test_only_events_of_this_very_pod_and_its_claims(item: Raw, ours: bool) -> None:
    assert bool(reasons([item])) is ours


def test_the_same_event_counts_once() -> None:
    facts = read_pod(Reader(), make_pod(), PodSettings())
    first, second = event("A", "x", 5, count=3), event("A", "x", 9, count=2)
    (found,) = read_events(Reader(), [second, first, second], facts)
    assert (found.at, found.count) == (BEGIN + 9, 3)


# --- what is over

PULLED = normal("Pulled", at=20, about="notebook")


@pytest.mark.parametrize(
    ("pod", "events", "left"),
    [
        (make_pod(), [event("FailedScheduling")], ["FailedScheduling"]),
        (make_pod(conditions=[SCHEDULED]), [event("FailedScheduling")], []),
        (make_pod(), [event("FailedScheduling", at=11), normal("Scheduled")], ["Scheduled"]),
        (make_pod(), [event("FailedMount", at=19), PULLED], ["Pulled"]),
        (make_pod(), [PULLED, event("FailedMount", at=21)], ["Pulled", "FailedMount"]),
        (make_pod(conditions=ON_MACHINE), [event("FailedMount", at=99)], []),
        (make_pod(conditions=ON_MACHINE), [event("FailedCreatePodSandBox", at=99)], []),
        (make_pod(running("notebook")), [event("Unhealthy", about="notebook")], []),
        (
            make_pod(running("notebook", ready=False)),
            [event("Unhealthy", about="notebook")],
            ["Unhealthy"],
        ),
        (
            make_pod(claims=("home",)),
            [
                claim_event("home", "ProvisioningFailed", "x", 10),
                claim_event("home", "ProvisioningSucceeded", "x", 11),
            ],
            ["ProvisioningSucceeded"],
        ),
        (
            # The other disk is not the one that failed
            make_pod(),
            [
                event("FailedAttachVolume", 'Attach failed for volume "pvc-1"', 10),
                normal("SuccessfulAttachVolume", 'Attach succeeded for volume "pvc-2"', 11),
            ],
            ["FailedAttachVolume", "SuccessfulAttachVolume"],
        ),
    ],
)
def test_overtaken(pod: Raw, events: list[Raw], left: list[str]) -> None:
    assert reasons(events, pod, only_current=True) == left


@pytest.mark.parametrize(
    "harmless", ["DNSConfigForming", "FailedToRetrieveImagePullSecret", "ResizeDeferred"]
)
def test_warnings_that_every_start_has_are_not_told(harmless: str) -> None:
    view = judge(make_pod(conditions=ON_MACHINE), [event(harmless, "x")], now=BEGIN)
    assert view.problem is None


def test_the_newest_event_is_told_if_it_is_a_warning() -> None:
    odd = event("OddThing", "token=abcdef", 10)
    problem = judge(make_pod(), [odd], now=BEGIN).problem
    assert problem is not None
    assert (problem.reason, problem.severity) == ("OddThing", "warning")
    # What it says may be anything, so only administrators get it, without secrets.
    assert "token" not in problem.message
    assert "abcdef" not in str(problem.detail)
    assert judge(make_pod(), [odd, normal("Fine", at=11)], now=BEGIN).problem is None


def test_a_warning_that_the_status_explains_is_told_once() -> None:
    pod = make_pod(running("notebook", ready=False), conditions=NOT_READY, phase="Running")
    view = judge(pod, [event("Unhealthy", "x", about="notebook")], now=BEGIN)
    later = judge(pod, [event("Unhealthy", "x", about="notebook")], now=BEGIN + 60, seen=view.seen)
    assert len(later.warnings) == 1


# --- what the scheduler says


def test_what_would_not_help_either_is_left_out_of_a_refusal() -> None:
    # as Kubernetes 1.36 writes it
    text = "1 Insufficient memory. no new claims to deallocate, preemption: 0/1 nodes are available"
    _, refusals = parse_refusals(f"0/1 nodes are available: {text}: 1 No preemption victims.")
    assert [item.text for item in refusals] == ["Insufficient memory"]


@pytest.mark.parametrize(
    ("message", "nodes", "kinds"),
    [
        ("0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods.", 3, "insufficient pods"),
        (
            "0/9 nodes are available: 1 node(s) had untolerated taint {a: b, c}, "
            "8 node(s) didn't match Pod's node affinity/selector. preemption: 0/9 nodes are "
            "available: 9 Preemption is not helpful for scheduling.",
            9,
            "taint affinity",
        ),
        ("0/1 nodes are available: 1 node(s) had volume node affinity conflict.", 1, "volume_zone"),
        ("0/1 nodes are available: 1 node(s) do something new.", 1, "other"),
        ("0/1 nodes are available: ", 1, ""),
        ("no nodes available to schedule pods", 0, ""),
        ("", 0, ""),
    ],
)
def test_refusals(message: str, nodes: int, kinds: str) -> None:
    total, refusals = parse_refusals(message)
    assert (total, " ".join(item.kind for item in refusals)) == (nodes, kinds)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("2 Insufficient cpu, 9 Insufficient memory", "enough memory free"),
        ("9 node(s) had untolerated taint {x: }, 1 Insufficient cpu", "enough processor time"),
        ("9 Insufficient nvidia.com/gpu", "Every graphics processor (nvidia.com/gpu)"),
        ("9 Too many pods", "enough room for another server free"),
        ("9 node(s) had untolerated taint {x: }", "reserved for something else"),
        ("9 node(s) didn't match Pod's node affinity/selector", "of the kind"),
        ("9 node(s) had volume node affinity conflict", "Your storage can only be reached"),
        ("9 node(s) unavailable due to ReadWriteOncePod access mode", "in use by another server"),
    ],
)
def test_what_is_said_of_a_full_cluster(said: str, told: str) -> None:
    pod = make_pod(
        containers=[container("notebook")],
        conditions=[
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": f"0/10 nodes are available: {said}.",
            }
        ],
    )
    problem = judge(pod, now=BEGIN).problem
    assert problem is not None
    assert told in problem.message
