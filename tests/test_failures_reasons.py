"""Everything that can go wrong is told by its own text, in words for a user, and once."""

from __future__ import annotations

import re

import pytest

from detailedspawner.pods import (
    TEXTS,
    PodSettings,
    Severity,
    Verdict,
    counts,
    judge,
    read_messages,
    users_fault,
)
from detailedspawner.pods.presenting import KNOWN_REASONS

from .failureexamples import EXAMPLES, Example, refused
from .podmaker import (
    BEGIN,
    ON_MACHINE,
    SCHEDULED,
    Raw,
    crashing,
    ended,
    ending,
    event,
    make_pod,
    normal,
    waiting,
)
from .podpicture import look

# What is said while a start goes well needs no advice.
NO_HINT = {"machine.waiting", "Terminating"}


def test_every_text_has_its_example() -> None:
    assert set(EXAMPLES) == set(TEXTS)
    assert len(set(TEXTS) - NO_HINT) >= 25


@pytest.mark.parametrize(("key", "example"), EXAMPLES.items(), ids=EXAMPLES.keys())
def test_what_is_said(key: str, example: Example) -> None:
    problem = example.look().problem
    assert problem is not None
    assert (problem.reason, problem.category) == (example.reason, example.category)
    if key == "machine.waiting":
        step = next(step for step in example.look().steps if step.message)
        assert example.says in (step.message or "")
        return
    assert problem.key == key
    assert example.says in problem.message
    assert bool(problem.hint) is (key not in NO_HINT)
    # a user is spared what only Kubernetes calls so
    assert "pod" not in problem.message.lower().replace("pods)", "").replace("(pod", "").split()


# what a reader can do, or that there is nothing to do
ADVICE = re.compile(
    r"\b(Choose|choose|Check|Correct|Stop|Start it|Try again|try again|Wait|Remove|Does the image"
    r"|tell the administrator|ask the administrator|by itself|usually takes|goes on as soon"
    r"|must keep|must be marked|check them|next time)\b"
)
# words of those who run clusters
JARGON = re.compile(
    r"\b(kubelet|nodes?\b|preemption|rpc|OCI|CrashLoop\w*|\w*BackOff|RBAC|webhook|PVC|taints?"
    r"|affinity|selector|scheduler|sandbox|namespace|manifest)\b"
)


@pytest.mark.parametrize("key", sorted(set(TEXTS) - NO_HINT))
def test_a_hint_says_what_to_do_in_words_for_everybody(key: str) -> None:
    text = TEXTS[key]
    assert text.hint is not None
    assert ADVICE.search(text.hint)
    assert text.hint.endswith((".", "?"))
    assert not JARGON.search(re.sub(r"\{\w+\}", "", f"{text.message} {text.hint}"))


@pytest.mark.parametrize(("key", "example"), EXAMPLES.items(), ids=EXAMPLES.keys())
@pytest.mark.parametrize("by", ["key", "reason", "group"])
def test_an_administrators_words_replace_what_is_said(by: str, key: str, example: Example) -> None:
    stock = example.look()
    problem = stock.problem
    assert problem is not None
    name = {"key": key, "reason": problem.reason, "group": key.partition(".")[0]}[by]
    if name not in KNOWN_REASONS:
        # any reason of the cluster may lead to it
        assert key == "event"
        return
    own = {"message": "Own words about {reason}.", "hint": "Own advice."}
    view = example.look(settings=PodSettings(texts=read_messages({name: own})))
    if key == "machine.waiting":
        told = next(step for step in view.steps if step.message)
        # before it is a warning its reason does not name it
        assert (told.message == "Own words about .") is (by != "reason")
        return
    assert view.problem is not None
    assert view.problem.message == f"Own words about {problem.reason}."
    assert view.problem.hint == "Own advice."
    # what is known beside the words stays
    assert (view.problem.key, view.problem.detail) == (problem.key, problem.detail)
    assert view.verdict is stock.verdict


@pytest.mark.parametrize(("key", "example"), EXAMPLES.items(), ids=EXAMPLES.keys())
def test_a_failed_step_says_what_the_server_says(key: str, example: Example) -> None:
    view = example.look()
    if view.verdict is not Verdict.FAILED or not view.steps:
        return
    assert view.problem is not None
    assert view.problem.severity is Severity.FATAL
    told = [step for step in view.steps if step.message == view.message]
    assert [step.hint for step in told] == [view.problem.hint]


