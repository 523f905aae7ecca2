"""What clients read to learn about the API: groups, resources, version and a minimal OpenAPI."""

from __future__ import annotations

from .defaults import RESOURCES, Resource
from .errors import Object

_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
# kubectl leaves validation to a server that knows this parameter, and else wants all schemas.
_VALIDATION = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}


def _resource(plural: str, resource: Resource) -> Object:
    return {
        "name": plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _VERBS,
        "shortNames": [resource.short] if resource.short else [],
        "categories": ["all"] if plural in ("pods", "services") else [],
    }


def _patch_operation(resource: Resource) -> Object:
    kind = {"group": "", "version": "v1", "kind": resource.kind}
    return {"patch": {"parameters": [_VALIDATION], "x-kubernetes-group-version-kind": kind}}


def _path(plural: str, resource: Resource) -> str:
    return f"/api/v1/{'namespaces/{namespace}/' if resource.namespaced else ''}{plural}/{{name}}"


_OPENAPI: Object = {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1"}}
DOCUMENTS: dict[str, Object | str] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [_resource(*item) for item in RESOURCES.items()],
    },
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0+demo", "platform": "demo"},
    "/openapi/v3": {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}}},
    "/openapi/v3/api/v1": {
        **_OPENAPI,
        "paths": {_path(*item): _patch_operation(item[1]) for item in RESOURCES.items()},
    },
    **dict.fromkeys(("/healthz", "/livez", "/readyz"), "ok"),
}
