"""The stand-in's API over HTTP: what KubeSpawner and kubectl's get, create, delete and logs need.

JSON only; nothing can be changed, there is no exec and no discovery beyond what kubectl needs.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from .defaults import CLUSTER_WIDE, RESOURCES, check_type, containers_of, decode
from .errors import ApiError, Object, bad_request
from .store import Store, selected

Logs = Callable[[str, str, str, bool, "int | None"], str]
Query = Mapping[str, str]

_WATCH_SECONDS = 1800  # without timeoutSeconds
_SHORT = {"persistentvolumeclaims": ["pvc"], "pods": ["po"], "namespaces": ["ns"]}
_VERBS = ["create", "delete", "get", "list", "watch"]


def _schema(kind: str) -> Object:
    """Say that the server itself validates: else kubectl wants all schemas to do it."""
    about = {"group": "", "version": "v1", "kind": kind}
    parameters = [{"name": "fieldValidation", "in": "query"}]
    return {"patch": {"parameters": parameters, "x-kubernetes-group-version-kind": about}}


_DOCUMENTS: dict[str, Object] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {"name": name, "kind": kind, "namespaced": name not in CLUSTER_WIDE}
            | {"verbs": _VERBS, "shortNames": _SHORT.get(name, [])}
            for name, kind in RESOURCES.items()
        ],
    },
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0+demo"},
    "/openapi/v3": {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}}},
    "/openapi/v3/api/v1": {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1"},
        "paths": {f"/{name}": _schema(kind) for name, kind in RESOURCES.items()},
    },
}


def make_app(store: Store, logs: Logs, token: str = "") -> web.Application:
    """Return the API server of a store, for whoever gives the token (none is asked if it is empty).

    It is the password in the server's address: kubectl sends no bearer token without TLS.
    `logs(namespace, pod, container, previous, tail)` returns what a container has written.
    """
    expected = b"Basic " + base64.b64encode(f"demo:{token}".encode())

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode(errors="surrogateescape")
        try:
            if token and not secrets.compare_digest(given, expected):
                raise ApiError(401, "Unauthorized", "Unauthorized")
            return await handler(request)
        except ApiError as error:
            return web.json_response(error.to_status(), status=error.code)

    async def handle(request: web.Request) -> web.StreamResponse:
        kind, namespace, name, subresource = _target(request.match_info["path"])
        query, body = request.query, await _body(request)
        if "dryRun" in query or "dryRun" in body:
            raise bad_request("dryRun is not supported here")
        matches = selected(query.get("labelSelector"), query.get("fieldSelector"))
        since = _number(query, "resourceVersion") or 0
        match (request.method, "one" if name else "all", subresource):
            case ("GET", "all", "") if _flag(query, "watch"):
                seconds = _number(query, "timeoutSeconds") or _WATCH_SECONDS
                return await _watch(request, store.watch(kind, namespace, since, matches, seconds))
            case ("GET", "all", ""):
                _check_version(since, store.version, query.get("resourceVersionMatch"))
                items = store.list(kind, namespace, matches)
                for item in items:
                    del item["kind"], item["apiVersion"]  # a list only names the kind of the whole
                found = {"metadata": {"resourceVersion": str(store.version)}, "items": items}
                head = {"kind": f"{RESOURCES[kind]}List", "apiVersion": "v1"}
                return web.json_response({**head, **found})
            case ("GET", "one", "" | "status"):
                return web.json_response(store.get(kind, namespace, name))
            case ("GET", "one", "log") if kind == "pods":
                spec = store.get("pods", namespace, name)["spec"]
                wanted = query.get("container") or spec["containers"][0]["name"]
                if wanted not in [container["name"] for container in containers_of(spec)]:
                    raise bad_request(f"container {wanted} is not valid for pod {name}")
                asked = name, wanted, _flag(query, "previous"), _number(query, "tailLines")
                placed = "nodeName" in spec
                return web.Response(text=logs(namespace or "", *asked) if placed else "")
            case ("POST", "all", "") if bool(namespace) == (kind not in CLUSTER_WIDE):
                return web.json_response(store.create(kind, namespace, body), status=201)
            case ("DELETE", "one", ""):
                options = decode("V1DeleteOptions", body, "", [])
                grace = _number({**options, **query}, "gracePeriodSeconds")
                uid = options.get("preconditions", {}).get("uid", "")
                return web.json_response(store.delete(kind, namespace, name, grace, uid))
        text = "the server does not allow this method on the requested resource"
        raise ApiError(405, "MethodNotAllowed", text)

    async def document(request: web.Request) -> web.StreamResponse:
        return web.json_response(_DOCUMENTS[request.path])

    app = web.Application(middlewares=[guard])
    for path in _DOCUMENTS:
        app.router.add_get(path, document)
    app.router.add_route("*", "/api/v1/{path:.+}", handle)
    return app


def _check_version(asked: int, version: int, match: str | None) -> None:
    if asked > version:
        # From before a restart, which forgets everything: clients then start afresh.
        text = f"Timeout: Too large resource version: {asked}, current: {version}"
        raise ApiError(504, "Timeout", text, {"retryAfterSeconds": 1})
    if match == "Exact" and asked < version:
        raise ApiError(410, "Expired", f"too old resource version: {asked} ({version})")


async def _watch(
    request: web.Request, changes: AsyncIterator[tuple[str, Object]]
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)

    async def send(event: str, obj: Object) -> None:
        if event != "BOOKMARK" or _flag(request.query, "allowWatchBookmarks"):
            await response.write(json.dumps({"type": event, "object": obj}).encode() + b"\n")

    with contextlib.suppress(ConnectionResetError):  # the client has gone
        try:
            async for change in changes:
                await send(*change)
        except ApiError as error:
            await send("ERROR", error.to_status())
    return response


def _target(path: str) -> tuple[str, str | None, str, str]:
    """Return the resource, namespace, name and subresource that a path names."""
    one = r"(?:namespaces/([^/]+)/)?({})(?:/([^/]+)(?:/(status|log))?)?"
    match = re.fullmatch(one.format("|".join(RESOURCES)), path)
    if match is None or (match[1] and match[2] in CLUSTER_WIDE):
        raise ApiError(404, "NotFound", "the server could not find the requested resource")
    return match[2], match[1], match[3] or "", match[4] or ""


def _flag(query: Query, name: str) -> bool:
    return query.get(name, "false").lower() not in ("false", "0")


def _number(query: Query, name: str) -> int | None:
    if not re.fullmatch("[0-9]{0,18}", given := str(query.get(name, ""))):
        raise bad_request(f'{name}: Invalid value: "{given}": invalid syntax')
    return int(given) if given else None


async def _body(request: web.Request) -> Object:
    try:
        body: Object = json.loads(await request.read() or b"{}")
    except (ValueError, RecursionError) as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from None
    check_type(body, "", dict)
    return body
