"""Which values of a pod must not be shown: known from its spec, by their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..models.redaction import names_a_secret, secret_values

# Whom and what these name is shown anyway.
_PUBLIC_VARIABLES = frozenset(
    {"JUPYTERHUB_USER", "JUPYTERHUB_SERVER_NAME", "JUPYTERHUB_SERVICE_PREFIX", "NB_USER", "USER"}
)


def pod_secrets(pod: object) -> tuple[str, ...]:
    """Return the values of a pod (raw JSON of any shape) that must not be shown.

    They are values of environment variables and options of commands whose names say
    that they are secret. Never among them is what the pod shows anyway: its user, its
    images, the names of its parts and of what it refers to.
    """
    spec = _mapping(_mapping(pod).get("spec"))
    containers = [
        *_mappings(spec.get("initContainers")),
        *_mappings(spec.get("containers")),
    ]
    named = [pair for container in containers for pair in _named(container)]
    if not named:
        return ()
    return secret_values(named, _public(_mapping(pod), spec, containers))


def _named(container: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for variable in _mappings(container.get("env")):
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
    metadata = _mapping(pod.get("metadata"))
    for key in ("labels", "annotations"):
        yield from _strings(list(_mapping(metadata.get(key)).values()))
    yield from _strings([metadata.get(key) for key in ("name", "namespace", "uid")])
    yield from _strings([spec.get(key) for key in ("nodeName", "serviceAccountName")])
    for container in containers:
        yield from _strings([container.get("name"), container.get("image")])
        for variable in _mappings(container.get("env")):
            if variable.get("name") in _PUBLIC_VARIABLES:
                yield from _strings([variable.get("value")])
            for source in _mapping(variable.get("valueFrom")).values():
                yield from _strings([_mapping(source).get("name"), _mapping(source).get("key")])
        for origin in _mappings(container.get("envFrom")):
            for source in origin.values():
                yield from _strings([_mapping(source).get("name")])
    for volume in _mappings(spec.get("volumes")):
        yield from _strings([volume.get("name")])
        for source in volume.values():
            keys = ("name", "secretName", "claimName")
            yield from _strings([_mapping(source).get(key) for key in keys])


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
