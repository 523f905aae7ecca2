"""The images of the stand-in's node: a catalogue, with programs of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A server process that runs as root refuses to start without being told so.
_AS_ROOT = ["--allow-root"] if os.geteuid() == 0 else []
_SINGLEUSER = [sys.executable, "-m", "jupyterhub.singleuser", *_AS_ROOT]


@dataclass(frozen=True)
class Image:
    """What a container runs by default, the seconds that a pull takes, whether that is done."""

    cmd: Sequence[str]
    pull_seconds: float = 0.1
    present: bool = False


CATALOGUE: Mapping[str, Image] = {
    "busybox:1": Image(["/bin/sh", "-c", "sleep infinity"], present=True),
    "singleuser:1": Image(_SINGLEUSER, present=True),
    "slow:1": Image(_SINGLEUSER, pull_seconds=8),
}


class PullError(Exception):
    """An image that is not in the catalogue; the text is that of the container runtime."""

    def __init__(self, reference: str) -> None:
        full = reference if "/" in reference else f"docker.io/library/{reference}"
        text = f'failed to pull and unpack image "{full}": failed to resolve reference "{full}"'
        super().__init__(f"rpc error: code = NotFound desc = {text}: {full}: not found")
