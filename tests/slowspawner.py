"""A spawner whose start waits where a test wants it, and takes what comes."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from tornado import web

from detailedspawner.hub import HubKubeSpawner, forgive_failure
from detailedspawner.profiling import ProfilesMixin

# an address at which nothing listens
NOWHERE = "http://127.0.0.1:9"


class SlowSpawner(ProfilesMixin, HubKubeSpawner):
    """Starts nothing; the user's options say in which phase it hangs."""

    # in which phases a start hung, and which starts were told of their cancel
    hanging: ClassVar[list[str]] = []
    told: ClassVar[list[str]] = []
    stops: ClassVar[list[str]] = []
    release: ClassVar[asyncio.Event]

    alive = False

    @property
    def phase(self) -> str:
        """Where this start hangs."""
        return str(self.user_options.get("phase", ""))

    def options_from_form(self, form: dict[str, list[str]]) -> dict[str, Any]:
        return {"phase": form["phase"][0]}

    async def run_pre_spawn_hook(self) -> None:
        if self.phase == "hook":
            await self._hang()

    async def start(self) -> str:
        phase = self.phase
        self.alive = True
        if phase == "start":
            await self._hang()
        if phase == "slow to let go":
            try:
                await self._hang()
            finally:
                await asyncio.sleep(0.3)
        if phase == "swallows a cancel":
            try:
                await self._hang()
            except asyncio.CancelledError:
                await asyncio.sleep(60)
        if phase == "swallows and starts":
            try:
                await self._hang()
            except asyncio.CancelledError:
                self.told.append("swallowed")
        if phase == "fails on cancel":
            try:
                await self._hang()
            except asyncio.CancelledError:
                raise RuntimeError("broken") from None
        if phase in ("fails", "fails at once"):
            raise RuntimeError("broken")
        if phase == "refused":
            error = web.HTTPError(403, "not for you")
            forgive_failure(self, error)
            raise error
        return NOWHERE if phase == "no answer" else f"http://127.0.0.1:{self.port}"

    async def _hang(self) -> None:
        self.hanging.append(self.phase)
        await asyncio.Event().wait()

    def cancel_start(self) -> None:
        """Note that the start was cancelled."""
        self.told.append(self.name)

    async def stop(self, now: bool = False) -> None:
        self.stops.append(self.name)
        if self.phase in ("fails", "stops slowly"):
            self.hanging.append("stop")
            await self.release.wait()
        self.alive = False

    async def poll(self) -> int | None:
        return None if self.alive else 0


def reset() -> None:
    """Forget what earlier tests did."""
    for noted in (SlowSpawner.hanging, SlowSpawner.told, SlowSpawner.stops):
        noted.clear()
    SlowSpawner.release = asyncio.Event()


def answering(spawner: Any) -> bool:
    """Whether the Hub waits for the server to answer."""
    return bool(spawner._waiting_for_response)
