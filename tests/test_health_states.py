"""When a server is healthy, when unhealthy, and when it is looked at next."""

from __future__ import annotations

import pytest

from detailedspawner.health import (
    HealthSettings,
    HealthState,
    Judgement,
    Kind,
    after,
    begin,
    failure_message,
    next_check_at,
    to_model,
)
from detailedspawner.models import Health, HealthStatus

GOOD = Judgement(True, Kind.ANSWERED, "the server answered 200")
BAD = Judgement(False, Kind.REFUSED, "nothing listens yet")
NOT_ITS_FAULT = Judgement(False, Kind.PROXY_UNREACHABLE, "no proxy", counts=False)
LETTERS = {"+": GOOD, "-": BAD, "?": NOT_ITS_FAULT}

# a main container that started long ago: no quick looks
STARTED, LATER = 1000.0, 1100.0


def run(checks: str, settings: HealthSettings, at: float = LATER, step: float = 1.0) -> HealthState:
    """Return the state after checks, one letter each, one every `step` seconds."""
    state = begin(settings, STARTED)
    for number, letter in enumerate(checks):
        state = after(state, LETTERS[letter], at + number * step, settings)
    return state


@pytest.mark.parametrize(
    ("checks", "threshold", "successes", "status"),
    [
        ("", 1, 1, "initializing"),
        # exactly so many in a row
        ("-", 1, 1, "unhealthy"),
        ("-", 2, 1, "initializing"),
        ("--", 2, 1, "unhealthy"),
        ("-" * 59, 60, 1, "initializing"),
        ("-" * 60, 60, 1, "unhealthy"),
        # a good one in between starts the count anew
        ("-+-", 2, 2, "initializing"),
        ("--+--", 3, 2, "initializing"),
        ("--+---", 3, 2, "unhealthy"),
        ("+", 1, 1, "healthy"),
        ("+", 1, 2, "initializing"),
        ("++", 1, 2, "healthy"),
        ("+-+", 2, 2, "initializing"),
        ("+-++", 2, 2, "healthy"),
        # healthy stays healthy before the threshold, and is never loading again
        ("+-", 2, 1, "healthy"),
        ("+--", 2, 1, "unhealthy"),
        ("-+", 1, 1, "healthy"),
        ("-+", 1, 2, "unhealthy"),
        # what is not the server's fault neither counts nor ends the count
        ("????", 1, 1, "initializing"),
        ("-?-", 2, 1, "unhealthy"),
        ("+?+", 1, 2, "initializing"),
    ],
)
def test_counts_in_a_row_decide(checks: str, threshold: int, successes: int, status: str) -> None:
    settings = HealthSettings(threshold=threshold, successes=successes)
    assert run(checks, settings).status.value == status


@pytest.mark.parametrize(
    ("failures", "status"), [(1, "initializing"), (90, "initializing"), (91, "unhealthy")]
)
def test_a_duration_counts_from_the_first_failure(failures: int, status: str) -> None:
    # one a second: the 91st failure is 90 seconds after the first
    assert run("-" * failures, HealthSettings(threshold="90s")).status.value == status


def test_a_duration_starts_anew_after_a_good_check() -> None:
    settings = HealthSettings(threshold="3s", successes=9)
    assert run("---+---", settings).status is HealthStatus.INITIALIZING
    assert run("---+----", settings).status is HealthStatus.UNHEALTHY


def test_quick_looks_can_make_it_healthy_but_not_unhealthy() -> None:
    settings = HealthSettings(threshold=1)
    state = run("-" * 99, settings, at=STARTED, step=0.1)
    assert (state.status, state.failures) == (HealthStatus.INITIALIZING, 0)
    assert state.last is not None
    assert state.last.message == BAD.message
    assert after(state, GOOD, STARTED + 9.95, settings).status is HealthStatus.HEALTHY
    assert after(state, BAD, STARTED + 10.0, settings).status is HealthStatus.UNHEALTHY


def test_a_look_that_began_as_a_quick_one_stays_one() -> None:
    settings = HealthSettings(threshold=1)
    state = after(begin(settings, STARTED), BAD, STARTED + 12, settings, began=STARTED + 9)
    assert state.status is HealthStatus.INITIALIZING


@pytest.mark.parametrize(
    ("now", "interval", "due"),
    [
        (STARTED, 1.0, STARTED + 0.1),
        (STARTED + 9.9, 1.0, STARTED + 10.0),
        (STARTED + 10, 1.0, STARTED + 11),
        (STARTED, 0.05, STARTED + 0.05),
        (LATER, 30.0, LATER + 30),
    ],
)
def test_the_first_ten_seconds_are_looked_at_closely(
    now: float, interval: float, due: float
) -> None:
    settings = HealthSettings(interval=interval)
    assert next_check_at(begin(settings, STARTED), now, settings) == pytest.approx(due)


def test_the_last_check_comes_when_the_duration_is_over() -> None:
    settings = HealthSettings(threshold="3s", interval=2)
    state = after(begin(settings, STARTED), BAD, LATER, settings)
    assert next_check_at(state, LATER, settings) == LATER + 2
    state = after(state, BAD, LATER + 2, settings)
    assert next_check_at(state, LATER + 2, settings) == LATER + 3
    assert after(state, BAD, LATER + 3, settings).status is HealthStatus.UNHEALTHY


def test_disabled_stays_disabled() -> None:
    settings = HealthSettings(enabled=False)
    state = after(begin(settings, STARTED), BAD, LATER, settings)
    assert state.status is HealthStatus.DISABLED
    assert next_check_at(state, LATER, settings) is None
    assert to_model(state, "api", settings) == Health()


def test_the_model_tells_the_last_outcome() -> None:
    settings = HealthSettings(threshold=60)
    assert to_model(run("---", settings), "api", settings).to_dict() == {
        "status": "initializing",
        "path": "api",
        "failures": 3,
        "threshold": 60,
        "last": {
            "at": "1970-01-01T00:18:22.000Z",
            "outcome": "refused",
            "message": "nothing listens yet",
        },
    }
    assert to_model(run("-", HealthSettings(threshold="9s")), "api", settings).failures == 1


@pytest.mark.parametrize(("checks", "times"), [("-", "once"), ("-" * 60, "60 times in a row")])
def test_the_failure_says_what_and_how_often(checks: str, times: str) -> None:
    settings = HealthSettings(threshold=len(checks))
    message, hint = failure_message(run(checks, settings))
    assert message == f"The server could not be reached: nothing listens yet (checked {times})."
    assert hint is not None
    assert "listen" in hint
