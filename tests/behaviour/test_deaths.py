"""Why a server died stays readable, though its pod is gone and whoever removed it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from .cluster import Kubernetes
from .death_cases import AGAIN, DEATHS, Dying
from .failing import delete_pod
from .hub import Hub, eventually
from .troubled import AT_ONCE, marked, real, troubled

pytestmark = pytest.mark.slow

EVERY = marked(DEATHS)


@dataclass
class Seen:
    """What was seen of one server from its death on, while somebody looked and nobody did."""

    watched: list[dict[str, Any]] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    pods: list[str] = field(default_factory=list)


class Deaths:
    """All servers, which die side by side."""

    def __init__(self, hub: Hub, kubernetes: Kubernetes) -> None:
        self.hub, self.kubernetes = hub, kubernetes
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._seen: dict[tuple[str, bool], Future[Seen]] = {
            (slug, watched): self._pool.submit(self._run, slug, case, watched)
            for slug, case in DEATHS.items()
            for watched in (True, False)
            if real() or not case.real
        }

    def seen(self, slug: str, watched: bool) -> Seen:
        """Return what was seen of a server, of which somebody read the status or nobody."""
        return self._seen[slug, watched].result(300)

    def _run(self, slug: str, case: Dying, watched: bool) -> Seen:
        user, seen, hub = f"dies-{slug}-{'seen' if watched else 'alone'}", Seen(), self.hub
        hub.start(user, f"dies-{slug}")
        assert list(hub.stream(user))[-1].get("ready") is True
        eventually(lambda: hub.model(user)["ready"], "the Hub is done with the start")
        if case.die:
            # its last answer may never come
            httpx.get(f"{hub.url}/user/{user}/die", timeout=60)
        else:
            delete_pod(self.kubernetes, user)

        def stopped() -> bool:
            if watched:
                seen.watched.append(hub.snapshot(user))
            model = hub.model(user)
            return not (model["ready"] or model["pending"])

        eventually(stopped, "the Hub has noticed")
        seen.last = hub.snapshot(user)
        pods = [pod["metadata"]["name"] for pod in self.kubernetes.list("pods")]
        seen.pods = [name for name in pods if name == f"jupyter-{user}"]
        return seen

    def close(self) -> None:
        """Wait for those still going."""
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def deaths(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deaths]:
    """What was seen of each server, on one Hub."""
    with troubled(kubernetes, tmp_path_factory.mktemp("deaths"), {}) as found:
        deaths = Deaths(found.hub, kubernetes)
        yield deaths
        deaths.close()


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "alone"])
@pytest.mark.parametrize("slug", EVERY)
def test_why_it_died_stays_readable(deaths: Deaths, slug: str, watched: bool) -> None:
    case, last = DEATHS[slug], deaths.seen(slug, watched).last
    assert (last["state"], last["message"]) == (case.state, case.message)
    tails = [container["log_tail"] or "" for container in last["containers"]]
    assert not case.log_tail or any(tail.endswith(case.log_tail) for tail in tails)


@pytest.mark.parametrize("slug", EVERY)
def test_whoever_looks_before_the_hub_does_is_told_the_same(deaths: Deaths, slug: str) -> None:
    case = DEATHS[slug]
    told = {status["message"] for status in deaths.seen(slug, True).watched}
    of_any = {"The server is running.", "The server is being stopped."}
    assert told <= {*of_any, case.message, *case.meanwhile}


def test_a_server_that_the_cluster_started_again_says_why(deaths: Deaths) -> None:
    hub, user = deaths.hub, "dies-again"
    hub.start(user, "dies-again")
    assert list(hub.stream(user))[-1].get("ready") is True
    assert hub.snapshot(user)["warnings"] == []
    httpx.get(f"{hub.url}/user/{user}/die", timeout=60)

    def told() -> bool:
        status = hub.snapshot(user)
        return bool(status["state"] == "running" and status["warnings"])

    eventually(told, "it runs again")
    warning = hub.snapshot(user)["warnings"][0]
    assert warning["message"] == AGAIN.message
    assert warning["hint"] == "Choose an option with more memory."
    hub.stop(user)