@pytest.mark.parametrize(
    ("key", "users"),
    [
        ("pull.not_found", True),
        ("create.quota", True),
        ("create.limit", True),
        ("create.webhook", True),
        ("create.invalid", True),
        ("CreateContainerConfigError", True),
        ("OOMKilled", True),
        ("crash", True),
        ("Evicted.limit", True),
        ("NotTriggerScaleUp", True),
        ("create.rbac", False),
        ("create.busy", False),
        ("create.namespace", False),
        ("pull.transient", False),
        ("Unschedulable.resource", False),
        ("Unschedulable.volume_in_use", False),
        ("TriggeredScaleUp", False),
        ("FailedAttachVolume", False),
        ("FailedAttachVolume.multi", False),
        ("CreateContainerConfigError.transient", False),
        ("FailedMount.missing", True),
        ("FailedCreatePodSandBox", False),
        ("FailedMount", False),
        ("ProvisioningFailed", False),
        ("shutdown", False),
        ("NodeLost", False),
        ("gone", False),
    ],
)
def test_whose_fault_it_is(key: str, users: bool) -> None:
    problem = EXAMPLES[key].look().problem
    assert problem is not None
    assert users_fault(problem) is users
    # what a user can bring about alone is no reason to restart the hub either
    assert counts(problem) is (not users and key not in PROVOKED)


PROVOKED = (
    *("pull.transient", "Unschedulable.resource", "Unschedulable.volume_in_use"),
    *("TriggeredScaleUp", "FailedAttachVolume.multi", "CreateContainerConfigError.transient"),
)


def test_a_folder_of_the_machine_that_is_not_there_will_not_come() -> None:
    text = 'MountVolume.SetUp failed for volume "share" : hostPath type check failed: no file'
    pod, events = make_pod(conditions=[SCHEDULED]), [event("FailedMount", text)]
    problem = judge(pod, events, now=BEGIN + 60).problem
    assert problem is not None
    assert (problem.key, problem.category) == ("FailedMount.missing", "volume_mount")


# --- refusals in other words

REFUSALS = [
    # code, message, key, says
    (403, "[maximum cpu usage per Container is 500m, but limit is 2]", "create.limit",
     "(cpu: 2 asked, at most 500m per container)"),
    (403, "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 4Gi",
     "create.limit", "(storage: 4Gi asked, at most 2Gi per storage)"),
    (403, "memory max limit to request ratio per Container is 2, but provided ratio is 4",
     "create.limit", "ratio"),
    (403, 'admission webhook "x" denied the request without explanation', "create.webhook",
     "it does not say why"),
    (422, 'pods "x" is forbidden: ValidatingAdmissionPolicy \'p\' with binding \'b\' denied '
     "request: no host paths", "create.webhook", "forbids this server: no host paths."),
    (403, "unable to create new content in namespace ada because it is being terminated",
     "create.namespace", '"ada"'),
    (403, 'pod rejected: RuntimeClass "gvisor" not found', "create.missing", "gvisor"),
    (401, "Unauthorized", "create.rbac", "The hub is not allowed"),
    (409, 'Operation cannot be fulfilled on resourcequotas "q": modified', "create.busy", "busy"),
    (503, "unavailable", "create.busy", "busy"),
    (400, "json: cannot unmarshal string", "create.invalid", "The settings of the server"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "message", "key", "says"), REFUSALS)
def test_refusals_in_other_words(code: int, message: str, key: str, says: str) -> None:
    problem = look(None, create_error=refused(code, message)).problem
    assert problem is not None
    assert problem.key == key
    assert says in problem.message


@pytest.mark.parametrize(
    ("code", "verdict"), [(403, "failed"), (422, "failed"), (409, "starting"), (500, "starting")]
)
def test_what_may_heal_is_tried_again(code: int, verdict: str) -> None:
    error = refused(code, "something")
    assert look(None, create_error=error).verdict.value == verdict


def test_many_wrong_fields_are_counted() -> None:
    causes = [{"field": f"spec.x{number}", "message": "Required value"} for number in range(5)]
    view = look(None, create_error=refused(422, "invalid", causes=causes))
    assert "x0: Required value; x1: Required value; x2: Required value; and 2 more" in view.message


# --- once


def failed_mount(uid: str, at: float, count: int = 1) -> Raw:
    return event("FailedMount", "timed out waiting", at, count=count, metadata={"uid": uid})


