"""Trouble that is mended in time ends no start, and no reader ever saw it fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .cluster import Kubernetes
from .recovery_cases import RECOVERIES
from .troubled import Troubled, marked, troubled

pytestmark = pytest.mark.slow

EVERY = marked(RECOVERIES)


@pytest.fixture(scope="module")
def recoveries(
    kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Troubled]:
    """What was seen of each case, on one Hub."""
    with troubled(kubernetes, tmp_path_factory.mktemp("recoveries"), RECOVERIES) as found:
        yield found


@pytest.mark.parametrize("slug", EVERY)
def test_it_goes_on_to_ready(recoveries: Troubled, slug: str) -> None:
    seen = recoveries[slug]
    assert seen.last.get("ready") is True, seen.last
    assert seen.snapshot["state"] == "running"
    steps = seen.snapshot["details"]
    assert [step["status"] for step in steps] == ["ready"] * len(steps)
    assert seen.snapshot["warnings"] == []


@pytest.mark.parametrize("slug", EVERY)
def test_its_state_was_never_failed(recoveries: Troubled, slug: str) -> None:
    seen = recoveries[slug]
    assert {status["state"] for status in seen.statuses} == {"starting"}
    assert not any("failed" in event for event in seen.events)


@pytest.mark.parametrize("slug", EVERY)
def test_the_trouble_was_shown_and_went_away(recoveries: Troubled, slug: str) -> None:
    case, seen = RECOVERIES[slug], recoveries[slug]
    shown = [
        step
        for status in seen.statuses
        for step in status["details"]
        if step["step"] == case.step and step["reason"]
    ]
    assert any((step["status"] == "failed") is case.failed for step in shown)
    last = next(step for step in seen.statuses[-1]["details"] if step["step"] == case.step)
    assert (last["status"], last["reason"], last["message"]) == ("ready", None, None)
