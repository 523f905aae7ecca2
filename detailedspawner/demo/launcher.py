"""Starts the demo's parts, tells when the Hub answers, and leaves no process behind.

The Hub and the proxy run in sessions of their own: a Ctrl-C in the terminal reaches this
process only, which then ends the others one after the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import aiohttp

from .checks import free_port
from .cluster import Cluster

_ANSWER_SECONDS = 90
# The Hub ends its users' servers first, each within its pod's grace period.
_STOP_SECONDS = 20
_WELCOME = """
The Hub answers at {DEMO_URL}

  Sign in as any user, for example   alice   {DEMO_PASSWORD}
  or as its administrator            admin   {DEMO_ADMIN_PASSWORD}

The cluster behind it is a stand-in, not Kubernetes: each container is a local process.
Logs and kubeconfig: {DEMO_STATE}
Ctrl-C stops everything and removes what it made.
"""


class DemoError(Exception):
    """The demo cannot run; the message is for whoever started it."""


async def run(port: int, base_url: str) -> None:
    """Run the demo until SIGINT, SIGTERM or SIGHUP; raise DemoError if a part of it fails."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    parent = os.environ.get("DEMO_STATE") or None
    if parent is not None:
        Path(parent).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix="detailedspawner-", dir=parent, ignore_cleanup_errors=True
    ) as folder:
        settings = _settings(folder, port, base_url)
        proxy = _proxy_command(port, settings)
        config = Path(__file__).with_name("jupyterhub_config.py")
        hub = [sys.executable, "-m", "jupyterhub", f"--config={config}"]
        async with Cluster(Path(folder) / "cluster") as cluster:
            cluster.kubeconfig(Path(settings["KUBECONFIG"]))
            stopped = asyncio.create_task(stop.wait())
            parts = [
                asyncio.create_task(_announce(settings)),
                asyncio.create_task(_keep("hub", hub, settings)),
                asyncio.create_task(_keep("proxy", proxy, settings)),
            ]
            done, _ = await asyncio.wait([stopped, *parts], return_when=asyncio.FIRST_COMPLETED)
            print("\nStopping the demo.", flush=True)
            for part in parts:
                part.cancel()
                await asyncio.wait([part])
        if not stop.is_set():
            await done.pop()  # raises what went wrong


def _settings(folder: str, port: int, base_url: str) -> dict[str, str]:
    """What the Hub and the proxy read from their environment."""
    return {
        # This Python's own commands come first, as in an activated environment.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "CONFIGPROXY_AUTH_TOKEN": secrets.token_hex(32),
        # Empty, since inside a pod the client would prefer that pod's own cluster.
        "KUBERNETES_SERVICE_HOST": "",
        "KUBECONFIG": f"{folder}/kubeconfig",
        "DEMO_STATE": folder,
        "DEMO_URL": f"http://127.0.0.1:{port}{base_url}",
        "DEMO_HUB_URL": f"http://127.0.0.1:{free_port()}{base_url}hub/",
        "DEMO_PROXY_API_URL": f"http://127.0.0.1:{free_port()}",
        "DEMO_PASSWORD": os.environ.get("DEMO_PASSWORD") or secrets.token_hex(4),
        "DEMO_ADMIN_PASSWORD": secrets.token_hex(16),
    }


def _proxy_command(port: int, settings: dict[str, str]) -> list[str]:
    command = shutil.which("configurable-http-proxy", path=settings["PATH"])
    if command is None:
        raise DemoError("configurable-http-proxy is not on PATH; `make demo` fetches it.")
    api_port = settings["DEMO_PROXY_API_URL"].rpartition(":")[2]
    public = ["--ip=127.0.0.1", f"--port={port}", "--log-level=warn"]
    api = ["--api-ip=127.0.0.1", f"--api-port={api_port}"]
    return [command, *public, *api, f"--error-target={settings['DEMO_HUB_URL']}error"]


async def _keep(name: str, command: list[str], settings: dict[str, str]) -> None:
    """Run a process until cancelled; raise DemoError with the end of its log if it ends before."""
    log = Path(settings["DEMO_STATE"]) / f"{name}.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=log.parent,
            env=os.environ | settings,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _STOP_SECONDS)
            except asyncio.TimeoutError:
                process.kill()
                await process.wait()
    tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
    raise DemoError("\n".join([f"the {name} ended; the end of its log:", *tail]))


async def _announce(settings: dict[str, str]) -> None:
    """Say how to sign in once the Hub itself answers through the proxy; then wait for the end."""
    deadline = asyncio.get_running_loop().time() + _ANSWER_SECONDS
    timeout = aiohttp.ClientTimeout(total=5)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        while True:
            with contextlib.suppress(aiohttp.ClientError, asyncio.TimeoutError):
                async with session.get(f"{settings['DEMO_URL']}hub/api/") as answer:
                    if answer.status == 200:
                        break
            if asyncio.get_running_loop().time() > deadline:
                raise DemoError(f"the Hub did not answer within {_ANSWER_SECONDS} s.")
            await asyncio.sleep(0.2)
    print(_WELCOME.format(**settings), flush=True)
    await asyncio.Event().wait()
