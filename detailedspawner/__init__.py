"""Named start-up steps for JupyterHub on Kubernetes.

In `jupyterhub_config.py`:

    import detailedspawner
    detailedspawner.configure(c)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .configuration import configure
    from .spawner import DetailedKubeSpawner

__all__ = ["DetailedKubeSpawner", "__version__", "configure"]

_HOMES = {"DetailedKubeSpawner": ".spawner", "configure": ".configuration"}


def __getattr__(name: str) -> Any:
    # on first use, so that the demo's parts and the command line need no Hub loaded
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
