"""A thin adapter: `judge` as one picture of one pod, for tables of pods with expected results."""

from __future__ import annotations

import time
from typing import Any

from detailedspawner.pods import PodSettings, Severity
from detailedspawner.pods import judge as judge_pod
from detailedspawner.pods.reading import parse_time


def judge(
    pod: object,
    events: object,
    pvcs: object = None,
    create_error: object = None,
    now: str | None = None,
    settings: PodSettings | None = None,
) -> dict[str, Any]:
    """Return counts, state, failing container, reason, cause, severity and steps."""
    moment = parse_time(now)
    view = judge_pod(
        pod,
        events,
        pvcs,
        create_error=create_error,
        now=time.time() if moment is None else moment,
        settings=settings,
    )
    problem = view.problem
    # A container whose probes have not passed yet is not failing.
    failing = problem.container if problem and problem.category != "probe" else None
    return {
        "ready": view.ready if view.total else None,
        "total": view.total or None,
        "state": view.verdict.value,
        "failing_container": failing,
        "reason": problem.reason if problem else None,
        "cause": problem.cause if problem else None,
        "severity": (problem.severity if problem else Severity.NONE).value,
        "steps": {item.name: item.status.value for item in view.containers},
    }
