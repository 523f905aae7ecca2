"""Rules for a pod that the cluster did not let in."""

from __future__ import annotations

import re
from typing import Any

from .podfacts import PodFacts
from .reading import Reader
from .refusals import MOST_TEXT, causes_detail, refusal
from .settings import PodSettings
from .trouble import Trouble
from .view import Severity

_CODES = {
    "BadRequest": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "AlreadyExists": 409,
    "Conflict": 409,
    "Invalid": 422,
    "TooManyRequests": 429,
    "InternalError": 500,
    "ServiceUnavailable": 503,
    "Timeout": 504,
    "ServerTimeout": 504,
}
_REASONS = {code: reason for reason, code in reversed(list(_CODES.items()))}
# The same request gets the same answer again.
_FINAL = frozenset({400, 401, 403, 404, 405, 413, 415, 422})

_OBJECT = re.compile(r'(\w{1,60}) "([^"]{1,253})" (?:is forbidden|is invalid|already exists|not)')
_FIELD = re.compile(r"spec\.(initContainers|containers)\[(\d{1,4})\]")


def creation_trouble(
    reader: Reader,
    raw: object,
    pod: PodFacts,
    claims: frozenset[str],
    settings: PodSettings,
) -> Trouble | None:
    """Read the API's answer to the creation of the pod (or of its claim); None if it is none."""
    if raw is None:
        return None
    error = reader.mapping(raw, "create_error")
    code = reader.integer(error.get("code"), "create_error.code") or 0
    reason = reader.string(error.get("reason"), "create_error.reason")
    message = reader.text(error.get("message"), "create_error.message")
    code = code or _CODES.get(reason, 0)
    reason = reason or _REASONS.get(code, "CreateFailed")
    details = reader.mapping(error.get("details"), "create_error.details")
    kind, name = _about(reader, details, message)
    claim = kind.startswith("persistentvolumeclaim")
    if claim and name in claims:
        # A full quota refuses the claim before the API looks whether it exists: it does.
        return None
    step = settings.kind_step("storage" if claim and pod.claims else "machine")
    final = code in _FINAL
    key, fields = refusal(code, reason, message, claim, final)
    if key == "create.invalid":
        causes = _causes(reader, details)
        part, container_step = _part(causes, message, pod, settings)
        fields["part"] = part
        if said := causes_detail(causes):
            fields["detail"] = said
        step = container_step or step
    return Trouble(
        reason=reason,
        category="spec" if final else "create_transient",
        text=key,
        fields=fields,
        severity=Severity.INFO if key == "create.exists" else Severity.WARNING,
        step=step if pod.containers else None,
        raw=message,
        counted=final,
    )


def _about(reader: Reader, details: dict[str, Any], message: str) -> tuple[str, str]:
    """Return kind (plural, lower case) and name of the refused object."""
    kind = reader.string(details.get("kind"), "details.kind").lower()
    name = reader.string(details.get("name"), "details.name")
    found = _OBJECT.search(message[:MOST_TEXT])
    if found:
        return kind or found[1].lower(), name or found[2]
    return kind, name


def _causes(reader: Reader, details: dict[str, Any]) -> list[tuple[str, str]]:
    """Return path and message of each field that is wrong."""
    return [
        (
            reader.text(cause.get("field"), "cause.field"),
            reader.text(cause.get("message"), "cause.message"),
        )
        for cause in reader.mappings(details.get("causes"), "details.causes")
    ]


def _part(
    causes: list[tuple[str, str]], message: str, pod: PodFacts, settings: PodSettings
) -> tuple[str, str | None]:
    """Return the part of the pod that is invalid, and the step of its container."""
    for path in [*(path for path, _ in causes), message[:MOST_TEXT]]:
        found = _FIELD.search(path)
        if found is None:
            continue
        listed = [item for item in pod.containers if item.init == (found[1] == "initContainers")]
        number = int(found[2])
        if number < len(listed):
            step = settings.container_step(listed[number].name, listed[number].main)
            return f'"{step}"', step
    return "the server", None
