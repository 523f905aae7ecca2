"""What every test may use, and which tests this machine can run."""

from __future__ import annotations

import os
import shutil

import pytest

# What a marked test needs beyond Python: a test for its presence, and the reason shown without it.
_NEEDS = {
    "browser": (lambda: chromium() is not None, "no Chromium: install it or set CHROMIUM"),
    "cluster": (lambda: bool(os.environ.get("KUBECONFIG")), "no cluster: KUBECONFIG is not set"),
}


def chromium() -> str | None:
    """Return the browser that the browser tests drive, or None."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip with its reason what cannot run here.

    What REQUIRE names ("browser cluster") runs in any case: where it must run, it fails instead.
    """
    required = os.environ.get("REQUIRE", "").split()
    for marker, (present, reason) in _NEEDS.items():
        if marker in required or present():
            continue
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))
