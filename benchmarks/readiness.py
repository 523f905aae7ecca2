"""How soon a server that answers is opened: from its first answer to the ready event."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import httpx

from tests.behaviour.hub import Hub

STARTS = 20


@dataclass
class Readiness:
    """What was measured of each start, in seconds."""

    # from the moment the server listened to the ready event at a client
    delays: list[float] = field(default_factory=list)
    # from the request to the ready event
    starts: list[float] = field(default_factory=list)


def measure_readiness(hub: Hub, name: str, starts: int = STARTS) -> Readiness:
    """Start servers one after the other; each tells when it began to listen.

    Hub, proxy and node share one clock, so the times can be compared.
    """
    measured = Readiness()
    for number in range(starts):
        user = f"{name}-{number}"
        began = time.time()
        hub.start(user, "held")
        last = list(hub.stream(user))[-1]
        ready = time.time()
        if not last.get("ready"):
            raise RuntimeError(f"the start failed: {last['message']}")
        answer = httpx.get(f"{hub.url}/user/{user}/api")
        measured.delays.append(ready - float(answer.headers["X-Listening-Since"]))
        measured.starts.append(ready - began)
        hub.stop(user)
    return measured
