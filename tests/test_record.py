"""One line tells of a start: whose, how it ended, why, and how long each step took."""

from __future__ import annotations

import json

import pytest

from detailedspawner.composing import Around, compose
from detailedspawner.ending import PREFIX, Outcome, read_line, record_line, start_record
from detailedspawner.models import ServerState, ServerStatus
from detailedspawner.pods import PodView, judge

from .failureexamples import EXAMPLES
from .podmaker import BEGIN, READY, container, crashing, ended, ending, make_pod, running

FAILED = make_pod(
    crashing("clone", 3, ending(3, message="no such repository")),
    init=[container("clone")],
)
GOOD = make_pod(
    ended("clone"), running("notebook"), init=[container("clone")], conditions=READY,
    phase="Running",
)  # fmt: skip


def status(view: PodView, state: ServerState, at: float = 60) -> ServerStatus:
    return compose("7f3a9c", view, Around(state=state, began=BEGIN), 0, BEGIN + at)


def test_a_failed_start() -> None:
    view = judge(FAILED, now=BEGIN + 42.5)
    shown = status(view, ServerState.FAILED, 42.5)
    record = start_record(shown, Outcome.FAILED, user="ada", server="gpu", problem=view.problem)
    steps = record.pop("steps")
    assert record == {
        "start_id": "7f3a9c",
        "user": "ada",
        "server": "gpu",
        "outcome": "failed",
        "category": "crash",
        "reason": "CrashLoopBackOff",
        "cause": "Error",
        "text": "crash",
        "users_fault": True,
        "message": view.message,
        "hint": "Its log says why. If that does not help, tell the administrator.",
        "detail": "no such repository",
        "step": "Clone",
        "container": "clone",
        "exit_code": 3,
        "ready_containers": 0,
        "total_containers": 2,
        "restarts": 3,
        "warnings": 0,
        "started_at": "2026-03-02T09:00:00.000Z",
        "ended_at": "2026-03-02T09:00:42.500Z",
        "seconds": 42.5,
    }
    assert [(step["step"], step["status"]) for step in steps] == [
        ("Finding a machine", "ready"),
        ("Downloading image", "waiting"),
        ("Clone", "failed"),
        ("Starting session", "waiting"),
    ]
    assert steps[2] == {"step": "Clone", "kind": "init", "status": "failed", "seconds": 5.0}


def test_a_good_start_has_no_cause() -> None:
    view = judge(GOOD, now=BEGIN + 60)
    record = start_record(status(view, ServerState.RUNNING), Outcome.READY, user="ada")
    told = ("category", "reason", "text", "users_fault", "message", "hint", "step", "container")
    assert {record[key] for key in told} == {None}
    assert (record["outcome"], record["server"], record["seconds"]) == ("ready", "", 60.0)
    assert {step["status"] for step in record["steps"]} == {"ready"}


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.FAILED, ("timeout", "timeout", False)),
        (Outcome.CANCELLED, (None, None, None)),
    ],
)
def test_a_failure_beside_the_pod(
    outcome: Outcome, expected: tuple[str | None, str | None, bool | None]
) -> None:
    view = judge(GOOD, now=BEGIN + 60)
    record = start_record(
        status(view, ServerState.FAILED), outcome, user="ada", reason="timeout",
        category="timeout", users=False,
    )  # fmt: skip
    assert (record["reason"], record["category"], record["users_fault"]) == expected


@pytest.mark.parametrize("key", EXAMPLES)
def test_each_record_is_one_line_that_is_read_back(key: str) -> None:
    view = EXAMPLES[key].look()
    shown = status(view, ServerState.FAILED)
    record = start_record(shown, Outcome.FAILED, user="ada\n☃", problem=view.problem)
    line = record_line(record)
    assert line.startswith(PREFIX)
    assert line.isascii()
    assert len(line.splitlines()) == 1
    assert read_line(f"[W 2026-03-02 09:00:42 JupyterHub] {line}") == record
    assert json.loads(line[len(PREFIX) :])["user"] == "ada ☃"


@pytest.mark.parametrize("line", ["", "something", PREFIX, PREFIX + "{", PREFIX + "[]"])
def test_other_lines_are_no_records(line: str) -> None:
    assert read_line(line) is None
