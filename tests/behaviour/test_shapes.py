"""The stand-in's pods and events have the shape of a real cluster's, for every case."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from detailedspawner.demo.cluster import start_in_thread

from . import cases
from .cluster import Kubernetes
from .hub import eventually

pytestmark = pytest.mark.cluster

# what a manifest of a case takes from the spawner's traits, as KubeSpawner does
SPEC = {"init_containers": "initContainers", "volumes": "volumes"}
CLAIM = {
    "metadata": {"name": "shape-claim"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "standard",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
CRASHING = ("crashing-init-container", "out-of-memory")
# the parts of a pod that depend on the machine, the time or the network alone
VOLATILE = {
    "uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "podIP", "podIPs",
    "ip", "hostIP", "hostIPs", "containerID", "imageID", "startTime", "startedAt", "finishedAt",
    "lastTransitionTime", "lastProbeTime", "nodeName", "namespace", "observedGeneration",
}  # fmt: skip
NORMAL = [
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r"suite-[0-9a-f]+", "NAMESPACE"),
    (r"testnode|demo-node", "NODE"),
    (r"containerd://\w+|sha256:\w+|\b[0-9a-f]{64}\b", "ID"),
    (r"\b\d+(\.\d+)?(ms|µs|s|m)\b(\d+(\.\d+)?s)?", "TIME"),
    (r"Image size: \d+ bytes", "Image size: N bytes"),
    (r"\d+\.\d+\.\d+\.\d+(:\d+)?", "ADDRESS"),
]


def manifest(slug: str) -> dict[str, Any]:
    """Return the pod of a case, as KubeSpawner would write it."""
    override = cases.CASES[slug]["override"]
    main: dict[str, Any] = {
        "name": "notebook",
        "image": override.get("image", cases.SINGLEUSER),
        "imagePullPolicy": override.get("image_pull_policy", "IfNotPresent"),
        "args": cases.SERVER if slug == "plain" else override.get("cmd", cases.SERVER),
        "env": [
            {"name": name, **value}
            for name, value in override.get("environment", cases.POD_IP).items()
        ],
    }
    if "mem_guarantee" in override:
        main["resources"] = {"requests": {"memory": override["mem_guarantee"]}}
    spec: dict[str, Any] = {
        "restartPolicy": "OnFailure",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [main, *override.get("extra_containers", [])],
    }
    for trait, key in SPEC.items():
        if trait in override:
            spec[key] = override[trait]
    if slug == "claim":
        spec["volumes"] = [
            {"name": "home", "persistentVolumeClaim": {"claimName": CLAIM["metadata"]["name"]}}
        ]
        main["volumeMounts"] = override["volume_mounts"]
    return {"metadata": {"name": f"shape-{slug}"}, "spec": spec}


def missed(slug: str, pod: dict[str, Any]) -> bool:
    """Whether a pod of a case is past what is compared: a kubelet may leave out a back-off."""
    every = pod["status"].get("initContainerStatuses", ())
    return slug in CRASHING and any(s["restartCount"] > 1 for s in every)


def settled(slug: str, pod: dict[str, Any]) -> bool:
    """Whether a pod of a case has come as far as is compared."""
    status = pod["status"]
    every = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    waiting = {s["state"]["waiting"].get("reason") for s in every if "waiting" in s["state"]}
    if slug == "missing-image":
        return "ImagePullBackOff" in waiting
    if slug in CRASHING:
        return "CrashLoopBackOff" in waiting and max(s["restartCount"] for s in every) == 1
    if slug == "missing-secret":
        return "CreateContainerConfigError" in waiting
    conditions = {c["type"]: c for c in status.get("conditions", ())}
    if slug == "unschedulable":
        return conditions.get("PodScheduled", {}).get("reason") == "Unschedulable"
    if slug == "completing-sidecar":
        return any("terminated" in s["state"] for s in status.get("containerStatuses", ()))
    return conditions.get("Ready", {}).get("status") == "True"


def normal(value: Any) -> Any:
    """Return a document without what differs between any two runs."""
    if isinstance(value, dict):
        return {key: normal(part) for key, part in sorted(value.items()) if key not in VOLATILE}
    if isinstance(value, list):
        parts = [normal(part) for part in value]
        return sorted(parts, key=str)
    if isinstance(value, str):
        for expression, word in NORMAL:
            value = re.sub(expression, word, value)
    return value


def keys(value: Any, path: str = "") -> set[str]:
    """Return the paths of all keys of a document, also of those whose value may differ."""
    if isinstance(value, dict):
        value = {key: part for key, part in value.items() if key != "managedFields"}
        found = {f"{path}.{key}" for key in value}
        return found.union(*(keys(part, f"{path}.{key}") for key, part in value.items()))
    if isinstance(value, list):
        return set().union(*(keys(part, f"{path}[]") for part in value))
    return set()


Picture = dict[str, Any]


def picture(cluster: Kubernetes, slug: str) -> Picture:
    """Run the pod of a case and return what the cluster says of it."""
    body = manifest(slug)
    name = body["metadata"]["name"]
    if slug == "claim":
        cluster.client.post(cluster.path("persistentvolumeclaims"), json=CLAIM).raise_for_status()

    def look() -> dict[str, Any] | None:
        pod = cluster.get("pods", name)
        return pod if pod and (settled(slug, pod) or missed(slug, pod)) else None

    for _ in range(6):
        cluster.client.post(cluster.path("pods"), json=body).raise_for_status()
        pod = eventually(look, f"{slug} has settled", 120)
        if settled(slug, pod):
            break
        cluster.client.delete(cluster.path("pods", name)).raise_for_status()
        eventually(lambda: cluster.get("pods", name) is None, f"{slug} is gone", 120)
    else:
        raise AssertionError(f"{slug} never showed its back-off")
    expected = {"Scheduled", "FailedScheduling"}
    events = eventually(
        lambda: [e for e in about(cluster, pod) if e["reason"] in expected] and about(cluster, pod),
        "the events have come",
    )
    return {"pod": pod, "events": events}


def about(cluster: Kubernetes, pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events about a pod."""
    uid = pod["metadata"]["uid"]
    return [e for e in cluster.list("events") if e["involvedObject"].get("uid") == uid]


