"""Measures how long a change takes from the cluster to a client of the progress stream.

    KUBECONFIG=... python benchmarks/latency.py

Starts one Hub with DetailedKubeSpawner and one with plain KubeSpawner on the
same cluster. Their pods are left alone by scheduler and kubelet; this program
writes their status and events, so it knows when each change happened. Then real
servers are started, which tell when they began to answer. Fails when a bound is
exceeded.
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.readiness import measure_readiness
from tests.behaviour.cluster import Kubernetes
from tests.behaviour.hub import Hub, eventually, running_hub

CONTAINERS = 40
MEDIAN_BOUND, P95_BOUND = 0.05, 0.25  # seconds
READY_MEDIAN_BOUND, READY_BOUND = 0.10, 0.30  # seconds
# seconds by which two medians of the same thing differ on a busy machine
NOISE = 0.3
CONFIG = Path(__file__).with_name("latency_hub.py")


def container_status(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return what a kubelet writes about one container."""
    return {
        "name": name, "image": "none", "imageID": "", "ready": "terminated" in state,
        "restartCount": 0, "state": state, "lastState": {},
    }  # fmt: skip


def statuses() -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    """Yield one change after the other: container number, new step status, all statuses."""
    done = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    for number in range(CONTAINERS):
        for word, state in (("executing", {"running": {}}), ("ready", done)):
            states = [*([done] * number), state]
            yield number, word, [container_status(f"c{n}", s) for n, s in enumerate(states)]


class Reader(threading.Thread):
    """Reads one stream and notes when each event came."""

    def __init__(self, hub: Hub, user: str) -> None:
        super().__init__(daemon=True)
        self._hub, self._user = hub, user
        self.seen: queue.Queue[tuple[float, dict[str, Any]]] = queue.Queue()

    def run(self) -> None:
        for event in self._hub.stream(self._user):
            self.seen.put((time.monotonic(), event))

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool]) -> float:
        """Return when the first wanted event came, in seconds of the monotonic clock."""
        while True:
            moment, event = self.seen.get(timeout=20)
            if wanted(event):
                return moment


def measure(cluster: Kubernetes, hub: Hub, user: str, *, follow_steps: bool) -> list[float]:
    """Return the delays in seconds, of pod changes or of Kubernetes events."""
    hub.start(user, "held")
    pod_name = f"jupyter-{user}"
    pod = eventually(lambda: cluster.get("pods", pod_name), "the pod exists")
    reader = Reader(hub, user)
    reader.start()
    wait = random.Random(7)  # noqa: S311 (the same pauses in each run)
    delays = []
    for count, (number, word, written) in enumerate(statuses()):
        time.sleep(wait.uniform(0.1, 0.5))
        if follow_steps:
            body = {"status": {"phase": "Pending", "initContainerStatuses": written}}
            began = time.monotonic()
            cluster.client.patch(
                cluster.path("pods", pod_name) + "/status", json=body,
                headers={"Content-Type": "application/merge-patch+json"},
            ).raise_for_status()  # fmt: skip

            def wanted(event: dict[str, Any], number: int = number, word: str = word) -> bool:
                steps = event.get("status", {}).get("details", [])
                named = [step for step in steps if step["containers"] == [f"c{number}"]]
                return bool(named) and named[0]["status"] == word
        else:
            text = f"change {count} of {user}"
            began = time.monotonic()
            cluster.client.post(
                cluster.path("events"), json=kubernetes_event(cluster, pod, text, count)
            ).raise_for_status()

            def wanted(event: dict[str, Any], text: str = text) -> bool:
                return text in event["message"]

        delays.append(reader.wait_for(wanted) - began)
    hub.stop(user)
    return delays


def kubernetes_event(
    cluster: Kubernetes, pod: dict[str, Any], text: str, count: int
) -> dict[str, Any]:
    """Return an event about a pod as a component of the cluster would write it."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    metadata = pod["metadata"]
    about = {key: metadata[key] for key in ("name", "namespace", "uid")}
    return {
        "metadata": {"name": f"{metadata['name']}.{count}", "namespace": cluster.namespace},
        "involvedObject": {"kind": "Pod", "apiVersion": "v1", **about},
        "type": "Normal", "reason": "Benchmark", "message": text,
        "firstTimestamp": now, "lastTimestamp": now, "source": {"component": "benchmark"},
    }  # fmt: skip


def environment(spawner: str, pods: str) -> dict[str, str]:
    """Return what tells the configuration of the Hub which one it is."""
    return {"BENCHMARK_SPAWNER": spawner, "BENCHMARK_PODS": pods}


def report(name: str, delays: list[float]) -> tuple[float, float]:
    """Print one line; returns median and 95th percentile in seconds."""
    median = statistics.median(delays)
    p95 = statistics.quantiles(delays, n=20)[-1]
    print(f"{name:<44} {median:8.3f} {p95:8.3f} {max(delays):8.3f} {len(delays):6d}", flush=True)
    return median, p95


def main() -> int:
    """Measure and print; returns 1 when a bound is exceeded."""
    parser = argparse.ArgumentParser(description="Measure the delay of the progress stream.")
    parser.parse_args()
    if not os.environ.get("KUBECONFIG"):
        parser.error("KUBECONFIG must name a cluster")
    with Kubernetes(Path(os.environ["KUBECONFIG"])) as cluster:
        print(f"{'seconds from change to client':<44} {'median':>8} {'p95':>8} {'max':>8} {'n':>6}")
        results = {}
        rows = [
            ("DetailedKubeSpawner, change of the pod", "detailed", True),
            ("DetailedKubeSpawner, Kubernetes event", "detailed", False),
            ("KubeSpawner, Kubernetes event", "plain", False),
        ]
        for name, spawner, follow_steps in rows:
            with (
                tempfile.TemporaryDirectory() as folder,
                running_hub(cluster, CONFIG, Path(folder), environment(spawner, "held")) as hub,
            ):
                user = f"{spawner}-{'steps' if follow_steps else 'events'}"
                results[name] = report(name, measure(cluster, hub, user, follow_steps=follow_steps))
        ready = {}
        for spawner in ("detailed", "plain"):
            with (
                tempfile.TemporaryDirectory() as folder,
                running_hub(cluster, CONFIG, Path(folder), environment(spawner, "real")) as hub,
            ):
                ready[spawner] = measure_readiness(hub, spawner)
        for spawner, name in (("detailed", "DetailedKubeSpawner"), ("plain", "KubeSpawner")):
            report(f"{name}, first answer to ready event", ready[spawner].delays)
            report(f"{name}, the whole start", ready[spawner].starts)
    median, p95 = results[rows[0][0]]
    delays, starts = ready["detailed"].delays, ready["detailed"].starts
    if statistics.median(delays) > READY_MEDIAN_BOUND or max(delays) > READY_BOUND:
        print(f"over the bound: median {READY_MEDIAN_BOUND} s, at worst {READY_BOUND} s")
        return 1
    if statistics.median(starts) > statistics.median(ready["plain"].starts) + NOISE:
        print("over the bound: plain KubeSpawner starts servers faster")
        return 1
    if median > MEDIAN_BOUND or p95 > P95_BOUND:
        print(f"over the bound: median {MEDIAN_BOUND} s, 95th percentile {P95_BOUND} s")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
