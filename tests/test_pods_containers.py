"""One container: what its status means, how it looks, and what its trouble is called."""

from __future__ import annotations

from typing import Any

import pytest

from detailedspawner.models import ContainerKind
from detailedspawner.pods import PodSettings, Problem, Verdict, judge

from .podmaker import (
    BEGIN,
    IMAGE,
    NOT_READY,
    READY,
    Raw,
    condition,
    container,
    crashing,
    ended,
    ending,
    event,
    make_pod,
    running,
    status,
    waiting,
)

EMPTY: Raw = status("x", {})

# Status, then the look as init container, native sidecar, helper and main container.
LOOKS = [
    (None, "waiting", "waiting", "waiting", "waiting"),
    (EMPTY, "waiting", "waiting", "waiting", "waiting"),
    ({**EMPTY, "state": None}, "waiting", "waiting", "waiting", "waiting"),
    ({**EMPTY, "ready": True}, "waiting", "waiting", "waiting", "waiting"),
    (waiting("x"), "waiting", "waiting", "waiting", "waiting"),
    (waiting("x", "ContainerCreating"), "waiting", "waiting", "waiting", "waiting"),
    (waiting("x", "RestartingAllContainers"), "waiting", "waiting", "waiting", "waiting"),
    (waiting("x", "SomethingNew"), "waiting", "waiting", "waiting", "waiting"),
    (waiting("x", "SomethingError"), "failed", "failed", "failed", "failed"),
    (waiting("x", "ErrImagePull"), "failed", "failed", "failed", "failed"),
    (waiting("x", "InvalidImageName"), "failed", "failed", "failed", "failed"),
    (crashing("x", 1), "failed", "failed", "failed", "failed"),
    (running("x", ready=False), "executing", "executing", "executing", "executing"),
    (running("x"), "executing", "ready", "ready", "ready"),
    (status("x", {"running": {}}, ready=True), "executing", "ready", "ready", "ready"),
    (ended("x"), "ready", "waiting", "failed", "failed"),
    (status("x", {"terminated": {}}), "ready", "waiting", "failed", "failed"),
    (ended("x", 1), "failed", "failed", "failed", "failed"),
    (ended("x", -1), "failed", "failed", "failed", "failed"),
    (ended("x", 0, "OOMKilled"), "failed", "failed", "failed", "failed"),
    # Several states at once, as to_dict() writes them
    (
        status("x", {"running": None, "waiting": None, "terminated": {"exitCode": 1}}),
        "failed",
        "failed",
        "failed",
        "failed",
    ),
]


@pytest.mark.parametrize(("raw", "init", "sidecar", "helper", "main"), LOOKS)
def test_look(raw: Raw | None, init: str, sidecar: str, helper: str, main: str) -> None:
    names = ("init", "sidecar", "helper", "main")
    statuses = [] if raw is None else [{**raw, "name": name} for name in names]
    pod = make_pod(
        *statuses,
        init=[container("init"), container("sidecar", restartPolicy="Always")],
        containers=[container("helper"), container("main")],
    )
    view = judge(pod, now=BEGIN, settings=PodSettings(main_container="main"))
    assert [item.status.value for item in view.containers] == [init, sidecar, helper, main]
    assert [item.kind for item in view.containers] == [
        ContainerKind.INIT,
        ContainerKind.SIDECAR,
        ContainerKind.SIDECAR,
        ContainerKind.MAIN,
    ]
    assert view.total == 4
    assert view.ready == [init, sidecar, helper, main].count("ready")


def problem_of(raw: Raw, *events: Raw, **more: Any) -> Problem:
    problem = judge(make_pod(raw, **more), events, now=BEGIN + 60).problem
    assert problem is not None
    return problem


