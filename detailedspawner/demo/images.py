"""The images of the stand-in's node: a catalogue instead of a registry, pulled in turn."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_NAME = re.compile(
    r"([a-zA-Z0-9.-]+(:\d+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:\w[\w.-]*)?(@sha256:[0-9a-f]{64})?"
)


@dataclass(frozen=True)
class Image:
    """What a container of this image runs by default, and how pulling it goes.

    `error` is None, "not_found", "unauthorized" or "unavailable". `present` says
    that the node has it already. Programs come from this machine, not from the image.
    """

    entrypoint: Sequence[str] = ()
    cmd: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    pull_seconds: float = 0.1
    error: str | None = None
    present: bool = False
    size: int = 2_221_983


# A server process that runs as root refuses to start without being told so.
_SINGLEUSER = [sys.executable, "-m", "jupyterhub.singleuser"]
_SINGLEUSER += ["--allow-root"] if os.geteuid() == 0 else []

DEFAULT_CATALOGUE: Mapping[str, Image] = {
    "busybox:1": Image(cmd=["/bin/sh", "-c", "sleep infinity"], present=True),
    "singleuser:1": Image(cmd=_SINGLEUSER, present=True, size=412_776_401),
    "slow:1": Image(cmd=_SINGLEUSER, pull_seconds=8, size=4_127_764_010),
}


class ImageError(Exception):
    """An image that the node does not get; the text is that of the container runtime."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class Images:
    """The node's images. `time_scale` multiplies the time that a pull takes."""

    def __init__(self, catalogue: Mapping[str, Image], time_scale: float = 1.0) -> None:
        self._catalogue, self._time_scale = dict(catalogue), time_scale
        self._present = {name for name, image in self._catalogue.items() if image.present}
        self._pulling = asyncio.Lock()

    def find(self, reference: str) -> tuple[str, Image] | None:
        """Return the entry for a reference; a registry before the name makes no difference."""
        wanted = with_tag(reference)
        for name, image in self._catalogue.items():
            if wanted == name or wanted.endswith(f"/{name}"):
                return name, image
        return None

    def present(self, reference: str) -> bool:
        """Say whether the node has the image."""
        found = self.find(reference)
        return found is not None and found[0] in self._present

    async def pull(self, reference: str) -> tuple[Image, str]:
        """Pull an image; return it and how long that took, as the kubelet words it.

        Raises ImageError as a registry or the container runtime would refuse.
        """
        asked = time.monotonic()
        async with self._pulling:
            begun = time.monotonic()
            name, image = self.find(reference) or (reference, Image(error="not_found"))
            await asyncio.sleep(image.pull_seconds * self._time_scale)
            if image.error:
                raise ImageError("ErrImagePull", _refusal(image.error, with_tag(reference)))
            self._present.add(name)
            done = time.monotonic()
        return image, f"in {duration(done - begun)} ({duration(done - asked)} including waiting)"


def check_name(reference: str) -> None:
    """Raise ImageError(InvalidImageName) for what no registry could have."""
    if _NAME.fullmatch(reference):
        return
    why = "invalid reference format"
    if reference.lower() != reference:
        repository = reference if "/" in reference else f"library/{reference}"
        why += f": repository name ({repository}) must be lowercase"
    message = f'couldn\'t parse image name "{reference}": {why}'
    message = f'Failed to apply default image tag "{reference}": {message}'
    raise ImageError("InvalidImageName", message)


def with_tag(reference: str) -> str:
    """Return the reference with its tag, which is latest where none is given."""
    tagged = ":" in reference.rpartition("/")[2] or "@" in reference
    return reference if tagged else f"{reference}:latest"


def image_id(reference: str) -> str:
    """Return a made-up digest, always the same for the same reference."""
    repository = with_tag(reference).rpartition(":")[0]
    return f"{repository}@sha256:{hashlib.sha256(reference.encode()).hexdigest()}"


def duration(seconds: float) -> str:
    """Word a time as the kubelet does: 512ms, 8.001s, 1m2.5s."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(round(seconds, 3), 60)
    return (f"{minutes:.0f}m" if minutes else "") + f"{rest:.3f}".rstrip("0").rstrip(".") + "s"


def _refusal(error: str, reference: str) -> str:
    host, _, path = reference.partition("/")
    if not path or not ("." in host or ":" in host):
        host, path = "docker.io", reference if path else f"library/{reference}"
    full = f"{host}/{path}"
    text = f'failed to pull and unpack image "{full}": failed to resolve reference "{full}": '
    repository, _, tag = path.rpartition(":")
    if error == "not_found":
        return f"rpc error: code = NotFound desc = {text}{full}: not found"
    if error == "unauthorized":
        return (
            f"{text}pull access denied, repository does not exist or may require authorization: "
            "server message: insufficient_scope: authorization failed"
        )
    url = f"https://{host}/v2/{repository}/manifests/{tag}"
    return f'{text}failed to do request: Head "{url}": dial tcp: connect: connection refused'
