"""What the Hub's own /metrics tells of starts."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from .hub import Hub, eventually

Labels = tuple[tuple[str, str], ...]


def counts(hub: Hub) -> dict[tuple[str, Labels], float]:
    """Return all numbers that are ours, by their names and labels."""
    answer = hub.client.get(f"{hub.url}/hub/metrics")
    answer.raise_for_status()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if "detailedspawner" in sample.name and not sample.name.endswith("_created")
    }


def number(found: dict[tuple[str, Labels], float], name: str, **labels: str) -> float:
    return found[f"jupyterhub_detailedspawner_{name}", tuple(sorted(labels.items()))]


def test_starts_are_counted_and_users_are_not_named(hub: Hub) -> None:
    before = counts(hub)

    def more(name: str, **labels: str) -> float:
        return number(counts(hub), name, **labels) - number(before, name, **labels)

    assert hub.run("metrics-good", "gate-ok").last.get("ready")
    assert more("starts_total", outcome="ready", reason="") == 1
    assert more("step_duration_seconds_count", kind="session") == 1
    assert more("health_checks_total", outcome="answered") >= 1

    assert hub.run("metrics-bad", "crashing-init-container").snapshot["state"] == "failed"
    assert more("starts_total", outcome="failed", reason="crash") == 1

    assert hub.start("metrics-cancel", "cancel-init-container") == 202
    eventually(lambda: more("pending_starts", kind="init") == 1, "an init container runs")
    hub.stop("metrics-cancel")
    eventually(lambda: more("starts_total", outcome="cancelled", reason="") == 1, "it is counted")
    assert more("cancels_total", kind="init") == 1
    assert more("pending_starts", kind="init") == 0

    assert counts(hub).keys() == before.keys()
    assert not [labels for _, labels in before if "metrics-" in str(labels)]
