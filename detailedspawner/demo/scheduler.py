"""Puts pods on the stand-in's node and binds the claims they use, in the words of Kubernetes."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from .defaults import containers_of, parse_quantity, resources_of
from .errors import ApiError, Object
from .events import now, say
from .store import Store

_HINT = (
    "no new claims to deallocate, preemption: 0/1 nodes are available: "
    "1 Preemption is not helpful for scheduling."
)


class Scheduler:
    """Looks after the waiting pods and claims of a store whenever something has changed there."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def start(self) -> None:
        kinds = ("nodes", "persistentvolumeclaims", "pods")
        self._tasks = [asyncio.create_task(self._follow(kind)) for kind in kinds]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, kind: str) -> None:
        async for change, obj in self._store.watch(kind):
            if kind == "persistentvolumeclaims" and change == "ADDED":
                text = "waiting for first consumer to be created before binding"
                self._say_of_claim(obj, "WaitForFirstConsumer", text)
            for node in self._store.list("nodes"):
                for pod in self._store.list("pods"):
                    if not pod["spec"].get("nodeName"):
                        self._schedule(pod, node)

    def _schedule(self, pod: Object, node: Object) -> None:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        volumes = [v.get("persistentVolumeClaim") for v in pod["spec"].get("volumes") or ()]
        names = [claim["claimName"] for claim in volumes if claim]
        condition: Object = {"type": "PodScheduled", "status": "True", "observedGeneration": 1}
        condition |= {"lastProbeTime": None, "lastTransitionTime": now()}
        text = f"Successfully assigned {namespace}/{name} to {node['metadata']['name']}"
        event = {"type": "Normal", "reason": "Scheduled", "action": "Binding"}
        refusal = _refusal(pod["spec"], node)
        try:
            claims = [self._store.get("persistentvolumeclaims", namespace, one) for one in names]
        except ApiError as error:
            # The API server calls it by its plural, the scheduler does not.
            refusal = f"{error.message.replace('claims', 'claim', 1)}. not found"
        if refusal:
            text = f"0/1 nodes are available: {refusal}"
            condition |= {"status": "False", "reason": "Unschedulable", "message": text}
            event = {"type": "Warning", "reason": "FailedScheduling", "action": "Scheduling"}

        def change(stored: Object) -> None:
            before = stored["status"].get("conditions") or [{}]
            if before[0].get("message") != text:
                stored["status"]["conditions"] = [condition]
            stored["spec"] |= {} if refusal else {"nodeName": node["metadata"]["name"]}

        for claim in claims if not refusal else ():
            self._bind(claim)
        say(self._store, pod, "default-scheduler", {**event, "message": text})
        self._store.update("pods", namespace, name, change)

    def _bind(self, claim: Object) -> None:
        meta, capacity = claim["metadata"], claim["spec"]["resources"]["requests"]
        volume = f"pvc-{meta['uid']}"

        def change(stored: Object) -> None:
            stored["spec"]["volumeName"] = volume
            stored["status"] = {"phase": "Bound", "capacity": capacity}

        if claim["status"]["phase"] == "Pending":
            self._store.update("persistentvolumeclaims", meta["namespace"], meta["name"], change)
            text = f"Successfully provisioned volume {volume} using kubernetes.io/host-path"
            self._say_of_claim(claim, "ProvisioningSucceeded", text)

    def _say_of_claim(self, claim: Object, reason: str, text: str) -> None:
        event = {"type": "Normal", "reason": reason, "message": text}
        say(self._store, claim, "persistentvolume-controller", event)


def total(spec: Object, which: str) -> dict[str, Decimal]:
    """Return a pod's `requests` or `limits`: all that runs along, or more for an init container."""
    amounts: dict[str, Decimal] = {}
    for container in reversed(containers_of(spec)):
        along = container in spec["containers"] or container.get("restartPolicy") == "Always"
        for key, text in resources_of(container, which).items():
            before, own = amounts.get(key, Decimal(0)), parse_quantity(text)
            amounts[key] = before + own if along else max(before, own)
    return amounts


def _refusal(spec: Object, node: Object) -> str:
    has = {key: parse_quantity(text) for key, text in node["status"]["allocatable"].items()}
    wanted = sorted(total(spec, "requests").items())
    lacking = [f"1 Insufficient {key}" for key, amount in wanted if amount > has.get(key, 0)]
    if not (spec.get("nodeSelector") or {}).items() <= node["metadata"]["labels"].items():
        lacking = ["1 node(s) didn't match Pod's node affinity/selector"]
    return f"{', '.join(lacking)}. {_HINT}" if lacking else ""
