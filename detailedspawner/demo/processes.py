"""A container as a local process, and the certainty that none outlives the node.

Each process of a container carries the container's and the node's mark in its
environment, so that also what has left its session (a notebook's kernel) is found.
Run as a program, this file is the guard: it waits for its parent's end, even a
SIGKILL, and ends what still carries the given mark.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_MEMORY_INTERVAL = 0.2  # seconds; a limit is watched, not enforced by the kernel
_KILL_ROUNDS = 50  # a killed process may take some milliseconds to be gone
_PAGE = os.sysconf("SC_PAGE_SIZE")


class StartError(Exception):
    """The command cannot be run; the text is the container runtime's."""


class Process:
    """One running container; `output` gets all it writes. StartError if it cannot run."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        output: Path,
        *,
        mark: str,
    ) -> None:
        program = _executable(argv[0], env.get("PATH", os.defpath))
        self.mark, self.out_of_memory = f"DEMO_CONTAINER={mark}", False
        key, _, value = self.mark.partition("=")
        with output.open("ab") as file:
            self._process = subprocess.Popen(  # noqa: S603 - running what it is given is its task
                list(argv),
                executable=program,
                env={**env, key: value},
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._exited = asyncio.Event()
        self._pidfd = os.pidfd_open(self._process.pid)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._pidfd, self._reap, loop)
        self._watch: asyncio.Task[None] | None = None

    def _reap(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._process.wait()
        if self._watch:
            self._watch.cancel()
        # As in a container, what the first process leaves behind ends with it.
        kill_marked(self.mark)
        self._exited.set()

    async def wait(self) -> int:
        """Wait for the end; return the exit code, 128 + n after signal n."""
        await self._exited.wait()
        code = self._process.returncode
        return code if code >= 0 else 128 - code

    async def exits_within(self, seconds: float) -> bool:
        """Wait for the end, but not longer than that; say whether it came."""
        # Not `wait_for`, which before Python 3.12 may swallow a cancellation.
        waiter = asyncio.ensure_future(self._exited.wait())
        try:
            done, _ = await asyncio.wait([waiter], timeout=seconds)
        finally:
            waiter.cancel()
        return bool(done)

    async def stop(self, grace: float) -> int:
        """End the first process by SIGTERM, and after `grace` seconds all by SIGKILL."""
        if not self._exited.is_set():
            self._process.send_signal(signal.SIGTERM)
            if not await self.exits_within(grace):
                self.kill()
        return await self.wait()

    def kill(self) -> None:
        """End all of the container's processes by SIGKILL, if it still runs."""
        if not self._exited.is_set():
            kill_marked(self.mark)

    def limit_memory(self, limit: int) -> None:
        """End the container once its processes hold more than `limit` bytes."""
        self._watch = asyncio.get_running_loop().create_task(self._watch_memory(limit))

    async def _watch_memory(self, limit: int) -> None:
        # Looked at from outside, since a limit of the kernel's own would need a cgroup.
        while _memory(self._process.pid) <= limit:
            await asyncio.sleep(_MEMORY_INTERVAL)
        self.out_of_memory = True
        self.kill()


class Guard:
    """Ends the processes that carry a mark when this Python process ends, however it ends."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._process = subprocess.Popen(  # noqa: S603 - running what it is given is its task
            [sys.executable, "-I", "-S", __file__, mark],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def close(self) -> None:
        """End the marked processes now."""
        kill_marked(self._mark)
        self._process.communicate()


async def run(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, output: Path, timeout: float
) -> tuple[int | None, str]:
    """Run a command beside a container; return exit code and output, no code after a timeout."""
    process = Process(argv, env, cwd, output, mark=str(output))
    in_time = False
    try:
        in_time = await process.exits_within(timeout)
    finally:
        process.kill()
        code = await process.wait()
    return code if in_time else None, _taken(output)


def _taken(output: Path) -> str:
    text = output.read_text(errors="replace")[:10240]
    output.unlink()
    return text


def kill_marked(mark: str) -> None:
    """Kill by SIGKILL whatever process carries `mark` (NAME=value) in its environment."""
    wanted = mark.encode()
    # Again until none is found, since one may just have made another.
    for _ in range(_KILL_ROUNDS):
        found = False
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True
        if not found:
            return


def _memory(pid: int) -> int:
    """Return the resident bytes of a process and all its descendants."""
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        total = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            total += sum(_memory(int(child)) for child in children.read_text().split())
    return total


def _executable(command: str, path: str) -> str:
    prefix = (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
        f'runc create failed: unable to start container process: exec: "{command}": '
    )
    if "/" not in command:
        found = shutil.which(command, path=path)
        if found is None:
            raise StartError(f"{prefix}executable file not found in $PATH: unknown")
        return found
    if not Path(command).exists():
        raise StartError(f"{prefix}stat {command}: no such file or directory: unknown")
    if not Path(command).is_file() or not os.access(command, os.X_OK):
        raise StartError(f"{prefix}permission denied: unknown")
    return command


if __name__ == "__main__":
    sys.stdin.read()
    kill_marked(sys.argv[1])
