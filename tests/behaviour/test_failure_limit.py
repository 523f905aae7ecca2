"""Whatever users do wrong the Hub lives; when its cluster is gone it ends, as it was told to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from detailedspawner.demo.cluster import start_in_thread

from .cluster import Kubernetes
from .hub import Hub, eventually, running_hub
from .limit_cases import MISTAKES, Mistake

pytestmark = pytest.mark.slow


@dataclass
class Limited:
    """A Hub with a limit of two failures, and a cluster that can be taken from it."""

    hub: Hub
    end_cluster: Any

    def failures(self) -> int:
        """Return how many failures in a row have counted."""
        return int(self.hub.client.get("/suite/failures").raise_for_status().json())


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    """A real Hub in front of a cluster of its own."""
    folder = tmp_path_factory.mktemp("limited")
    config = Path(__file__).with_name("limit_hub.py")
    with contextlib.ExitStack() as clusters:
        cluster = clusters.enter_context(start_in_thread(folder / "cluster", time_scale=0.1))
        kubernetes = Kubernetes(cluster.kubeconfig(folder / "kubeconfig"))
        clusters.callback(kubernetes.client.close)
        kubernetes.__enter__()
        full = f"{kubernetes.namespace}-full"
        kubernetes.client.post("/api/v1/namespaces", json={"metadata": {"name": full}})
        quota = {"metadata": {"name": "no-more"}, "spec": {"hard": {"pods": "0"}}}
        path = f"/api/v1/namespaces/{full}/resourcequotas"
        kubernetes.client.post(path, json=quota).raise_for_status()
        with running_hub(kubernetes, config, folder) as hub:
            yield Limited(hub, clusters.close)


class Text(HTMLParser):
    """The text of a page, as a reader has it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def __str__(self) -> str:
        return " ".join(" ".join(self.parts).split())


def ask(hub: Hub, user: str, slug: str, mistake: Mistake) -> Any:
    hub.client.post(f"/users/{user}")
    options = mistake.options or {"profile": slug}
    return hub.client.post(hub.path(user), json=options)


@pytest.mark.parametrize("slug", MISTAKES)
def test_a_users_mistake_is_told_everywhere_alike_and_does_not_count(
    limited: Limited, slug: str
) -> None:
    hub, mistake, user = limited.hub, MISTAKES[slug], f"wrong-{slug}"
    written = hub.log.stat().st_size
    answer = ask(hub, user, slug, mistake)
    assert answer.status_code == mistake.answer, answer.text
    if answer.status_code == 400:
        assert mistake.says in answer.json()["message"]
        assert hub.model(user)["pending"] is None
    elif mistake.cancel:
        events = hub.stream(user)
        next(events)
        hub.client.delete(hub.path(user))
        last = list(events)[-1]
        assert (last["failed"], last["message"]) == (True, mistake.says)
        eventually(lambda: hub.snapshot(user)["state"] == "stopped", "it is stopped")
    else:
        told_everywhere(hub, user, mistake.says)
    # with a second one in a row the Hub would end
    assert limited.failures() == 0
    log = hub.log.read_bytes()[written:].decode()
    assert "Traceback" not in log, log[log.index("Traceback") - 2000 :]
    assert "Unhandled error" not in log


def told_everywhere(hub: Hub, user: str, says: str) -> None:
    """Check that a failure is the same sentence in the stream, the status, and on the page."""
    last = list(hub.stream(user))[-1]
    assert last["failed"] is True
    status = last["status"]
    assert status["state"] == "failed"
    assert says in status["message"], status["message"]
    said = last["message"].removeprefix("Spawn failed: ")
    assert said.startswith(status["message"])
    assert said.endswith(f"(start {status['start_id']})")
    eventually(lambda: hub.model(user)["pending"] is None, "it is cleaned up")
    for _ in range(2):
        assert hub.snapshot(user) == status
    # who comes late is told the same
    (late,) = hub.stream(user)
    assert (late["message"], late["status"]) == (last["message"], status)
    with contextlib.closing(hub.sign_in(user)) as browser:
        page = browser.get(f"/user/{user}/")
    shown = str(Text(page.text))
    hint = said.removeprefix(status["message"]).partition("(start ")[0]
    assert status["message"] in shown
    assert hint.strip() in shown
    assert f"Start {status['start_id']}" in shown


def test_a_hub_that_loses_its_cluster_ends_at_its_limit(limited: Limited) -> None:
    hub = limited.hub
    hub.client.post("/users/before")
    # a start that works begins the count anew
    assert hub.start("before", "plain") == 202
    assert list(hub.stream("before"))[-1].get("ready") is True
    limited.end_cluster()
    assert hub.start("first", "plain") == 202
    last = list(hub.stream("first"))[-1]
    assert last["failed"] is True
    assert last["message"].startswith("Spawn failed: The cluster does not answer. Try again")
    assert hub.snapshot("first")["message"] == "The cluster does not answer."
    assert limited.failures() == 1
    hub.start("second", "plain")
    assert hub.wait() == 1
    assert "Aborting due to 2 consecutive spawn failures" in hub.log.read_text()
