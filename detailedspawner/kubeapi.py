"""What the API server is asked for beside the watch, and what it means when it does not answer.

The claims of a pod and the events about them are only asked for while a pod waits for its
machine, a few requests at a time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import aiohttp
from kubernetes_asyncio.client import ApiException

from .models.status import SHOWN_LINES
from .models.text import clean
from .pods.reading import mapping_of, mappings_of
from .tracking import Log

# asyncio's time-out is no OSError before Python 3.11
NO_ANSWER = (asyncio.TimeoutError, aiohttp.ClientError, OSError)
# of an answer that refuses something, only its message is wanted
LONGEST_REFUSAL = 65536

# seconds between two looks at the claims of one start
CLAIMS_INTERVAL = 10.0
UNREADABLE = (ApiException, *NO_ANSWER)
_CLAIM_TIMEOUT = 5.0

Documents = list[dict[str, Any]]

# more than this of so many lines is not meant to be read
MOST_LOG_BYTES = 262_144
_LOG_TIMEOUT = 10.0
# Kubernetes' answers while a container has not begun, and once its pod is gone
_NOTHING_YET = (400, 404)


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
    error.body = (await response.content.read(LONGEST_REFUSAL)).decode("utf-8", "replace")
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


def claim_names(pod: Mapping[str, Any]) -> list[str]:
    """Return the names of the claims that a pod's volumes refer to."""
    volumes = mappings_of(mapping_of(pod.get("spec")).get("volumes"))
    names = [mapping_of(item.get("persistentVolumeClaim")).get("claimName") for item in volumes]
    return [name for name in names if isinstance(name, str)]


async def read_claims(
    api: Any,
    namespace: str,
    names: Iterable[str],
    log: Log,
) -> tuple[Documents, Documents]:
    """Return those of the named claims that exist, and the events about all of them.

    What cannot be read is left out: it only adds to what the pod says.
    """
    claims: Documents = []
    events: Documents = []
    for name in names:
        about = f"involvedObject.kind=PersistentVolumeClaim,involvedObject.name={name}"
        try:
            claim = await _get(api.read_namespaced_persistent_volume_claim, name, namespace)
            listed = await _get(api.list_namespaced_event, namespace, field_selector=about)
        except (*UNREADABLE, ValueError) as error:
            log.debug("Cannot read the claim %s/%s: %r", namespace, name, error)
            continue
        if claim is not None:
            claims.append(claim)
        events.extend((listed or {}).get("items") or ())
    return claims, events


async def _get(method: Any, *args: str, **kwargs: str) -> dict[str, Any] | None:
    """Call the API for plain JSON; None when there is no such object."""
    answer = await method(*args, **kwargs, _preload_content=False, _request_timeout=_CLAIM_TIMEOUT)
    body = await answer.read()
    if answer.status == 404:
        return None
    if not 200 <= answer.status <= 299:
        raise ApiException(status=answer.status, reason=answer.reason)
    document = json.loads(body)
    return document if isinstance(document, dict) else None


class LogUnreadable(Exception):
    """The cluster did not give the log; the text says why, for the user."""


async def read_log(api: Any, namespace: str, pod: str, container: str) -> str:
    """Return the last lines that a container has written; "" if it has not begun.

    Raises LogUnreadable.
    """
    try:
        text = await api.read_namespaced_pod_log(
            pod,
            namespace,
            container=container,
            tail_lines=SHOWN_LINES,
            limit_bytes=MOST_LOG_BYTES,
            _request_timeout=_LOG_TIMEOUT,
        )
    except ApiException as error:
        if error.status in _NOTHING_YET:
            return ""
        if error.status in (401, 403):
            raise LogUnreadable("The Hub has no right to get pods/log.") from error
        raise LogUnreadable(f"The cluster answered with {error.status}.") from error
    except (*NO_ANSWER, ValueError) as error:
        raise LogUnreadable("The cluster did not answer.") from error
    return str(text or "")
