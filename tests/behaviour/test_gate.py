"""A start ends when its server answers through the proxy, and not before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from .cluster import Kubernetes
from .gate_cases import GATE_CASES
from .hub import Hub, Run, eventually

AT_ONCE = 6
SLUGS = list(GATE_CASES)
WELL = [slug for slug, case in GATE_CASES.items() if "fails" not in case]
FAILING = [slug for slug, case in GATE_CASES.items() if "fails" in case]


class GateRun(Run):
    """A start of one case, and what was left of it."""

    routes: list[str]
    model: dict[str, Any]
    again: dict[str, Any] | None = None


def make(hub: Hub, slug: str) -> GateRun:
    """Start the case; after a failure see what is left, and start another server."""
    user, run = f"user-{slug}", GateRun()
    run.answer = hub.start(user, slug)
    run.events.extend(hub.stream(user))
    run.snapshot = hub.snapshot(user)
    run.routes, run.model = hub.routes(), hub.model(user)
    if "fails" in GATE_CASES[slug]:
        hub.start(user, "gate-ok")
        run.again = list(hub.stream(user))[-1]
    return run


@pytest.fixture(scope="module")
def gate_runs(hub: Hub) -> Iterator[dict[str, Future[GateRun]]]:
    """All cases, side by side."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {slug: pool.submit(make, hub, slug) for slug in SLUGS}


Runs = dict[str, "Future[GateRun]"]


def outcomes(run: Run) -> list[str]:
    """Return the outcomes of asking in their order, each once."""
    seen: list[str] = []
    for status in run.statuses:
        last = status["health"]["last"]
        if last and seen[-1:] != [last["outcome"]]:
            seen.append(last["outcome"])
    return seen


def health(run: Run) -> list[str]:
    """Return the states of health in their order, each once."""
    seen: list[str] = []
    for status in run.statuses:
        if seen[-1:] != [status["health"]["status"]]:
            seen.append(status["health"]["status"])
    return seen


@pytest.mark.parametrize("slug", WELL)
def test_a_server_that_answers_is_opened(gate_runs: Runs, slug: str) -> None:
    run = gate_runs[slug].result(600)
    assert run.last.get("ready") is True, run.last
    assert run.snapshot["state"] == "running"
    assert f"/user/user-{slug}/" in run.routes
    assert run.model["ready"] is True


@pytest.mark.parametrize("slug", WELL)
def test_its_health_goes_from_initializing_to_healthy(gate_runs: Runs, slug: str) -> None:
    run, case = gate_runs[slug].result(600), GATE_CASES[slug]
    expected = ["initializing", "unhealthy" if "opens" in case else "healthy"]
    assert health(run) == (["disabled"] if slug == "gate-disabled" else expected)


@pytest.mark.parametrize("slug", FAILING)
def test_one_that_does_not_ends_the_start_with_the_reason(gate_runs: Runs, slug: str) -> None:
    run = gate_runs[slug].result(600)
    assert run.last["failed"] is True
    assert re.search(GATE_CASES[slug]["fails"], run.last["message"]), run.last["message"]
    assert re.search(GATE_CASES[slug]["fails"], run.snapshot["message"])
    assert run.snapshot["state"] == "failed"
    if slug != "gate-dies":
        assert health(run) == ["initializing", "unhealthy"]
        assert run.statuses[-1]["details"][-1]["status"] == "failed"


@pytest.mark.parametrize("slug", FAILING)
def test_a_failure_leaves_no_route_and_nothing_pending(gate_runs: Runs, slug: str) -> None:
    run = gate_runs[slug].result(600)
    assert f"/user/user-{slug}/" not in run.routes
    assert (run.model["pending"], run.model["ready"]) == (None, False)


@pytest.mark.parametrize("slug", FAILING)
def test_a_new_start_after_the_failure_works(gate_runs: Runs, slug: str) -> None:
    run = gate_runs[slug].result(600)
    assert run.again is not None
    assert run.again.get("ready") is True, run.again


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if "outcomes" in GATE_CASES[slug]])
def test_each_change_of_outcome_is_shown(gate_runs: Runs, slug: str) -> None:
    run, case = gate_runs[slug].result(600), GATE_CASES[slug]
    parts = [
        f"(?:{word.strip('()')} )" + ("?" if word.startswith("(") else "")
        for word in case["outcomes"].split()
    ]
    seen = "".join(f"{word} " for word in outcomes(run))
    assert re.fullmatch("".join(parts), seen), seen
    if "says" in case:
        told = [status["details"][-1]["message"] or "" for status in run.statuses]
        assert any(re.search(case["says"], text, re.IGNORECASE) for text in told), told


def test_nothing_is_ready_before_the_gate(gate_runs: Runs) -> None:
    for slug in SLUGS:
        run = gate_runs[slug].result(600)
        assert all(status["state"] != "running" for status in run.statuses)
        assert not any("ready" in event for event in run.events[:-1])


def test_an_opened_server_keeps_its_warning(gate_runs: Runs) -> None:
    snapshot = gate_runs["gate-not-found-open"].result(600).snapshot
    assert snapshot["health"]["status"] == "unhealthy"
    assert ["answered 404" in warning["message"] for warning in snapshot["warnings"]] == [True]


def test_an_unreachable_proxy_is_told_to_the_admin(gate_runs: Runs, hub: Hub) -> None:
    gate_runs["gate-proxy-unreachable"].result(600)
    lines = [line for line in hub.log.read_text().splitlines() if "health_proxy_url" in line]
    (line,) = (line for line in lines if line.startswith("[E "))
    assert "http://127.0.0.1:9" in line


def test_the_proxy_is_not_asked_for_servers_that_do_not_answer(gate_runs: Runs, hub: Hub) -> None:
    for slug in SLUGS:
        gate_runs[slug].result(600)
    lines = hub.log.read_text().splitlines()
    # the proxy's word for a route whose server does not answer, and what it asks the Hub then
    proxys = [line for line in lines if "[ConfigProxy]" in line and "/user/" in line]
    assert proxys
    assert not [line for line in proxys if "error" in line]
    asked = [line for line in lines if "detailedspawner" in line and "/hub/user/" in line]
    assert asked == []


def test_health_of_a_running_server_follows_its_pod(gate_runs: Runs, hub: Hub) -> None:
    gate_runs["gate-sickens"].result(600)

    def sick() -> bool:
        snapshot = hub.snapshot("user-gate-sickens")
        return bool(snapshot["health"]["status"] == "unhealthy")

    eventually(sick, "the server is unhealthy")
    snapshot = hub.snapshot("user-gate-sickens")
    assert snapshot["state"] == "running"


def test_a_readiness_probe_is_added(gate_runs: Runs, kubernetes: Kubernetes) -> None:
    gate_runs["gate-readiness"].result(600)
    (pod,) = (pod for pod in kubernetes.list("pods") if "gate-readiness" in pod["metadata"]["name"])
    probe = pod["spec"]["containers"][0]["readinessProbe"]
    assert probe["httpGet"]["path"] == "/user/user-gate-readiness/api"


def test_a_direct_visit_never_meets_a_broken_page(hub: Hub) -> None:
    browser = hub.sign_in("visitor")
    hub.start("visitor", "gate-recovers")
    seen: set[str] = set()

    def over() -> bool:
        answer = browser.get("/user/visitor/")
        assert answer.status_code < 500, answer.text
        seen.add(answer.url.path)
        return answer.url.path.startswith("/user/visitor")

    eventually(over, "the visitor is at the server")
    assert "/hub/spawn-pending/visitor" in seen