PULL = "Back-off pulling image"
CLASSES = [
    # reason, text of the kubelet, class
    ("InvalidImageName", "couldn't parse image name", "spec"),
    ("ErrImageNeverPull", "not present with pull policy of Never", "spec"),
    ("ErrImagePull", "manifest unknown", "pull_definite"),
    ("ErrImagePull", f"{IMAGE}: not found", "pull_definite"),
    ("ErrImagePull", "pull access denied, repository does not exist", "pull_definite"),
    ("ErrImagePull", "unexpected status code 401 Unauthorized", "pull_definite"),
    ("ErrImagePull", "no match for platform in manifest", "pull_definite"),
    ("ErrImagePull", "pull QPS exceeded", "pull_transient"),
    ("ErrImagePull", "429 Too Many Requests: unauthenticated pull rate", "pull_transient"),
    ("ErrImagePull", "dial tcp: lookup registry: no such host", "pull_transient"),
    ("ErrImagePull", "net/http: TLS handshake timeout", "pull_transient"),
    ("ErrImagePull", "unexpected status code 503: denied for now", "pull_transient"),
    ("ErrImagePull", "write /var/lib: no space left on device", "pull_transient"),
    ("ImagePullBackOff", PULL, "pull_transient"),
    ("ImagePullBackOff", f"{PULL}: ErrImagePull: x: not found", "pull_definite"),
    ("ImageInspectError", "Failed to inspect", "pull_definite"),
    ("SignatureValidationFailed", "", "pull_definite"),
    ("RegistryUnavailable", "", "pull_transient"),
    ("CreateContainerConfigError", 'secret "x" not found', "config"),
    ("CreateContainerConfigError", "failed to sync configmap cache: timed", "config_transient"),
    ("CreateContainerConfigError", "failed to create subPath directory", "config_transient"),
    ("CreateContainerError", "no command specified", "create"),
    ("CreateContainerError", "context deadline exceeded", "create_transient"),
    ("CreateContainerError", 'name "x" is reserved for "y"', "create_transient"),
    ("SomethingError", "", "create_transient"),
    ("RunContainerError", "exec: permission denied", "crash"),
    ("CrashLoopBackOff", "back-off 10s", "crash"),
    ("PostStartHookError", "command exited with 1", "hook"),
]


@pytest.mark.parametrize(("reason", "text", "category"), CLASSES)
def test_class(reason: str, text: str, category: str) -> None:
    found = problem_of(waiting("notebook", reason, text))
    assert (found.reason, found.category, found.container) == (reason, category, "notebook")


def test_words_in_the_name_of_the_image_are_no_cause() -> None:
    image = "example/not-found-denied:1"
    pod = make_pod(
        waiting("notebook", "ErrImagePull", f'something about "{image}"'),
        containers=[container("notebook", image)],
    )
    problem = judge(pod, now=BEGIN).problem
    assert problem is not None
    assert problem.category == "pull_transient"


def test_the_cause_of_a_failed_pull_is_found_in_events_and_remembered() -> None:
    backing_off = make_pod(waiting("notebook", "ImagePullBackOff", PULL))
    failed = event("Failed", f'Failed to pull image "{IMAGE}": not found', about="notebook")
    told = judge(backing_off, [failed], now=BEGIN)
    assert told.problem is not None
    assert told.problem.category == "pull_definite"

    first = judge(make_pod(waiting("notebook", "ErrImagePull", "not found")), now=BEGIN)
    then = judge(backing_off, now=BEGIN + 15, seen=first.seen)
    assert then.problem is not None
    assert then.problem.category == "pull_definite"


# --- crashes are counted


@pytest.mark.parametrize(
    ("raw", "fails"),
    [
        (crashing("notebook", 2), False),
        (crashing("notebook", 3), True),
        (ended("notebook", 1, restarts=2), False),
        (ended("notebook", 1, restarts=3), True),
        (crashing("notebook", 1, ending(137, "OOMKilled")), False),
        (crashing("notebook", 2, ending(137, "OOMKilled")), True),
        (crashing("notebook", 2, ending(128, "StartError", 'exec: "x": not found')), False),
        (
            crashing("notebook", 2, ending(128, "StartError", "executable file not found")),
            True,
        ),
        (ended("notebook", 128, "StartError", "exec format error", restarts=2), True),
        (running("notebook", ready=False, restarts=9, last=ending()), False),
        # The log of a program may say anything
        (crashing("notebook", 2, ending(1, message="x: permission denied")), False),
    ],
)
def test_a_container_may_crash_so_often(raw: Raw, fails: bool) -> None:
    view = judge(make_pod(raw, phase="Running"), now=BEGIN)
    assert (view.verdict is Verdict.FAILED) is fails


def test_the_bounds_are_settings() -> None:
    settings = PodSettings(crash_restarts=1, oom_restarts=5)
    assert judge(make_pod(crashing("notebook", 1)), now=0, settings=settings).verdict == "failed"
    oom = make_pod(crashing("notebook", 4, ending(137, "OOMKilled")))
    assert judge(oom, now=0, settings=settings).verdict == "starting"


