"""What the API server makes of a new object, or why it refuses it: pure functions on dicts."""

from __future__ import annotations

import base64
import copy
import functools
import re
from collections import Counter
from decimal import ROUND_UP, Decimal
from typing import Any

from kubernetes_asyncio import client

from .errors import ApiError, Object, bad_request, refusal

CLUSTER_WIDE = ("namespaces", "nodes")
_KINDS = "ConfigMap Event Namespace Node PersistentVolumeClaim Pod ResourceQuota Secret Service"
RESOURCES = {f"{kind.lower()}s": kind for kind in (*_KINDS.split(), "ServiceAccount")}
# By the names of the client's models, which also say what types the fields have.
_DEFAULTS: dict[str, Object] = {
    "CoreV1Event": {"source": {}, "reportingComponent": "", "reportingInstance": ""},
    "V1ConfigMapVolumeSource": {"defaultMode": 0o644},
    "V1Container": {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    "V1ContainerPort": {"protocol": "TCP"},
    "V1HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "V1Namespace": {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
    "V1ObjectFieldSelector": {"apiVersion": "v1"},
    "V1PersistentVolumeClaim": {"spec": {}, "status": {"phase": "Pending"}},
    "V1PersistentVolumeClaimSpec": {"storageClassName": "standard", "volumeMode": "Filesystem"},
    "V1Pod": {"spec": {}, "status": {"phase": "Pending"}},
    "V1PodSpec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "securityContext": {},
        "serviceAccountName": "default",
    },
    "V1Probe": {"timeoutSeconds": 1, "periodSeconds": 10}
    | {"successThreshold": 1, "failureThreshold": 3},
    "V1ResourceQuota": {"spec": {}},
    "V1Secret": {"type": "Opaque"},
    "V1SecretVolumeSource": {"defaultMode": 0o644},
    "V1ServicePort": {"protocol": "TCP"},
    "V1ServiceSpec": {"type": "ClusterIP", "sessionAffinity": "None"},
}
_SCALARS: dict[str, tuple[type, ...]] = {
    **{"str": (str,), "datetime": (str,), "bool": (bool,), "int": (int,), "float": (int, float)},
    **{"object": (int, str), "quantity": (int, float, str)},
}
_COLLECTION = re.compile(r"(list|dict)[\[(](?:str, )?(.+)[\])]")
_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]{1,2}$)?)([numkMGTPE]|[KMGTPE]i|)")
_BINARY = {f"{letter}i": Decimal(1024**power) for power, letter in enumerate("KMGTPE", 1)}
_POWERS = enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
_DECIMAL = {suffix: Decimal(1000) ** power for power, suffix in _POWERS}
_MOST = Decimal(2**63 - 1)


def parse_quantity(text: object) -> Decimal:
    """Return a quantity such as `500m`, `1Gi` or `2` as a number; `ApiError` 400 for others."""
    try:
        number, suffix = _QUANTITY.fullmatch(str(text)).groups()  # type: ignore[union-attr]
        value = Decimal(number) * (_BINARY | _DECIMAL)[suffix]
    except (AttributeError, ArithmeticError):
        expected = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        raise bad_request(f"quantities must match the regular expression '{expected}'") from None
    return max(-_MOST, min(value, _MOST)).quantize(_DECIMAL["n"], ROUND_UP)


def format_quantity(value: Decimal, binary: bool) -> str:
    """Return the shortest exact quantity, with a suffix from `Ki` to `Ei` when `binary`."""
    units = _BINARY if binary and value % 1 == 0 else _DECIMAL
    for suffix, factor in reversed(units.items()):
        if value and value % factor == 0:
            return f"{int(value / factor)}{suffix}"
    return str(int(value))


def containers_of(spec: Object) -> list[Object]:
    """Return the init containers, then the containers."""
    return [*spec.get("initContainers", ()), *spec.get("containers", ())]


