"""The log of a container that runs, read from the cluster when its user looks at it."""

from __future__ import annotations

from typing import Any

from kubernetes_asyncio.client import ApiException

from .models.logs import SHOWN_LINES
from .outage import NO_ANSWER

# more than this of so many lines is not meant to be read
MOST_BYTES = 262_144
_REQUEST_TIMEOUT = 10.0
# Kubernetes' answers while a container has not begun, and once its pod is gone
_NOTHING_YET = (400, 404)


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
            limit_bytes=MOST_BYTES,
            _request_timeout=_REQUEST_TIMEOUT,
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