@pytest.mark.parametrize(
    ("count", "restarts", "fails"), [(1, 0, False), (2, 0, True), (1, 1, True)]
)
def test_a_hook_may_fail_once(count: int, restarts: int, fails: bool) -> None:
    pod = make_pod(waiting("notebook", "PostStartHookError", "exited with 1", restarts=restarts))
    hook = event("FailedPostStartHook", "PostStartHook failed", about="notebook", count=count)
    assert (judge(pod, [hook], now=BEGIN).verdict is Verdict.FAILED) is fails


# --- will it run again?

ON_ZERO = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [0]}}]
NOT_ON_42 = [{"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [42]}}]


@pytest.mark.parametrize(
    ("policy", "spec", "code", "again"),
    [
        ("Always", {}, 0, True),
        ("Always", {}, 1, True),
        ("", {}, 0, True),
        ("OnFailure", {}, 0, False),
        ("OnFailure", {}, 1, True),
        ("Never", {}, 1, False),
        ("Never", {"restartPolicy": "OnFailure"}, 1, True),
        ("Always", {"restartPolicy": "Never"}, 1, False),
        ("Never", {"restartPolicyRules": ON_ZERO}, 0, True),
        ("Never", {"restartPolicyRules": ON_ZERO}, 1, False),
        ("Never", {"restartPolicyRules": NOT_ON_42}, 1, True),
        ("Never", {"restartPolicyRules": NOT_ON_42}, 42, False),
    ],
)
def test_an_end_for_good_fails_at_once(
    policy: str, spec: dict[str, Any], code: int, again: bool
) -> None:
    pod = make_pod(
        ended("notebook", code), containers=[container("notebook", **spec)], policy=policy
    )
    view = judge(pod, now=BEGIN)
    assert (view.verdict is Verdict.STARTING) is again


# --- helpers that end

TWO = [container("notebook"), container("copy-files")]


def test_a_helper_that_ended_well_is_warned_of_at_once() -> None:
    pod = make_pod(
        running("notebook"), ended("copy-files"), containers=TWO, conditions=NOT_READY,
        phase="Running",
    )  # fmt: skip
    view = judge(pod, now=BEGIN)
    assert (view.verdict, view.ready, view.total) == (Verdict.STARTING, 1, 2)
    assert view.containers[1].status == "failed"
    assert [(w.container, w.category) for w in view.warnings] == [("copy-files", "completed")]
    assert "be allowed to complete" in (view.warnings[0].hint or "")
    assert judge(pod, now=BEGIN + 9999, seen=view.seen).verdict is Verdict.STARTING


@pytest.mark.parametrize("name", ["copy-files", "copy-*"])
def test_a_helper_that_may_end_counts_as_ready(name: str) -> None:
    settings = PodSettings(completing_containers=(name,))
    pod = make_pod(
        running("notebook"), ended("copy-files"), containers=TWO, conditions=NOT_READY,
        phase="Running",
    )  # fmt: skip
    view = judge(pod, now=BEGIN, settings=settings)
    assert (view.verdict, view.ready, view.total) == (Verdict.RUNNING, 2, 2)
    assert view.containers[1].status == "ready"
    assert view.warnings == ()

    failed = make_pod(running("notebook"), ended("copy-files", 1), containers=TWO)
    assert judge(failed, now=BEGIN, settings=settings).containers[1].status == "failed"
    up = make_pod(
        running("notebook"), running("copy-files", ready=False), containers=TWO,
        conditions=NOT_READY, phase="Running",
    )  # fmt: skip
    assert judge(up, now=BEGIN, settings=settings).verdict is Verdict.STARTING


def test_the_main_container_may_never_end() -> None:
    settings = PodSettings(completing_containers=("*",))
    view = judge(make_pod(ended("notebook")), now=BEGIN, settings=settings)
    assert (view.verdict, view.ready) == (Verdict.FAILED, 0)


# --- the end of the log


@pytest.mark.parametrize(
    ("patterns", "shown"),
    [
        (None, {"first", "notebook"}),
        ((), {"notebook"}),
        (("proxy", "vp*"), {"notebook", "proxy", "vpn"}),
    ],
)
def test_whose_log_is_shown(patterns: tuple[str, ...] | None, shown: set[str]) -> None:
    names = ("first", "vpn", "notebook", "proxy")
    pod = make_pod(
        *(ended(name, 1, message="Traceback\n\x1b[31mboom\x1b[0m") for name in names),
        init=[container("first"), container("vpn", restartPolicy="Always")],
        containers=[container("notebook"), container("proxy")],
    )
    view = judge(pod, now=BEGIN, settings=PodSettings(log_tail_containers=patterns))
    assert {item.name for item in view.containers if item.log_tail} == shown
    assert view.containers[2].log_tail == "Traceback\nboom"


def test_what_the_kubelet_says_of_a_failed_start_is_no_log() -> None:
    problem = problem_of(ended("notebook", 128, "StartError", "exec: no such file or directory"))
    assert problem.log_tail is None
    assert "command is not in the image" in problem.message


def test_the_log_of_the_last_run_goes_with_a_crash_loop() -> None:
    problem = problem_of(crashing("notebook", 1, ending(1, message="ImportError: jupyterhub")))
    assert (problem.exit_code, problem.cause) == (1, "Error")
    assert problem.log_tail == "ImportError: jupyterhub"


# --- which of several containers is the one to tell

FOUR: dict[str, Any] = {
    "init": [container("first")],
    "containers": [container("notebook"), container("proxy"), container("metrics")],
}


@pytest.mark.parametrize(
    ("statuses", "told"),
    [
        ([waiting("notebook", "ErrImagePull"), waiting("proxy", "ErrImagePull")], "notebook"),
        ([waiting("proxy", "ErrImagePull"), ended("first", 1)], "first"),
        ([ended("notebook", 1), ended("proxy", 137, "OOMKilled")], "proxy"),
        ([ended("notebook", 1), crashing("metrics", 3)], "metrics"),
        ([ended("first", 137, "OOMKilled"), waiting("proxy", "InvalidImageName")], "proxy"),
        ([ended("proxy"), ended("metrics", 1)], "metrics"),
    ],
)
def test_the_container_to_tell(statuses: list[Raw], told: str) -> None:
    problem = judge(make_pod(*statuses, **FOUR), now=BEGIN).problem
    assert problem is not None
    assert problem.container == told


# --- probes

PROBES = {
    "startupProbe": {"initialDelaySeconds": 10, "periodSeconds": 5, "failureThreshold": 6},
    "readinessProbe": {"httpGet": {"path": "/api"}},
}


def test_a_container_that_is_not_ready_is_warned_of_after_the_time_of_its_probes() -> None:
    pod = make_pod(
        running("notebook", ready=False),
        containers=[container("notebook", **PROBES)],
        conditions=NOT_READY,
        phase="Running",
    )
    first = judge(pod, now=BEGIN)
    assert (first.problem, first.next_check) == (None, BEGIN + 70)
    late = judge(pod, now=BEGIN + 70, seen=first.seen)
    assert late.problem is not None
    assert (late.problem.reason, late.warnings[0].reason) == ("Unhealthy", "Unhealthy")
    assert judge(pod, now=BEGIN + 9999, seen=late.seen).verdict is Verdict.STARTING


def test_probes_that_pass_in_the_end_leave_nothing() -> None:
    pod = make_pod(running("notebook"), conditions=READY, phase="Running")
    unhealthy = event("Unhealthy", "Readiness probe failed", about="notebook")
    view = judge(pod, [unhealthy], now=BEGIN)
    assert (view.verdict, view.problem, view.warnings) == (Verdict.RUNNING, None, ())


def test_a_status_that_the_spec_does_not_name_is_ignored() -> None:
    pod = make_pod(running("notebook"), running("debugger"), phase="Running")
    pod["status"]["ephemeralContainerStatuses"] = [crashing("shell", 9)]
    view = judge(pod, now=BEGIN)
    assert (view.ready, view.total, view.verdict) == (1, 1, Verdict.RUNNING)


def test_initialized_does_not_hide_an_init_container_that_runs_again() -> None:
    pod = make_pod(
        running("first", ready=False),
        running("notebook"),
        init=[container("first")],
        conditions=[condition("Initialized", True)],
    )
    assert [item.status.value for item in judge(pod, now=0).containers] == ["executing", "ready"]
