"""What grows in a Hub that forgets to let go; served to the suite by the Hub itself."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path

from jupyterhub.apihandlers.base import APIHandler
from tornado import web

from detailedspawner import DetailedKubeSpawner


class CountsAPIHandler(APIHandler):  # type: ignore[misc]  # jupyterhub has no type hints
    """GET how many tasks, open files and watches there are."""

    @web.authenticated
    def get(self) -> None:
        gc.collect()
        # connections that a client or the proxy keeps are none of ours
        names = [
            name
            for task in asyncio.all_tasks()
            if "HTTP1ServerConnection" not in (name := str(task.get_coro()))
        ]
        counts = {
            "tasks": sorted(name.partition(" at ")[0].rpartition(" ")[2] for name in names),
            "files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
            "watches": len(DetailedKubeSpawner.reflectors),
            "spawners": sum(isinstance(o, DetailedKubeSpawner) for o in gc.get_objects()),
        }
        self.finish(json.dumps(counts))


HANDLER = (r"/api/suite/counts", CountsAPIHandler)


class FailuresAPIHandler(APIHandler):  # type: ignore[misc]  # jupyterhub has no type hints
    """GET how many failures in a row have counted toward `consecutive_failure_limit`."""

    @web.authenticated
    def get(self) -> None:
        self.finish(json.dumps(self.settings.get("failure_count", 0)))


FAILURES = (r"/api/suite/failures", FailuresAPIHandler)