def resources_of(container: Object, which: str) -> dict[str, Any]:
    """Return a container's `requests` or `limits`."""
    return (container.get("resources") or {}).get(which) or {}


def admit(plural: str, given: Object, own: Object) -> Object:
    """Return a new object as it is stored; `ApiError` 400 or 422 if it is not valid.

    `own` is what the server puts into its metadata: uid, time and namespace.
    """
    kind, causes = RESOURCES[plural], list[str]()
    model = "CoreV1Event" if kind == "Event" else f"V1{kind}"
    ignored = "" if plural == "nodes" else "status"  # only a kubelet makes nodes
    given = {key: value for key, value in given.items() if key != ignored}
    obj: Object = {"metadata": {}, **decode(model, given, "", causes)}
    obj |= {"kind": kind, "apiVersion": "v1"}
    metadata, spec = obj["metadata"], obj.get("spec", {})
    if metadata.get("namespace", own.get("namespace")) != own.get("namespace"):
        raise bad_request("the namespace of the provided object is not that of the request")
    metadata |= own
    name = metadata.setdefault("name", "")
    _check_name("metadata.name", name, causes, rf"{_LABEL}(\.{_LABEL})*")
    if plural == "pods":
        metadata["generation"] = 1
        _complete_pod(spec, causes)
        obj["status"]["qosClass"] = _quality_of_service(containers_of(spec))
    elif plural == "events":
        # These are null, not absent, in what the API server sends.
        obj |= {key: obj.get(key) for key in ("firstTimestamp", "lastTimestamp", "eventTime")}
    elif plural == "secrets":
        for key, text in obj.pop("stringData", {}).items():
            obj.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()
    elif plural == "persistentvolumeclaims" and "storage" not in resources_of(spec, "requests"):
        causes.append("spec.resources[storage]: Required value")
    if causes:
        pairs = [cause.split(": ", 1) for cause in causes]
        details = [{"field": field, "message": message} for field, message in pairs]
        text = f'{kind} "{name}" is invalid: {", ".join(causes)}'
        raise ApiError(422, "Invalid", text, {"name": name, "kind": kind, "causes": details})
    return obj


def decode(model: str, given: Any, field: str, causes: list[str]) -> Any:
    """Return what one of the client's models takes of a JSON value, with the defaults.

    Raises `ApiError` 400 where a type is wrong; adds to the causes what is negative.
    """
    if kinds := _SCALARS.get(model):
        check_type(given, field, *kinds)
        if type(given) is str:  # JSON may have half a surrogate pair, which no process can be given
            given = given.encode(errors="replace").decode()
        number = parse_quantity(given) if model in ("int", "quantity") else Decimal(0)
        if model == "int" and abs(number) >= 2**31:
            raise bad_request(f"json: cannot unmarshal number {given} into field {field}")
        if number < 0 and not field.endswith("tolerationSeconds"):
            text = f'Invalid value: "{given}": must be greater than or equal to 0'
            causes.append(f"{field}: {text}")
        return format_quantity(number, str(given)[-1] == "i") if model == "quantity" else given
    if match := _COLLECTION.fullmatch(model):
        outer, inner = match.groups()
        check_type(given, field, list if outer == "list" else dict)
        if outer == "list":
            return [decode(inner, one, f"{field}[{n}]", causes) for n, one in enumerate(given)]
        if field.endswith((".limits", ".requests", ".hard")):
            inner = "quantity"
        return {key: decode(inner, one, f"{field}[{key}]", causes) for key, one in given.items()}
    check_type(given, field, dict)
    types, made = _types(model), copy.deepcopy(_DEFAULTS.get(model, {}))
    made |= {key: value for key, value in given.items() if key in types and value is not None}
    for key, value in made.items():
        made[key] = decode(types[key], value, f"{field}.{key}".lstrip("."), causes)
    return {key: v for key, v in made.items() if v or not _COLLECTION.fullmatch(types[key])}


@functools.cache
def _types(model: str) -> dict[str, str]:
    found = getattr(client, model)
    return {found.attribute_map[key]: kind for key, kind in found.openapi_types.items()}


