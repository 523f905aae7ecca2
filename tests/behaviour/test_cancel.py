"""Whatever a start is doing when it is cancelled, nothing is left behind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from .cancel_cases import PHASES
from .cluster import Kubernetes
from .hub import Hub, eventually

AT_ONCE = 6
WAYS = ("once", "twice", "restart")
SERVERS = {"default": "", "named": "other"}
EVERY = [(phase, server, way) for phase in PHASES for server in SERVERS for way in WAYS]
# each phase once, each way and each kind of server often enough
SOME = [(phase, list(SERVERS)[number % 2], WAYS[number % 3]) for number, phase in enumerate(PHASES)]
CASES = EVERY if os.environ.get("SUITE_ALL") else SOME
IDS = ["-".join(case) for case in CASES]


@dataclass
class Cancel:
    """What was seen of one start that was cancelled."""

    deletes: list[int] = field(default_factory=list)
    posts: list[int] = field(default_factory=list)
    streams: list[dict[str, Any]] = field(default_factory=list)
    was_ready: bool = False
    stopped_after: float = 0
    status: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)
    again: dict[str, Any] = field(default_factory=dict)


class Client:
    """One user's server, driven through its phases."""

    def __init__(self, hub: Hub, kubernetes: Kubernetes, phase: str, kind: str, way: str) -> None:
        self.hub, self.kubernetes = hub, kubernetes
        self.phase, self.server, self.way = phase, SERVERS[kind], way
        self.user = f"cancel-{phase}-{kind}-{way}"
        self.seen = Cancel()

    def run(self) -> Cancel:
        """Start, cancel in the phase, look at what is left, start again."""
        hub, seen = self.hub, self.seen
        hub.start(self.user, f"cancel-{self.phase}", self.server)
        if self.phase == "stopping":
            assert list(hub.stream(self.user, self.server))[-1].get("ready")
            self.stopping = threading.Thread(
                target=hub.client.delete, args=[hub.path(self.user, self.server)]
            )
            self.stopping.start()
        readers = [] if self.phase == "stopping" else [threading.Thread(target=self.read)]
        for reader in readers:
            reader.start()
        eventually(self.phase_has_come, f"{self.user} is in its phase", pause=0.02)
        self.cancel()
        self.wait_until_over()
        for reader in readers:
            reader.join(30)
        if self.way == "restart" and any(post < 300 for post in seen.posts):
            seen.again = list(hub.stream(self.user, self.server))[-1]
            hub.stop(self.user, self.server)
        eventually(self.nothing_is_left, f"nothing is left of {self.user}", 30, raises=False)
        if not seen.again:
            hub.start(self.user, "gate-ok", self.server)
            seen.again = list(hub.stream(self.user, self.server))[-1]
            hub.stop(self.user, self.server)
        return seen

    def read(self) -> None:
        """Follow the stream of the start to its end."""
        self.seen.streams.extend(self.hub.stream(self.user, self.server))

    def phase_has_come(self) -> bool:
        return bool(PHASES[self.phase]["when"](self.hub.snapshot(self.user, self.server)))

    def cancel(self) -> None:
        """Send what the case is about, all at the same time."""
        hub, path = self.hub, self.hub.path(self.user, self.server)

        def delete() -> None:
            self.seen.deletes.append(hub.client.delete(path).status_code)

        def post() -> None:
            self.seen.posts.append(hub.start(self.user, "gate-ok", self.server))

        began = time.monotonic()
        calls = {"once": [delete], "twice": [delete, delete], "restart": [delete, post]}[self.way]
        with ThreadPoolExecutor(len(calls)) as pool:
            for call in calls:
                pool.submit(call)
                time.sleep(0.02 if self.way == "restart" else 0)
        self.began = began

    def wait_until_over(self) -> None:
        """Wait until the Hub says nothing is pending, and note when that was."""

        def over() -> bool:
            model = self.hub.model(self.user, self.server)
            self.seen.was_ready |= bool(model["ready"]) and not self.seen.posts
            return model["pending"] is None or bool(self.seen.posts)

        eventually(over, f"{self.user} is pending no more", 60, 0.02)
        self.seen.stopped_after = time.monotonic() - self.began
        self.seen.status = self.hub.snapshot(self.user, self.server)
        self.seen.model = self.hub.model(self.user, self.server)

    def nothing_is_left(self) -> bool:
        """Look for what a start makes; claims are meant to stay."""
        left = {
            kind: [
                name
                for item in self.kubernetes.list(kind)
                if self.user in (name := item["metadata"]["name"])
            ]
            for kind in ("pods", "secrets", "services")
        }
        left["routes"] = [path for path in self.hub.routes() if f"/{self.user}/" in path]
        left["tokens"] = self.hub.tokens(self.user)
        self.seen.left = {kind: names for kind, names in left.items() if names}
        return not self.seen.left


@pytest.fixture(scope="module")
def cancels(hub: Hub, kubernetes: Kubernetes) -> Iterator[dict[str, Future[Cancel]]]:
    """All cases, side by side on one Hub."""
    with kubernetes.namespace_beside("list"), ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(Client(hub, kubernetes, *case).run)
            for name, case in zip(IDS, CASES, strict=True)
        }


Cancels = dict[str, "Future[Cancel]"]


@pytest.mark.parametrize("name", IDS)
def test_a_cancel_leaves_nothing_behind(cancels: Cancels, name: str) -> None:
    seen = cancels[name].result(900)
    assert set(seen.deletes) <= {202, 204}
    assert len(seen.deletes) == (2 if "-twice" in name else 1)
    assert set(seen.posts) <= {201, 202, 400, 409}
    assert seen.left == {}
    if not seen.posts:
        assert (seen.model["pending"], seen.model["ready"]) == (None, False)
        failed = name.startswith("failing")
        assert seen.status["state"] == ("failed" if failed else "stopped")
    assert seen.again.get("ready") is True, seen.again


@pytest.mark.parametrize("name", IDS)
def test_nobody_is_told_that_a_cancelled_server_is_ready(cancels: Cancels, name: str) -> None:
    seen = cancels[name].result(900)
    assert not seen.was_ready
    assert not any(event.get("ready") for event in seen.streams)
    assert all(event["status"]["state"] != "running" for event in seen.streams if "status" in event)


@pytest.mark.parametrize("name", [n for n in IDS if not n.startswith(("stopping", "failing"))])
def test_every_stream_ends_with_the_cancel(cancels: Cancels, name: str) -> None:
    seen = cancels[name].result(900)
    assert seen.streams[-1]["message"] == "Start cancelled", seen.streams[-1]
    assert seen.streams[-1]["failed"] is True
    assert sum(event["message"] == "Start cancelled" for event in seen.streams) == 1


@pytest.mark.parametrize("name", [n for n in IDS if n.startswith("async") and "once" in n])
def test_a_preparation_is_interrupted_at_once(cancels: Cancels, name: str) -> None:
    assert cancels[name].result(900).stopped_after < 2.0
