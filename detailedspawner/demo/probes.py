"""The kubelet's probes: startup first, then readiness and liveness beside each other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import aiohttp

Execute = Callable[[list[str], float], Awaitable["tuple[int | None, str]"]]
Probe = dict[str, Any]


async def check(probe: Probe, ip: str, ports: dict[str, int], execute: Execute) -> str | None:
    """Make one attempt; return None if it succeeded, else why not, as the kubelet words it."""
    timeout = float(probe.get("timeoutSeconds") or 1)
    if action := probe.get("exec"):
        code, output = await execute(action["command"], timeout)
        if code is None:
            return f'command "{" ".join(action["command"])}" timed out after {timeout:.0f}s'
        return None if code == 0 else output
    if action := probe.get("httpGet"):
        host = action.get("host") or ip
        port = ports.get(str(action["port"]), action["port"])
        scheme = (action.get("scheme") or "HTTP").lower()
        url = f"{scheme}://{host}:{port}/{(action.get('path') or '/').lstrip('/')}"
        headers = {h["name"]: h["value"] for h in action.get("httpHeaders") or []}
        return await _http(url, headers, timeout, f"{host}:{port}")
    action = probe.get("tcpSocket") or {}
    host, port = action.get("host") or ip, ports.get(str(action["port"]), action["port"])
    return await _tcp(host, int(port), timeout)


async def results(
    probe: Probe,
    attempt: Callable[[], Awaitable[str | None]],
    failed: Callable[[str], None],
    time_scale: float,
) -> AsyncGenerator[bool, None]:
    """Probe again and again; yield each result that reached its threshold.

    `failed` gets the message of each failed attempt; `time_scale` multiplies the
    probe's delay and period.
    """
    least = {True: int(probe.get("successThreshold") or 1)}
    least[False] = int(probe.get("failureThreshold") or 3)
    run = {True: 0, False: 0}
    await asyncio.sleep(time_scale * float(probe.get("initialDelaySeconds") or 0))
    while True:
        message = await attempt()
        succeeded = message is None
        if message is not None:
            failed(message)
        run = {succeeded: run[succeeded] + 1, not succeeded: 0}
        if run[succeeded] >= least[succeeded]:
            yield succeeded
        await asyncio.sleep(time_scale * float(probe.get("periodSeconds") or 10))


async def _http(url: str, headers: dict[str, str], timeout: float, address: str) -> str | None:
    limit = aiohttp.ClientTimeout(total=timeout)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, headers=headers) as session,
            session.get(url, allow_redirects=False, ssl=False) as answer,
        ):
            if 200 <= answer.status < 400:
                return None
            return f"HTTP probe failed with statuscode: {answer.status}"
    except asyncio.TimeoutError:
        why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    except aiohttp.ClientConnectorError:
        why = f"dial tcp {address}: connect: connection refused"
    except aiohttp.ClientError:
        why = "EOF"
    return f'Get "{url}": {why}'


async def _tcp(host: str, port: int, timeout: float) -> str | None:
    # Not `wait_for`, which before Python 3.12 may swallow a cancellation.
    opening = asyncio.ensure_future(asyncio.open_connection(host, port))
    try:
        await asyncio.wait([opening], timeout=timeout)
        if not opening.done():
            return f"dial tcp {host}:{port}: i/o timeout"
        _, writer = opening.result()
    except OSError:
        return f"dial tcp {host}:{port}: connect: connection refused"
    finally:
        opening.cancel()
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None
