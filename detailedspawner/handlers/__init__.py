"""The REST API and the page's files; these modules only speak HTTP."""

from __future__ import annotations

import weakref
from typing import Any

from jupyterhub.apihandlers import users
from jupyterhub.handlers import pages
from jupyterhub.handlers.static import CacheControlStaticFilesHandler

from ..pages import static_path
from ..repositories import status
from .hubhandlers import ProgressAPIHandler, SpawnHandler, UserAPIHandler, UserServerAPIHandler
from .rest import (
    HealthAPIHandler,
    LogAPIHandler,
    NamespaceListAPIHandler,
    OpenAPIHandler,
    ProfileListAPIHandler,
    ServerListAPIHandler,
    ServerStatusAPIHandler,
    UserServersAPIHandler,
)

API = r"/api/detailedspawner"


def extra_handlers() -> list[Any]:
    """Return what goes into `JupyterHub.extra_handlers`; paths get the Hub's prefix."""
    named = r"/users/(?P<user_name>[^/]+)"
    served = [
        (API + r"/users/([^/]+)/server/status", ServerStatusAPIHandler),
        (API + r"/users/([^/]+)/servers/([^/]*)/status", ServerStatusAPIHandler),
        (API + rf"{named}/server/logs/(?P<container>[^/]+)", LogAPIHandler),
        (API + rf"{named}/servers/(?P<server_name>[^/]*)/logs/(?P<container>[^/]+)", LogAPIHandler),
        (API + r"/users/([^/]+)/servers", UserServersAPIHandler),
        (API + r"/servers", ServerListAPIHandler),
        (API + r"/profiles", ProfileListAPIHandler),
        (API + r"/namespaces", NamespaceListAPIHandler),
        (API + r"/openapi\.yaml", OpenAPIHandler),
    ]
    return [
        *served,
        (API + r"/health", HealthAPIHandler, {"undone_parts": undone_parts}),
        (
            r"/detailedspawner/static/(.*)",
            CacheControlStaticFilesHandler,
            {"path": str(static_path())},
        ),
    ]


def first_handlers() -> list[Any]:
    """Return what answers in place of the Hub's own handlers, on the same paths."""
    ours = {
        users.UserAPIHandler: UserAPIHandler,
        users.UserServerAPIHandler: UserServerAPIHandler,
        users.SpawnProgressAPIHandler: ProgressAPIHandler,
        pages.SpawnHandler: SpawnHandler,
    }
    return [
        (pattern, ours[handler])
        for pattern, handler, *_ in [*users.default_handlers, *pages.default_handlers]
        if handler in ours
    ]


# the applications that have them
_placed: weakref.WeakSet[Any] = weakref.WeakSet()


def place_first(app: Any) -> bool:
    """Put our handlers before the Hub's, once; False if it has no application yet."""
    application = getattr(app, "tornado_application", None)
    if application is None:
        return False
    if application not in _placed:
        _placed.add(application)
        application.add_handlers(".*$", app.add_url_prefix(app.hub_prefix, first_handlers()))
    return True


def undone_parts(app: Any) -> dict[str, str]:
    """Return the parts of `configure(c)` that an application does not have, and why not."""
    return status.undone_parts(app, extra_handlers(), first_handlers())
