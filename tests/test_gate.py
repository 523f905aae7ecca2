"""How starts ask through the proxy: what they share, and what each has for itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from detailedspawner.gate import proxy_access
from detailedspawner.health import HealthSettings
from detailedspawner.probe import ProxyAccess, close_session

from .rawserver import RawServer


class Proxy:
    """As much of a proxy as is asked for its address."""


def access(proxy: Proxy, *, starting: bool = False, ca: str = "", **settings: Any) -> ProxyAccess:
    """Return how a start with these settings asks."""
    hub = SimpleNamespace(base_url="/hub/")
    settings = {"proxy_url": "http://127.0.0.1:1", **settings}
    found = proxy_access(
        {"proxy": proxy, "hub": hub}, HealthSettings(**settings), ca, starting=starting
    )
    assert found is not None
    return found


ASKED = [
    {"changed": {}, "shared": True},
    # not about the proxy
    {"changed": {"path": "lab"}, "shared": True},
    {"changed": {"proxy_url": "http://127.0.0.1:2"}, "shared": False},
    {"changed": {"timeout": 0.5}, "shared": False},
    {"changed": {"ca": "/ca.pem"}, "shared": False},
    {"changed": {"starting": True}, "shared": False},
]


@pytest.mark.parametrize("row", ASKED, ids=lambda row: str(row["changed"]))
def test_starts_that_ask_alike_share_what_is_known_of_the_proxy(row: dict[str, Any]) -> None:
    proxy = Proxy()
    first, second = access(proxy), access(proxy, **row["changed"])
    assert (first.hub_route is second.hub_route) == row["shared"]
    # one fetch of the routes serves everybody
    assert first.table is second.table


def test_another_proxy_is_another_matter() -> None:
    first, second = access(Proxy()), access(Proxy())
    assert first.hub_route is not second.hub_route
    assert first.table is not second.table


@pytest.fixture
async def silent() -> AsyncIterator[str]:
    """The address of a proxy that takes connections and never answers."""
    server = RawServer([None])
    await server.start()
    yield server.url
    await close_session()
    await server.stop()


async def test_each_start_waits_for_the_proxy_as_long_as_its_own_settings_say(silent: str) -> None:
    proxy = Proxy()
    patient = access(proxy, proxy_url=silent, timeout=300)
    hurried = access(proxy, proxy_url=silent, timeout=0.05)
    waiting = asyncio.ensure_future(patient.hub_route.answers())
    assert await asyncio.wait_for(hurried.hub_route.answers(), 30) is False
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait({waiting})