@pytest.mark.parametrize(
    ("events", "ends"),
    [
        ([failed_mount("a", 10)], "yet (timed out waiting)."),
        ([failed_mount(uid, 10) for uid in "abc"], " (3 times)."),
        # the same event again is an update of itself
        ([failed_mount("a", 10, 2), failed_mount("a", 20, 3), failed_mount("a", 10)], "(3 times)."),
        ([failed_mount("a", 10, 2), failed_mount("b", 20, 3)], "(5 times)."),
    ],
)
def test_equal_lines_are_one_with_a_count(events: list[Raw], ends: str) -> None:
    view = look(make_pod(conditions=[SCHEDULED]), *events)
    assert len(view.warnings) == 1
    assert view.warnings[0].message.endswith(ends)
    # the cause itself is no list
    assert view.problem is not None
    assert "times)" not in view.problem.message


@pytest.mark.parametrize(
    ("warning", "progress"),
    [
        (event("FailedScheduling", "0/1 nodes are available"), normal("Scheduled", at=11)),
        (event("FailedMount", "x"), normal("Pulling", at=11, about="notebook")),
        (event("FailedCreatePodSandBox", "x"), normal("Created", at=11, about="notebook")),
        (event("FailedAttachVolume", 'volume "p"'),
         normal("SuccessfulAttachVolume", 'volume "p"', at=11)),
        (event("Failed", "Error: ErrImagePull", about="notebook"),
         normal("Pulled", at=11, about="notebook")),
        (event("Oddity", "x"), normal("Pulling", at=11, about="notebook")),
    ],
)  # fmt: skip
def test_a_warning_is_gone_once_later_progress_has_overtaken_it(
    warning: Raw, progress: Raw
) -> None:
    pod = make_pod(waiting("notebook"), conditions=[SCHEDULED])
    before, after = look(pod, warning), look(pod, progress, warning)
    if warning["reason"] != "FailedScheduling":
        assert before.problem is not None
    assert (after.problem, after.warnings) == (None, ())


def test_the_most_specific_cause_is_told_not_the_newest() -> None:
    pod = make_pod(waiting("notebook", "ImagePullBackOff", "Back-off"), conditions=ON_MACHINE)
    cause = event("Failed", "Failed to pull image: manifest unknown", 10, about="notebook")
    later = [event("Failed", f"Error: {x}", 20, about="notebook") for x in ("a", "b")]
    problem = look(pod, cause, *later).problem
    assert problem is not None
    assert problem.key == "pull.not_found"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('failed to do request: Head "https://x.example/v2/": dial tcp 10.0.0.1:443: connect: '
         "connection refused", "(connection refused)"),
        ('Get "https://timeout.example": dial tcp: lookup timeout.example: no such host',
         "(no such host)"),
        ("toomanyrequests: You have reached your pull rate limit as 'ada': dckr_jti_x. Wait.",
         "(toomanyrequests: You have reached your pull rate limit Wait)"),
        ("net/http: TLS handshake timeout", "(TLS handshake timeout)"),
    ],
)  # fmt: skip
def test_a_failed_download_is_told_without_addresses(said: str, shown: str) -> None:
    problem = look(make_pod(waiting("notebook", "ErrImagePull", said))).problem
    assert problem is not None
    assert shown in problem.message


@pytest.mark.parametrize(
    ("events", "key"),
    [
        ([event("FailedPostStartHook", "PostStartHook failed", about="notebook")],
         "PostStartHookError"),
        ([event("FailedPostStartHook", "PostStartHook failed", about="other")], "crash.137"),
        ([], "crash.137"),
    ],
)  # fmt: skip
def test_a_container_killed_after_its_hook_failed_is_told_by_the_hook(
    events: list[Raw], key: str
) -> None:
    """The kubelet shows the hook's own error for a moment only."""
    for pod in (
        make_pod(crashing("notebook", 3, ending(137))),
        make_pod(ended("notebook", 137, restarts=3)),
    ):
        problem = look(pod, *events).problem
        assert problem is not None
        assert (problem.key, problem.exit_code) == (key, 137)


def test_a_container_that_never_started_took_no_time() -> None:
    last = {**ending(127, "StartError"), "startedAt": "1970-01-01T00:00:00Z"}
    view = look(make_pod(crashing("notebook", 1, last)))
    session = view.steps[-1]
    assert session.status.value == "failed"
    assert session.started_at is None