# one that fails fails the tests of its own case only
Pictures = dict[str, tuple["Future[Picture]", "Future[Picture]"]]


@pytest.fixture(scope="module")
def pictures(
    kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pictures]:
    """Each case on the real cluster and on the stand-in."""
    state = tmp_path_factory.mktemp("stand-in")
    with start_in_thread(state) as embedded:
        path = state / "kubeconfig"
        embedded.kubeconfig(path)
        with Kubernetes(path) as stand_in, ThreadPoolExecutor(6) as pool:
            yield {
                slug: (pool.submit(picture, kubernetes, slug), pool.submit(picture, stand_in, slug))
                for slug in cases.CASES
            }
            for cluster in (kubernetes, stand_in):
                for slug in cases.CASES:
                    cluster.client.delete(cluster.path("pods", f"shape-{slug}"))


SLUGS = list(cases.CASES)
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


@pytest.mark.parametrize("slug", SLUGS)
def test_the_status_of_the_pod(pictures: Pictures, slug: str) -> None:
    real, stand_in = (one.result()["pod"]["status"] for one in pictures[slug])
    assert keys(stand_in) == keys(real)
    assert normal(stand_in) == normal(real)


@pytest.mark.parametrize("slug", SLUGS)
def test_the_spec_as_it_was_filled_in(pictures: Pictures, slug: str) -> None:
    real, stand_in = (one.result()["pod"]["spec"] for one in pictures[slug])
    assert normal(stand_in) == normal(real)


@pytest.mark.parametrize("slug", SLUGS)
def test_the_events(pictures: Pictures, slug: str) -> None:
    def told(events: list[dict[str, Any]]) -> set[tuple[str, ...]]:
        return {
            (e["type"], e["reason"], normal(e["message"]), e["involvedObject"].get("fieldPath", ""))
            for e in events
        }

    real, stand_in = (one.result()["events"] for one in pictures[slug])
    # a volume that is bound at once may still be bound too late for the first attempt
    told_of_real = {event for event in told(real) if UNBOUND not in event[2]}
    assert told(stand_in) == told_of_real
    first = {"Scheduled", "FailedScheduling"}
    newer_form = [next(e for e in one if e["reason"] in first) for one in (stand_in, real)]
    assert keys(newer_form[0]) == keys(newer_form[1])


def test_the_suite_compares_with_a_real_cluster(kubernetes: Kubernetes) -> None:
    version = kubernetes.client.get("/version").json()
    assert os.environ["KUBECONFIG"] == str(kubernetes.kubeconfig)
    assert Path(os.environ["KUBECONFIG"]).exists()
    assert "gitVersion" in version
