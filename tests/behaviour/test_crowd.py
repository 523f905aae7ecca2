"""Many servers at once: cancels at any moment, and preparations that block."""

from __future__ import annotations

import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from .cluster import Kubernetes
from .hub import Hub, eventually

pytestmark = pytest.mark.slow

SERVERS, CANCELS, AT_ONCE = 20, 100, 10
PROFILES = ["gate-ok", "gate-late", "gate-never", "cancel-init-container", "cancel-scheduling"]
BLOCKING = 40


def counts(hub: Hub) -> dict[str, Any]:
    """Return what must not grow."""
    answer = hub.client.get("/suite/counts")
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def cancel_at_random(hub: Hub, number: int) -> list[int]:
    """Start and cancel one server some times; returns the answers to the cancels."""
    user, answers = f"crowd-{number}", []
    moments = random.Random(number)  # noqa: S311 (the same moments in each run)
    for _ in range(CANCELS // SERVERS):
        started = hub.start(user, moments.choice(PROFILES))
        assert started in (201, 202), started
        time.sleep(moments.uniform(0, 3))
        answers.append(hub.client.delete(hub.path(user)).status_code)
    return answers


@pytest.fixture(scope="module")
def cancelled(hub: Hub) -> tuple[dict[str, Any], list[int], dict[str, Any]]:
    """The counts before, the answers to all cancels, and the counts afterwards."""
    # what is made once and stays is there after a first start
    hub.run("crowd-first", "gate-ok")
    before = counts(hub)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda number: cancel_at_random(hub, number), range(SERVERS)))

    def calm() -> bool:
        return all(hub.model(f"crowd-{n}")["pending"] is None for n in range(SERVERS))

    eventually(calm, "nothing is pending")
    eventually(
        lambda: len(counts(hub)["tasks"]) <= len(before["tasks"]),
        "all tasks have ended",
        raises=False,
    )
    return before, [answer for each in answers for answer in each], counts(hub)


Cancelled = tuple[dict[str, Any], list[int], dict[str, Any]]


def test_every_cancel_is_answered_well(cancelled: Cancelled) -> None:
    _, answers, _ = cancelled
    assert len(answers) == CANCELS
    assert set(answers) <= {202, 204}


def test_nothing_of_them_is_left(cancelled: Cancelled, hub: Hub, kubernetes: Kubernetes) -> None:
    def gone() -> bool:
        return not [p for p in kubernetes.list("pods") if "crowd-" in p["metadata"]["name"]]

    eventually(gone, "the pods are gone")
    assert not [path for path in hub.routes() if "/crowd-" in path]
    for number in range(SERVERS):
        user = f"crowd-{number}"
        assert hub.tokens(user) == []
        assert hub.model(user)["ready"] is False


def test_nothing_grows(cancelled: Cancelled) -> None:
    before, _, after = cancelled
    assert set(after["tasks"]) <= set(before["tasks"])
    assert len(after["tasks"]) <= len(before["tasks"]), after["tasks"]
    assert after["watches"] == before["watches"]
    # one for each server that was started, while the Hub keeps it
    assert after["spawners"] <= before["spawners"] + SERVERS
    # connections that are kept for the next request come and go
    assert after["files"] <= before["files"] + 3 * AT_ONCE


def test_a_start_is_answered_at_once(hub: Hub) -> None:
    hub.client.post("/users/quick")
    began = time.monotonic()
    assert hub.start("quick", "cancel-async-preparation") == 202
    assert time.monotonic() - began < 0.5
    assert hub.snapshot("quick")["state"] == "starting"
    hub.stop("quick")


def test_preparations_that_block_delay_nobody_else(hub: Hub) -> None:
    users = [f"blocking-{number}" for number in range(BLOCKING)]

    def delays(seconds: float) -> list[float]:
        end, found = time.monotonic() + seconds, []
        while time.monotonic() < end:
            began = time.monotonic()
            hub.client.get("/user")
            found.append(time.monotonic() - began)
        return found

    usual = delays(1)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda user: hub.start(user, "blocking"), users))

        def at_work() -> bool:
            steps = [hub.snapshot(user)["details"][1] for user in users]
            return all(step["status"] == "executing" for step in steps)

        eventually(at_work, "all are being prepared", 20)
        busy = delays(3)
        list(pool.map(hub.stop, users))
    assert statistics.median(busy) - statistics.median(usual) < 0.1
    # the longest of hundreds tells of whatever else this machine does
    assert statistics.quantiles(busy, n=20)[-1] - statistics.quantiles(usual, n=20)[-1] < 0.1
