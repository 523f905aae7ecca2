"""What all models share: one way to become plain JSON, and one way back.

Times are seconds since the epoch (UTC) inside the program and ISO 8601 with
milliseconds in JSON; a time goes by the name of its field.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import datetime, timezone
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

V = TypeVar("V", bound="Value")

# fields that hold a time though their names do not end in `_at`
TIME_NAMES = frozenset({"at", "paused_time", "last_activity", "last_update", "failing_since"})


def iso_time(seconds: float) -> str:
    """Write a time (seconds since the epoch) as ISO 8601 UTC with milliseconds."""
    moment = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_iso_time(text: str) -> float:
    """Read what `iso_time` writes; raises ValueError for anything else."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} does not say its time zone")
    return moment.timestamp()


class Value:
    """The base of the frozen dataclasses in `models`."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: snake_case keys, ISO 8601 times, no enums."""
        return {
            item.name: _plain(item.name, getattr(self, item.name))
            for item in fields(self)  # type: ignore[arg-type]
        }

    @classmethod
    def from_dict(cls: type[V], plain: object) -> V:
        """Build the value from its JSON form; raises ValueError that names the field."""
        if not isinstance(plain, Mapping):
            raise ValueError(f"{cls.__name__}: {plain!r} is no object")
        hints, known = _hints(cls), fields(cls)  # type: ignore[arg-type]
        unknown = plain.keys() - {item.name for item in known}
        if unknown:
            raise ValueError(f"{cls.__name__} has no field {sorted(map(str, unknown))[0]!r}")
        values = {}
        for item in known:
            if item.name in plain:
                where = f"{cls.__name__}.{item.name}"
                values[item.name] = _built(where, item.name, hints[item.name], plain[item.name])
            elif item.default is MISSING and item.default_factory is MISSING:
                raise ValueError(f"{cls.__name__}.{item.name} is missing")
        return cls(**values)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _is_time(name: str) -> bool:
    return name in TIME_NAMES or name.endswith("_at")


def _plain(name: str, value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(name, item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain("", item) for key, item in value.items()}
    if isinstance(value, float) and _is_time(name):
        return iso_time(value)
    return value


def _built(where: str, name: str, hint: Any, plain: object) -> object:
    """Turn one field back from JSON by its type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if plain is None and type(None) in arguments:
            return None
        # the project's own unions are of one type with None
        return _built(where, name, arguments[0], plain)
    if origin is tuple and isinstance(plain, list):
        return tuple(_built(where, name, arguments[0], item) for item in plain)
    if origin is not None and origin is not tuple and isinstance(plain, Mapping):
        return {str(key): _built(where, "", arguments[1], item) for key, item in plain.items()}
    try:
        if origin is None and issubclass(hint, Enum):
            return hint(plain)
        if origin is None and issubclass(hint, Value):
            return hint.from_dict(plain)
        if hint is float and _is_time(name) and isinstance(plain, str):
            return from_iso_time(plain)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    # JSON has one kind of number, and Python takes true for 1
    wanted = (int, float) if hint is float else hint
    if origin is not None or _is_time(name) or not isinstance(plain, wanted):
        raise ValueError(f"{where}: {plain!r} is of a wrong type")
    if isinstance(plain, bool) and hint is not bool:
        raise ValueError(f"{where}: {plain!r} is of a wrong type")
    return plain
