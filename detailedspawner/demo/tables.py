"""Pods as the table that `kubectl get pods` prints."""

from __future__ import annotations

from datetime import datetime

from .errors import Object

_COLUMNS = {"Name": 0, "Ready": 0, "Status": 0, "Restarts": 0, "Age": 0, "IP": 1, "Node": 1}


def pod_table(pods: list[Object], version: str, now: float) -> Object:
    """Return pods as a `meta.k8s.io/v1` table; `now` is in seconds since the epoch."""
    group = {"apiVersion": "meta.k8s.io/v1"}
    column = {"type": "string", "format": "", "description": ""}
    return {
        "kind": "Table",
        **group,
        "metadata": {"resourceVersion": version},
        # Those of priority 1 are for `-o wide`.
        "columnDefinitions": [{"name": k, "priority": v, **column} for k, v in _COLUMNS.items()],
        "rows": [
            {
                "cells": _cells(pod, now),
                "object": {"kind": "PartialObjectMetadata", **group, "metadata": pod["metadata"]},
            }
            for pod in pods
        ],
    }


def _cells(pod: Object, now: float) -> list[str]:
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    inits, containers = (
        status.get(f"{group}Statuses") or [] for group in ("initContainer", "container")
    )
    sidecars = {c["name"] for c in spec.get("initContainers") or () if c.get("restartPolicy")}
    counted = containers + [container for container in inits if container["name"] in sidecars]
    ready = sum(container["ready"] for container in counted)
    restarts = sum(container["restartCount"] for container in inits + containers)
    text = _reason(containers) or status.get("reason") or status["phase"]
    for number, container in enumerate(inits):
        done = (container["state"].get("terminated") or {}).get("exitCode") == 0
        if not done and not (container["name"] in sidecars and container.get("started")):
            reason = _reason([container])
            waits = reason in ("", "PodInitializing")
            text = f"Init:{number}/{len(inits)}" if waits else f"Init:{reason}"
            break
    return [
        metadata["name"],
        f"{ready}/{len(spec['containers']) + len(sidecars)}",
        "Terminating" if "deletionTimestamp" in metadata else text,
        str(restarts),
        _age(metadata["creationTimestamp"], now),
        status.get("podIP", "<none>"),
        spec.get("nodeName", "<none>"),
    ]


def _reason(containers: list[Object]) -> str:
    """Return why the first container that does not run does not."""
    states = [container["state"] for container in containers]
    troubles = (state.get("waiting") or state.get("terminated") or {} for state in states)
    return next((str(trouble["reason"]) for trouble in troubles if trouble.get("reason")), "")


def _age(created: str, now: float) -> str:
    seconds = int(now - datetime.fromisoformat(created.replace("Z", "+00:00")).timestamp())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
