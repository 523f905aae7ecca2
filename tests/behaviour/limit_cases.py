"""What users do wrong, and what they are told; none of it may end the Hub.

`options` are what is asked for. `answer` is that of the request; where it is 202, `says` is part
of the sentence with which the start ends, else of the answer. `cancel`: the user cancels it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .cases import FOREVER, MISSING, container

AT_ONCE = {"pull_definite": 0, "crash": 0}


@dataclass(frozen=True)
class Mistake:
    """One thing that a user does wrong."""

    says: str
    override: dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    answer: int = 202
    cancel: bool = False


MISTAKES: dict[str, Mistake] = {
    "image": Mistake(f"There is no image {MISSING}.", {"image": MISSING}),
    "quota": Mistake("does not allow this server", {"namespace": "$NAMESPACE-full"}),
    "refused": Mistake("are not valid (securityContext.runAsUser", {"uid": -5}),
    "init": Mistake(
        'The container "clone" stopped', {"init_containers": [container("clone", "exit 3")]}
    ),
    "command": Mistake("stopped", {"cmd": ["sh", "-c", "exit 7"]}),
    "cancel": Mistake(
        "Start cancelled", {"init_containers": [container("wait", FOREVER)]}, cancel=True
    ),
    "setting": Mistake("failure_graces", {"failure_graces": {"nonsense": 1}}, answer=400),
    "profile": Mistake("There is no profile", options={"profile": "gone"}, answer=400),
    "option": Mistake("choice", options={"profile": "image", "size": "enormous"}, answer=400),
    "no-object": Mistake("", options={"profile": ["image"]}, answer=400),
}


def profiles(namespace: str) -> list[dict[str, Any]]:
    """Return the cases as KubeSpawner's `profile_list`."""
    found = []
    for slug, mistake in MISTAKES.items():
        if mistake.override is None:
            continue
        override = {"failure_graces": AT_ONCE, **mistake.override}
        if "namespace" in override:
            override["namespace"] = override["namespace"].replace("$NAMESPACE", namespace)
        found.append({
            "slug": slug,
            "display_name": slug,
            "kubespawner_override": override,
            "profile_options": {
                "size": {"display_name": "Size", "choices": {"small": {"display_name": "Small"}}}
            },
        })  # fmt: skip
    found.append({"slug": "plain", "display_name": "Plain"})
    return found
