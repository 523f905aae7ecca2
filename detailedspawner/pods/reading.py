"""Reading of raw JSON that may be anything: a wrong type counts as absent, and is noted.

Kubernetes leaves out empty values, `to_dict()` of its client writes them as None,
and a broken webhook can put anything anywhere. None and absent are the same here.
Which values must not be shown is known from the names in the spec of a pod.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

from ..models.redaction import LONGEST_TEXT, names_a_secret, redact, secret_values
from ..models.text import encodable, printable

MOST_NOTES = 20
# Kubernetes counts in 32 bits; more could not even be printed by Python.
LARGEST = 2**31 - 1
# 1970 to 3000: beyond that, a time is a mistake and could not be written again.
LATEST_TIME = 32_503_680_000.0

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,12}))?"
    r"\s?(?:[Zz]|([+-])(\d\d):?(\d\d))?",
    re.ASCII,
)

# Whom and what these name is shown anyway.
_PUBLIC_VARIABLES = frozenset(
    {"JUPYTERHUB_USER", "JUPYTERHUB_SERVER_NAME", "JUPYTERHUB_SERVICE_PREFIX", "NB_USER", "USER"}
)


class Reader:
    """Reads values of a wanted type, and remembers what was not of that type.

    Free text is read without the values in `secrets` and without credentials, so that
    nothing that is made of it can have them.
    """

    __slots__ = ("notes", "secrets")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.notes: list[str] = []
        self.secrets = tuple(secrets)

    def note(self, where: str, value: object, wanted: str) -> None:
        """Remember once that the value at this place is unusable."""
        text = f"{where} is {type(value).__name__}, not {wanted}"
        if len(self.notes) < MOST_NOTES and text not in self.notes:
            self.notes.append(text)

    def mapping(self, value: object, where: str) -> dict[str, Any]:
        """Return a dict, empty if there is none."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.note(where, value, "an object")
        return {}

    def items(self, value: object, where: str) -> list[Any]:
        """Return a list, empty if there is none."""
        if isinstance(value, (list, tuple)):
            return list(value)
        if value is not None:
            self.note(where, value, "a list")
        return []

    def mappings(self, value: object, where: str) -> list[dict[str, Any]]:
        """Return the dicts of a list; anything else in it is left out."""
        found = []
        for item in self.items(value, where):
            if isinstance(item, dict):
                found.append(item)
            else:
                self.note(f"an item of {where}", item, "an object")
        return found

    def string(self, value: object, where: str) -> str:
        """Return a string that can be encoded, cut to a bearable length."""
        if isinstance(value, str):
            return encodable(value[:LONGEST_TEXT])
        if value is not None:
            self.note(where, value, "a string")
        return ""

    def text(self, value: object, where: str, end: bool = False) -> str:
        """Return what somebody said: without secrets, invisible characters and colours.

        `end`: of a text that is too long, the end is kept.
        """
        if isinstance(value, str):
            # Hidden before anything is cut or shortened: half a secret would not be found.
            return redact(
                printable(value[-LONGEST_TEXT:] if end else value[:LONGEST_TEXT]), self.secrets
            )
        return self.string(value, where)

    def integer(self, value: object, where: str) -> int | None:
        """Return a whole number within 32 bits."""
        if isinstance(value, float) and math.isfinite(value) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return max(-LARGEST, min(LARGEST, value))
        if value is not None:
            self.note(where, value, "a whole number")
        return None

    def time(self, value: object, where: str) -> float | None:
        """Return an RFC 3339 time (or a datetime) as seconds since the epoch."""
        if value is None or value == "":
            return None
        moment = parse_time(value)
        if moment is None:
            self.note(where, value, "a time")
        return moment


def parse_time(value: object) -> float | None:
    """Read a time in any of the precisions that Kubernetes uses; None if it is not one."""
    if isinstance(value, str):
        moment = _from_text(value)
    elif isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    else:
        return None
    if moment is None:
        return None
    try:
        seconds = (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()
    except OverflowError:
        return None
    return seconds if 0 <= seconds <= LATEST_TIME else None


def _from_text(text: str) -> datetime | None:
    found = _TIME.fullmatch(text.strip()[:64])
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.group(1, 2, 3, 4, 5, 6))
    fraction = (found.group(7) or "0")[:6].ljust(6, "0")
    zone = timezone.utc
    try:
        moment = datetime(
            year, month, day, hour, minute, min(second, 59), int(fraction), tzinfo=zone
        )
    except ValueError:
        return None
    if found.group(8) is None:
        return moment
    offset = (int(found.group(9)) * 60 + int(found.group(10))) * 60
    shifted = moment.timestamp() - (offset if found.group(8) == "+" else -offset)
    if not 0 <= shifted <= LATEST_TIME:
        return None
    return datetime.fromtimestamp(shifted, tz=zone)


def pod_secrets(pod: object) -> tuple[str, ...]:
    """Return the values of a pod (raw JSON of any shape) that must not be shown.

    They are values of environment variables and options of commands whose names say
    that they are secret. Never among them is what the pod shows anyway: its user, its
    images, the names of its parts and of what it refers to.
    """
    spec = mapping_of(mapping_of(pod).get("spec"))
    containers = [
        *mappings_of(spec.get("initContainers")),
        *mappings_of(spec.get("containers")),
    ]
    named = [pair for container in containers for pair in _named(container)]
    if not named:
        return ()
    return secret_values(named, _public(mapping_of(pod), spec, containers))


def _named(container: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for variable in mappings_of(container.get("env")):
        name = variable.get("name")
        if isinstance(name, str) and name not in _PUBLIC_VARIABLES:
            yield name, variable.get("value")
    for key in ("command", "args"):
        before = ""
        for word in _strings(container.get(key)):
            option, sign, value = word.partition("=")
            if before and not word.startswith("-"):
                yield before, word
            elif sign and " " not in option:
                yield option, value
            before = word if word.startswith("-") and not sign and names_a_secret(word) else ""


def _public(
    pod: dict[str, Any], spec: dict[str, Any], containers: list[dict[str, Any]]
) -> Iterator[str]:
    metadata = mapping_of(pod.get("metadata"))
    for key in ("labels", "annotations"):
        yield from _strings(list(mapping_of(metadata.get(key)).values()))
    yield from _strings([metadata.get(key) for key in ("name", "namespace", "uid")])
    yield from _strings([spec.get(key) for key in ("nodeName", "serviceAccountName")])
    for container in containers:
        yield from _strings([container.get("name"), container.get("image")])
        for variable in mappings_of(container.get("env")):
            if variable.get("name") in _PUBLIC_VARIABLES:
                yield from _strings([variable.get("value")])
            for source in mapping_of(variable.get("valueFrom")).values():
                yield from _strings([mapping_of(source).get("name"), mapping_of(source).get("key")])
        for origin in mappings_of(container.get("envFrom")):
            for source in origin.values():
                yield from _strings([mapping_of(source).get("name")])
    for volume in mappings_of(spec.get("volumes")):
        yield from _strings([volume.get("name")])
        for source in volume.values():
            keys = ("name", "secretName", "claimName")
            yield from _strings([mapping_of(source).get(key) for key in keys])


def mapping_of(value: object) -> dict[str, Any]:
    """Return a dict, empty for anything else."""
    return value if isinstance(value, dict) else {}


def mappings_of(value: object) -> list[dict[str, Any]]:
    """Return the dicts of a list; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
