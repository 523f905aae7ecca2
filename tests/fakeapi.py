"""A scripted API server: lists and watches that answer what a test tells them to."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web


def pod(name: str, version: str, namespace: str = "ns", **more: Any) -> dict[str, Any]:
    """Return a pod with a version."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "resourceVersion": version,
        "uid": f"uid-{name}",
    }
    return {"kind": "Pod", "metadata": metadata, **more}


def event(name: str, version: str, about: str, **more: Any) -> dict[str, Any]:
    """Return a Kubernetes event about the pod named `about`."""
    return {
        "kind": "Event",
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": version},
        "involvedObject": {"kind": "Pod", "namespace": "ns", "name": about, "uid": f"uid-{about}"},
        **more,
    }


class FakeApi:
    """Answers one kind of resource; counts what was asked of it."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.version = "1"
        self.lists: list[dict[str, str]] = []
        self.watches: list[dict[str, str]] = []
        # what the next lists answer instead: a status code, or an event to wait for
        self.list_answers: list[int | asyncio.Event] = []
        # what the next watches answer instead: a status code
        self.watch_answers: list[int] = []
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def send(self, kind: str, resource: dict[str, Any]) -> None:
        """Send one event on the open watch, or on the next one."""
        self.send_raw(json.dumps({"type": kind, "object": resource}).encode() + b"\n")

    def send_raw(self, line: bytes) -> None:
        """Send what may be no event on the open watch, or on the next one."""
        self._lines.put_nowait(line)

    def hang_up(self) -> None:
        """End the open watch."""
        self._lines.put_nowait(None)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a list or a watch."""
        query = dict(request.query)
        if query.get("watch"):
            return await self._watch(request, query)
        self.lists.append(query)
        if self.list_answers:
            answer = self.list_answers.pop(0)
            if isinstance(answer, int):
                return web.json_response({"message": "scripted"}, status=answer)
            await answer.wait()
        return web.json_response(
            {"metadata": {"resourceVersion": self.version}, "items": self.items}
        )

    async def _watch(self, request: web.Request, query: dict[str, str]) -> web.StreamResponse:
        self.watches.append(query)
        if self.watch_answers:
            return web.json_response({"message": "scripted"}, status=self.watch_answers.pop(0))
        response = web.StreamResponse()
        await response.prepare(request)
        while (line := await self._lines.get()) is not None:
            await response.write(line)
        return response

    def app(self) -> web.Application:
        """Return the application that serves it under every path."""
        app = web.Application()
        app.router.add_get("/{path:.*}", self.handle)
        return app
