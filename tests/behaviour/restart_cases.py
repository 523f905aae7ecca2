"""The phases of a start in which the Hub is ended and started again."""

from __future__ import annotations

from typing import Any

from .cancel_cases import asked, step, wait_long
from .cases import container, probe
from .gate_cases import SCRIPT, server

# seconds; longer than it takes until all cases are in their phase and the Hub is back
HOLD = 25
HELD = {"cmd": ["python3", "-c", SCRIPT, "ok", str(HOLD)], "start_timeout": 150}


def held(mode: str) -> dict[str, Any]:
    """A server that is not ready before some time has gone by."""
    more = {"health_interval": 1.0, "health_threshold": 300}
    return server(mode, **more, cmd=["python3", "-c", SCRIPT, mode, str(HOLD)], start_timeout=150)


RESTARTS: dict[str, dict[str, Any]] = {
    "init-container": {
        "override": {**HELD, "init_containers": [container("prepare", f"sleep {HOLD}")]},
        "when": step("executing", "Prepare"),
    },
    "main-container": {
        "override": {**HELD, "extra_container_config": {"readinessProbe": probe(HOLD)}},
        "when": step("executing", "Starting session"),
    },
    "pods-answer": {"override": held("very-late"), "when": asked("refused")},
    "proxys-answer": {
        "override": {**held("found-late"), "health_statuses": [200]},
        "when": asked("unwanted_status"),
    },
    "running": {"override": HELD, "when": lambda status: status["state"] == "running"},
    "preparation": {
        "override": {**HELD, "preparations": [{"name": "Wait", "run": wait_long}]},
        "when": step("executing", "Wait"),
        "interrupted": True,
    },
}


def profiles() -> list[dict[str, Any]]:
    """Return the phases as KubeSpawner's `profile_list`, and one that just starts."""
    found = [{"slug": "plain", "display_name": "plain", "kubespawner_override": HELD}]
    for slug, case in RESTARTS.items():
        found.append({"slug": slug, "display_name": slug, "kubespawner_override": case["override"]})
    return found
