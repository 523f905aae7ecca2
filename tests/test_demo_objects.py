"""The stand-in fills objects in, and refuses them, as a real API server does."""

from __future__ import annotations

import ast
import io
import tokenize
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import detailedspawner.demo
from detailedspawner.demo.defaults import format_quantity, parse_quantity
from detailedspawner.demo.errors import ApiError
from detailedspawner.demo.store import Store, selected

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
    {
        "kind": "services",
        "body": {"spec": {"selector": {}}},
        "expected": {"spec": {"type": "ClusterIP", "sessionAffinity": "None"}},
    },
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
    assert spec["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert spec["type"] == "ClusterIP"


def test_a_namespace_has_a_service_account(store: Store) -> None:
    made = store.create("namespaces", None, {"metadata": {"name": "ns"}})
    assert made["status"] == {"phase": "Active"}
    assert names(store.list("serviceaccounts", "ns")) == ["default"]


QUANTITIES = {
    "1": (Decimal(1), "1"),
    "500m": (Decimal("0.5"), "500m"),
    "0.5": (Decimal("0.5"), "500m"),
    "1.5Gi": (Decimal(3 * 2**29), "1536Mi"),
    "1024Ki": (Decimal(2**20), "1Mi"),
    "2k": (Decimal(2000), "2k"),
    "900G": (Decimal(900 * 10**9), "900G"),
    "1e3": (Decimal(1000), "1k"),
    "1.5": (Decimal("1.5"), "1500m"),
    "0": (Decimal(0), "0"),
}


@pytest.mark.parametrize("text", QUANTITIES)
def test_quantities_are_numbers(text: str) -> None:
    value, again = QUANTITIES[text]
    assert parse_quantity(text) == value
    assert format_quantity(value, binary=text.endswith("i")) == again


# What the API server refuses, in its words.

_REQUIRED = "Required value"
_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_BAD_NAME = f"regex used for validation is '{_SUBDOMAIN}'"
REFUSED: list[Object] = [
    {"body": pod("taken"), "refusal": (409, "AlreadyExists", 'pods "taken" already exists')},
    {
        "body": pod("ending"),
        "refusal": (
            409,
            "AlreadyExists",
            'pods "ending" already exists',
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
            "the namespace of the provided object is not that of the request",
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
            'Pod "" is invalid: metadata.name: Required value',
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
            'Pod "a" is invalid: spec.containers[1].name: Duplicate value: "main", '
            "spec.containers[1].image: Required value",
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
        "body": pod(containers=[container(resources={"limits": {"memory": "lots"}})]),
        "refusal": (
            400,
            "BadRequest",
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    },
    {
        "body": pod(terminationGracePeriodSeconds=-1),
        "refusal": (
            422,
            "Invalid",
            'Pod "a" is invalid: spec.terminationGracePeriodSeconds: Invalid value: "-1": '
            "must be greater than or equal to 0",
        ),
    },
    {
        "body": pod(containers=[container(name="../b")]),
        "refusal": (
            422,
            "Invalid",
            'Pod "a" is invalid: spec.containers[0].name: Invalid value: "../b": '
            f"regex used for validation is '{_LABEL}'",
        ),
    },
    {
        "kind": "persistentvolumeclaims",
        "body": {"metadata": {"name": "c"}},
        "refusal": (
            422,
            "Invalid",
            'PersistentVolumeClaim "c" is invalid: spec.resources[storage]: Required value',
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
        "status": "Failure",
        "message": 'Pod "a" is invalid: spec.containers: Required value',
        "reason": "Invalid",
        "details": {
            "name": "a",
            "kind": "Pod",
            "causes": [
                {
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
        "refusal": "exceeded quota: q, requested: limits.memory=512Mi, "
        "used: limits.memory=1Gi, limited: limits.memory=1Gi",
    },
    {
        "hard": {"requests.cpu": "1500m"},
        "body": sized("b", "750m", "512Mi"),
        "refusal": "exceeded quota: q, requested: requests.cpu=750m, "
        "used: requests.cpu=1, limited: requests.cpu=1500m",
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


# What is no pod at all, or only nearly one.

PLACES: list[tuple[str | int, ...]] = [
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "labels"),
    ("metadata", "labels", "app"),
    ("metadata", "ownerReferences"),
    ("spec",),
    ("spec", "terminationGracePeriodSeconds"),
    ("spec", "volumes"),
    ("spec", "containers"),
    ("spec", "containers", 0),
    ("spec", "containers", 0, "image"),
    ("spec", "containers", 0, "env"),
    ("spec", "containers", 0, "resources"),
    ("spec", "containers", 0, "resources", "limits", "cpu"),
]
NONSENSE = [None, -5, 2**70, 1e300, "", "-1", "9" * 999 + "Ei", [], [None], [5], {}, {"a": [{}]}]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda value: repr(value)[:12])
def test_nonsense_is_refused_or_made_sense_of(
    store: Store, place: tuple[str | int, ...], nonsense: Any
) -> None:
    given = container(env=[], resources={"limits": {"cpu": 1}})
    body: Any = pod(labels={"app": "x"}, containers=[given])
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = nonsense
    code = 201
    try:
        store.create("pods", "default", body)
    except ApiError as error:
        code = error.code
    assert code in (201, 400, 422)
    assert len(store.list("pods", "default", selected("app!=y"))) == (code == 201)


WRONG_TYPES: list[Object] = [
    {"body": {"metadata": [], "spec": {}}, "found": "list", "field": "metadata"},
    {"body": {"metadata": {"labels": "app"}}, "found": "str", "field": "metadata.labels"},
    {"body": {"metadata": {"labels": {"a": 1}}}, "found": "int", "field": "metadata.labels[a]"},
    {"body": {"spec": {"containers": {}}}, "found": "dict", "field": "spec.containers"},
    {"body": {"spec": {"containers": [None]}}, "found": "NoneType", "field": "spec.containers[0]"},
    {"body": {"spec": {"hostNetwork": 1}}, "found": "int", "field": "spec.hostNetwork"},
]


@pytest.mark.parametrize("case", WRONG_TYPES, ids=lambda case: case["field"])
def test_a_wrong_type_is_named(store: Store, case: Object) -> None:
    with pytest.raises(ApiError) as refused:
        store.create("pods", "default", case["body"])
    text = f"json: cannot unmarshal {case['found']} into field {case['field']}"
    assert (refused.value.code, refused.value.message) == (400, text)


def test_a_field_reference_says_of_which_version(store: Store) -> None:
    reference = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    given = container(env=[{"name": "POD_IP", **reference}])
    made = store.create("pods", "default", pod(containers=[given]))
    (variable,) = made["spec"]["containers"][0]["env"]
    assert variable["valueFrom"]["fieldRef"] == {"apiVersion": "v1", "fieldPath": "status.podIP"}


def test_the_stand_in_stays_small() -> None:
    """It is no Kubernetes, and must not grow into one: lines of code in all of it."""
    folder = Path(detailedspawner.demo.__file__).parent
    assert sum(code_lines(path.read_text()) for path in folder.glob("*.py")) < 1500


def code_lines(source: str) -> int:
    """Count the lines that hold code, so neither docstrings nor comments nor blank ones."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documented |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (*nothing, tokenize.ENDMARKER):
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - documented)
