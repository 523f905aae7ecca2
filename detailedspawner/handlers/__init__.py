"""The REST API and the page's files; these modules only speak HTTP."""

from __future__ import annotations

from typing import Any

from jupyterhub.handlers.static import CacheControlStaticFilesHandler

from ..paths import static_path
from .status import ServerStatusAPIHandler

API = r"/api/detailedspawner"


def extra_handlers() -> list[Any]:
    """Return what goes into `JupyterHub.extra_handlers`; paths get the Hub's prefix."""
    return [
        (API + r"/users/([^/]+)/server/status", ServerStatusAPIHandler),
        (API + r"/users/([^/]+)/servers/([^/]*)/status", ServerStatusAPIHandler),
        (
            r"/detailedspawner/static/(.*)",
            CacheControlStaticFilesHandler,
            {"path": str(static_path())},
        ),
    ]
