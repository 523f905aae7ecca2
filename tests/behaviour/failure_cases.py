"""Starts that go wrong, and what must be said of each.

Each case is a profile of one Hub. `message` is the whole of what a person reads at the end,
or a pattern where a part of it differs from run to run; `$NAMESPACE` and `$USER` stand for
those of the run. `within` are the seconds in which the start must have ended. `counts` tells
whether the failure speaks against the Hub or its cluster, so that it counts toward
`consecutive_failure_limit`. `objects` are there before the start; `beside` names the namespace
of the suite in which it takes place, which has its own rules. `meanwhile` is done to the cluster
once `when` is true of the status. Cases that are `real` need a real Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .cases import MISSING, POD_IP, container

# seconds; how long trouble of each class may last in the cases that are not about that
SHORT = {
    **{"pull_definite": 3, "pull_transient": 3, "config": 2, "create": 2, "provisioning": 2},
    **{"schedule_hopeless": 3, "volume_mount": 3, "volume_attach": 3},
}

Object = dict[str, Any]


@dataclass(frozen=True)
class Failing:
    """One start that goes wrong."""

    override: dict[str, Any]
    message: str | re.Pattern[str]
    within: float
    counts: bool = False
    hint: str | None = None
    log_tail: str | None = None
    beside: str = ""
    objects: tuple[Object, ...] = ()
    when: Callable[[dict[str, Any]], bool] | None = None
    meanwhile: Callable[..., None] | None = None
    real: bool = False
    # with the graces that everybody has
    patient: bool = False
    # a stored pod cannot tell
    explained: bool = True


def wants(kind: str, name: str, key: str) -> dict[str, Any]:
    """Return the environment of a server that needs a key of a secret or config map."""
    return {**POD_IP, "WANTED": {"valueFrom": {kind: {"name": name, "key": key}}}}


MEMORY = ["python3", "-c", "import time; time.sleep(1); b'x' * 10**9"]
ASK_ADMIN = "Please tell the administrator; trying again will not help."

FAILURES: dict[str, Failing] = {
    "image-not-found": Failing(
        {"image": MISSING},
        f"There is no image {MISSING}.",
        hint="Check its name and its tag for typing errors.",
        within=20,
    ),
    "missing-secret": Failing(
        {"environment": wants("secretKeyRef", "no-secret", "token")},
        'The container "notebook" needs something that is missing or not allowed '
        '(secret "no-secret" not found).',
        hint=ASK_ADMIN,
        within=20,
    ),
    "init-exit": Failing(
        {"init_containers": [container("clone", "echo no such repository; exit 1")]},
        'The container "clone" stopped 4 times, last with exit code 1 '
        "(the program reported an error).",
        hint="Its log tells more.",
        log_tail="no such repository",
        within=90,
    ),
    "node-selector": Failing(
        {"node_selector": {"suite/kind": "none"}},
        "None of the machines is of the kind that this option asks for.",
        hint="The administrator should look at the machine settings of this option.",
        within=20,
    ),
    "too-much-memory": Failing(
        {"mem_guarantee": "900G", "start_timeout": 8},
        "“Finding a machine” did not finish: it took more than 8 seconds. "
        "At the moment no machine has enough memory free.",
        within=20,
        counts=True,
    ),
}


def profiles(namespace: str) -> list[dict[str, Any]]:
    """Return the cases as KubeSpawner's `profile_list`."""
    found = []
    for slug, case in FAILURES.items():
        override = dict(case.override)
        if not case.patient:
            override.setdefault("failure_graces", SHORT)
        if case.beside:
            override["namespace"] = f"{namespace}-{case.beside}"
        found.append({"slug": slug, "display_name": slug, "kubespawner_override": override})
    return found
