"""Servers that answer oddly, and what must be seen of the start of each.

`outcomes` gives the words that the outcome of asking went through; one in brackets
may be missed. `fails` and `says` are regular expressions: on the last message, and
on a message that the connection step must have shown on the way.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("gate_server.py").read_text()
# seconds; three minutes are asked of a real cluster
VERY_LATE = os.environ.get("SUITE_VERY_LATE", "20")
QUICK = {"health_interval": 0.5, "health_timeout": 1.0, "health_threshold": 3}


def server(mode: str, **more: Any) -> dict[str, Any]:
    """What a profile overrides to run the server in this mode."""
    return {"cmd": ["python3", "-c", SCRIPT, mode, VERY_LATE], **QUICK, **more}


GATE_CASES: dict[str, dict[str, Any]] = {
    "gate-ok": {"override": server("ok"), "outcomes": "(refused) answered"},
    "gate-late": {
        "override": server("late"),
        "outcomes": "refused answered",
        "says": "nothing listens",
    },
    "gate-recovers": {
        "override": server("recovers"),
        "outcomes": "(refused) answered",
        "says": "answered 500 at /user/.*/api",
    },
    "gate-not-found": {"override": server("not-found"), "outcomes": "(refused) answered"},
    "gate-not-found-strict": {
        "override": server("not-found", health_statuses=[200]),
        "outcomes": "(refused) unwanted_status",
        "fails": r"answered 404 at /user/.*/api, not 200 \(checked 3 times",
    },
    "gate-not-found-open": {
        "override": server("not-found", health_statuses=[200], on_unhealthy="open"),
        "outcomes": "(refused) unwanted_status",
        "opens": "answered 404",
    },
    "gate-login": {"override": server("login"), "outcomes": "(refused) redirected"},
    "gate-never": {
        "override": server("never"),
        "outcomes": "refused",
        "fails": r"nothing listens at the server's port yet \(checked 3 times in a row\)",
    },
    "gate-silent": {
        "override": server("silent"),
        "outcomes": "(refused) timeout",
        "fails": "did not answer in time",
    },
    "gate-trickle": {
        "override": server("trickle"),
        "outcomes": "(refused) timeout",
        "fails": "did not answer in time",
    },
    "gate-junk": {
        "override": server("junk"),
        "outcomes": "(refused) bad_answer",
        "fails": "not HTTP",
    },
    "gate-to-itself": {"override": server("to-itself"), "outcomes": "(refused) redirected"},
    "gate-to-spawn": {
        "override": server("to-spawn"),
        "outcomes": "(refused) redirected",
        "fails": "sends its users to the Hub's pages",
    },
    "gate-to-other-host": {
        "override": server("to-other-host"),
        "outcomes": "(refused) redirected",
    },
    "gate-very-late": {
        "override": server("very-late", health_threshold=600, start_timeout=400),
        "outcomes": "refused answered",
    },
    "gate-dies": {
        "override": server("dies", health_threshold=300),
        "fails": "exit code 7",
    },
    "gate-proxy-unreachable": {
        "override": server("ok", health_proxy_url="http://127.0.0.1:9"),
        "outcomes": "(refused) proxy_unreachable",
    },
    "gate-disabled": {"override": server("ok", health_enabled=False), "outcomes": ""},
    "gate-sickens": {
        "override": server(
            "sickens",
            extra_container_config={
                "readinessProbe": {
                    "httpGet": {"path": "/x", "port": 8888},
                    "periodSeconds": 1,
                    "failureThreshold": 1,
                }
            },
        ),
        "outcomes": "(refused) answered",
    },
    "gate-readiness": {
        "override": server("ok", health_readiness_probe=True),
        "outcomes": "answered",
    },
}


def profiles() -> list[dict[str, Any]]:
    """Return the cases as KubeSpawner's `profile_list`."""
    return [
        {"slug": slug, "display_name": slug, "kubespawner_override": case["override"]}
        for slug, case in GATE_CASES.items()
    ]
