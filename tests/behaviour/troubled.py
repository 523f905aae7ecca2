"""Runs starts in trouble side by side, each of a user of its own, on one Hub."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from .cluster import Kubernetes
from .failure_cases import BESIDE, filled
from .hub import Hub, running_hub
from .recorder import Recorder

# most of them only wait
AT_ONCE = 12


def real() -> bool:
    """Whether the cluster is a real one."""
    return bool(os.environ.get("KUBECONFIG"))


def marked(cases: Mapping[str, Any]) -> list[Any]:
    """Return the cases as parameters; some need a real cluster."""
    return [
        pytest.param(slug, marks=[pytest.mark.cluster] if case.real else [])
        for slug, case in cases.items()
    ]


@dataclass
class Seen:
    """What was seen of one start."""

    events: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0
    snapshot: dict[str, Any] = field(default_factory=dict)

    @property
    def last(self) -> dict[str, Any]:
        """The event that ended the stream."""
        return self.events[-1]

    @property
    def statuses(self) -> list[dict[str, Any]]:
        """The statuses in the order in which they came."""
        return [event["status"] for event in self.events if "status" in event]


class Troubled:
    """All cases of a table, started side by side."""

    def __init__(
        self, hub: Hub, kubernetes: Kubernetes, recorder: Recorder, cases: Mapping[str, Any]
    ) -> None:
        self.hub, self.kubernetes, self.recorder = hub, kubernetes, recorder
        self._undo = contextlib.ExitStack()
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._seen: dict[str, Future[Seen]] = {
            slug: self._pool.submit(self._run, slug, case)
            for slug, case in cases.items()
            if real() or not case.real
        }

    def __getitem__(self, slug: str) -> Seen:
        return self._seen[slug].result(600)

    def all(self) -> dict[str, Seen]:
        """Wait for all of them."""
        return {slug: self[slug] for slug in self._seen}

    def _run(self, slug: str, case: Any) -> Seen:
        seen, user, done = Seen(), f"fail-{slug}", case.when is None
        for kind, body in case.objects:
            self._create(kind, body, case.beside)
        if case.before:
            case.before(self.kubernetes)
        if case.undo:
            self._undo.callback(case.undo, self.kubernetes)
        began = time.monotonic()
        self.hub.start(user, slug)
        for event in self.hub.stream(user):
            seen.events.append(event)
            if not done and case.when(event.get("status") or {}):
                done = True
                case.meanwhile(self.kubernetes, user)
        seen.seconds = time.monotonic() - began
        seen.snapshot = self.hub.snapshot(user)
        return seen

    def _create(self, kind: str, body: dict[str, Any], beside: str) -> None:
        """Create an object that a case needs, in its namespace or for the whole cluster."""
        kubernetes = self.kubernetes
        body = filled(body, kubernetes.namespace)
        if kind == "persistentvolumes":
            path = f"/api/v1/{kind}"
            kubernetes.client.post(path, json=body).raise_for_status()
            self._undo.callback(kubernetes.client.delete, f"{path}/{body['metadata']['name']}")
        else:
            kubernetes.create(kind, body, beside)

    def close(self) -> None:
        """Wait for those still going, and remove what they left outside of their namespace."""
        self._pool.shutdown(cancel_futures=True)
        self._undo.close()


@contextlib.contextmanager
def troubled(kubernetes: Kubernetes, folder: Path, cases: Mapping[str, Any]) -> Iterator[Troubled]:
    """Run all cases of a table on a Hub of their own."""
    config = Path(__file__).with_name("failure_hub.py")
    with contextlib.ExitStack() as stack:
        for suffix in {case.beside for case in cases.values() if case.beside}:
            stack.enter_context(kubernetes.namespace_beside(suffix, BESIDE[suffix]))
        recorder = stack.enter_context(contextlib.closing(Recorder(kubernetes)))
        hub = stack.enter_context(running_hub(kubernetes, config, folder))
        yield stack.enter_context(contextlib.closing(Troubled(hub, kubernetes, recorder, cases)))
