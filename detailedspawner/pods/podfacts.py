"""A whole pod, read once from raw JSON into what the rules ask about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..models import ContainerKind, StepStatus
from ..models.text import clean
from .containers import ContainerFacts, read_container
from .reading import Reader
from .settings import PodSettings


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the pod's conditions; status is "True", "False", "Unknown" or ""."""

    status: str = ""
    reason: str = ""
    message: str = ""
    changed_at: float | None = None

    @property
    def true(self) -> bool:
        return self.status == "True"


NO_CONDITION = Condition()


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What a pod says about itself, in the types that it should have."""

    # There is a pod in the cluster; False for None and for a pod still to be created.
    exists: bool
    uid: str
    name: str
    phase: str
    reason: str
    message: str
    created_at: float | None
    deleted: bool
    node: str
    nominated: bool
    conditions: dict[str, Condition]
    containers: tuple[ContainerFacts, ...]
    # Claim names of the volumes that are persistentVolumeClaims.
    claims: tuple[str, ...]
    gates: tuple[str, ...]
    scheduling_gates: tuple[str, ...]

    def condition(self, kind: str) -> Condition:
        return self.conditions.get(kind, NO_CONDITION)

    @property
    def main(self) -> ContainerFacts | None:
        return next((item for item in self.containers if item.main), None)

    @property
    def total(self) -> int:
        return len(self.containers)

    @property
    def ready(self) -> int:
        return sum(item.status is StepStatus.READY for item in self.containers)

    @property
    def scheduled(self) -> bool:
        """It has a machine: by its condition, its node, or what runs there."""
        found = self.condition("PodScheduled")
        if found.true or self.node:
            return True
        told = bool(found.status or found.reason)
        # Only a machine can say that a pod has come so far.
        return not told and (self.started or self.phase in ("Running", "Succeeded", "Failed"))

    @property
    def started(self) -> bool:
        """At least one container has run, so that machine and volumes were there."""
        return any(item.started_ever for item in self.containers)

    @property
    def sandboxed(self) -> bool:
        """Its volumes are mounted and its network is there."""
        return self.condition("PodReadyToStartContainers").true or self.started

    @property
    def unmet_gates(self) -> tuple[str, ...]:
        return tuple(gate for gate in self.gates if not self.condition(gate).true)


def read_pod(reader: Reader, raw: object, settings: PodSettings) -> PodFacts:
    """Read a pod, a pod still to be created (no uid, no status), or nothing."""
    pod = reader.mapping(raw, "the pod")
    metadata = reader.mapping(pod.get("metadata"), "metadata")
    spec = reader.mapping(pod.get("spec"), "spec")
    status = reader.mapping(pod.get("status"), "status")
    uid = reader.string(metadata.get("uid"), "metadata.uid")
    conditions = _read_conditions(reader, status)
    return PodFacts(
        exists=bool(uid or status),
        uid=uid,
        name=reader.string(metadata.get("name"), "metadata.name"),
        phase=reader.string(status.get("phase"), "status.phase"),
        reason=clean(reader.string(status.get("reason"), "status.reason"), 100),
        message=reader.text(status.get("message"), "status.message"),
        created_at=reader.time(metadata.get("creationTimestamp"), "creationTimestamp"),
        # Any value means deletion, also one that cannot be read as a time.
        deleted=bool(metadata.get("deletionTimestamp")),
        node=reader.string(spec.get("nodeName"), "spec.nodeName"),
        nominated=bool(reader.string(status.get("nominatedNodeName"), "nominatedNodeName")),
        conditions=conditions,
        containers=_read_containers(reader, spec, status, conditions, settings),
        claims=_read_claims(reader, spec),
        gates=_names(reader, spec, "readinessGates", "conditionType"),
        scheduling_gates=_names(reader, spec, "schedulingGates", "name"),
    )


def _names(reader: Reader, spec: dict[str, Any], key: str, field: str) -> tuple[str, ...]:
    found = (
        reader.string(item.get(field), f"{key}.{field}")
        for item in reader.mappings(spec.get(key), f"spec.{key}")
    )
    return tuple(name for name in found if name)


def _read_claims(reader: Reader, spec: dict[str, Any]) -> tuple[str, ...]:
    names = []
    for volume in reader.mappings(spec.get("volumes"), "spec.volumes"):
        source = volume.get("persistentVolumeClaim")
        claim = reader.mapping(source, "persistentVolumeClaim")
        name = reader.string(claim.get("claimName"), "claimName")
        if name and name not in names:
            names.append(name)
    return tuple(names)


def _read_conditions(reader: Reader, status: dict[str, Any]) -> dict[str, Condition]:
    conditions = {}
    for item in reader.mappings(status.get("conditions"), "status.conditions"):
        kind = reader.string(item.get("type"), "condition.type")
        conditions[kind] = Condition(
            status=reader.string(item.get("status"), "condition.status"),
            reason=clean(reader.string(item.get("reason"), "condition.reason"), 100),
            message=reader.text(item.get("message"), "condition.message"),
            changed_at=reader.time(item.get("lastTransitionTime"), "lastTransitionTime"),
        )
    return conditions


def _read_containers(
    reader: Reader,
    spec: dict[str, Any],
    status: dict[str, Any],
    conditions: dict[str, Condition],
    settings: PodSettings,
) -> tuple[ContainerFacts, ...]:
    """Read the containers of the spec; a status that the spec does not name is ignored."""
    regular = reader.mappings(spec.get("containers"), "spec.containers")
    names = [_name(reader, item, number) for number, item in enumerate(regular)]
    main = names.index(settings.main_container) if settings.main_container in names else 0
    policy = reader.string(spec.get("restartPolicy"), "spec.restartPolicy")
    found: list[ContainerFacts] = []
    for key, listed in (
        ("initContainerStatuses", reader.mappings(spec.get("initContainers"), "initContainers")),
        ("containerStatuses", regular),
    ):
        init = key == "initContainerStatuses"
        statuses = {
            clean(reader.string(item.get("name"), f"{key}.name"), 253): item
            for item in reader.mappings(status.get(key), f"status.{key}")
        }
        for number, item in enumerate(listed):
            name = _name(reader, item, number)
            if init:
                native = item.get("restartPolicy") == "Always"
                kind = ContainerKind.SIDECAR if native else ContainerKind.INIT
            else:
                kind = ContainerKind.MAIN if number == main else ContainerKind.SIDECAR
            completes = kind is ContainerKind.SIDECAR and not init and settings.completes(name)
            found.append(
                read_container(
                    reader,
                    item,
                    statuses.get(name),
                    index=len(found),
                    name=name,
                    kind=kind,
                    init=init,
                    completing=completes,
                    pod_policy=policy,
                    initialized=conditions.get("Initialized", NO_CONDITION).true,
                )
            )
    return tuple(found)


def _name(reader: Reader, item: dict[str, Any], number: int) -> str:
    return clean(reader.string(item.get("name"), "a container's name"), 253) or (
        f"container-{number + 1}"
    )
