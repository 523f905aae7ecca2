"""Starts in trouble that somebody mends in time: they go on as if nothing had been.

`step` is the one that shows the trouble; `mend` is called once it does. `failed` tells whether
the step looks failed meanwhile: one that waits for a machine or an image does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import registry
from .cases import SINGLEUSER, container
from .failing import (
    SCALES,
    SHORT,
    Object,
    autoscaler_says,
    filled,
    holder,
    volume,
    wait_for_holder,
    wants,
    with_claim,
)

REGISTRY = SINGLEUSER.partition("/")[0]


@dataclass(frozen=True)
class Recovering:
    """One start that is in trouble for a while."""

    override: dict[str, Any]
    step: str
    mend: Callable[..., None]
    failed: bool = True
    objects: tuple[tuple[str, Object], ...] = ()
    before: Callable[..., None] | None = None
    # takes back what `mend` has left outside of the suite's namespace
    undo: Callable[..., None] | None = None
    real: bool = False
    beside: str = ""

    def when(self, status: dict[str, Any]) -> bool:
        """Whether a status shows the trouble."""
        steps = status.get("details") or ()
        return any(step["step"] == self.step and step["reason"] for step in steps)

    @property
    def meanwhile(self) -> Callable[..., None]:
        """What is done once it does."""
        return self.mend


def nothing(kubernetes: Any, user: str) -> None:
    """It mends itself."""


def push_image(kubernetes: Any, user: str) -> None:
    """Push the image that was not there."""
    registry.copy_image(SINGLEUSER, f"{REGISTRY}/{kubernetes.namespace}-late:1")


def remove_image(kubernetes: Any) -> None:
    """Remove that image."""
    registry.remove_image(f"{REGISTRY}/{kubernetes.namespace}-late:1")


def create_secret(kubernetes: Any, user: str) -> None:
    """Create the secret that was not there."""
    secret = {"metadata": {"name": "late-secret"}, "stringData": {"token": "x"}}
    kubernetes.create("secrets", secret).raise_for_status()


def label_node(name: str) -> Callable[..., None]:
    """Return what makes the node one of a kind."""

    def label(kubernetes: Any, user: str) -> None:
        kubernetes.label_node(f"suite/{name}", kubernetes.namespace)

    return label


def unlabel_node(name: str) -> Callable[..., None]:
    """Return what takes that back."""

    def unlabel(kubernetes: Any) -> None:
        kubernetes.label_node(f"suite/{name}", None)

    return unlabel


def bring_machine(kubernetes: Any, user: str) -> None:
    """Say as an autoscaler that a machine comes; it takes longer than any grace here."""
    autoscaler_says("TriggeredScaleUp", SCALES)(kubernetes, user)
    time.sleep(3 * SHORT["schedule_hopeless"])
    label_node("added")(kubernetes, user)


def end_holder(kubernetes: Any, user: str) -> None:
    """Delete the pod that holds the claim."""
    kubernetes.client.delete(kubernetes.path("pods", "holder-suite-freed")).raise_for_status()


SHARED = {"volumes": [{"name": "shared", "emptyDir": {}}]}
SECOND_TRY = "test -e /shared/tried || (touch /shared/tried; exit 1)"

RECOVERIES: dict[str, Recovering] = {
    "image-pushed": Recovering(
        {"image": f"{REGISTRY}/$NAMESPACE-late:1"},
        "Downloading image",
        push_image,
        undo=remove_image,
        failed=False,
        real=True,
    ),
    "secret-created": Recovering(
        {"environment": wants("secretKeyRef", "late-secret", "token")},
        "Starting session",
        create_secret,
    ),
    "node-labelled": Recovering(
        # the default grace is longer than the scheduler needs to look again
        {"node_selector": {"suite/labelled": "$NAMESPACE"}},
        "Finding a machine",
        label_node("labelled"),
        undo=unlabel_node("labelled"),
        failed=False,
        real=True,
    ),
    "scale-up": Recovering(
        {"node_selector": {"suite/added": "$NAMESPACE"}, "failure_graces": SHORT},
        "Finding a machine",
        bring_machine,
        undo=unlabel_node("added"),
        failed=False,
        real=True,
    ),
    "claim-freed": Recovering(
        with_claim("suite-freed"),
        "Preparing storage",
        end_holder,
        failed=False,
        objects=(
            *volume("suite-freed"),
            holder("suite-freed"),
        ),
        before=wait_for_holder("suite-freed"),
        real=True,
    ),
    "second-try": Recovering(
        {
            **SHARED,
            "init_containers": [
                container(
                    "clone",
                    SECOND_TRY,
                    volumeMounts=[{"name": "shared", "mountPath": "/shared"}],
                )
            ],
        },
        "Clone",
        nothing,
    ),
}


def profiles(namespace: str) -> list[dict[str, Any]]:
    """Return the cases as KubeSpawner's `profile_list`."""
    return [
        {
            "slug": slug,
            "display_name": slug,
            "kubespawner_override": filled(case.override, namespace),
        }
        for slug, case in RECOVERIES.items()
    ]
