"""What the API server refuses, invalid objects and exceeded quotas: pure functions on dicts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from .defaults import RESOURCES, containers_of, format_quantity, parse_quantity, resources_of
from .errors import Object, forbidden, invalid

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_BAD_NAME = (
    "a lowercase RFC 1123 {} must consist of lower case alphanumeric characters{}, and must start "
    "and end with an alphanumeric character (e.g. {}, regex used for validation is '{}')"
)
_BAD_LABEL = _BAD_NAME.format("label", " or '-'", "'my-name',  or '123-abc'", _LABEL)
_BAD_SUBDOMAIN = _BAD_NAME.format("subdomain", ", '-' or '.'", "'example.com'", _SUBDOMAIN)


class _Causes(list[Object]):
    def add(self, field: str, reason: str, message: str) -> None:
        self.append({"reason": f"FieldValue{reason}", "message": message, "field": field})

    def required(self, field: str, why: str = "") -> None:
        self.add(field, "Required", f"Required value{why and ': '}{why}")

    def invalid(self, field: str, value: str, why: str) -> None:
        self.add(field, "Invalid", f'Invalid value: "{value}": {why}')

    def name(self, field: str, name: str, why: str = "", label: bool = True) -> None:
        longest, pattern = (63, _LABEL) if label else (253, _SUBDOMAIN)
        if not name:
            self.required(field, why)
        elif len(name) > longest:
            self.invalid(field, name, f"must be no more than {longest} characters")
        elif not re.fullmatch(pattern, name):
            self.invalid(field, name, _BAD_LABEL if label else _BAD_SUBDOMAIN)


def validate(plural: str, obj: Object) -> None:
    """Raise `ApiError` 422 with every cause for which the API server refuses a filled object."""
    causes = _Causes()
    name, spec = obj["metadata"].get("name") or "", obj.get("spec") or {}
    label = plural in ("namespaces", "services")
    causes.name("metadata.name", name, "name or generateName is required", label)
    if plural == "pods":
        _validate_pod(causes, spec)
    elif plural == "persistentvolumeclaims":
        if not spec.get("accessModes"):
            causes.required("spec.accessModes", "at least 1 access mode is required")
        if "storage" not in resources_of(spec, "requests"):
            causes.required("spec.resources[storage]")
    if causes:
        raise invalid(RESOURCES[plural].kind, name, list(causes))


def _validate_pod(causes: _Causes, spec: Object) -> None:
    volumes = [volume.get("name") for volume in spec.get("volumes") or ()]
    if not spec.get("containers"):
        causes.required("spec.containers")
    seen: set[str] = set()
    for group in ("containers", "initContainers"):
        for number, container in enumerate(spec.get(group) or ()):
            field, name = f"spec.{group}[{number}]", container.get("name") or ""
            if not container.get("image"):
                causes.required(f"{field}.image")
            causes.name(f"{field}.name", name)
            if name in seen:
                causes.add(f"{field}.name", "Duplicate", f'Duplicate value: "{name}"')
            seen.add(name)
            for index, mount in enumerate(container.get("volumeMounts") or ()):
                if mount.get("name") not in volumes:
                    text = f'Not found: "{mount.get("name")}"'
                    causes.add(f"{field}.volumeMounts[{index}].name", "NotFound", text)
            limits = resources_of(container, "limits")
            for key, request in resources_of(container, "requests").items():
                if parse_quantity(request) > parse_quantity(limits.get(key, request)):
                    why = f"must be less than or equal to {key} limit of {limits[key]}"
                    causes.invalid(f"{field}.resources.requests", request, why)


def _usage(plural: str, obj: Object) -> dict[str, Decimal]:
    """Return how much of each quota resource an object takes."""
    spec = obj.get("spec") or {}
    used = {plural: Decimal(1), f"count/{plural}": Decimal(1)}
    if plural == "persistentvolumeclaims":
        used["requests.storage"] = parse_quantity(resources_of(spec, "requests")["storage"])
    if plural != "pods":
        return used
    if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    peaks: dict[str, Decimal] = {}
    for container in containers_of(spec):
        ends = container not in spec["containers"] and "restartPolicy" not in container
        for which in ("requests", "limits"):
            for name, text in resources_of(container, which).items():
                key, amount = f"{which}.{name}", parse_quantity(text)
                if ends:  # before the others start, so it only counts where it is the largest
                    peaks[key] = max(amount, peaks.get(key, amount))
                else:
                    used[key] = used.get(key, Decimal(0)) + amount
    return used | {key: max(peak, used.get(key, peak)) for key, peak in peaks.items()}


def check_quota(plural: str, obj: Object, quota: Object, others: Iterable[Object]) -> None:
    """Raise `ApiError` 403 if a new object does not fit into a quota beside the other objects."""
    name, quota_name = obj["metadata"]["name"], quota["metadata"]["name"]
    hard: dict[str, str] = dict(sorted((quota["spec"].get("hard") or {}).items()))
    missing = []
    for limited in hard:
        which, _, key = limited.partition(".")
        if plural == "pods" and which in ("requests", "limits") and key in ("cpu", "memory"):
            containers = containers_of(obj["spec"])
            names = [c["name"] for c in containers if key not in resources_of(c, which)]
            if names:
                missing.append(f"{limited} for: {','.join(sorted(names))}")
    if missing:
        raise forbidden(
            plural, name, f"failed quota: {quota_name}: must specify {'; '.join(missing)}"
        )
    wanted = _usage(plural, obj)
    used = {key: Decimal(0) for key in wanted}
    for other in others:
        for key, value in _usage(plural, other).items():
            used[key] = used.get(key, Decimal(0)) + value
    over = [k for k in hard if k in wanted and used[k] + wanted[k] > parse_quantity(hard[k])]

    def listed(values: dict[str, Decimal]) -> str:
        binary = ("memory", "storage")
        return ",".join(f"{k}={format_quantity(values[k], k.endswith(binary))}" for k in over)

    if over:
        limits = ",".join(f"{key}={hard[key]}" for key in over)
        why = f"requested: {listed(wanted)}, used: {listed(used)}, limited: {limits}"
        raise forbidden(plural, name, f"exceeded quota: {quota_name}, {why}")
