"""The traits of the health check and of what is done before a server's pod is made.

Each value is checked where it is set, and what is wrong with one is said with its name.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from traitlets import Any as AnyTrait
from traitlets import Bool, Enum, Float, Int, List, TraitError, Unicode, Union, validate
from traitlets.config import Configurable

from .health import HealthSettings, check_setting

HEALTH_NAMES = {
    "health_enabled": "enabled",
    "health_path": "path",
    "health_interval": "interval",
    "health_timeout": "timeout",
    "health_threshold": "threshold",
    "health_successes": "successes",
    "health_statuses": "statuses",
    "health_proxy_url": "proxy_url",
    "on_unhealthy": "on_unhealthy",
}


# what is longer means never, and has a word of its own
MOST_SECONDS = 1e9

PREPARATION_KEYS = ("name", "run", "timeout", "undo")


class Seconds(Float[Any, Any]):
    """A number of seconds; True is none."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Refuse what traitlets takes for a number, or cannot turn into one."""
        if isinstance(value, bool) or (isinstance(value, int) and abs(value) > MOST_SECONDS):
            self.error(obj, value)
        return super().validate(obj, value)


class HealthTraits(Configurable):
    """How a server is asked whether it answers, each also per profile."""

    health_enabled = Bool(
        True,
        config=True,
        help="""
        Ask each server through the proxy before its start counts as done.

        Switched off, a start ends as KubeSpawner's does: when the pod is ready.
        """,
    )
    health_path = Unicode(
        "api",
        config=True,
        help="""
        Set the path that is asked, below the server's own base URL.

        It must be one that answers without a login or with a redirect to one.
        """,
    )
    health_interval = Seconds(
        1.0,
        config=True,
        help="""
        Set the seconds between two checks.

        In the first 10 seconds a server is looked at more often, so that a quick one
        is found at once; these quick looks can make it healthy, not unhealthy.
        """,
    )
    health_timeout = Seconds(
        5.0,
        config=True,
        help="""
        Set the seconds after which a check without an answer has failed.
        """,
    )
    health_threshold: Any = Union(
        [Int(), Unicode()],
        default_value=60,
        config=True,
        help="""
        Set after how many failed checks in a row a server is unhealthy.

        A whole number of checks, or a duration such as "90s" or "2m".
        """,
    )
    health_successes = Int(
        1,
        config=True,
        help="""
        Set how many good checks in a row make a server healthy.

        More than one helps where several replicas of a proxy learn of a route one
        after the other.
        """,
    )
    health_statuses = AnyTrait(
        None,
        allow_none=True,
        config=True,
        help="""
        List the HTTP statuses that mean healthy.

        By default (None) every answer of the server itself below 500, as the Hub has
        always done; `[200]` asks for more.
        """,
    )
    health_proxy_url = Unicode(
        config=True,
        help="""
        Set where the Hub reaches the proxy, such as `http://proxy-public`.

        Found by itself for the proxy that the Hub starts and for
        zero-to-jupyterhub. If the Hub's own pages do not answer there, servers start
        without being asked through the proxy, and the log says so.
        """,
    )
    health_proxy_ca = Unicode(
        config=True,
        help="""
        Name the file with the certificates (PEM) that an https proxy is trusted by.

        By default those of the system, and for the proxy that the Hub starts its own.
        """,
    )
    on_unhealthy = Enum(
        ["stop", "open"],
        default_value="stop",
        config=True,
        help="""
        Choose what becomes of a server that does not answer.

        "stop" ends the start and says why. "open" lets its user in, with a warning. That
        is for a server whose pod answers: where nothing answers at all, the Hub itself
        gives up after `http_timeout`.
        """,
    )
    health_readiness_probe = Bool(
        False,
        config=True,
        help="""
        Add an HTTP readiness probe to a main container that has none.

        Kubernetes then keeps asking the server from its own machine, so that one that
        hangs later is noticed, at no cost for the Hub.
        """,
    )

    @validate(*HEALTH_NAMES)
    def _check_health_trait(self, proposal: Any) -> Any:
        value = proposal["value"]
        _check(proposal["trait"].name, value)
        return value

    def health_settings(self) -> HealthSettings:
        """Return the settings of the check.

        Raises TraitError for a value that came in past validation, as a profile's
        merged list does.
        """
        values = {short: getattr(self, name) for name, short in HEALTH_NAMES.items()}
        for name, short in HEALTH_NAMES.items():
            _check(name, values[short])
        if values["statuses"] is not None:
            values["statuses"] = tuple(values["statuses"])
        return HealthSettings(**values)


def _check(name: str, value: Any) -> None:
    try:
        check_setting(HEALTH_NAMES[name], value)
    except ValueError as error:
        raise TraitError(str(error)) from None


@dataclass(frozen=True, slots=True)
class Preparation:
    """One step before the pod; `timeout` is in seconds, None for no own limit."""

    name: str
    run: Callable[[Any], Any]
    timeout: float | None = None
    undo: Callable[[Any], Any] | None = None


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
        if key not in PREPARATION_KEYS:
            raise _wrong(entry, f"{key!r} is not known, the keys are {', '.join(PREPARATION_KEYS)}")
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
    return WrongPreparation(wrong_value("preparations", entry, why))


def wrong_value(trait: str, value: object, why: str) -> str:
    """Say which value of a trait is wrong, and why."""
    shown = repr(value)
    if len(shown) > 200:
        shown = shown[:200] + "…"
    return f"{trait}: {shown} is wrong: {why}"


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
