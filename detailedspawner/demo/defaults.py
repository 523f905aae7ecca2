"""What the API server adds to an object when it is created: pure functions on plain dicts."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from .errors import Object, bad_request


@dataclass(frozen=True)
class Resource:
    """One resource of the API, by its plural name in `RESOURCES`."""

    kind: str
    short: str = ""
    namespaced: bool = True
    fields: tuple[str, ...] = ()  # for field selectors, beside name and namespace
    deleted: str = "object"  # what a DELETE answers with: the object or a status


_INVOLVED = tuple(f"involvedObject.{key}" for key in ("kind", "namespace", "name", "uid"))
_EVENT_FIELDS = (*_INVOLVED, "involvedObject.fieldPath", "reason", "reportingComponent", "type")
_POD_FIELDS = ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "status.phase")
RESOURCES = {
    "configmaps": Resource("ConfigMap", "cm", deleted="status"),
    "events": Resource("Event", "ev", fields=_EVENT_FIELDS, deleted="status"),
    "namespaces": Resource("Namespace", "ns", namespaced=False, fields=("status.phase",)),
    "nodes": Resource("Node", "no", namespaced=False, deleted="status"),
    "persistentvolumeclaims": Resource("PersistentVolumeClaim", "pvc"),
    "pods": Resource("Pod", "po", fields=_POD_FIELDS),
    "resourcequotas": Resource("ResourceQuota", "quota"),
    "secrets": Resource("Secret", fields=("type",), deleted="status"),
    "serviceaccounts": Resource("ServiceAccount", "sa"),
    "services": Resource("Service", "svc"),
}
_BINARY: dict[str, int] = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_CONTAINER = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_POD = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_SERVICE = {
    "type": "ClusterIP",
    "sessionAffinity": "None",
    "ipFamilyPolicy": "SingleStack",
    "internalTrafficPolicy": "Cluster",
}


def parse_quantity(text: object) -> Decimal:
    """Return a quantity such as `500m`, `1Gi` or `2` as a number; `ApiError` 400 for others."""
    number = str(text).rstrip("numkKMGTPEi")
    suffix = str(text)[len(number) :]
    try:
        if power := _BINARY.get(suffix):
            return Decimal(number) * Decimal(1024**power)
        return Decimal(number).scaleb(_DECIMAL[suffix])
    except (InvalidOperation, KeyError):
        expected = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        raise bad_request(f"quantities must match the regular expression '{expected}'") from None


def format_quantity(value: Decimal, binary: bool) -> str:
    """Return the shortest exact quantity, with a suffix from `Ki` to `Ei` when `binary`."""
    if value % 1:
        return f"{int(value * 1000)}m"
    for suffix, power in reversed(_BINARY.items()):
        if binary and value and value % 1024**power == 0:
            return f"{int(value / 1024**power)}{suffix}"
    return str(int(value))


def containers_of(spec: Object) -> list[Object]:
    """Return the init containers, then the containers."""
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def resources_of(container: Object, which: str) -> dict[str, Any]:
    """Return a container's `requests` or `limits`."""
    return (container.get("resources") or {}).get(which) or {}


def _default(given: Object, defaults: Object) -> None:
    for key, value in defaults.items():
        if given.get(key) is None:
            given[key] = value


def _fill_container(container: Object) -> None:
    image = str(container.get("image")).rpartition("/")[2]
    moving = "@" not in image and (":" not in image or image.endswith(":latest"))
    policy = "Always" if moving else "IfNotPresent"
    _default(container, {"resources": {}, "imagePullPolicy": policy, **_CONTAINER})
    resources = container["resources"]
    for which, given in resources.items():
        if which in ("requests", "limits"):
            resources[which] = {
                name: format_quantity(parse_quantity(text), str(text).endswith("i"))
                for name, text in (given or {}).items()
            }
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **resources_of(container, "requests")}
    for port in container.get("ports") or ():
        _default(port, {"protocol": "TCP"})
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe := container.get(name):
            _default(probe, _PROBE)
            if probe.get("httpGet"):
                _default(probe["httpGet"], {"path": "/", "scheme": "HTTP"})


def _fill_pod(pod: Object) -> None:
    spec = pod["spec"]
    for container in containers_of(spec):
        _fill_container(container)
    account = spec.get("serviceAccountName") or "default"
    names = {"serviceAccountName": account, "serviceAccount": account}
    _default(spec, {**_POD, **names, "securityContext": {}})
    tolerations = spec["tolerations"] = list(spec.get("tolerations") or ())
    for trouble in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{trouble}"
        if not any(toleration.get("key") in (None, key) for toleration in tolerations):
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations.append({**toleration, "tolerationSeconds": 300})
    pod["metadata"]["generation"] = 1
    pod["status"] = {"phase": "Pending", "qosClass": _quality_of_service(spec)}


def _quality_of_service(spec: Object) -> str:
    containers = containers_of(spec)
    requests = [resources_of(container, "requests") for container in containers]
    limits = [resources_of(container, "limits") for container in containers]
    if not any(requests) and not any(limits):
        return "BestEffort"
    complete = all({"cpu", "memory"} <= limit.keys() for limit in limits)
    return "Guaranteed" if complete and requests == limits else "Burstable"


def fill(plural: str, obj: Object) -> None:
    """Complete a new object, whose `metadata` has its name, namespace and uid, in place."""
    metadata = obj["metadata"]
    if plural in ("persistentvolumeclaims", "pods", "resourcequotas", "services"):
        obj["spec"] = obj.get("spec") or {}
    if plural == "pods":
        _fill_pod(obj)
    elif plural == "events":
        _default(obj, {"source": {}, "reportingComponent": "", "reportingInstance": ""})
        # These are null, not absent, in what the API server sends.
        obj |= {key: obj.get(key) for key in ("firstTimestamp", "lastTimestamp", "eventTime")}
    elif plural == "namespaces":
        label = {"kubernetes.io/metadata.name": metadata["name"]}
        metadata["labels"] = {**(metadata.get("labels") or {}), **label}
        obj |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    elif plural == "persistentvolumeclaims":
        _default(obj["spec"], {"storageClassName": "standard", "volumeMode": "Filesystem"})
        obj["status"] = {"phase": "Pending"}
    elif plural == "secrets":
        encoded = {
            key: base64.b64encode(text.encode()).decode()
            for key, text in (obj.pop("stringData", None) or {}).items()
        }
        obj |= {"data": {**(obj.get("data") or {}), **encoded}, "type": obj.get("type") or "Opaque"}
    elif plural == "services":
        # An address at which nobody listens: there is no service network here.
        number = int(metadata["uid"][:4], 16)
        _default(obj["spec"], {**_SERVICE, "clusterIP": f"10.96.{number >> 8}.{number & 255}"})
        obj["spec"] |= {"clusterIPs": [obj["spec"]["clusterIP"]], "ipFamilies": ["IPv4"]}
        for port in obj["spec"].get("ports") or ():
            _default(port, {"protocol": "TCP", "targetPort": port.get("port")})
        obj["status"] = {"loadBalancer": {}}
