"""The files and the commands of one container: its home, its `/tmp`, and what runs in it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from . import environment
from .environment import ConfigError, localize
from .errors import Object
from .images import Image
from .processes import StartError, run

if TYPE_CHECKING:
    from .node import Node

_LOG_LINES, _LOG_BYTES, _MESSAGE_BYTES = 80, 2048, 4096  # the kubelet's limits
_TMP = "/tmp"  # noqa: S108 - the container's, whose place a directory of its own takes


class Sandbox:
    """One container's surroundings: a directory, its paths and its variables."""

    def __init__(
        self,
        node: Node,
        pod: Object,
        spec: Object,
        files: Path,
        volumes: Mapping[str, Path],
        ip: str,
    ) -> None:
        self._node, self._pod, self._spec, self._ip = node, pod, spec, ip
        self._files, self._volumes = files, volumes
        self._message = files / "termination-log"
        path = spec.get("terminationMessagePath") or "/dev/termination-log"
        self.paths = {environment.HOME: files / "home", _TMP: files / "tmp", path: self._message}
        for mount in spec.get("volumeMounts") or []:
            if mount["name"] in volumes:
                source = volumes[mount["name"]] / (mount.get("subPath") or "")
                self.paths[mount["mountPath"].rstrip("/") or "/"] = source

    @property
    def directory(self) -> Path:
        """Where the container's command starts."""
        home = self.paths[environment.HOME]
        wanted = Path(localize(self._spec.get("workingDir") or str(home), self.paths))
        return wanted if wanted.is_dir() else home

    def clean(self) -> None:
        """Make what a new container finds: an empty home and `/tmp`, unless they are mounted."""
        for fresh in ("home", "tmp"):
            shutil.rmtree(self._files / fresh, ignore_errors=True)
            (self._files / fresh).mkdir(parents=True)
        self._message.write_text("")
        for path in self.paths.values():
            if not path.exists():
                path.mkdir(parents=True)

    def command(self, image: Image) -> tuple[list[str], dict[str, str]]:
        """Return the container's argv and variables; ConfigError if it cannot have them."""
        given = self._given(image)
        own = [*(self._spec.get("command") or ()), *(self._spec.get("args") or ())]
        words = [localize(environment.expand(word, given), self.paths) for word in own]
        # As in Kubernetes: a command leaves all of the image's out, arguments only its arguments.
        # What the image says are already this machine's paths.
        if not self._spec.get("command"):
            words = [*image.entrypoint, *(words or image.cmd)]
        if not words:
            raise ConfigError("failed to generate container spec: no command specified")
        return words, self._variables(given)

    async def execute(
        self, command: list[str], timeout: float, name: str
    ) -> tuple[int | None, str]:
        """Run a command as in the container; return exit code (None: timed out) and output."""
        found = self._node.images.find(self._spec["image"])
        env = self._variables(self._given(found[1] if found else Image()))
        argv = [localize(word, self.paths) for word in command]
        try:
            return await run(argv, env, self.directory, self._files / f"{name}.out", timeout)
        except StartError as error:
            return 127, str(error)

    def termination_message(self, code: int, log: Path) -> str:
        """Return what the container left as its last words, or the end of its log."""
        message = self._message.read_text(errors="replace")[:_MESSAGE_BYTES]
        if message or not code:
            return message
        if self._spec.get("terminationMessagePolicy") != "FallbackToLogsOnError":
            return ""
        lines = log.read_bytes().splitlines(keepends=True)[-_LOG_LINES:]
        return b"".join(lines)[-_LOG_BYTES:].decode(errors="replace")

    def _given(self, image: Image) -> dict[str, str]:
        return environment.variables(self._node.store, self._pod, self._spec, image.env, self._ip)

    def _variables(self, given: dict[str, str]) -> dict[str, str]:
        env = environment.of_machine() | self._node.variables
        env |= {"HOME": str(self.paths[environment.HOME]), "TMPDIR": str(self.paths[_TMP])}
        env["TERMINATION_LOG"] = str(self._message)
        for name, path in self._volumes.items():
            env[f"DEMO_VOLUME_{name.upper().replace('-', '_')}"] = str(path)
        return env | {key: localize(value, self.paths) for key, value in given.items()}
