"""How long starts have taken: what the next one of the same profile is expected to take.

Pure. Durations are in seconds. Of each profile the last starts are kept, each once by
its id, so that what the Hub has stored with a server can be given again and again.
"""

from __future__ import annotations

import math
import statistics
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .models import ServerStatus, Step, StepStatus
from .models.text import clean

# fewer starts than this tell nothing
FEWEST_STARTS = 5
KEPT_STARTS = 50
KEPT_PROFILES = 200
MOST_STEPS = 100
NAME_LENGTH = 255
# seconds; longer ones are no durations, and JSON has whole numbers that no float can hold
LONGEST = 1e9


@dataclass(frozen=True, slots=True)
class Expected:
    """What starts of one profile usually take: the median, and what 95 % stay within."""

    seconds: float
    at_most_seconds: float
    # the median of each step, by its name
    steps: Mapping[str, float] = field(default_factory=dict)

    def of_step(self, step: Step) -> float | None:
        """Return how long a step usually takes, None if that is not known."""
        return self.steps.get(step.step)


@dataclass(frozen=True, slots=True)
class Sample:
    """How long one start has taken, and each of its steps by its name."""

    start_id: str
    profile: str
    seconds: float
    steps: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "start_id": self.start_id,
            "profile": self.profile,
            "seconds": self.seconds,
            "steps": dict(self.steps),
        }

    @classmethod
    def from_dict(cls, kept: object) -> Sample | None:
        """Read back what `to_dict` has written; None for anything else."""
        if not isinstance(kept, Mapping):
            return None
        steps = kept.get("steps")
        names = [kept.get(key) for key in ("start_id", "profile")]
        if not isinstance(steps, Mapping) or not all(isinstance(name, str) for name in names):
            return None
        times = [kept.get("seconds"), *steps.values()]
        if not all(_is_duration(time) for time in times):
            return None
        read = {str(name): float(time) for name, time in list(steps.items())[:MOST_STEPS]}
        return cls(str(names[0]), str(names[1]), float(times[0] or 0), read)


def sample_of(status: ServerStatus, profile: str) -> Sample | None:
    """Return what a start that ended well has taken; None if its times are not known."""
    seconds = _between(status.started_at, status.updated_at)
    if seconds is None or status.start_id is None:
        return None
    steps = {}
    for step in status.details[:MOST_STEPS]:
        taken = _between(step.started_at, step.finished_at)
        if taken is not None and step.status is StepStatus.READY:
            steps[step.step] = taken
    return Sample(status.start_id, clean(profile, NAME_LENGTH), seconds, steps)


class Durations:
    """The samples of one Hub, in bounds whatever users start."""

    def __init__(self) -> None:
        # the profile that was used last is the last
        self._samples: OrderedDict[str, OrderedDict[str, Sample]] = OrderedDict()
        self._expected: dict[str, Expected | None] = {}

    def add(self, sample: Sample | None) -> None:
        """Take how long a start has taken; one that is known already changes nothing."""
        if sample is None:
            return
        known = self._samples.setdefault(sample.profile, OrderedDict())
        self._samples.move_to_end(sample.profile)
        if sample.start_id in known:
            return
        known[sample.start_id] = sample
        self._expected.pop(sample.profile, None)
        if len(known) > KEPT_STARTS:
            known.popitem(last=False)
        if len(self._samples) > KEPT_PROFILES:
            forgotten, _ = self._samples.popitem(last=False)
            self._expected.pop(forgotten, None)

    def expected(self, profile: str) -> Expected | None:
        """Return what the next start of a profile will take; None after too few starts."""
        profile = clean(profile, NAME_LENGTH)
        if profile not in self._samples:
            return None
        if profile not in self._expected:
            self._expected[profile] = _expect(list(self._samples[profile].values()))
        return self._expected[profile]


def _expect(samples: list[Sample]) -> Expected | None:
    if len(samples) < FEWEST_STARTS:
        return None
    of_steps: dict[str, list[float]] = {}
    for sample in samples:
        for name, seconds in sample.steps.items():
            of_steps.setdefault(name, []).append(seconds)
    return Expected(
        seconds=round(statistics.median(sample.seconds for sample in samples), 3),
        at_most_seconds=_percentile([sample.seconds for sample in samples], 0.95),
        steps={
            name: round(statistics.median(times), 3)
            for name, times in of_steps.items()
            if len(times) >= FEWEST_STARTS
        },
    )


def _percentile(times: list[float], part: float) -> float:
    """Return the smallest of the times that so large a part of them does not exceed."""
    return sorted(times)[math.ceil(part * len(times)) - 1]


def _between(begun: float | None, ended: float | None) -> float | None:
    if begun is None or ended is None or ended < begun:
        # a clock that was put back
        return None
    return round(ended - begun, 3)


def _is_duration(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 <= value <= LONGEST  # type: ignore[operator]  # a number, as looked at above
