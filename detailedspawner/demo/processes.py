"""Local processes, found again by a mark (NAME=value) in their environment."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from .errors import ApiError, Object
from .store import Store

Process = asyncio.subprocess.Process

_SOURCES = (("secretKeyRef", "secrets", "Secret"), ("configMapKeyRef", "configmaps", "ConfigMap"))
_ANY_ADDRESS = re.compile(r"(?<=://)(0\.0\.0\.0|\[::\]|\*)?(?=[:/])")


async def start(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, output: IO[bytes]
) -> Process:
    """Start a process in a session of its own; one that cannot run ends with 126 or 127."""
    options: Object = {"stdin": asyncio.subprocess.DEVNULL, "stdout": output, "stderr": output}
    return await asyncio.create_subprocess_exec(
        "/usr/bin/env", *argv, env=env, cwd=cwd, start_new_session=True, **options
    )


async def run(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> tuple[int, str]:
    """Run a command to its end; return its exit code and output. Cancelling it kills it."""
    with tempfile.TemporaryFile() as output:
        process = await start(argv, env, cwd, output)
        try:
            code = await process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


async def stop(process: Process, mark: str, grace: float) -> None:
    """End a process by SIGTERM, and after `grace` seconds all with its mark by SIGKILL."""
    with contextlib.suppress(ProcessLookupError, asyncio.TimeoutError):
        if process.returncode is None:
            os.kill(process.pid, signal.SIGTERM)
        await asyncio.wait_for(process.wait(), grace)
    kill(mark)
    await process.wait()


def marked(mark: str) -> list[int]:
    """Return the processes that carry `mark`, also those that have left their session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def kill(mark: str) -> None:
    """End the processes that carry `mark` by SIGKILL, until none is left that made another."""
    while found := marked(mark):
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def memory(process: Process) -> int:
    """Return the resident bytes of a process, 0 when it has ended."""
    with contextlib.suppress(OSError):
        pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


class ConfigError(Exception):
    """A variable has no source; the text is the kubelet's."""


def variables(store: Store, pod: Object, spec: Object, ip: str) -> dict[str, str]:
    """Return the variables of a container; raise ConfigError if one has no source."""
    meta = pod["metadata"]
    fields = {f"metadata.{key}": meta[key] for key in ("name", "namespace", "uid")}
    fields |= {"status.podIP": ip, "spec.nodeName": pod["spec"]["nodeName"]}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    env = {"PATH": path, "HOSTNAME": meta["name"], "LANG": os.environ.get("LANG", "C.UTF-8")}
    for variable in spec.get("env") or ():
        origin = variable.get("valueFrom") or {}
        value = expand(variable.get("value") or "", env)
        if field := origin.get("fieldRef"):
            value = fields.get(field["fieldPath"], "")
        for key, plural, kind in _SOURCES:
            if ref := origin.get(key):
                value = _value(store, plural, kind, meta["namespace"], ref)
        env[variable["name"]] = value
    # Each pod has an address of its own, so all of them can listen on the same port.
    if url := env.get("JUPYTERHUB_SERVICE_URL"):
        env["JUPYTERHUB_SERVICE_URL"] = _ANY_ADDRESS.sub(ip, url, count=1)
    return env


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the variable's value."""
    return re.sub(r"\$\((\w+)\)", lambda match: env.get(match[1], match[0]), text)


def _value(store: Store, plural: str, kind: str, namespace: str, ref: Object) -> str:
    name, key = ref["name"], ref["key"]
    try:
        data = store.get(plural, namespace, name).get("data") or {}
    except ApiError:
        raise ConfigError(f'{plural[:-1]} "{name}" not found') from None
    if key not in data:
        raise ConfigError(f"couldn't find key {key} in {kind} {namespace}/{name}")
    return base64.b64decode(data[key]).decode() if kind == "Secret" else str(data[key])
