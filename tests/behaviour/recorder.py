"""Keeps what becomes of pods, so that one can look at them when they are gone."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx

from .cluster import Kubernetes
from .hub import eventually

Object = dict[str, Any]


class Recorder:
    """Follows the pods of the suite's namespaces until it is closed."""

    def __init__(self, kubernetes: Kubernetes) -> None:
        self._kubernetes = kubernetes
        # the last version of each pod before its deletion, and the events of its namespace then
        self._last: dict[str, Object] = {}
        self._events: dict[str, list[Object]] = {}
        self._open = True
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following, at the latest with the end of the present watch."""
        self._open = False

    def document(self, name: str) -> Object:
        """Return what `kubectl get pod,events` would have given before a pod was deleted."""
        eventually(lambda: name in self._events, f"{name} is deleted")
        pod = {**self._last[name], "kind": "Pod"}
        events = [{**event, "kind": "Event"} for event in self._events[name]]
        return {"kind": "List", "items": [pod, *events]}

    def _follow(self) -> None:
        query = {"watch": "1", "timeoutSeconds": "30"}
        while self._open:
            try:
                watch = self._kubernetes.client.stream("GET", "/api/v1/pods", params=query)
                with watch as answer:
                    for line in answer.iter_lines():
                        self._take(json.loads(line)["object"])
            except httpx.TransportError:
                continue

    def _take(self, pod: Object) -> None:
        metadata = pod["metadata"]
        name = metadata["name"]
        if not metadata["namespace"].startswith(self._kubernetes.namespace):
            return
        if "deletionTimestamp" not in metadata:
            self._last[name] = pod
        elif name not in self._events:
            path = f"/api/v1/namespaces/{metadata['namespace']}/events"
            answer = self._kubernetes.client.get(path).raise_for_status()
            self._events[name] = answer.json()["items"]
