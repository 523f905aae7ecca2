"""Rules for a pod that the cluster did not let in: the texts of the API server, read."""

from __future__ import annotations

import re
from typing import Any

from ..models.text import readable_amount
from .details import detail
from .podfacts import PodFacts
from .reading import Reader
from .settings import PodSettings
from .trouble import Severity, Trouble

MOST_TEXT = 4000
_MOST_LISTED = 3

_QUOTA = re.compile(
    r"exceeded quota: (?P<quota>[^,\s]{1,253}), requested: (?P<requested>.{1,300}?), "
    r"used: (?P<used>.{1,300}?), limited: (?P<limited>.{1,300}?)(?:$|\s)"
)
_UNSPECIFIED = re.compile(r"failed quota: (?P<quota>[^:\s]{1,253}): (?P<detail>must specify .+)")
_AMOUNT = re.compile(r"([^=,\s]{1,100})=([^,\s]{1,50})")
_LIMIT = re.compile(
    r"(?P<side>maximum|minimum) (?P<resource>\S{1,100})(?: usage| limit)? per (?P<what>\w{1,60})"
    r" is (?P<bound>[\w.]{1,50}?)(?:, but (?:limit|request) is (?P<asked>[\w.]{1,50}))?"
    r"(?=[,.\]\s]|$)"
)
_RATIO = re.compile(r"limit to request ratio per")
_SECURITY = re.compile(
    r'violates PodSecurity "(?P<policy>[^":]{1,100})[^"]{0,100}": (?P<detail>.+)'
)
_REMARK = re.compile(r" \([^()]{0,1000}\)")
_WEBHOOK = re.compile(
    r"(?:admission webhook \"[^\"]{1,253}\" denied the request(?::| without explanation)"
    r"|ValidatingAdmissionPolicy '[^']{1,253}' with binding '[^']{1,253}' denied request:)"
    r"\s{0,4}(?P<detail>.*)",
    re.DOTALL,
)
_WEBHOOK_DOWN = re.compile(r"failed calling webhook|failed to call webhook")
_POLICY = re.compile(r"security context constraint|\bdenied\b|not allowed by policy|Pod ?Security")
_RBAC = re.compile(r"cannot (?:create|get|list|patch|update|delete) resource")
_ACCOUNT = re.compile(r'service ?account "?(?P<account>[^"\s:]{1,253})"? (?:was )?not found', re.I)
_NAMESPACE = re.compile(
    r'namespaces? "?(?P<namespace>[^"\s]{1,253})"? (?:not found|because it is being terminated)'
)
_MISSING = re.compile(
    r"no PriorityClass with name|RuntimeClass \S{1,253} not found|imagePullSecrets? .* not found"
)

Fields = dict[str, str]

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


def refusal(code: int, reason: str, message: str, claim: bool, final: bool) -> tuple[str, Fields]:
    """Return the key of the text for a refusal, and its fields.

    `claim`: what was refused is a claim. `final`: the same request is refused again.
    """
    text = message[:MOST_TEXT]
    if reason == "NoAnswer":
        return "create.silent", {}
    if not final:
        return _passing(code, text), {}
    if code == 401 or _RBAC.search(text):
        return "create.rbac", {}
    for key, pattern in (
        ("create.storage_quota" if claim else "create.quota", _QUOTA),
        ("create.quota_unspecified", _UNSPECIFIED),
        ("create.pod_security", _SECURITY),
        ("create.webhook", _WEBHOOK),
        ("create.service_account", _ACCOUNT),
        ("create.namespace", _NAMESPACE),
    ):
        found = pattern.search(text)
        if found:
            return key, _fields(found)
    limits = _limits(text)
    if limits or _RATIO.search(text):
        return "create.limit", {"detail": limits} if limits else {}
    if code == 404 or _MISSING.search(text):
        return "create.missing", {}
    if code in (400, 422):
        return "create.invalid", {}
    return ("create.policy" if _POLICY.search(text) else "create.forbidden"), {}


def _passing(code: int, text: str) -> str:
    if _WEBHOOK_DOWN.search(text):
        return "create.webhook_down"
    # another writer was quicker: that is over at the next try
    conflict = "Operation cannot be fulfilled" in text
    return "create.exists" if code == 409 and not conflict else "create.busy"


def _fields(found: re.Match[str]) -> Fields:
    if "requested" in found.groupdict():
        return _quota_fields(found)
    fields = {}
    for name, value in found.groupdict().items():
        quoted = name in ("quota", "policy", "account", "namespace")
        # a namespace before the account's name says nothing to a user
        fields[name] = f'"{value.rpartition("/")[2]}"' if quoted else detail(value).rstrip(".")
    if "policy" in fields:
        # which part breaks a rule is for who wrote it; a user is told the rules
        fields["detail"] = detail(_REMARK.sub("", found["detail"])).rstrip(".")
    if fields.get("detail") == "":
        fields["detail"] = "it does not say why"
    return fields


def _quota_fields(found: re.Match[str]) -> Fields:
    """Tell of the first resource that does not fit; the API lists only those."""
    requested = _AMOUNT.search(found["requested"])
    resource = requested[1] if requested else ""
    need = f"{readable_amount(resource, requested[2])} ({resource})" if requested else ""
    fields = {"quota": f'"{found["quota"]}"', "requested": need or found["requested"]}
    for key in ("used", "limited"):
        amounts: Fields = dict(_AMOUNT.findall(found[key]))
        fields[key] = readable_amount(resource, amounts.get(resource, found[key]))
    return fields


def _limits(text: str) -> str:
    """Say which limits are not kept: "memory: 4Gi asked, at most 2Gi per container"."""
    said = []
    for found in _LIMIT.finditer(text):
        side = "at most" if found["side"] == "maximum" else "at least"
        resource, bound = found["resource"], readable_amount(found["resource"], found["bound"])
        asked = found["asked"] and f"{readable_amount(resource, found['asked'])} asked, "
        said.append(f"{resource}: {asked or ''}{side} {bound} {_per(found['what'])}")
    return "; ".join(dict.fromkeys(said[:_MOST_LISTED]))


def _per(what: str) -> str:
    return {"Pod": "per server", "PersistentVolumeClaim": "per storage"}.get(what, "per container")


def causes_detail(causes: list[tuple[str, str]]) -> str:
    """Say what is wrong with which field, from (path, message) pairs; "" if there are none."""
    said = []
    for path, message in causes:
        # the first parts only say where in the pod: that is told by the name of the step
        field = re.sub(r"^spec\.(?:(?:initContainers|containers)\[\d{1,4}\]\.)?", "", path)
        said.append(": ".join(part for part in (field, detail(message)) if part).rstrip("."))
    said = list(dict.fromkeys(part for part in said if part))
    more = len(said) - _MOST_LISTED
    return "; ".join(said[:_MOST_LISTED]) + (f"; and {more} more" if more > 0 else "")


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
