"""What an administrator can decide about how a pod is judged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple

from ..models.text import clean, readable_name

# Seconds that a class of trouble may last until the start fails; None: never.
DEFAULT_GRACES: Mapping[str, float | None] = MappingProxyType(
    {
        "spec": 0.0,
        "gone": 0.0,
        "pull_definite": 60.0,
        "pull_transient": 300.0,
        "config": 30.0,
        "config_transient": 300.0,
        "create": 60.0,
        "create_transient": 300.0,
        # These two count occurrences; the seconds run from the one that is too many.
        "crash": 0.0,
        "hook": 0.0,
        "schedule_hopeless": 120.0,
        # Full, and the autoscaler has said that it adds nothing.
        "schedule_full": 300.0,
        # Full, and no autoscaler has said anything: another server may end any time.
        "schedule_waiting": None,
        "schedule_scaling": None,
        "volume_mount": 180.0,
        "volume_attach": 360.0,
        "provisioning": 120.0,
        "sandbox": 300.0,
        "probe": None,
        # A helper that ended well although the pod needs it to keep running.
        "completed": None,
        "event": None,
        "node": None,
    }
)

DEFAULT_STEP_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "step:preparation": "Preparing",
        "step:storage": "Preparing storage",
        "step:machine": "Finding a machine",
        "step:image": "Downloading image",
        "step:session": "Starting session",
        "step:connection": "Connecting to the session",
    }
)


class Replacement(NamedTuple):
    """What is said instead of a built-in text; what is None stays.

    A new message takes the place of the built-in hint too, which was not made for it.
    """

    message: str | None = None
    hint: str | None = None
    help_url: str | None = None


class MessageRule(NamedTuple):
    """What is said instead of any other text where the cluster's own words match."""

    pattern: re.Pattern[str]
    words: Replacement


@dataclass(frozen=True, slots=True)
class PodSettings:
    """Settings of `judge`; every field has a default that fits a stock KubeSpawner."""

    main_container: str = "notebook"
    # Names or globs of containers beside the main one that may end with exit code 0.
    completing_containers: tuple[str, ...] = ()
    # Names or globs, besides the main container; None: all init containers.
    log_tail_containers: tuple[str, ...] | None = None
    # Container name or glob, or "step:<kind>", to the name of its step.
    step_names: Mapping[str, str] = field(default_factory=dict)
    # Class (or the reason of a problem, which is more precise) to seconds.
    graces: Mapping[str, float | None] = field(default_factory=lambda: dict(DEFAULT_GRACES))
    crash_restarts: int = 3
    oom_restarts: int = 2
    # Key of the table of texts, or reason, to what is said instead of the built-in text.
    texts: Mapping[str, Replacement] = field(default_factory=dict)
    # What is said where the cluster's own text matches; the first that does wins.
    message_rules: tuple[MessageRule, ...] = ()
    # Values that are never shown, beside those that the pod's own spec tells of.
    secrets: tuple[str, ...] = ()

    def grace(self, reason: str, category: str) -> float | None:
        """Return the seconds until this trouble ends the start; None: it never does."""
        for key in (reason, category):
            if key in self.graces:
                return self.graces[key]
        return DEFAULT_GRACES.get(category)

    def kind_step(self, kind: str) -> str:
        """Return the name of a step that stands for no container, like "machine"."""
        key = f"step:{kind}"
        return clean(str(self.step_names.get(key, "")), 100) or DEFAULT_STEP_NAMES[key]

    def container_step(self, name: str, main: bool = False) -> str:
        """Return the name of a container's step: its exact name wins over a glob."""
        if main and "step:session" in self.step_names:
            return self.kind_step("session")
        named = self.step_names.get(name) or next(
            (
                step
                for glob, step in self.step_names.items()
                if not glob.startswith("step:") and fnmatchcase(name, glob)
            ),
            "",
        )
        default = self.kind_step("session") if main else readable_name(name)
        return clean(str(named), 100) or default

    def completes(self, name: str) -> bool:
        """Tell whether this container may end without being missed."""
        return any(fnmatchcase(name, glob) for glob in self.completing_containers)

    def shows_log(self, name: str, main: bool, init: bool) -> bool:
        """Tell whether the end of this container's log may be shown to the user."""
        if main:
            return True
        if self.log_tail_containers is None:
            return init
        return any(fnmatchcase(name, glob) for glob in self.log_tail_containers)
