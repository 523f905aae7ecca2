"""What was going on when the Hub ended goes on when it is back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from .cluster import Kubernetes
from .hub import Hub, eventually, running_hub
from .restart_cases import RESTARTS

pytestmark = pytest.mark.slow

GO_ON = [slug for slug, case in RESTARTS.items() if "interrupted" not in case]


@pytest.fixture(scope="module", params=[signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
def restarted(
    request: pytest.FixtureRequest, kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Hub, dict[str, dict[str, object]]]]:
    """A Hub that was ended while each case was in its phase, and the statuses before."""
    folder = tmp_path_factory.mktemp("restarted")
    config = Path(__file__).with_name("hub_config.py")
    with running_hub(kubernetes, config, folder, {"SUITE_OWN_PROXY": "1"}) as hub:
        for slug in RESTARTS:
            hub.start(f"re-{slug}", slug)
        before = {}
        for slug, case in RESTARTS.items():
            eventually(
                lambda slug=slug, case=case: case["when"](hub.snapshot(f"re-{slug}")),
                f"{slug} is in its phase",
            )
        for slug in RESTARTS:
            before[slug] = hub.snapshot(f"re-{slug}")
        hub.restart(request.param)
        hub.wait_until_up()
        yield hub, before
        for slug in RESTARTS:
            hub.stop(f"re-{slug}")


Restarted = tuple[Hub, dict[str, dict[str, object]]]


@pytest.mark.parametrize("slug", GO_ON)
def test_a_pending_start_goes_on_and_ends_ready(restarted: Restarted, slug: str) -> None:
    hub, before = restarted
    user = f"re-{slug}"
    seen: list[tuple[str, bool, int]] = []

    def running() -> bool:
        status, model = hub.snapshot(user), hub.model(user)
        # followed as a browser would be: the Hub's answer is a redirect into its pages
        code = hub.visit(user).status_code
        seen.append((status["state"], model["ready"], code))
        assert status["state"] in ("checking", "starting", "running"), status
        assert status["start_id"] == before[slug]["start_id"] or slug == "running"
        assert not (model["ready"] and code in (302, 503)), seen
        return bool(status["state"] == "running" and model["ready"])

    eventually(running, f"{slug} is running", 120)
    steps = hub.snapshot(user)["details"]
    assert [step["status"] for step in steps] == ["ready"] * len(steps)


def test_a_preparation_was_interrupted_and_can_be_started_again(restarted: Restarted) -> None:
    hub, _ = restarted
    status = hub.snapshot("re-preparation")
    assert status["state"] == "failed"
    assert "interrupted" in status["message"]
    assert hub.model("re-preparation")["pending"] is None
    hub.start("re-preparation", "plain")
    assert list(hub.stream("re-preparation"))[-1].get("ready") is True


def test_nothing_is_orphaned(restarted: Restarted, kubernetes: Kubernetes) -> None:
    hub, _ = restarted
    for slug in RESTARTS:
        hub.stop(f"re-{slug}")

    def gone() -> bool:
        return not [p for p in kubernetes.list("pods") if "jupyter-re-" in p["metadata"]["name"]]

    eventually(gone, "no pod is left")
    assert not [route for route in hub.routes() if "/re-" in route]
