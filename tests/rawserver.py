"""A server that does with every connection exactly what a test says."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from typing import Any


async def until(condition: Callable[[], Any]) -> None:
    """Let the loop run until a condition holds."""

    async def poll() -> None:
        while not condition():
            await asyncio.sleep(0.001)

    await asyncio.wait_for(poll(), 10)


class RawServer:
    """Reads the head of one request, then goes through its parts and closes.

    A part is bytes to send, a number of seconds to wait, None to wait for ever,
    or RESET.
    """

    RESET = object()

    def __init__(
        self,
        parts: Sequence[Any],
        *,
        host: str = "127.0.0.1",
        ssl_context: ssl.SSLContext | None = None,
        speaks_first: bool = False,
    ) -> None:
        self.requests: list[bytes] = []
        self.open = 0
        self.url = ""
        self._parts = parts
        self._host = host
        self._ssl_context = ssl_context
        self._speaks_first = speaks_first
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, self._host, 0, ssl=self._ssl_context)
        host = f"[{self._host}]" if ":" in self._host else self._host
        scheme = "https" if self._ssl_context else "http"
        self.url = f"{scheme}://{host}:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Close all connections."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        try:
            # stop() cancels this task, which asyncio would log as an error
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                if not self._speaks_first:
                    self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                await self._answer(reader, writer)
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in self._parts:
            if part is None:
                # until the other side goes away
                await reader.read(1)
            elif part is self.RESET:
                # to close without lingering sends a reset
                socket = writer.get_extra_info("socket")
                socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            elif isinstance(part, bytes):
                writer.write(part)
                await writer.drain()
            else:
                await asyncio.sleep(part)