def check_type(given: object, field: str, *kinds: type) -> None:
    """Raise `ApiError` 400 if a JSON value has none of the types."""
    if type(given) not in kinds:
        raise bad_request(f"json: cannot unmarshal {type(given).__name__} into field {field}")


def _check_name(field: str, name: str, causes: list[str], pattern: str = _LABEL) -> None:
    if not name:
        causes.append(f"{field}: Required value")
    elif len(name) > 253 or not re.fullmatch(pattern, name):
        text = f"regex used for validation is '{pattern}'"
        causes.append(f'{field}: Invalid value: "{name}": {text}')


def _complete_pod(spec: Object, causes: list[str]) -> None:
    """Add what depends on other fields, and to the causes why the spec is not valid."""
    spec["serviceAccount"] = spec["serviceAccountName"]
    volumes = [volume.get("name") for volume in spec.get("volumes", ())]
    names: list[str] = []
    for group in ("containers", "initContainers"):
        for number, container in enumerate(spec.get(group, ())):
            field, name = f"spec.{group}[{number}]", container.get("name", "")
            image = container.get("image", "").rpartition("/")[2]
            _check_name(f"{field}.name", name, causes)
            causes += [f'{field}.name: Duplicate value: "{name}"'] if name in names else []
            causes += [] if image else [f"{field}.image: Required value"]
            names.append(name)
            for n, mount in enumerate(container.get("volumeMounts", ())):
                if (volume := mount.get("name")) not in volumes:
                    causes.append(f'{field}.volumeMounts[{n}].name: Not found: "{volume}"')
            moving = "@" not in image and (":" not in image or image.endswith(":latest"))
            container.setdefault("imagePullPolicy", "Always" if moving else "IfNotPresent")
            if limits := resources_of(container, "limits"):
                container["resources"]["requests"] = limits | resources_of(container, "requests")
    causes += [] if "containers" in spec else ["spec.containers: Required value"]
    tolerations = spec.setdefault("tolerations", [])
    for trouble in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{trouble}"
        if not any(toleration.get("key") in (None, key) for toleration in tolerations):
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations.append({**toleration, "tolerationSeconds": 300})


def _quality_of_service(containers: list[Object]) -> str:
    requests, limits = ([resources_of(c, w) for c in containers] for w in ("requests", "limits"))
    if requests == limits and all({"cpu", "memory"} <= limit.keys() for limit in limits):
        return "Guaranteed"
    return "Burstable" if any(requests) else "BestEffort"


def _usage(plural: str, obj: Object) -> Counter[str]:
    """Return how much of each quota resource an object takes while it runs."""
    if obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return Counter()
    spec, used = obj.get("spec", {}), Counter({plural: 1, f"count/{plural}": 1})
    for part in (spec, *spec.get("containers", ())):
        for which in ("requests", "limits"):
            amounts: Any = resources_of(part, which).items()
            used.update({f"{which}.{key}": parse_quantity(amount) for key, amount in amounts})
    return used


def check_quota(plural: str, obj: Object, quota: Object, others: list[Object]) -> None:
    """Raise `ApiError` 403 if a new object does not fit into a quota beside the other objects."""
    wanted = _usage(plural, obj)
    used = sum((_usage(plural, other) for other in others), Counter[str]())
    for key, most in sorted(quota["spec"].get("hard", {}).items()):
        if key in wanted and used[key] + wanted[key] > parse_quantity(most):
            amounts = [
                format_quantity(Decimal(amount), key.endswith(("memory", "storage")))
                for amount in (wanted[key], used[key])
            ]
            text = (
                "is forbidden: exceeded quota: {}, requested: {k}={}, used: {k}={}, limited: {k}={}"
            )
            text = text.format(quota["metadata"]["name"], *amounts, most, k=key)
            raise refusal(403, "Forbidden", plural, obj["metadata"]["name"], text)
