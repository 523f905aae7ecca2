"""The steps of a start: which there are, what they are called, and when they were."""

from __future__ import annotations

import pytest

from detailedspawner.models import StepKind
from detailedspawner.pods import PodSettings, PodView, judge

from .podmaker import (
    BEGIN,
    IMAGE,
    INITIALIZED,
    NOT_READY,
    ON_MACHINE,
    READY,
    SCHEDULED,
    Raw,
    condition,
    container,
    crashing,
    ended,
    ending,
    make_pod,
    normal,
    running,
    waiting,
)

INIT = [container("git-clone"), container("vpn", restartPolicy="Always")]
REGULAR = [container("notebook"), container("oauth2_proxy")]
ALL_NAMES = [
    "Preparing storage",
    "Finding a machine",
    "Downloading image",
    "Git clone",
    "Vpn",
    "Oauth2 proxy",
    "Starting session",
]


def status_of(view: PodView) -> dict[str, str]:
    return {step.kind.value: step.status.value for step in view.steps}


def test_all_steps_are_there_before_the_pod_is() -> None:
    pod = make_pod(init=INIT, containers=REGULAR, claims=("home",))
    for planned in ({"spec": pod["spec"]}, {**pod, "metadata": {"name": "x"}, "status": None}):
        view = judge(planned, now=BEGIN)
        assert [step.step for step in view.steps] == ALL_NAMES
        assert {step.status.value for step in view.steps} == {"waiting"}
        assert (view.ready, view.total, view.progress) == (0, 4, 0)
    assert [step.kind for step in view.steps] == [
        StepKind.STORAGE,
        StepKind.MACHINE,
        StepKind.IMAGE,
        StepKind.INIT,
        StepKind.SIDECAR,
        StepKind.SIDECAR,
        StepKind.SESSION,
    ]
    assert [step.step for step in judge(pod, now=BEGIN).steps] == ALL_NAMES


def test_without_a_claim_there_is_no_storage() -> None:
    assert "Preparing storage" not in [step.step for step in judge(make_pod(), now=0).steps]


@pytest.mark.parametrize(
    ("names", "main"), [(("a", "b"), "a"), (("a", "notebook"), "notebook"), (("a",), "a")]
)
def test_the_main_container_is_the_named_one_or_else_the_first(
    names: tuple[str, ...], main: str
) -> None:
    view = judge(make_pod(containers=[container(name) for name in names]), now=0)
    session = view.steps[-1]
    assert (session.step, session.containers) == ("Starting session", (main,))


# --- names


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({}, "Git clone"),
        ({"git-clone": "Getting your files"}, "Getting your files"),
        ({"git-*": "Git", "git-clone": "Clone"}, "Clone"),
        ({"g*": "First", "git-*": "Second"}, "First"),
        ({"GIT-*": "Other case"}, "Git clone"),
        ({"git-clone": "  "}, "Git clone"),
    ],
)
def test_name_of_a_containers_step(names: dict[str, str], expected: str) -> None:
    view = judge(make_pod(init=INIT), now=0, settings=PodSettings(step_names=names))
    assert view.steps[2].step == expected


def test_names_of_the_other_steps() -> None:
    names = {f"step:{kind}": kind.title() for kind in ("storage", "machine", "image", "session")}
    settings = PodSettings(step_names=names)
    view = judge(make_pod(claims=("home",)), now=0, settings=settings)
    assert [step.step for step in view.steps] == ["Storage", "Machine", "Image", "Session"]


def test_the_main_container_can_be_named_like_any_other() -> None:
    view = judge(make_pod(), now=0, settings=PodSettings(step_names={"notebook": "Jupyter"}))
    assert view.steps[-1].step == "Jupyter"


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (None, None, "waiting"),
        (ended("first"), None, "executing"),
        (running("first", ready=False), None, "executing"),
        (ended("first"), ended("second"), "ready"),
        (ended("first"), ended("second", 1), "failed"),
        (ended("first", 1), None, "failed"),
    ],
)
def test_containers_that_share_a_name_share_a_step(
    first: Raw | None, second: Raw | None, joined: str
) -> None:
    pod = make_pod(
        *(item for item in (first, second) if item),
        init=[container("first"), container("second")],
    )
    view = judge(pod, now=BEGIN, settings=PodSettings(step_names={"*": "Set up", "notebook": "N"}))
    step = view.steps[2]
    assert (step.step, step.containers, step.status.value) == (
        "Set up",
        ("first", "second"),
        joined,
    )


