"""How long starts have taken, and what is expected of the next one."""

from __future__ import annotations

from typing import Any

import pytest

from detailedspawner.durations import (
    FEWEST_STARTS,
    KEPT_PROFILES,
    KEPT_STARTS,
    Durations,
    Expected,
    Sample,
    sample_of,
)
from detailedspawner.models import ServerState, ServerStatus, Step, StepKind, StepStatus


def sample(number: int, seconds: float, profile: str = "lab", **steps: float) -> Sample:
    return Sample(f"start-{number}", profile, seconds, steps)


def known(*seconds: float, **steps: float) -> Durations:
    durations = Durations()
    for number, one in enumerate(seconds):
        durations.add(sample(number, one, **steps))
    return durations


EXPECTED = [
    {"of": [10, 10, 10, 10], "seconds": None, "at_most": None},
    {"of": [10, 10, 10, 10, 10], "seconds": 10, "at_most": 10},
    {"of": [50, 10, 40, 20, 30], "seconds": 30, "at_most": 50},
    {"of": [10] * 19 + [90], "seconds": 10, "at_most": 10},
    {"of": [10] * 18 + [90, 90], "seconds": 10, "at_most": 90},
    {"of": [5, 5, 6, 6, 6, 6], "seconds": 6, "at_most": 6},
    # only the newest count
    {"of": [900] * KEPT_STARTS + [7] * KEPT_STARTS, "seconds": 7, "at_most": 7},
]


@pytest.mark.parametrize("row", EXPECTED)
def test_what_is_expected_follows_from_the_last_starts(row: dict[str, Any]) -> None:
    expected = known(*row["of"]).expected("lab")
    found = (expected.seconds, expected.at_most_seconds) if expected else (None, None)
    assert found == (row["seconds"], row["at_most"])


def test_a_step_is_known_from_the_starts_that_had_it() -> None:
    durations = known(*[10] * 8, image=4)
    for number in range(100, 100 + FEWEST_STARTS - 1):
        durations.add(sample(number, 10, image=4, clone=1))
    expected = durations.expected("lab")
    assert expected is not None
    assert expected.steps == {"image": 4}
    durations.add(sample(200, 10, clone=3))
    expected = durations.expected("lab")
    assert expected is not None
    assert expected.steps == {"image": 4, "clone": 1}


def test_profiles_know_nothing_of_each_other() -> None:
    durations = known(*[10] * 5)
    assert durations.expected("other") is None
    assert durations.expected("") is None


def test_a_start_counts_once() -> None:
    durations = Durations()
    for _ in range(9):
        durations.add(sample(1, 10))
    assert durations.expected("lab") is None


def test_the_profiles_kept_are_the_last_used() -> None:
    durations = known(*[10] * 5)
    for number in range(KEPT_PROFILES - 1):
        durations.add(sample(number, 1, profile=f"profile-{number}"))
    assert durations.expected("lab") is not None
    durations.add(sample(99, 10))
    durations.add(sample(1, 1, profile="one more"))
    assert durations.expected("lab") is not None
    for number in range(KEPT_PROFILES):
        durations.add(sample(number, 1, profile=f"again-{number}"))
    assert durations.expected("lab") is None


def status(**more: Any) -> ServerStatus:
    ready = Step("Image", StepStatus.READY, StepKind.IMAGE, started_at=101.0, finished_at=103.5)
    more.setdefault("started_at", 100.0)
    more.setdefault("updated_at", 112.25)
    more.setdefault("details", (ready,))
    return ServerStatus(
        start_id="7f3a9c", revision="7f3a9c.9", state=ServerState.RUNNING, progress=100,
        message="", **more,
    )  # fmt: skip


SAMPLES: list[dict[str, Any]] = [
    {"status": status(), "sample": Sample("7f3a9c", "lab", 12.25, {"Image": 2.5})},
    # the clock was put back, or the times are not known
    {"status": status(updated_at=99.0), "sample": None},
    {"status": status(started_at=None), "sample": None},
    {
        "status": status(
            details=(
                Step("A", StepStatus.READY, StepKind.INIT, started_at=5.0, finished_at=4.0),
                Step("B", StepStatus.EXECUTING, StepKind.INIT, started_at=5.0),
                Step("C", StepStatus.FAILED, StepKind.INIT, started_at=5.0, finished_at=6.0),
            )
        ),
        "sample": Sample("7f3a9c", "lab", 12.25, {}),
    },
]


@pytest.mark.parametrize("row", SAMPLES)
def test_what_a_start_has_taken(row: dict[str, Any]) -> None:
    assert sample_of(row["status"], "lab") == row["sample"]


def test_a_sample_survives_the_database() -> None:
    found = sample(1, 12.5, image=4.25)
    assert Sample.from_dict(found.to_dict()) == found


GOOD = {"start_id": "a", "profile": "", "seconds": 1, "steps": {}}
JUNK: list[Any] = [
    None, [], "text", {}, {**GOOD, "seconds": -1}, {**GOOD, "seconds": "1"},
    {**GOOD, "seconds": True}, {**GOOD, "seconds": float("nan")}, {**GOOD, "steps": []},
    {**GOOD, "steps": {"A": None}}, {**GOOD, "start_id": 7}, {**GOOD, "profile": None},
    {**GOOD, "seconds": 10**400}, {**GOOD, "steps": {"A": 10**400}},
]  # fmt: skip


@pytest.mark.parametrize("kept", JUNK, ids=repr)
def test_junk_from_the_database_is_no_sample(kept: Any) -> None:
    assert Sample.from_dict(kept) is None
    assert Sample.from_dict(GOOD) is not None


def test_nothing_is_taken_from_no_sample() -> None:
    durations = Durations()
    durations.add(None)
    assert durations.expected("") is None


def test_a_step_that_is_not_known_is_expected_to_take_nobody_knows_how_long() -> None:
    step = Step("Image", StepStatus.WAITING, StepKind.IMAGE)
    assert Expected(1, 2, {"Image": 3.0}).of_step(step) == 3
    assert Expected(1, 2, {}).of_step(step) is None
