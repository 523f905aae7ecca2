"""What is done before a server's pod is made: the traits, and what each entry may say."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from traitlets import Int, List, TraitError, validate
from traitlets.config import Configurable


@dataclass(frozen=True, slots=True)
class Preparation:
    """One step before the pod; `timeout` is in seconds, None for no own limit."""

    name: str
    run: Callable[[Any], Any]
    timeout: float | None = None
    undo: Callable[[Any], Any] | None = None


KEYS = ("name", "run", "timeout", "undo")


class WrongPreparation(ValueError, TraitError):
    """An entry of the trait `preparations` that cannot be used."""


def check_preparations(value: Any) -> list[Preparation]:
    """Return the entries of the trait `preparations` in their order.

    Raises WrongPreparation, a ValueError and TraitError, that names the entry.
    """
    if not isinstance(value, (list, tuple)):
        raise _wrong(value, "it must be a list")
    found: list[Preparation] = []
    for entry in value:
        checked = entry if isinstance(entry, Preparation) else _checked(entry)
        if any(checked.name == other.name for other in found):
            raise _wrong(entry, f"there are two with the name {checked.name!r}")
        found.append(checked)
    return found


def _checked(entry: Any) -> Preparation:
    if not isinstance(entry, dict):
        raise _wrong(entry, "each must be a dict")
    for key in entry:
        if key not in KEYS:
            raise _wrong(entry, f"{key!r} is not known, the keys are {', '.join(KEYS)}")
    name, timeout = entry.get("name"), entry.get("timeout")
    if not isinstance(name, str) or not name.strip():
        raise _wrong(entry, "each needs a `name`, a text that is not empty")
    if not _takes_a_spawner(entry.get("run")):
        raise _wrong(entry, "`run` must be a function that takes the spawner")
    if entry.get("undo") is not None and not _takes_a_spawner(entry["undo"]):
        raise _wrong(entry, "`undo` must be a function that takes the spawner")
    if timeout is not None:
        number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
        if not (number and math.isfinite(timeout) and timeout > 0):
            raise _wrong(entry, "`timeout` must be seconds above 0, or None")
    return Preparation(name.strip(), entry["run"], timeout, entry.get("undo"))


def _takes_a_spawner(function: Any) -> bool:
    # to call a generator does nothing of what it says
    generates = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    if not callable(function) or generates:
        return False
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        pass  # some functions written in C do not tell
    return True


def _wrong(entry: Any, why: str) -> WrongPreparation:
    shown = repr(entry)
    if len(shown) > 200:
        shown = shown[:200] + "…"
    return WrongPreparation(f"preparations: {shown} is wrong: {why}")


class PreparationTraits(Configurable):
    """What an admin has done for each server, as steps that users see."""

    preparations: Any = List(
        config=True,
        help="""
        List what is to be done before the pod is made, each a step that users see.

        Each is a dict of `name`, `run`, and if wanted `timeout` in seconds and `undo`.
        `run(spawner)` is called for each start, in order: an async function on the loop
        of the Hub, a plain one in a thread, where it may look at `spawner.cancelled`, a
        threading.Event. What it sets on the spawner is what the pod gets.
        `undo(spawner)` is called when the start fails or is cancelled after `run` began.
        """,
    )
    preparation_workers = Int(
        20,
        config=True,
        help="""
        Set how many preparations may run in threads at once, of all servers together.
        """,
    )

    @validate("preparations")
    def _check_preparations(self, proposal: Any) -> Any:
        check_preparations(proposal["value"])
        return proposal["value"]

    @validate("preparation_workers")
    def _check_preparation_workers(self, proposal: Any) -> int:
        workers: int = proposal["value"]
        if isinstance(workers, bool) or workers < 1:
            raise TraitError(f"preparation_workers: {workers!r} is wrong: it must be from 1 on")
        return workers
