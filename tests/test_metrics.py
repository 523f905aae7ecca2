"""What is counted of starts, and that its documentation names all of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from detailedspawner import metrics
from detailedspawner.following import FollowingSpawner
from detailedspawner.pods import DEFAULT_GRACES

DOCUMENTED = (Path(__file__).parent.parent / "docs" / "metrics.md").read_text()


def value(name: str, **labels: str) -> float:
    found = REGISTRY.get_sample_value(f"jupyterhub_detailedspawner_{name}", labels)
    assert found is not None, (name, labels)
    return found


def record(outcome: str, category: str | None = None, *steps: tuple[Any, ...]) -> dict[str, Any]:
    keys = ("step", "kind", "status", "seconds")
    told = [dict(zip(keys, ("Step", *step), strict=True)) for step in steps]
    return {"outcome": outcome, "category": category, "steps": told}


STARTS = [
    {"record": record("ready"), "labels": {"outcome": "ready", "reason": ""}},
    {"record": record("failed", "crash"), "labels": {"outcome": "failed", "reason": "crash"}},
    {"record": record("failed", "timeout"), "labels": {"outcome": "failed", "reason": "timeout"}},
    # nothing that comes from outside makes a new series
    {"record": record("failed", "Bad Luck"), "labels": {"outcome": "failed", "reason": "other"}},
    {"record": record("failed", None), "labels": {"outcome": "failed", "reason": "other"}},
    {"record": record("cancelled", "crash"), "labels": {"outcome": "cancelled", "reason": ""}},
]


@pytest.mark.parametrize("row", STARTS, ids=lambda row: str(row["labels"]))
def test_a_start_is_counted_by_outcome_and_reason(row: dict[str, Any]) -> None:
    before = value("starts_total", **row["labels"])
    metrics.count_start(row["record"])
    assert value("starts_total", **row["labels"]) == before + 1


PHASES = [
    {"steps": [("image", "ready", 3.0), ("init", "executing", None)], "kind": "init"},
    {"steps": [("preparation", "ready", 1.0), ("machine", "waiting", None)], "kind": "machine"},
    {"steps": [("image", "waiting", None), ("init", "executing", None)], "kind": "init"},
    {"steps": [("image", "failed", None), ("session", "waiting", None)], "kind": "image"},
    {"steps": [("session", "ready", 1.0)], "kind": "connection"},
    {"steps": [], "kind": "connection"},
]


@pytest.mark.parametrize("row", PHASES, ids=str)
def test_a_cancel_is_counted_by_the_step_under_way(row: dict[str, Any]) -> None:
    before = value("cancels_total", kind=row["kind"])
    metrics.count_start(record("cancelled", None, *row["steps"]))
    assert value("cancels_total", kind=row["kind"]) == before + 1


def test_the_time_of_each_step_that_was_done_is_observed() -> None:
    def seen() -> tuple[float, float]:
        name = "step_duration_seconds"
        return value(f"{name}_sum", kind="init"), value(f"{name}_count", kind="init")

    total, count = seen()
    steps = [("init", "ready", 4.0), ("init", "failed", 9.0), ("init", "ready", None)]
    metrics.count_start(record("failed", "crash", *steps))
    assert seen() == (total + 4, count + 1)


def test_a_health_check_is_counted_by_its_outcome() -> None:
    before = value("health_checks_total", outcome="refused")
    metrics.count_check("refused")
    assert value("health_checks_total", outcome="refused") == before + 1


def test_starts_are_followed_once_however_often_it_is_asked_for() -> None:
    metrics.follow_starts()
    metrics.follow_starts()
    assert FollowingSpawner.at_record.count(metrics.count_start) == 1
    assert FollowingSpawner.at_check.count(metrics.count_check) == 1


def test_each_metric_and_each_value_is_documented() -> None:
    ours = [one for one in REGISTRY.collect() if "detailedspawner" in one.name]
    samples = {s.name for one in ours for s in one.samples if not s.name.endswith("_created")}
    names = {
        re.sub("_(bucket|sum|count)$", "", name).removeprefix("jupyterhub_") for name in samples
    }
    assert names == set(re.findall(r"^\| `(detailedspawner_\w+)`", DOCUMENTED, re.MULTILINE))
    documented = set(re.findall(r"`(\w+)`", DOCUMENTED))
    assert {*metrics.KINDS, *metrics.OUTCOMES} <= documented
    assert {*metrics.REASONS} - {*DEFAULT_GRACES} <= documented
    labels = {label for one in ours for sample in one.samples for label in sample.labels}
    assert labels - {"le"} == {"outcome", "reason", "kind"} <= documented
