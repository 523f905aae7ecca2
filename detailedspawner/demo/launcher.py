"""Starts the demo's cluster and Hub, tells when it answers, and leaves no process behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path

import aiohttp

from . import processes
from .cluster import Cluster

_ANSWER_SECONDS = 90
# The Hub ends its users' servers first, each within its pod's grace period, and then its proxy.
_STOP_SECONDS = 20
_WELCOME = """
The Hub answers at {DEMO_URL}

  Sign in as any user, for example   alice   {DEMO_PASSWORD}
  or as its administrator            admin   {DEMO_ADMIN_PASSWORD}

The cluster behind it is a stand-in, not Kubernetes: each container is a local process.
Logs and kubeconfig: {DEMO_STATE}
Ctrl-C stops everything and removes what it made.
"""


async def run(port: int, base_url: str) -> str | None:
    """Run the demo until SIGINT, SIGTERM or SIGHUP; return what was wrong if it ends by itself."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(
        prefix="detailedspawner-", dir=os.environ.get("DEMO_STATE"), ignore_cleanup_errors=True
    ) as folder:
        settings, log = _settings(folder, port, base_url), Path(folder) / "hub.log"
        if not shutil.which("configurable-http-proxy", path=settings["PATH"]):
            return "configurable-http-proxy is not on PATH; `make demo` fetches it."
        config = Path(__file__).with_name("jupyterhub_config.py")
        command = [sys.executable, "-m", "jupyterhub", f"--config={config}"]
        async with Cluster(Path(folder) / "cluster") as cluster:
            cluster.kubeconfig(Path(settings["KUBECONFIG"]))
            with log.open("wb") as output:
                # In a session of its own: Ctrl-C in the terminal reaches only this process.
                hub = await processes.start(command, os.environ | settings, log.parent, output)
            waits = (stop.wait(), hub.wait(), _announce(settings))
            tasks = [asyncio.create_task(wait) for wait in waits]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            print("\nStopping the demo.", flush=True)
            for task in tasks:
                task.cancel()
            tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            await processes.stop(hub, f"DEMO_STATE={folder}", _STOP_SECONDS)
    return None if stop.is_set() else "\n".join(["the end of the Hub's log:", *tail])


def _settings(folder: str, port: int, base_url: str) -> dict[str, str]:
    """Return what the Hub and its proxy read from their environment."""
    return {
        # This Python's own commands come first, as in an activated environment.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        # Empty, since inside a pod the client would prefer that pod's own cluster.
        "KUBERNETES_SERVICE_HOST": "",
        "KUBECONFIG": f"{folder}/kubeconfig",
        "DEMO_STATE": folder,
        "DEMO_URL": f"http://127.0.0.1:{port}{base_url}",
        "DEMO_HUB_URL": f"http://127.0.0.1:{_free_port()}{base_url}hub/",
        "DEMO_PROXY_API_URL": f"http://127.0.0.1:{_free_port()}",
        "DEMO_PASSWORD": os.environ.get("DEMO_PASSWORD") or secrets.token_hex(4),
        "DEMO_ADMIN_PASSWORD": secrets.token_hex(16),
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


async def _announce(settings: dict[str, str]) -> None:
    """Say how to sign in once the Hub answers through its proxy; return if it never does."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        for _ in range(_ANSWER_SECONDS * 5):
            with contextlib.suppress(aiohttp.ClientError, asyncio.TimeoutError):
                async with session.get(f"{settings['DEMO_URL']}hub/api/") as answer:
                    if answer.status == 200:
                        print(_WELCOME.format(**settings), flush=True)
                        await asyncio.Event().wait()
            await asyncio.sleep(0.2)
