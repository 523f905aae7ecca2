"""Whatever a cluster sends: no input raises, and some things hold always."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detailedspawner.models import StepStatus
from detailedspawner.pods import PodSettings, PodView, Replacement, Seen, Verdict, judge
from detailedspawner.pods.settings import MessageRule

from .podmaker import (
    BEGIN,
    IMAGE,
    NOT_READY,
    ON_MACHINE,
    READY,
    Raw,
    claim,
    claim_event,
    condition,
    container,
    crashing,
    deleted,
    ended,
    ending,
    event,
    make_pod,
    normal,
    running,
    unschedulable,
    waiting,
)

QUICK = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)

INIT = [container("git-clone"), container("vpn", restartPolicy="Always")]
REGULAR = [container("notebook"), container("proxy", readinessProbe={"periodSeconds": 5})]
NAMES = ("git-clone", "vpn", "notebook", "proxy")
FULL = "0/7 nodes are available: 5 Insufficient cpu, 2 node(s) had untolerated taint {a: b}."


def whole(*statuses: Raw, **more: Any) -> Raw:
    """Make a pod with an init container, a native sidecar, a helper and a claim."""
    return make_pod(*statuses, init=INIT, containers=REGULAR, claims=("home",), **more)


PODS: list[Any] = [
    None,
    {"spec": whole()["spec"]},
    whole(conditions=unschedulable(FULL)),
    whole(waiting("git-clone", "ErrImagePull", f'"{IMAGE}": not found'), conditions=ON_MACHINE),
    whole(ended("git-clone"), running("vpn"), waiting("notebook"), conditions=ON_MACHINE),
    whole(ended("git-clone"), crashing("vpn", 4), phase="Running"),
    whole(
        ended("git-clone"),
        running("vpn"),
        running("notebook", ready=False, restarts=2, last=ending(137, "OOMKilled")),
        ended("proxy"),
        conditions=NOT_READY,
        phase="Running",
    ),
    whole(
        *(running(name) for name in NAMES[1:]),
        ended("git-clone"),
        conditions=READY,
        phase="Running",
        spec={"readinessGates": [{"conditionType": "lb.example/in"}]},
    ),
    whole(*(running(name) for name in NAMES[1:]), conditions=READY, phase="Running"),
    whole(phase="Failed", reason="Evicted", message="The node was low on resource: memory."),
    deleted(whole(conditions=[condition("DisruptionTarget", True, "PreemptionByScheduler", "x")])),
]
EVENTS: list[Raw] = [
    event("FailedScheduling", FULL, 1),
    normal("TriggeredScaleUp", "pod triggered scale-up: [{pool 1->2 (max: 5)}]", 2),
    normal("NotTriggerScaleUp", "pod didn't trigger scale-up", 3),
    normal("Scheduled", "Successfully assigned hub/jupyter-ada to n1", 4),
    event("FailedAttachVolume", 'Multi-Attach error for volume "pvc-1"', 5),
    event("FailedMount", 'MountVolume.SetUp failed for volume "x" : secret "y" not found', 6),
    normal("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "pvc-1"', 7),
    event("FailedCreatePodSandBox", "failed to assign an IP address", 8),
    normal("Pulling", f'Pulling image "{IMAGE}"', 9, "notebook"),
    event("Failed", f'Failed to pull image "{IMAGE}": not found', 10, about="init:git-clone"),
    event("Unhealthy", "Readiness probe failed: refused", 11, about="proxy"),
    event("BackOff", "Back-off restarting failed container", None, about="vpn", count=4),
    claim_event("home", "ProvisioningFailed", "no storage class", 12),
]
CLAIMS = [claim("home", "Pending"), claim("home", "Lost")]
ERRORS: list[Any] = [
    None,
    {"code": 403, "message": "exceeded quota: q, requested: cpu=3, used: cpu=1, limited: cpu=2"},
    {"code": 422, "details": {"causes": [{"field": "spec.initContainers[0].image"}]}},
    {"code": 409, "reason": "AlreadyExists"},
]

# Everything that JSON can hold, and some that it cannot.
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 3, 10**400, "", "True", "Always", "\ud800", "{0}", "a" * 70_000]),
    st.floats(),
    st.text(st.characters(), max_size=12),
    st.binary(max_size=3),
    st.just(frozenset({1})),
)
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.text(max_size=5), st.integers()), inner, max_size=3),
    ),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """List every place (the object and the key in it) of a JSON value."""
    found: list[tuple[Any, Any]] = []
    left = [value]
    while left:
        item = left.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item))
        for key in keys:
            found.append((item, key))
            if isinstance(item[key], (dict, list)):
                left.append(item[key])
    return found


@st.composite
def mutated(draw: st.DrawFn, bases: list[Any]) -> Any:
    """Take something real and put a few wrong things into it."""
    root = [copy.deepcopy(draw(st.sampled_from(bases)))]
    for _ in range(draw(st.integers(0, 4))):
        owner, key = draw(st.sampled_from(places(root)))
        if isinstance(owner, dict) and draw(st.booleans()):
            del owner[key]
        elif isinstance(owner, list) and owner is not root and draw(st.booleans()):
            owner.insert(key, draw(st.one_of(junk, st.just(copy.deepcopy(owner[key])))))
        else:
            owner[key] = draw(junk)
    return root[0]


def check(view: PodView) -> None:
    """Check what holds for every pod."""
    assert 0 <= view.ready <= view.total == len(view.containers)
    assert {item.status for item in view.containers} <= set(StepStatus)
    assert {step.status for step in view.steps} <= set(StepStatus)
    assert len({step.step for step in view.steps}) == len(view.steps)
    assert (view.progress == 100) is (view.verdict is Verdict.RUNNING)
    assert view.progress == 100 or 0 <= view.progress <= 90
    assert view.message
    assert (view.verdict is Verdict.FAILED) is bool(
        view.problem and view.problem.severity == "fatal"
    )
    assert view.next_check is None or view.verdict is Verdict.STARTING
    for step in view.steps:
        if step.started_at is not None and step.finished_at is not None:
            assert step.started_at <= step.finished_at
        if step.status is StepStatus.WAITING:
            assert (step.started_at, step.finished_at) == (None, None)
    # All of it can be sent to a browser.
    shown = [item.to_dict() for item in (*view.steps, *view.containers)]
    json.dumps([shown, view.message, view.notes], allow_nan=False).encode("utf-8")
    for problem in (view.problem, *view.warnings):
        if problem is not None:
            assert problem.message
            f"{problem}".encode()


@QUICK
@given(
    pod=mutated(PODS),
    events=mutated([EVENTS]),
    claims=mutated([CLAIMS]),
    error=mutated(ERRORS),
    gone=st.booleans(),
    now=st.one_of(st.just(BEGIN), st.floats()),
)
def test_no_input_raises(
    pod: Any, events: Any, claims: Any, error: Any, gone: bool, now: float
) -> None:
    view = judge(pod, events, claims, create_error=error, pod_gone=gone, now=now)
    check(view)
    again = judge(pod, events, claims, create_error=error, now=now, seen=view.seen)
    check(again)


@QUICK
@given(junk, junk, junk, junk)
def test_not_even_junk_raises(pod: Any, events: Any, claims: Any, error: Any) -> None:
    check(judge(pod, events, claims, create_error=error, now=BEGIN))


@pytest.mark.parametrize("where", ["pod", "events", "claims", "create_error"])
def test_deep_input_does_not_raise(where: str) -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"spec": deep, "items": [deep]}
    given_input: dict[str, Any] = {"pod": make_pod(), where: deep}
    check(judge(**given_input, now=BEGIN))
    # Taken apart by hand, since Python's own clean-up would recurse.
    while deep:
        deep = deep.pop("spec")


def test_a_number_that_python_would_not_print_does_not_raise() -> None:
    # The default limit is 4300 digits.
    pod = make_pod(ended("notebook", 10**5000, restarts=10**5000, reason="Error"))
    view = judge(pod, now=BEGIN)
    check(view)
    assert "exit code 2147483647" in view.message


# --- the story of one start

states = st.sampled_from(
    [
        lambda name: None,
        waiting,
        lambda name: waiting(name, "ErrImagePull", "not found"),
        lambda name: waiting(name, "ImagePullBackOff", "Back-off"),
        lambda name: running(name, ready=False),
        running,
        lambda name: running(name, restarts=3, last=ending()),
        lambda name: crashing(name, 2),
        ended,
        lambda name: ended(name, 1),
    ]
)


@st.composite
def looks(draw: st.DrawFn) -> tuple[Raw, list[Raw], float]:
    """Make one look at the pod of a start, in any state at any time."""
    statuses = [draw(states)(name) for name in NAMES]
    pod = whole(
        *(item for item in statuses if item is not None),
        conditions=draw(st.sampled_from([[], ON_MACHINE, NOT_READY, READY, unschedulable(FULL)])),
        phase=draw(st.sampled_from(["Pending", "Running", "Running", "Unknown", "Failed"])),
    )
    found = draw(st.lists(st.sampled_from(EVENTS), max_size=6))
    return pod, found, draw(st.floats(0, 2000))


@QUICK
@given(st.lists(looks(), min_size=2, max_size=6))
def test_a_start_never_loses_progress_nor_steps(story: list[tuple[Raw, list[Raw], float]]) -> None:
    planned = judge({"spec": whole()["spec"]}, now=BEGIN)
    names = [step.step for step in planned.steps]
    seen: Seen = planned.seen
    progress = 0
    for pod, events, at in story:
        view = judge(pod, events, now=BEGIN + at, seen=seen)
        check(view)
        assert view.total == planned.total
        assert [step.step for step in view.steps] == names
        assert view.progress >= progress
        seen, progress = view.seen, view.seen.progress


@QUICK
@given(looks())
def test_the_same_look_gives_the_same_view(look: tuple[Raw, list[Raw], float]) -> None:
    pod, events, at = look
    before = copy.deepcopy((pod, events))
    first, second = (judge(pod, events, now=BEGIN + at) for _ in range(2))
    assert first == second
    assert (pod, events) == before


@QUICK
@given(looks(), st.randoms(use_true_random=False))
def test_order_and_repetition_of_events_change_nothing(
    look: tuple[Raw, list[Raw], float], random: Any
) -> None:
    pod, events, at = look
    # Without equal times, since those keep the order in which they came.
    timed = [item for item in events if item["lastTimestamp"]]
    mixed = [*timed, *timed[:2]]
    random.shuffle(mixed)
    one, other = (judge(pod, found, now=BEGIN + at) for found in (timed, mixed))
    assert (one.steps, one.problem, one.warnings) == (other.steps, other.problem, other.warnings)


@QUICK
@given(
    looks(),
    st.dictionaries(st.sampled_from([*NAMES, "*", "g*", "step:image"]), st.text(max_size=5)),
    st.lists(st.text(max_size=4), max_size=3).map(tuple),
    st.dictionaries(
        st.sampled_from(["crash", "pull_definite", "gone"]), st.none() | st.floats(-5, 500)
    ),
)
def test_no_setting_raises(
    look: tuple[Raw, list[Raw], float],
    step_names: dict[str, str],
    globs: tuple[str, ...],
    graces: dict[str, float | None],
) -> None:
    pod, events, at = look
    chosen = PodSettings(
        step_names=step_names,
        completing_containers=globs,
        log_tail_containers=globs,
        graces=graces,
        message_rules=tuple(
            MessageRule(re.compile(re.escape(glob)), Replacement("said")) for glob in globs
        ),
    )
    check(judge(pod, events, now=BEGIN + at, settings=chosen))
