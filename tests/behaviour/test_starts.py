"""What a client sees of a start, on the embedded cluster or on KUBECONFIG's."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .cases import CASES
from .cluster import Kubernetes
from .conftest import Runs
from .hub import Hub, eventually

SLUGS = list(CASES)
CLONING = "Cloning and configuring the repository"
WELL = [slug for slug, case in CASES.items() if "fails" not in case]
FAILING = [slug for slug, case in CASES.items() if "fails" in case]


def pattern(words: str, repeats: bool) -> str:
    """Return the regular expression for a sequence of statuses in the form of the cases."""
    parts = []
    for word in words.split():
        optional = word.startswith("(")
        parts.append(f"(?:{word.strip('()')} )" + ("?" if optional else ""))
    expression = "".join(parts)
    # a container that is restarted may be seen at work again before it fails again
    return expression + "(?:(?:executing |ready )?failed )*" if repeats else expression


@pytest.mark.parametrize("slug", SLUGS)
def test_every_step_goes_through_its_statuses(runs: Runs, slug: str) -> None:
    case, seen = CASES[slug], runs[slug].sequences()
    assert list(seen) == list(case["steps"])
    for step, words in case["steps"].items():
        expression = pattern(words, step in case.get("repeats", ()))
        assert re.fullmatch(expression, " ".join(seen[step]) + " "), (step, seen[step])


@pytest.mark.parametrize("slug", SLUGS)
def test_all_steps_are_there_from_the_first_status_on(runs: Runs, slug: str) -> None:
    first = runs[slug].statuses[0]
    assert [step["step"] for step in first["details"]] == list(CASES[slug]["steps"])


@pytest.mark.parametrize("slug", SLUGS)
def test_counts(runs: Runs, slug: str) -> None:
    statuses = runs[slug].statuses
    assert {status["total_containers"] for status in statuses} == {CASES[slug]["total"]}
    assert all(0 <= status["ready_containers"] <= CASES[slug]["total"] for status in statuses)
    assert statuses[0]["ready_containers"] == 0


@pytest.mark.parametrize("slug", WELL)
def test_a_good_start_counts_up_and_ends_ready(runs: Runs, slug: str) -> None:
    run = runs[slug]
    counts = [status["ready_containers"] for status in run.statuses]
    assert counts == sorted(counts)
    assert counts[-1] == CASES[slug]["total"]
    assert run.last["ready"] is True
    assert run.snapshot["state"] == "running"
    assert run.snapshot["progress"] == 100


@pytest.mark.parametrize("slug", FAILING)
def test_a_failing_start_says_why_and_keeps_saying_it(runs: Runs, slug: str) -> None:
    run, expected = runs[slug], CASES[slug]["fails"]
    assert run.last["failed"] is True
    assert re.search(expected, run.last["message"]), run.last["message"]
    assert run.statuses[-1]["state"] == "failed"
    assert re.search(expected, run.statuses[-1]["message"])
    assert run.snapshot["state"] == "failed"
    assert run.snapshot["message"] == run.statuses[-1]["message"]


@pytest.mark.parametrize("slug", FAILING)
def test_a_failed_start_leaves_no_pod(runs: Runs, kubernetes: Kubernetes, slug: str) -> None:
    runs[slug]

    def gone() -> bool:
        names = [pod["metadata"]["name"] for pod in kubernetes.list("pods")]
        return not any(name.startswith(f"jupyter-user-{slug}") for name in names)

    eventually(gone, "the pod is gone")


@pytest.mark.parametrize("slug", SLUGS)
def test_progress_never_goes_back(runs: Runs, slug: str) -> None:
    progress = [status["progress"] for status in runs[slug].statuses]
    assert progress == sorted(progress)
    assert progress[-1] < 100


@pytest.mark.parametrize("slug", SLUGS)
def test_one_start_has_one_id_and_growing_revisions(runs: Runs, slug: str) -> None:
    statuses = runs[slug].statuses
    assert len({status["start_id"] for status in statuses}) == 1
    revisions = [int(status["revision"].rpartition(".")[2]) for status in statuses]
    assert revisions == sorted(revisions)


@pytest.mark.parametrize("slug", SLUGS)
def test_kubernetes_events_add_text(runs: Runs, slug: str) -> None:
    raw = [event["raw_event"] for event in runs[slug].events if "raw_event" in event]
    if CASES[slug].get("no_raw_events"):
        assert raw == []
    else:
        reasons = {event["reason"] for event in raw}
        expected = "FailedScheduling" if slug == "unschedulable" else "Scheduled"
        assert expected in reasons


def test_the_json_in_the_middle_of_a_start(hub: Hub) -> None:
    hub.start("seven", "seven")

    def two_are_ready() -> bool:
        status = hub.snapshot("seven")
        return status["ready_containers"] == 2 and executing(status) == [CLONING]

    def executing(status: dict[str, Any]) -> list[str]:
        return [step["step"] for step in status["details"] if step["status"] == "executing"]

    eventually(two_are_ready, "two of seven containers are ready", pause=0.02)
    status = hub.snapshot("seven")
    assert (status["state"], status["ready_containers"], status["total_containers"]) == (
        "starting", 2, 7,
    )  # fmt: skip
    left = "git-clone, git-proxy, oauth2-proxy, notebook, git-sidecar"
    assert status["message"] == f"Containers with non-ready statuses: {left}."
    assert [(step["step"], step["status"]) for step in status["details"]] == [
        ("Preparing", "ready"),
        ("Finding a machine", "ready"),
        ("Downloading image", "waiting"),
        ("Initialization", "ready"),
        ("Downloading session image", "ready"),
        (CLONING, "executing"),
        ("Git credentials services", "waiting"),
        ("Authentication and proxying services", "waiting"),
        ("Auxiliary session services", "waiting"),
        ("Starting session", "waiting"),
        ("Connecting to the session", "waiting"),
    ]
    assert list(hub.stream("seven"))[-1].get("ready") is True
    hub.stop("seven")


def test_two_servers_of_one_user(hub: Hub) -> None:
    first, second = hub.start("two", "plain"), hub.start("two", "three-init-containers", "second")
    assert (first, second) == (202, 202)
    default, named = list(hub.stream("two")), list(hub.stream("two", "second"))
    assert default[-1]["ready"]
    assert named[-1]["ready"]
    assert named[-1]["url"].endswith("/user/two/second/")
    totals = [hub.snapshot("two", name)["total_containers"] for name in ("", "second")]
    assert totals == [1, 4]
    hub.stop("two")
    hub.stop("two", "second")


def test_a_reader_that_comes_back_gets_the_whole_status_at_once(hub: Hub) -> None:
    hub.start("back", "three-init-containers")
    stream = hub.stream("back")
    before = next(event for event in stream if "status" in event)["status"]
    eventually(lambda: hub.snapshot("back")["ready_containers"] >= 1, "the first container is done")
    stream.close()
    events = hub.stream("back")
    again = next(event for event in events if "status" in event)["status"]
    assert again["start_id"] == before["start_id"]
    assert again["ready_containers"] >= 1
    assert len(again["details"]) == len(before["details"])
    assert list(events)[-1]["ready"]
    hub.stop("back")


def test_readers_at_once_see_the_same(hub: Hub) -> None:
    from concurrent.futures import ThreadPoolExecutor

    hub.start("many", "three-init-containers")
    with ThreadPoolExecutor(5) as pool:
        streams = list(pool.map(lambda _: list(hub.stream("many")), range(5)))
    seen = [
        list(dict.fromkeys(e["status"]["revision"] for e in events if "status" in e))
        for events in streams
    ]
    told = sorted(set().union(*seen), key=lambda revision: int(revision.rpartition(".")[2]))
    for revisions in seen:
        # whoever came later misses the beginning, and nobody anything after it; only what
        # is told in the very moment of the end may come after the Hub has closed a stream
        begin = told.index(revisions[0])
        assert revisions == told[begin : begin + len(revisions)]
        assert len(told) - begin - len(revisions) <= 1
    hub.stop("many")


def test_a_new_start_does_not_show_the_old_one(hub: Hub) -> None:
    hub.start("again", "missing-image")
    failed = list(hub.stream("again"))
    assert failed[-1]["failed"]
    hub.start("again", "three-init-containers")
    events = list(hub.stream("again"))
    statuses = [event["status"] for event in events if "status" in event]
    assert events[-1]["ready"]
    assert {status["state"] for status in statuses} == {"starting"}
    assert statuses[0]["ready_containers"] == 0
    ids = {event["status"]["start_id"] for event in failed if "status" in event}
    assert statuses[0]["start_id"] not in ids
    hub.stop("again")
