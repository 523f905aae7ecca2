"""What an API refused, and how a start tells the Hub that it failed."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientConnectorError, ClientOSError, ServerDisconnectedError
from kubernetes_asyncio.client import ApiException
from tornado import web


def status_of(error: ApiException) -> dict[str, Any]:
    """Return the v1 Status that an API error carries, or one made of its code."""
    try:
        status = json.loads(error.body or "")
    except (TypeError, ValueError):
        status = None
    if not isinstance(status, dict):
        status = {"message": str(error.reason)}
    status.setdefault("code", error.status)
    return status


def no_answer(error: Exception, api_url: str) -> dict[str, Any] | None:
    """Return what stands for the v1 Status of an API server that does not answer.

    None for any other error, also for one of a connection to elsewhere that a hook has made.
    """
    if isinstance(error, ClientConnectorError):
        silent = error.host == urlsplit(api_url).hostname
    else:
        silent = isinstance(error, ClientOSError | ServerDisconnectedError)
    return {"code": 503, "reason": "NoAnswer", "message": str(error)} if silent else None


def spawn_error(message: str, html_message: str, reason: str, *, users: bool) -> Exception:
    """Build the exception with which a start ends.

    `users`: a user can bring it about, so it is no failure of the Hub. The text
    reaches the stream and the page by the two `jupyterhub_` attributes.
    """
    error: Any
    try:
        # JupyterHub 6; on 5 there is no other word for it than a 4xx
        from jupyterhub.spawner import SpawnException
    except ImportError:
        error = web.HTTPError(400 if users else 500, message)
    else:
        error = SpawnException(message, reason=reason) if users else web.HTTPError(500, message)
    error.jupyterhub_message = message
    error.jupyterhub_html_message = html_message
    made: Exception = error
    return made
