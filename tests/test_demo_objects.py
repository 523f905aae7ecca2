"""The stand-in fills objects in, and refuses them, as a real API server does."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from detailedspawner.demo.defaults import format_quantity, parse_quantity
from detailedspawner.demo.errors import ApiError
from detailedspawner.demo.store import Store

from .demoobjects import Object, container, create, names, new_store, pod, uid_of

PENDING = {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.fixture
def store() -> Store:
    return new_store()


# Objects are filled in.


def test_a_pod_is_filled_in(store: Store) -> None:
    made = store.create("pods", "default", pod(labels={"app": "x"}))
    assert made.pop("metadata") == {
        "name": "a",
        "namespace": "default",
        "labels": {"app": "x"},
        "uid": uid_of(store),
        "creationTimestamp": "2027-01-15T08:00:00Z",
        "resourceVersion": str(store.version),
        "generation": 1,
    }
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    assert made == {
        "kind": "Pod",
        "apiVersion": "v1",
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "busybox:1",
                    "imagePullPolicy": "IfNotPresent",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "serviceAccount": "default",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", **toleration},
                {"key": "node.kubernetes.io/unreachable", **toleration},
            ],
        },
        "status": PENDING,
    }


PULL_POLICIES = {
    "busybox": "Always",
    "busybox:latest": "Always",
    "busybox:1": "IfNotPresent",
    "host:5000/busybox": "Always",
    "host:5000/busybox:1": "IfNotPresent",
    f"busybox@sha256:{'0' * 64}": "IfNotPresent",
}


@pytest.mark.parametrize("image", PULL_POLICIES)
def test_an_image_that_may_move_is_always_pulled(store: Store, image: str) -> None:
    made = store.create("pods", "default", pod(containers=[container(image=image)]))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == PULL_POLICIES[image]


def test_a_container_is_filled_in(store: Store) -> None:
    probe = {"httpGet": {"port": 8888}, "periodSeconds": 1}
    resources = {"limits": {"cpu": 1, "memory": "1.5Gi"}, "requests": {"cpu": "0.5"}}
    given = container(readinessProbe=probe, ports=[{"containerPort": 8888}], resources=resources)
    made = store.create("pods", "default", pod(containers=[given]))
    filled = made["spec"]["containers"][0]
    assert filled["readinessProbe"] == {
        "httpGet": {"port": 8888, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert filled["ports"] == [{"containerPort": 8888, "protocol": "TCP"}]
    assert filled["resources"] == {
        "limits": {"cpu": "1", "memory": "1536Mi"},
        "requests": {"cpu": "500m", "memory": "1536Mi"},
    }
    assert made["status"]["qosClass"] == "Burstable"


def test_equal_requests_and_limits_are_guaranteed(store: Store) -> None:
    limits = {"cpu": "1", "memory": "1Gi"}
    made = store.create(
        "pods", "default", pod(containers=[container(resources={"limits": limits})])
    )
    assert made["status"]["qosClass"] == "Guaranteed"


OTHERS = [
    {"kind": "secrets", "body": {"stringData": {"a": "b"}}, "expected": {"data": {"a": "Yg=="}}},
    {"kind": "secrets", "body": {}, "expected": {"type": "Opaque"}},
    {"kind": "events", "body": {"reason": "R"}, "expected": {"source": {}, "firstTimestamp": None}},
    {
        "kind": "persistentvolumeclaims",
        "body": {
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
        },
        "expected": {"status": {"phase": "Pending"}},
    },
]


@pytest.mark.parametrize("case", OTHERS)
def test_other_objects_are_filled_in(store: Store, case: Object) -> None:
    made = store.create(case["kind"], "default", {"metadata": {"name": "a"}, **case["body"]})
    assert case["expected"].items() <= made.items()


def test_a_service_is_filled_in(store: Store) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    spec = store.create("services", "default", body)["spec"]
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert spec["type"] == "ClusterIP"
    assert spec["clusterIPs"] == [spec["clusterIP"]]


def test_a_namespace_has_a_service_account(store: Store) -> None:
    made = store.create("namespaces", None, {"metadata": {"name": "ns"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "ns"}
    assert made["status"] == {"phase": "Active"}
    assert names(store.list("serviceaccounts", "ns")) == ["default"]


def test_generated_names_differ(store: Store) -> None:
    bodies = [{"metadata": {"generateName": "a-"}, "spec": pod()["spec"]} for _ in range(20)]
    made = [store.create("pods", "default", body)["metadata"]["name"] for body in bodies]
    assert len(set(made)) == 20
    assert all(name.startswith("a-") and len(name) == 7 for name in made)


QUANTITIES = {
    "1": (Decimal(1), "1"),
    "500m": (Decimal("0.5"), "500m"),
    "0.5": (Decimal("0.5"), "500m"),
    "1.5Gi": (Decimal(3 * 2**29), "1536Mi"),
    "1024Ki": (Decimal(2**20), "1Mi"),
    "2k": (Decimal(2000), "2000"),
    "0": (Decimal(0), "0"),
}


@pytest.mark.parametrize("text", QUANTITIES)
def test_quantities_are_numbers(text: str) -> None:
    value, again = QUANTITIES[text]
    assert parse_quantity(text) == value
    assert format_quantity(value, binary=text.endswith("i")) == again


# What the API server refuses, in its words.

_REQUIRED = "Required value"
_BAD_NAME = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
REFUSED: list[Object] = [
    {"body": pod("taken"), "refusal": (409, "AlreadyExists", 'pods "taken" already exists')},
    {
        "body": pod("ending"),
        "refusal": (
            409,
            "AlreadyExists",
            'object is being deleted: pods "ending" already exists',
        ),
    },
    {
        "body": pod(serviceAccountName="nobody"),
        "refusal": (
            403,
            "Forbidden",
            'pods "a" is forbidden: error looking up service account default/nobody: '
            'serviceaccount "nobody" not found',
        ),
    },
    {
        "body": pod(),
        "namespace": "nowhere",
        "refusal": (404, "NotFound", 'namespaces "nowhere" not found'),
    },
    {
        "body": {"metadata": {"name": "a", "namespace": "other"}, "spec": pod()["spec"]},
        "refusal": (
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    },
    {
        "body": pod(containers=[]),
        "refusal": (422, "Invalid", f'Pod "a" is invalid: spec.containers: {_REQUIRED}'),
    },
    {
        "body": {"spec": pod()["spec"]},
        "refusal": (
            422,
            "Invalid",
            'Pod "" is invalid: metadata.name: Required value: name or generateName is required',
        ),
    },
    {
        "body": pod("A_"),
        "refusal": (
            422,
            "Invalid",
            f'Pod "A_" is invalid: metadata.name: Invalid value: "A_": {_BAD_NAME}',
        ),
    },
    {
        "body": pod(containers=[container(), container(image="")]),
        "refusal": (
            422,
            "Invalid",
            'Pod "a" is invalid: [spec.containers[1].image: Required value, '
            'spec.containers[1].name: Duplicate value: "main"]',
        ),
    },
    {
        "body": pod(containers=[container(volumeMounts=[{"name": "home", "mountPath": "/home"}])]),
        "refusal": (
            422,
            "Invalid",
            'Pod "a" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "home"',
        ),
    },
    {
        "body": pod(
            containers=[container(resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}})]
        ),
        "refusal": (
            422,
            "Invalid",
            'Pod "a" is invalid: spec.containers[0].resources.requests: Invalid value: "2": '
            "must be less than or equal to cpu limit of 1",
        ),
    },
    {
        "body": pod(containers=[container(resources={"limits": {"memory": "lots"}})]),
        "refusal": (
            400,
            "BadRequest",
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    },
    {
        "body": {"kind": "Secret", **pod()},
        "refusal": (400, "BadRequest", 'Secret in version "v1" cannot be handled as a Pod'),
    },
    {
        "kind": "persistentvolumeclaims",
        "body": {"metadata": {"name": "c"}},
        "refusal": (
            422,
            "Invalid",
            'PersistentVolumeClaim "c" is invalid: [spec.accessModes: Required value: at least 1 '
            "access mode is required, spec.resources[storage]: Required value]",
        ),
    },
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["refusal"][2][:40])
def test_refusals(store: Store, case: Object) -> None:
    create(store, pod("taken"), pod("ending", nodeName="node"))
    store.delete("pods", "default", "ending")
    before = store.version
    with pytest.raises(ApiError) as refused:
        store.create(case.get("kind", "pods"), case.get("namespace", "default"), case["body"])
    error = refused.value
    assert (error.code, error.reason, error.message) == case["refusal"]
    assert store.version == before


def test_an_invalid_object_comes_with_its_causes(store: Store) -> None:
    with pytest.raises(ApiError) as refused:
        store.create("pods", "default", pod(containers=[]))
    assert refused.value.to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Pod "a" is invalid: spec.containers: Required value',
        "reason": "Invalid",
        "details": {
            "name": "a",
            "kind": "Pod",
            "causes": [
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value",
                    "field": "spec.containers",
                }
            ],
        },
        "code": 422,
    }


def sized(name: str, cpu: str, memory: str, **more: Any) -> Object:
    resources = {"limits": {"cpu": cpu, "memory": memory}}
    return pod(name, containers=[container(resources=resources)], **more)


def claim(name: str, storage: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {"metadata": {"name": name}, "spec": spec}


QUOTAS: list[Object] = [
    {"hard": {"pods": "2"}, "body": sized("b", "1", "1Gi"), "refusal": None},
    {
        "hard": {"pods": "1"},
        "body": sized("b", "1", "1Gi"),
        "refusal": "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1",
    },
    {
        "hard": {"requests.cpu": "1500m", "limits.memory": "1Gi", "pods": "9"},
        "body": sized("b", "750m", "512Mi"),
        "refusal": "exceeded quota: q, requested: limits.memory=512Mi,requests.cpu=750m, "
        "used: limits.memory=1Gi,requests.cpu=1, limited: limits.memory=1Gi,requests.cpu=1500m",
    },
    {
        "hard": {"requests.cpu": "2", "limits.memory": "4Gi"},
        "body": pod("b"),
        "refusal": "failed quota: q: must specify limits.memory for: main; requests.cpu for: main",
    },
    {
        "hard": {"limits.cpu": "3"},
        "body": sized(
            "b",
            "1",
            "1Gi",
            initContainers=[container("init", resources={"limits": {"cpu": "2500m"}})],
        ),
        "refusal": "exceeded quota: q, requested: limits.cpu=2500m, used: limits.cpu=1, "
        "limited: limits.cpu=3",
    },
    {
        "hard": {"requests.storage": "3Gi"},
        "body": claim("d", "2Gi"),
        "refusal": "exceeded quota: q, requested: requests.storage=2Gi, "
        "used: requests.storage=2Gi, limited: requests.storage=3Gi",
    },
    {
        "hard": {"persistentvolumeclaims": "1"},
        "body": claim("d", "2Gi"),
        "refusal": "exceeded quota: q, requested: persistentvolumeclaims=1, "
        "used: persistentvolumeclaims=1, limited: persistentvolumeclaims=1",
    },
]


@pytest.mark.parametrize("case", QUOTAS)
def test_quotas(store: Store, case: Object) -> None:
    create(store, sized("a", "1", "1Gi"), sized("done", "1", "1Gi"))
    store.update("pods", "default", "done", lambda obj: obj["status"].update(phase="Succeeded"))
    store.create("persistentvolumeclaims", "default", claim("c", "2Gi"))
    quota = {"metadata": {"name": "q"}, "spec": {"hard": case["hard"]}}
    store.create("resourcequotas", "default", quota)
    kind = "persistentvolumeclaims" if "accessModes" in case["body"]["spec"] else "pods"
    name = case["body"]["metadata"]["name"]
    if case["refusal"] is None:
        store.create(kind, "default", case["body"])
        return
    with pytest.raises(ApiError) as refused:
        store.create(kind, "default", case["body"])
    assert refused.value.code == 403
    assert refused.value.message == f'{kind} "{name}" is forbidden: {case["refusal"]}'
