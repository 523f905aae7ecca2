"""The Hub that `loop.py` measures: that of `latency.py`, with a clock in its loop."""

import asyncio
import gc
import json
import time
from typing import Any

from jupyterhub.handlers import BaseHandler
from traitlets.config import get_config

from benchmarks import latency_hub  # noqa: F401 (it fills the configuration)

TICK = 0.001  # seconds
SLOWEST = 5

c = get_config()
c.JupyterHub.concurrent_spawn_limit = 0
# the longest between two ticks, by the wall's clock and by this thread's own work
longest = {"wall": 0.0, "own": 0.0}
slowest: list[tuple[float, str]] = []


async def tick() -> None:
    """Note for how long the loop came to nothing else."""
    while True:
        wall, own = time.monotonic(), time.thread_time()
        await asyncio.sleep(TICK)
        longest["wall"] = max(longest["wall"], time.monotonic() - wall - TICK)
        longest["own"] = max(longest["own"], time.thread_time() - own)


class BlocksHandler(BaseHandler):
    """The longest blocks since it was asked last."""

    def get(self) -> None:
        """Write them and begin anew."""
        self.finish(json.dumps({**longest, "slowest": sorted(slowest, reverse=True)}))
        longest.update(wall=0.0, own=0.0)
        slowest.clear()


def watch_callbacks() -> None:
    """Note which callbacks keep the loop the longest."""
    run = asyncio.Handle._run

    def timed(handle: Any) -> None:
        began, what = time.thread_time(), handle._callback
        run(handle)
        took = time.thread_time() - began
        if len(slowest) < SLOWEST or took > slowest[-1][0]:
            task = getattr(what, "__self__", None)
            name = task.get_coro() if isinstance(task, asyncio.Task) else what
            slowest.append((took, getattr(name, "__qualname__", "") or repr(name)))
            slowest.sort(reverse=True)
            del slowest[SLOWEST:]

    asyncio.Handle._run = timed  # type: ignore[method-assign]


watch_callbacks()
gc.freeze()
ticker = asyncio.get_running_loop().create_task(tick())
c.JupyterHub.extra_handlers.append((r"/api/benchmark/blocks", BlocksHandler))
