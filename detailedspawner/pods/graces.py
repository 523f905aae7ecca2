"""How long trouble may last: the clock of each class, and who is past it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .settings import PodSettings
from .trouble import Trouble

# A clock at which no trouble waits any more is stopped, and starts anew the next time.
Clocks = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Timed:
    """A trouble, and what time has made of it."""

    trouble: Trouble
    fatal: bool
    # It lasts long enough to be worth a warning.
    due: bool


@dataclass(frozen=True, slots=True)
class Timing:
    """All troubles of one moment, in time."""

    timed: tuple[Timed, ...]
    clocks: Clocks
    # When the next grace ends or the next warning is due; None if nothing is to come.
    next_check: float | None


def apply_graces(
    troubles: Iterable[Trouble], clocks: Clocks, now: float, settings: PodSettings
) -> Timing:
    """Start, keep and stop clocks; `now` and the result are on the caller's clock."""
    running: dict[tuple[str, str], float] = {}
    timed, coming = [], []
    for trouble in troubles:
        begun = _begun(clocks, trouble.key, now)
        running[trouble.key] = begun
        due_at = begun + trouble.warn_after
        if due_at > now:
            coming.append(due_at)
        fatal, ends_at = False, None
        grace = settings.grace(trouble.reason, trouble.category)
        if grace is not None and trouble.counted:
            # What counts occurrences has a clock of its own from the one too many.
            key = (trouble.key[0], f"{trouble.key[1]}:counted")
            since = begun
            if trouble.category in ("crash", "hook"):
                since = running[key] = _begun(clocks, key, now)
            ends_at = since + max(0.0, grace)
            fatal = ends_at <= now
        if ends_at is not None and ends_at > now:
            coming.append(ends_at)
        timed.append(Timed(trouble, fatal, due_at <= now))
    finite = [moment for moment in coming if math.isfinite(moment)]
    return Timing(tuple(timed), running, min(finite, default=None))


def _begun(clocks: Clocks, key: tuple[str, str], now: float) -> float:
    # A clock from the future means that the time was set back: it starts again.
    return min(clocks.get(key, now), now)


def root(timed: Iterable[Timed]) -> Timed | None:
    """Return the one to tell: what ends the start, else by the order of the rules."""
    return min(
        timed,
        key=lambda item: (
            not item.fatal,
            *item.trouble.told_first,
        ),
        default=None,
    )
