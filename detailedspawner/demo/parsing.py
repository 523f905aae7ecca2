"""What a request asks for: its path, query and body."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from aiohttp import web

from .defaults import RESOURCES
from .errors import ApiError, Object, bad_request


class Target(NamedTuple):
    """What a path below `/api/v1/` names; without `name` it is all of a kind."""

    kind: str
    namespace: str | None
    name: str
    subresource: str


@dataclass(frozen=True)
class Query:
    """The parameters that this server knows, times in seconds."""

    labels: str | None
    fields: str | None
    version: int
    watch: bool
    bookmarks: bool
    timeout: int | None
    grace: int | None
    container: str
    previous: bool
    tail: int | None


def target_of(path: str) -> Target:
    """Return what a path names; `ApiError` 404 if there is nothing like it."""
    parts = path.split("/")
    namespace = None
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] in RESOURCES:
        namespace, parts = parts[1], parts[2:]
    kind, name, subresource = [*parts, "", ""][:3]
    if len(parts) > 3 or kind not in RESOURCES or (namespace and not RESOURCES[kind].namespaced):
        raise no_such_resource()
    return Target(kind, namespace, name, subresource)


def no_such_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def query_of(request: web.Request) -> Query:
    """Return the parameters; `ApiError` 400 for malformed ones and for `dryRun`."""
    query = request.query
    if "dryRun" in query:
        raise bad_request("dryRun is not supported here")

    def flag(name: str) -> bool:
        return query.get(name, "false").lower() not in ("false", "0")

    return Query(
        labels=query.get("labelSelector"),
        fields=query.get("fieldSelector"),
        version=number(query.get("resourceVersion"), "resourceVersion") or 0,
        watch=flag("watch"),
        bookmarks=flag("allowWatchBookmarks"),
        timeout=number(query.get("timeoutSeconds"), "timeoutSeconds"),
        grace=number(query.get("gracePeriodSeconds"), "gracePeriodSeconds"),
        container=query.get("container", ""),
        previous=flag("previous"),
        tail=number(query.get("tailLines"), "tailLines"),
    )


def number(given: Any, name: str) -> int | None:
    """Return a parameter as a number, None if it was not given; `ApiError` 400 for other text."""
    if given in (None, ""):
        return None
    try:
        return int(given)
    except ValueError:
        raise bad_request(f'{name}: Invalid value: "{given}": invalid syntax') from None


async def body_of(request: web.Request) -> Object:
    """Return the JSON object of the body; `ApiError` 415 for other formats, 400 for other JSON."""
    content = await request.read()
    # `kubectl create namespace` and the like speak protobuf since 1.32; `create -f` never does.
    if content and not request.content_type.endswith("json"):
        text = "the body of the request was in an unknown format"
        text += " - accepted media types include: application/json"
        raise ApiError(415, "UnsupportedMediaType", text)
    try:
        body = json.loads(content or b"{}")
    except ValueError as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from None
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized: it is not a JSON object")
    return body
