"""Each class of trouble ends a start when its grace is over, and those that heal never do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from detailedspawner.pods import DEFAULT_GRACES

from .cluster import Kubernetes
from .failing import filled
from .grace_cases import ENDING, EVERY, NEVER, Patient, unschedulable
from .troubled import Troubled, marked, troubled, user_of

# the default graces are minutes long, whichever cluster waits for them
pytestmark = [pytest.mark.slow, pytest.mark.cluster]

# seconds from the request until the trouble is there, and from its end until the Hub says so
AROUND = 45


@dataclass(frozen=True)
class Run:
    """A case as `Troubled` runs it."""

    case: Patient

    def __getattr__(self, name: str) -> Any:
        return getattr(self.case.failure, name)

    @property
    def when(self) -> Any:
        """The trouble that the autoscaler has something to say about."""
        return unschedulable if self.case.says else None

    @property
    def meanwhile(self) -> Any:
        """What it says."""
        return self.case.says


RUNS = {kind: Run(case) for kind, case in EVERY.items()}


@pytest.fixture(scope="module")
def starts(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Troubled]:
    """All starts, side by side on one Hub; those that never end are stopped with it."""
    with troubled(kubernetes, tmp_path_factory.mktemp("graces"), RUNS, len(RUNS)) as found:
        yield found
        for kind in filter(found.runs, NEVER):
            found.hub.stop(user_of(kind))


@pytest.mark.parametrize("kind", marked({kind: RUNS[kind] for kind in ENDING}))
def test_it_ends_when_its_grace_is_over(starts: Troubled, kind: str) -> None:
    case, seen, grace = ENDING[kind], starts[kind], DEFAULT_GRACES[kind]
    assert grace is not None
    assert grace <= seen.seconds <= grace + AROUND
    message = filled(case.message or case.failure.message, starts.kubernetes.namespace)
    said = message if isinstance(message, re.Pattern) else re.compile(re.escape(message))
    assert said.fullmatch(seen.snapshot["message"]), seen.snapshot["message"]


@pytest.mark.parametrize("kind", marked({kind: RUNS[kind] for kind in NEVER}))
def test_what_heals_by_itself_is_never_cut_off(starts: Troubled, kind: str) -> None:
    for other in filter(starts.runs, ENDING):
        assert starts[other].snapshot["state"] == "failed"
    assert DEFAULT_GRACES[kind] is None
    assert starts.hub.snapshot(user_of(kind))["state"] == "starting"
