"""What a fresh clone of the repository holds, for tests that begin with one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def fresh_clone(folder: Path) -> None:
    """Fill a folder with the files of a clone, and with changes that are not committed yet."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not in a Git repository")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listing.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def downloads() -> dict[str, str]:
    """Return what tells pip and npm where this machine takes its downloads from."""
    return {
        key: value
        for key, value in os.environ.items()
        if key.startswith(("PIP_", "NODE_")) or key.endswith(("_proxy", "_PROXY"))
    }
