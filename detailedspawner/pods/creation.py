"""Rules for a pod that the cluster did not let in."""

from __future__ import annotations

import re
from typing import Any

from .podfacts import PodFacts
from .reading import Reader
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

_QUOTA = re.compile(
    r"exceeded quota: (?P<quota>[^,\s]{1,253}), requested: (?P<requested>.{1,300}?), "
    r"used: (?P<used>.{1,300}?), limited: (?P<limited>.{1,300}?)(?:$|\s)"
)
_AMOUNT = re.compile(r"([^=,\s]{1,100})=([^,\s]{1,50})")
_OBJECT = re.compile(r'(\w{1,60}) "([^"]{1,253})" (?:is forbidden|is invalid|already exists|not)')
_FIELD = re.compile(r"spec\.(initContainers|containers)\[(\d{1,4})\]")
_LIMIT = re.compile(r"(?:maximum|minimum) \S+(?: usage| limit)? per|limit to request ratio")
_POLICY = re.compile(r"violates PodSecurity|admission webhook|ValidatingAdmissionPolicy|denied")
_RBAC = re.compile(r"cannot (?:create|get|list|patch|update|delete) resource")


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
    message = reader.string(error.get("message"), "create_error.message")
    code = code or _CODES.get(reason, 0)
    reason = reason or _REASONS.get(code, "CreateFailed")
    details = reader.mapping(error.get("details"), "create_error.details")
    kind, name = _about(reader, details, message)
    claim = kind.startswith("persistentvolumeclaim")
    if claim and name in claims:
        # A full quota refuses the claim before the API looks whether it exists: it does.
        return None
    step = settings.kind_step("storage" if claim and pod.claims else "machine")
    fields: dict[str, str] = {}
    key = _key(code, message, claim)
    quota = _QUOTA.search(message[:4000])
    if key in ("create.quota", "create.storage_quota") and quota:
        fields = _quota_fields(quota)
    if key == "create.invalid":
        part, container_step = _part(reader, details, message, pod, settings)
        fields["part"] = part
        step = container_step or step
    final = code in _FINAL
    return Trouble(
        reason=reason,
        category="spec" if final else "create_transient",
        text=key,
        fields=fields,
        severity=Severity.INFO if code == 409 else Severity.WARNING,
        step=step if pod.containers else None,
        raw=message,
        counted=final,
    )


def _about(reader: Reader, details: dict[str, Any], message: str) -> tuple[str, str]:
    """Return kind (plural, lower case) and name of the refused object."""
    kind = reader.string(details.get("kind"), "details.kind").lower()
    name = reader.string(details.get("name"), "details.name")
    found = _OBJECT.search(message[:4000])
    if found:
        return kind or found[1].lower(), name or found[2]
    return kind, name


def _key(code: int, message: str, claim: bool) -> str:
    if code == 409:
        return "create.exists"
    if code == 404:
        return "create.missing"
    if code in (400, 422):
        return "create.invalid"
    if code not in _FINAL:
        return "create.busy"
    for key, pattern in (
        ("create.storage_quota" if claim else "create.quota", _QUOTA),
        ("create.rbac", _RBAC),
        ("create.limit", _LIMIT),
        ("create.policy", _POLICY),
    ):
        if pattern.search(message[:4000]):
            return key
    return "create.forbidden"


def _quota_fields(found: re.Match[str]) -> dict[str, str]:
    """Tell of the first resource that does not fit; the API lists only those."""
    requested = _AMOUNT.search(found["requested"])
    resource = requested[1] if requested else ""
    need = f"{requested[2]} ({resource})" if requested else found["requested"]
    fields = {"quota": f'"{found["quota"]}"', "requested": need}
    for key in ("used", "limited"):
        amounts: dict[str, str] = dict(_AMOUNT.findall(found[key]))
        fields[key] = amounts.get(resource, found[key])
    return fields


def _part(
    reader: Reader,
    details: dict[str, Any],
    message: str,
    pod: PodFacts,
    settings: PodSettings,
) -> tuple[str, str | None]:
    """Return the part of the pod that is invalid, and the step of its container."""
    paths = [
        reader.string(cause.get("field"), "cause.field")
        for cause in reader.mappings(details.get("causes"), "details.causes")
    ]
    for path in [*paths, message[:4000]]:
        found = _FIELD.search(path)
        if found is None:
            continue
        listed = [item for item in pod.containers if item.init == (found[1] == "initContainers")]
        number = int(found[2])
        if number < len(listed):
            step = settings.container_step(listed[number].name, listed[number].main)
            return f'"{step}"', step
    return "the server", None
