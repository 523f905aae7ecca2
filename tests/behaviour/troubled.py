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

import httpx
import pytest

from .cluster import Kubernetes
from .failing import filled
from .failure_cases import BESIDE
from .hub import Hub, running_hub
from .recorder import Recorder

CONFIG = Path(__file__).with_name("failure_hub.py")
# objects that belong to no namespace, and where they are
EVERYWHERE = {"persistentvolumes": "/api/v1", "runtimeclasses": "/apis/node.k8s.io/v1"}
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


def user_of(slug: str) -> str:
    """Return whose server a case is."""
    return f"fail-{slug}".replace("_", "-")


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
        self,
        hub: Hub,
        kubernetes: Kubernetes,
        recorder: Recorder,
        cases: Mapping[str, Any],
        at_once: int,
    ) -> None:
        self.hub, self.kubernetes, self.recorder = hub, kubernetes, recorder
        self._undo = contextlib.ExitStack()
        self._pool = ThreadPoolExecutor(at_once)
        self._seen: dict[str, Future[Seen]] = {
            slug: self._pool.submit(self._run, slug, case)
            for slug, case in cases.items()
            if real() or not case.real
        }

    def __getitem__(self, slug: str) -> Seen:
        return self._seen[slug].result(600)

    def runs(self, slug: str) -> bool:
        """Whether this cluster can have a case."""
        return slug in self._seen

    def all(self) -> dict[str, Seen]:
        """Wait for all of them."""
        return {slug: self[slug] for slug in self._seen}

    def _run(self, slug: str, case: Any) -> Seen:
        seen, user, done = Seen(), user_of(slug), case.when is None
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
        with contextlib.suppress(httpx.HTTPStatusError):
            # a Hub without this product, as a benchmark has it, knows no status
            seen.snapshot = self.hub.snapshot(user)
        return seen

    def _create(self, kind: str, body: dict[str, Any], beside: str) -> None:
        """Create an object that a case needs, in its namespace or for the whole cluster."""
        kubernetes = self.kubernetes
        body = filled(body, kubernetes.namespace)
        if kind in EVERYWHERE:
            path = f"{EVERYWHERE[kind]}/{kind}"
            answer = kubernetes.client.post(path, json=body)
            self._undo.callback(kubernetes.client.delete, f"{path}/{body['metadata']['name']}")
        else:
            answer = kubernetes.create(kind, body, beside)
        # another table may have needed it too
        assert answer.is_success or answer.status_code == 409, answer.text

    def close(self) -> None:
        """Wait for those still going, and remove what they left outside of their namespace."""
        self._pool.shutdown(cancel_futures=True)
        self._undo.close()


@contextlib.contextmanager
def troubled(
    kubernetes: Kubernetes,
    folder: Path,
    cases: Mapping[str, Any],
    at_once: int = AT_ONCE,
    config: Path = CONFIG,
    more: Mapping[str, str] | None = None,
) -> Iterator[Troubled]:
    """Run all cases of a table on a Hub of their own."""
    with contextlib.ExitStack() as stack:
        for suffix in {case.beside for case in cases.values() if case.beside}:
            stack.enter_context(kubernetes.namespace_beside(suffix, BESIDE[suffix]))
        recorder = stack.enter_context(contextlib.closing(Recorder(kubernetes)))
        hub = stack.enter_context(running_hub(kubernetes, config, folder, more))
        found = Troubled(hub, kubernetes, recorder, cases, at_once)
        yield stack.enter_context(contextlib.closing(found))
