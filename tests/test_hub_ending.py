"""What a Hub that ends leaves of the starts that are under way."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from .resthub import resthub, until

pytestmark = [
    # JupyterHub 5's own
    pytest.mark.filterwarnings("ignore:The `version` property of an event schema"),
]


HANGING = [
    {"where": "hook", "undone": False},
    {"where": "preparation", "undone": True},
    {"where": "thread", "undone": True},
]


@pytest.mark.parametrize("row", HANGING, ids=lambda row: row["where"])
async def test_a_hub_that_stops_its_servers_leaves_none_that_was_to_come(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    did: list[str] = []
    later: list[object] = []
    released = threading.Event()

    async def hang(_spawner: Any) -> None:
        did.append("hangs")
        while not released.is_set():
            await asyncio.sleep(0.01)

    def hang_in_a_thread(_spawner: Any) -> None:
        did.append("hangs")
        released.wait(30)

    def configured(c: Config) -> None:
        c.JupyterHub.cleanup_servers = True
        if row["where"] == "hook":
            c.Spawner.pre_spawn_hook = hang
            return
        c.DetailedKubeSpawner.preparations = [
            {
                "name": "First",
                "run": hang_in_a_thread if row["where"] == "thread" else hang,
                "undo": lambda _: did.append("undone"),
            },
            {"name": "Second", "run": later.append},
        ]

    async with resthub(tmp_path, monkeypatch, configured) as hub:
        alice = hub.user("alice")
        answer = await hub.hub("POST", "/users/alice/server", hub.token(alice))
        assert answer.status_code == 202
        await until(lambda: did == ["hangs"])
        spawner = alice.spawners[""]
        start = spawner._spawn_future
        ending = asyncio.ensure_future(hub.app.cleanup())
        # what the Hub waits for lets go only now
        await until(lambda: spawner._asked_to_stop)
        released.set()
        await asyncio.wait_for(ending, 20)
        assert ("undone" in did) == row["undone"]
        await asyncio.wait({start}, timeout=20)
        assert start.done()
        assert later == []
        assert hub.pod("jupyter-alice") is None