# --- the steps that are no containers


@pytest.mark.parametrize(
    ("pod", "events", "machine", "storage"),
    [
        (make_pod(claims=("home",)), [], "executing", "executing"),
        (make_pod(claims=("home",), spec={"nodeName": "n1"}), [], "ready", "executing"),
        (make_pod(claims=("home",), conditions=[SCHEDULED]), [], "ready", "executing"),
        (make_pod(claims=("home",)), [normal("Scheduled")], "ready", "executing"),
        (make_pod(claims=("home",), conditions=ON_MACHINE), [], "ready", "ready"),
        (make_pod(running("notebook"), claims=("home",)), [], "ready", "ready"),
        (
            make_pod(claims=("home",), conditions=[SCHEDULED]),
            [normal("Pulling", about="notebook")],
            "ready",
            "ready",
        ),
        (
            # One of two volumes
            make_pod(claims=("home", "data"), conditions=[SCHEDULED]),
            [normal("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "pvc-1"')],
            "ready",
            "executing",
        ),
    ],
)
def test_machine_and_storage(pod: Raw, events: list[Raw], machine: str, storage: str) -> None:
    found = status_of(judge(pod, events, now=BEGIN))
    assert (found["machine"], found["storage"]) == (machine, storage)


PULLING = normal("Pulling", f'Pulling image "{IMAGE}"', 10, "notebook")


@pytest.mark.parametrize(
    ("pod", "events", "image"),
    [
        (make_pod(conditions=[SCHEDULED]), [], "waiting"),
        (make_pod(conditions=ON_MACHINE), [], "executing"),
        (make_pod(ended("i", 1), init=[container("i")], conditions=ON_MACHINE), [], "waiting"),
        (make_pod(ended("i"), init=[container("i")], conditions=ON_MACHINE), [], "executing"),
        (make_pod(conditions=[SCHEDULED]), [PULLING], "executing"),
        (make_pod(), [PULLING, normal("Pulled", at=20, about="notebook")], "ready"),
        (make_pod(), [normal("Pulled", at=10, about="init:other")], "waiting"),
        (make_pod(running("notebook", ready=False)), [], "ready"),
        (make_pod(crashing("notebook", 1)), [], "ready"),
        (make_pod(waiting("notebook", "CreateContainerConfigError")), [], "ready"),
        (make_pod(waiting("notebook", "ErrImagePull")), [], "executing"),
        (make_pod(waiting("notebook", "InvalidImageName")), [], "failed"),
    ],
)
def test_image(pod: Raw, events: list[Raw], image: str) -> None:
    assert status_of(judge(pod, events, now=BEGIN))["image"] == image


def test_an_event_without_a_path_belongs_to_the_one_container_that_it_names() -> None:
    pod = make_pod(init=[container("i", "busybox")], conditions=[SCHEDULED])
    view = judge(pod, [normal("Pulling", 'Pulling image "busybox"')], now=BEGIN)
    assert view.steps[2].status == "executing"
    same = make_pod(init=[container("i")], conditions=[SCHEDULED])
    view = judge(same, [normal("Pulling", f'Pulling image "{IMAGE}"')], now=BEGIN)
    assert {step.status.value for step in view.steps[1:]} == {"waiting"}


def test_what_was_ready_by_the_pod_stays_ready() -> None:
    up = make_pod(running("notebook", ready=False), conditions=ON_MACHINE, claims=("home",))
    seen = judge(up, now=BEGIN).seen
    # The sandbox is made anew: conditions and states are as in the beginning.
    again = make_pod(waiting("notebook"), conditions=[SCHEDULED], claims=("home",))
    found = status_of(judge(again, [PULLING], now=BEGIN + 5, seen=seen))
    assert (found["storage"], found["machine"], found["image"]) == ("ready", "ready", "ready")


def test_activity_before_the_last_restart_is_over() -> None:
    last = ending(1, at=30)
    pod = make_pod(waiting("i", last=last), init=[container("i")], conditions=ON_MACHINE)
    created = normal("Created", "Created container i", 25, "init:i")
    assert judge(pod, [created], now=BEGIN).steps[2].status == "waiting"
    again = normal("Created", "Created container i", 31, "init:i")
    assert judge(pod, [created, again], now=BEGIN).steps[2].status == "executing"


# --- times


def test_times_come_from_the_pod_where_it_says_them() -> None:
    pod = make_pod(
        ended("git-clone"),
        running("vpn", since=26),
        running("notebook", since=27),
        running("oauth2_proxy", since=28),
        init=INIT,
        containers=REGULAR,
        claims=("home",),
        conditions=READY,
        phase="Running",
    )
    pulled = normal("Pulled", "Successfully pulled image", 26.5, "notebook")
    view = judge(pod, [PULLING, pulled], now=BEGIN + 40)
    times = {
        step.step: tuple(t and t - BEGIN for t in (step.started_at, step.finished_at))
        for step in view.steps
    }
    assert times == {
        "Preparing storage": (0, 8),
        "Finding a machine": (0, 3),
        "Downloading image": (10, 26),
        "Git clone": (20, 25),
        "Vpn": (26, 40),
        "Oauth2 proxy": (28, 40),
        "Starting session": (27, 30),
    }


def test_times_that_the_pod_does_not_say_are_those_of_the_first_look() -> None:
    bare = make_pod(conditions=ON_MACHINE)
    del bare["metadata"]["creationTimestamp"]
    first = judge(bare, now=BEGIN + 10)
    assert first.steps[1].started_at == BEGIN + 10
    second = judge(bare, now=BEGIN + 20, seen=first.seen)
    assert second.steps[1].started_at == BEGIN + 10
    up = make_pod({**running("notebook"), "state": {"running": {}}}, conditions=ON_MACHINE)
    third = judge(up, now=BEGIN + 30, seen=second.seen)
    fourth = judge(up, now=BEGIN + 40, seen=third.seen)
    for view in (third, fourth):
        assert (view.steps[1].started_at, view.steps[1].finished_at) == (BEGIN + 10, BEGIN + 30)


def test_no_step_takes_less_than_no_time() -> None:
    pod = make_pod(conditions=[condition("PodScheduled", True, at=-50)])
    machine = judge(pod, now=BEGIN).steps[0]
    assert (machine.started_at, machine.finished_at) == (BEGIN, BEGIN)


# --- progress


def test_progress_goes_from_0_to_90_and_is_100_for_a_running_pod_only() -> None:
    story = [
        {"spec": make_pod(init=INIT[:1])["spec"]},
        make_pod(init=INIT[:1]),
        make_pod(init=INIT[:1], conditions=[SCHEDULED]),
        make_pod(running("git-clone", ready=False), init=INIT[:1], conditions=ON_MACHINE),
        make_pod(ended("git-clone"), init=INIT[:1], conditions=[*ON_MACHINE, INITIALIZED]),
        make_pod(ended("git-clone"), running("notebook", ready=False), init=INIT[:1]),
        make_pod(ended("git-clone"), crashing("notebook", 1), init=INIT[:1]),
        make_pod(ended("git-clone"), running("notebook"), init=INIT[:1], conditions=NOT_READY),
        make_pod(
            ended("git-clone"),
            running("notebook"),
            init=INIT[:1],
            conditions=READY,
            phase="Running",
        ),
    ]
    seen, shown = None, []
    for number, pod in enumerate(story):
        view = judge(pod, now=BEGIN + number, seen=seen)
        shown.append(view.progress)
        seen = view.seen
    assert shown == sorted(shown)
    assert (shown[0], shown[-2], shown[-1]) == (0, 90, 100)
    assert len(set(shown)) >= 6
