"""The claims of a pod and the events about them, which the shared watch leaves out.

They are only asked for while a pod waits for its machine, a few requests at a time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from kubernetes_asyncio.client import ApiException

from .outage import NO_ANSWER

# seconds between two looks at the claims of one start
CLAIMS_INTERVAL = 10.0
UNREADABLE = (ApiException, *NO_ANSWER)
_REQUEST_TIMEOUT = 5.0

Documents = list[dict[str, Any]]


def claim_names(pod: Mapping[str, Any]) -> list[str]:
    """Return the names of the claims that a pod's volumes refer to."""
    spec = pod.get("spec")
    volumes = spec.get("volumes") if isinstance(spec, dict) else None
    sources = [
        volume.get("persistentVolumeClaim")
        for volume in (volumes if isinstance(volumes, list) else ())
        if isinstance(volume, dict)
    ]
    names = [source.get("claimName") for source in sources if isinstance(source, dict)]
    return [name for name in names if isinstance(name, str)]


async def read_claims(
    api: Any,
    namespace: str,
    names: Iterable[str],
    log: logging.Logger | logging.LoggerAdapter[Any],
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
    answer = await method(
        *args, **kwargs, _preload_content=False, _request_timeout=_REQUEST_TIMEOUT
    )
    body = await answer.read()
    if answer.status == 404:
        return None
    if not 200 <= answer.status <= 299:
        raise ApiException(status=answer.status, reason=answer.reason)
    document = json.loads(body)
    return document if isinstance(document, dict) else None
