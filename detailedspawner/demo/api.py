"""The stand-in's API over HTTP: what kubernetes_asyncio and kubectl ask a cluster for.

It is not Kubernetes: no authentication, one group, JSON only, no exec or port-forward.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from .admission import validate
from .defaults import RESOURCES, containers_of
from .discovery import DOCUMENTS
from .errors import ApiError, Object, bad_request, conflict
from .merging import STRATEGIC_KEYS, merge
from .parsing import Query, Target, body_of, no_such_resource, number, query_of, target_of
from .store import Store
from .streaming import WatchStream
from .tables import pod_table

Logs = Callable[[str, str, str, bool, "int | None"], str]

_PATCHES = {
    "application/merge-patch+json": {},
    "application/strategic-merge-patch+json": STRATEGIC_KEYS,
}
_SERVER_OWNED = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_KEPT = ("kind", "apiVersion", "status")  # by changes that are not of the status
_WATCHES = web.AppKey("watches", set[asyncio.Task[Any]])


def make_app(store: Store, logs: Logs) -> web.Application:
    """Return the API server of a store.

    `logs(namespace, pod, container, previous, tail)` returns what a container
    has written, or its last `tail` lines; it may raise `ApiError`.
    """
    app = web.Application(middlewares=[_errors_as_status])
    app[_WATCHES] = set()
    app.on_shutdown.append(_end_watches)
    for path, document in DOCUMENTS.items():
        app.router.add_get(path, _constant(document))
    app.router.add_route("*", "/api/v1/{path:.+}", _Api(store, logs).handle)
    return app


async def _end_watches(app: web.Application) -> None:
    for task in app[_WATCHES]:
        task.cancel()


def _constant(document: Object | str) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        if isinstance(document, str):
            return web.Response(text=document)
        return web.json_response(document)

    return answer


@web.middleware
async def _errors_as_status(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        # A page in a browser could reach this server by a name of its own, and pods run commands.
        if request.url.host not in ("127.0.0.1", "localhost"):
            raise ApiError(403, "Forbidden", f"not served as {request.url.host}")
        return await handler(request)
    except ApiError as error:
        return web.json_response(error.to_status(), status=error.code)


def _success(**more: Any) -> Object:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", **more}


def _wants_table(request: web.Request, kind: str) -> bool:
    return kind == "pods" and "as=Table" in request.headers.get("Accept", "")


def _renderer(request: web.Request, kind: str) -> Callable[[Object], Object]:
    """Return what turns an object into the form in which the client wants it."""

    def as_table(pod: Object) -> Object:
        return pod_table([pod], pod["metadata"]["resourceVersion"], time.time())

    return as_table if _wants_table(request, kind) else lambda obj: obj


class _Api:
    def __init__(self, store: Store, logs: Logs) -> None:
        self._store = store
        self._logs = logs

    async def handle(self, request: web.Request) -> web.StreamResponse:
        target, query = target_of(request.match_info["path"]), query_of(request)
        kind, namespace, name, subresource = target
        render = _renderer(request, kind)
        body = {} if request.method == "GET" else await body_of(request)
        match (request.method if name else f"{request.method} all", subresource):
            case ("GET all", "") if query.watch:
                return await self._watch(request, WatchStream(self._store, target, query, render))
            case ("GET all", ""):
                return web.json_response(self._list(request, target, query))
            case ("GET", "" | "status"):
                return web.json_response(render(self._store.get(kind, namespace, name)))
            case ("GET", "log") if kind == "pods":
                return web.Response(text=self._log(target, query))
            case ("POST all", "") if bool(namespace) == RESOURCES[kind].namespaced:
                created = self._store.create(kind, namespace, body)
                return web.json_response(render(created), status=201)
            case ("POST", "eviction") if kind == "pods":
                self._delete(target, query, body.get("deleteOptions") or {})
                return web.json_response(_success(code=201), status=201)
            case ("POST", "binding") if kind == "pods":
                self._bind(target, body["target"]["name"])
                return web.json_response(_success(code=201), status=201)
            case ("PUT", "" | "status"):
                return web.json_response(self._change(target, lambda _: body))
            case ("PATCH", "" | "status"):
                if request.content_type not in _PATCHES:
                    raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
                keys = _PATCHES[request.content_type]
                return web.json_response(self._change(target, lambda obj: merge(obj, body, keys)))
            case ("DELETE all", "") if namespace:
                found = self._store.list(kind, namespace, query.labels, query.fields)
                for obj in found:
                    self._delete(target._replace(name=obj["metadata"]["name"]), query, body)
                return web.json_response(self._list_of(kind, found))
            case ("DELETE", ""):
                return web.json_response(self._delete(target, query, body))
        if subresource:
            raise no_such_resource()
        message = "the server does not allow this method on the requested resource"
        raise ApiError(405, "MethodNotAllowed", message, {})

    def _list(self, request: web.Request, target: Target, query: Query) -> Object:
        version = self._store.version
        if query.version > version:
            # From before a restart, which forgets everything: clients then start afresh.
            text = f"Timeout: Too large resource version: {query.version}, current: {version}"
            raise ApiError(504, "Timeout", text, {"retryAfterSeconds": 1})
        items = self._store.list(target.kind, target.namespace, query.labels, query.fields)
        if _wants_table(request, target.kind):
            return pod_table(items, str(version), time.time())
        return self._list_of(target.kind, items)

    def _list_of(self, kind: str, items: list[Object]) -> Object:
        for item in items:
            del item["kind"], item["apiVersion"]  # a list only names the kind of the whole
        head = {"kind": f"{RESOURCES[kind].kind}List", "apiVersion": "v1"}
        return {**head, "metadata": {"resourceVersion": str(self._store.version)}, "items": items}

    async def _watch(self, request: web.Request, stream: WatchStream) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        running = asyncio.ensure_future(stream.run(response.write))
        request.app[_WATCHES].add(running)
        try:
            await asyncio.wait({running})
        finally:
            running.cancel()
            request.app[_WATCHES].discard(running)
        if not running.cancelled():  # as it is when the server shuts down
            with contextlib.suppress(ConnectionResetError):  # the client has gone
                running.result()
        return response

    def _change(self, target: Target, edited: Callable[[Object], Object]) -> Object:
        kind, namespace, name, subresource = target

        def change(obj: Object) -> None:
            new, own = edited(obj), obj["metadata"]
            metadata = new.get("metadata") or {}
            if metadata.get("name", name) != name:
                text = f"the name of the object ({metadata['name']})"
                raise bad_request(f"{text} does not match the name on the URL ({name})")
            if metadata.get("resourceVersion") not in (None, "", own["resourceVersion"]):
                why = "the object has been modified; please apply your changes to the latest"
                raise conflict(kind, name, f"{why} version and try again")
            if subresource == "status":
                new = {**obj, "status": new.get("status") or {}}
            else:
                new = {**new, **{key: obj[key] for key in _KEPT if key in obj}}
            kept = {key: own[key] for key in _SERVER_OWNED if key in own}
            new["metadata"] = {**metadata, **kept}
            validate(kind, new)
            obj.clear()
            obj.update(new)

        return self._store.update(kind, namespace, name, change)

    def _delete(self, target: Target, query: Query, options: Object) -> Object:
        grace = query.grace
        if grace is None:
            grace = number(options.get("gracePeriodSeconds"), "gracePeriodSeconds")
        uid = (options.get("preconditions") or {}).get("uid")
        kind, namespace, name, _ = target
        deleted = self._store.delete(kind, namespace, name, grace, uid)
        if RESOURCES[kind].deleted == "object":
            return deleted
        return _success(details={"name": name, "kind": kind, "uid": deleted["metadata"]["uid"]})

    def _bind(self, target: Target, node: str) -> None:
        def bind(pod: Object) -> None:
            if assigned := pod["spec"].get("nodeName"):
                why = f'pod {target.name} is already assigned to node "{assigned}"'
                raise conflict("pods/binding", target.name, why)
            pod["spec"]["nodeName"] = node

        self._store.update("pods", target.namespace, target.name, bind)

    def _log(self, target: Target, query: Query) -> str:
        pod = self._store.get("pods", target.namespace, target.name)
        names = [container["name"] for container in containers_of(pod["spec"])]
        name = query.container or (names[0] if len(names) == 1 else "")
        if not name:
            text = f"a container name must be specified for pod {target.name}, choose one of: "
            raise bad_request(f"{text}[{' '.join(names)}]")
        if name not in names:
            raise bad_request(f"container {name} is not valid for pod {target.name}")
        if not pod["spec"].get("nodeName"):
            return ""
        return self._logs(str(target.namespace), target.name, name, query.previous, query.tail)
