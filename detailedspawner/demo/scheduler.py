"""Puts pods on the stand-in's node and gives claims their volume, in the words of Kubernetes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from decimal import Decimal
from typing import Any

from .defaults import parse_quantity, resources_of
from .errors import ApiError, Object
from .recorder import Recorder, now
from .store import Store

Amounts = dict[str, Decimal]
_NO_PREEMPTION = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"


class Scheduler:
    """Schedules pods and binds claims of a store as soon as something changes there.

    A claim is bound at once if `storage_classes` has its class.
    """

    def __init__(self, store: Store, storage_classes: Iterable[str] = ("standard",)) -> None:
        self._store, self._classes = store, frozenset(storage_classes)
        self._failures = Recorder(store, "default-scheduler", "default-scheduler", "Scheduling")
        self._bindings = Recorder(store, "default-scheduler", "default-scheduler", "Binding")
        self._volumes = Recorder(store, "persistentvolume-controller")
        self._said: dict[str, str] = {}  # by uid, so that one failure is said once
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to watch pods, nodes and claims."""
        for kind in ("nodes", "persistentvolumeclaims", "pods"):
            self._tasks.append(asyncio.create_task(self._follow(self._store.watch(kind), kind)))

    async def close(self) -> None:
        """Schedule nothing more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, changes: AsyncIterator[tuple[str, Object]], kind: str) -> None:
        async for change, obj in changes:
            if change == "DELETED":
                self._said.pop(obj["metadata"]["uid"], None)
            elif kind == "persistentvolumeclaims":
                self._bind_claim(obj)
            elif kind == "pods" and obj["spec"].get("nodeName") and not _finished(obj):
                continue  # nothing that a waiting pod could wait for
            self._schedule()

    def _schedule(self) -> None:
        for pod in self._store.list("pods"):
            spec, meta = pod["spec"], pod["metadata"]
            if spec.get("nodeName") or spec.get("schedulingGates") or "deletionTimestamp" in meta:
                continue
            nodes = self._store.list("nodes")
            reasons = {node["metadata"]["name"]: self._refusal(pod, node) for node in nodes}
            fitting = [name for name, refusal in reasons.items() if refusal is None]
            if problem := self._claim_problem(pod):
                self._refuse(pod, f"0/{len(nodes)} nodes are available: {problem}. not found")
            elif fitting:
                self._bind_pod(pod, fitting[0])
            elif not nodes:
                self._refuse(pod, "no nodes available to schedule pods")
            else:
                self._refuse(pod, _wording([refusal for refusal in reasons.values() if refusal]))

    def _bind_pod(self, pod: Object, node: str) -> None:
        def bind(stored: Object) -> None:
            stored["spec"]["nodeName"] = node
            stored["status"]["conditions"] = [_scheduled("True")]

        meta = pod["metadata"]
        with contextlib.suppress(ApiError):
            self._store.update("pods", meta["namespace"], meta["name"], bind)
            text = f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
            self._bindings.event(pod, "Normal", "Scheduled", text)

    def _refuse(self, pod: Object, message: str) -> None:
        meta = pod["metadata"]
        if self._said.get(meta["uid"]) == message:
            return
        self._said[meta["uid"]] = message

        def mark(stored: Object) -> None:
            reason = {"reason": "Unschedulable", "message": message}
            stored["status"]["conditions"] = [_scheduled("False") | reason]

        with contextlib.suppress(ApiError):
            self._failures.event(pod, "Warning", "FailedScheduling", message)
            self._store.update("pods", meta["namespace"], meta["name"], mark)

    def _claim_problem(self, pod: Object) -> str | None:
        for volume in pod["spec"].get("volumes") or []:
            if claim := volume.get("persistentVolumeClaim"):
                name = claim["claimName"]
                try:
                    found = self._store.get(
                        "persistentvolumeclaims", pod["metadata"]["namespace"], name
                    )
                except ApiError:
                    return f'persistentvolumeclaim "{name}" not found'
                if "deletionTimestamp" in found["metadata"]:
                    return f'persistentvolumeclaim "{name}" is being deleted'
                if found["status"].get("phase") != "Bound":
                    return "pod has unbound immediate PersistentVolumeClaims"
        return None

    def _refusal(self, pod: Object, node: Object) -> tuple[list[str], str] | None:
        """Return why the pod cannot be on the node and whether preemption could help, or None."""
        if node["spec"].get("unschedulable"):
            return ["node(s) were unschedulable"], _NO_PREEMPTION
        if not all(_tolerated(t, pod["spec"]) for t in node["spec"].get("taints") or []):
            return ["node(s) had untolerated taint(s)"], _NO_PREEMPTION
        if not _selected(pod["spec"], node["metadata"].get("labels") or {}):
            return ["node(s) didn't match Pod's node affinity/selector"], _NO_PREEMPTION
        allocatable = {k: parse_quantity(v) for k, v in node["status"]["allocatable"].items()}
        others = [
            _requests(other["spec"])
            for other in self._store.list("pods")
            if other["spec"].get("nodeName") == node["metadata"]["name"] and not _finished(other)
        ]
        if len(others) >= allocatable.get("pods", Decimal(110)):
            return ["Too many pods"], _NO_VICTIMS
        wanted = _requests(pod["spec"])
        lacking, hopeless = [], False
        for resource, amount in sorted(wanted.items()):
            total = allocatable.get(resource, Decimal(0))
            if amount > total - sum(other.get(resource, Decimal(0)) for other in others):
                lacking.append(f"Insufficient {resource}")
                hopeless |= amount > total
        return (lacking, _NO_PREEMPTION if hopeless else _NO_VICTIMS) if lacking else None

    def _bind_claim(self, claim: Object) -> None:
        meta, spec = claim["metadata"], claim["spec"]
        if claim["status"].get("phase") != "Pending" or "deletionTimestamp" in meta:
            return
        if spec.get("storageClassName") not in self._classes:
            name = spec.get("storageClassName")
            if self._said.setdefault(meta["uid"], name or "") == name:
                text = f'storageclass.storage.k8s.io "{name}" not found'
                self._volumes.event(claim, "Warning", "ProvisioningFailed", text)
            return
        volume, provisioner = f"pvc-{meta['uid']}", "kubernetes.io/host-path"

        def bind(stored: Object) -> None:
            stored["spec"]["volumeName"] = volume
            stored["status"] = {
                "phase": "Bound",
                "accessModes": spec.get("accessModes", []),
                "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            }

        text = f"Successfully provisioned volume {volume} using {provisioner}"
        with contextlib.suppress(ApiError):
            self._store.update("persistentvolumeclaims", meta["namespace"], meta["name"], bind)
            self._volumes.event(claim, "Normal", "ProvisioningSucceeded", text)


def _wording(refusals: list[tuple[list[str], str]]) -> str:
    """Word refusals as the scheduler does, each reason with the number of nodes that gave it."""
    total = f"0/{len(refusals)} nodes are available: "
    reasons = [reason for found, _ in refusals for reason in found]
    counted = sorted({f"{reasons.count(reason)} {reason}" for reason in reasons})
    hints = [hint for _, hint in refusals]
    helps = sorted({f"{hints.count(hint)} {hint}" for hint in hints})
    return (
        f"{total}{', '.join(counted)}. no new claims to deallocate, "
        f"preemption: {total}{', '.join(helps)}."
    )


def _scheduled(status: str) -> Object:
    times = {"lastProbeTime": None, "lastTransitionTime": now()}
    return {"type": "PodScheduled", "status": status, **times}


def _finished(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _requests(spec: Object) -> Amounts:
    """Return what a pod needs: all that runs along, or more while an init container runs."""
    along: Amounts = {}
    most: Amounts = {}
    for container in spec.get("initContainers") or []:
        own = _amounts(container)
        _raise(most, _sum(along, own))
        if container.get("restartPolicy") == "Always":
            along = _sum(along, own)
    for container in spec["containers"]:
        along = _sum(along, _amounts(container))
    _raise(most, along)
    return most


def _amounts(container: Object) -> Amounts:
    return {k: parse_quantity(v) for k, v in resources_of(container, "requests").items()}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    zero = Decimal(0)
    return {key: one.get(key, zero) + other.get(key, zero) for key in {**one, **other}}


def _raise(most: Amounts, amounts: Amounts) -> None:
    for key, value in amounts.items():
        most[key] = max(most.get(key, Decimal(0)), value)


def _tolerated(taint: Object, spec: Object) -> bool:
    if taint.get("effect") == "PreferNoSchedule":
        return True
    return any(
        toleration.get("key") in (None, "", taint["key"])
        and toleration.get("effect") in (None, "", taint.get("effect"))
        and (
            toleration.get("operator") == "Exists"
            or toleration.get("value", "") == taint.get("value", "")
        )
        for toleration in spec.get("tolerations") or []
    )


def _selected(spec: Object, labels: dict[str, str]) -> bool:
    wanted = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    affinity: Any = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or []
    return not terms or any(
        all(_matches(one, labels) for one in term.get("matchExpressions") or []) for term in terms
    )


def _matches(expression: Object, labels: dict[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or []
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(expression["operator"], False)
