"""Since when a watch shows nothing new, and why."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import aiohttp
from kubernetes_asyncio.client import ApiException

from .models.text import clean

# asyncio's time-out is no OSError before Python 3.11
NO_ANSWER = (asyncio.TimeoutError, aiohttp.ClientError, OSError)
# of an answer that refuses something, only its message is wanted
MOST_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Outage:
    """What is wrong, and since when (seconds since the epoch).

    `problem` is for everybody, `detail` for administrators: it names addresses and accounts.
    """

    since: float
    problem: str
    detail: str


async def refused(response: Any) -> ApiException:
    """Return what an API server's answer is raised as, with the v1 Status that it carries."""
    error = ApiException(status=response.status, reason=response.reason)
    error.body = (await response.content.read(MOST_BYTES)).decode("utf-8", "replace")
    return error


def outage(since: float, error: Exception) -> Outage:
    """Return what an error says of a watch that has failed since then."""
    if isinstance(error, ApiException):
        problem = f"the API server answers {error.status} {_phrase(error.status)}".strip()
        return Outage(since, problem, clean(f"{error.status} {_message(error)}"))
    if isinstance(error, NO_ANSWER):
        problem = "the API server does not answer"
    else:
        problem = "the answer of the API server cannot be read"
    return Outage(since, problem, clean(f"{type(error).__name__}: {error}"))


def _phrase(status: object) -> str:
    try:
        return HTTPStatus(status).phrase  # type: ignore[arg-type]  # whatever was sent
    except ValueError:
        return ""


def _message(error: ApiException) -> str:
    try:
        return str(json.loads(error.body or "")["message"])
    except (TypeError, ValueError, KeyError):
        return str(error.reason)
