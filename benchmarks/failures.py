"""Measures how long a person waits for the reason when a start goes wrong.

    KUBECONFIG=... python benchmarks/failures.py

Starts the same failing servers with DetailedKubeSpawner, as it is by default, and with plain
KubeSpawner, whose start_timeout is shortened so that the measurement ends, and prints from the
request to the last event of the progress stream in seconds. Fails when a start did not fail.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.behaviour.cluster import Kubernetes
from tests.behaviour.failing import Failing
from tests.behaviour.failure_cases import FAILURES
from tests.behaviour.troubled import troubled

CONFIG = Path(__file__).with_name("failures_hub.py")
# the times are of starts that hardly wait for each other
AT_ONCE = 7
PLAIN_TIMEOUT = 60  # seconds
# what happens, and the failure that shows it
SHOWN = {
    "quota used up, or forbidden by a rule of the cluster": "quota",
    "image name that is not valid": "invalid-image-name",
    "image that does not exist": "image-not-found",
    "secret or config map that does not exist": "missing-secret",
    "volume from a secret that does not exist": "missing-secret-volume",
    "start command that is not in the image": "command-missing",
    "init container that exits with 1": "init-exit",
    "init container that needs too much memory": "init-memory",
    "server that exits with 1": "main-crash",
    "server that needs too much memory": "main-memory",
    "more files than the disk limit allows": "eviction",
    "no machine of the kind asked for": "node-selector",
    "storage that cannot be made": "claim-without-class",
    "pod that somebody deletes": "deleted-by-another",
}


def begun(kubernetes: Kubernetes, slug: str) -> Callable[[object], bool]:
    """Return the condition that a pod's first container runs, for a stream without a status."""

    def running(_: object) -> bool:
        pod = kubernetes.get("pods", f"jupyter-fail-{slug}") or {}
        found = pod.get("status", {}).get("initContainerStatuses") or [{}]
        return "running" in found[0].get("state", {})

    return running


def measure(
    kubernetes: Kubernetes, cases: Mapping[str, Failing], spawner: str, timeout: int
) -> dict[str, tuple[float, str]]:
    """Return the seconds until the last message of each start, and that message."""
    if spawner == "plain":
        cases = {
            slug: replace(case, when=case.when and begun(kubernetes, slug))
            for slug, case in cases.items()
        }
    environment = {"BENCHMARK_SPAWNER": spawner, "BENCHMARK_TIMEOUT": str(timeout)}
    with (
        tempfile.TemporaryDirectory() as folder,
        troubled(kubernetes, Path(folder), cases, AT_ONCE, CONFIG, environment) as starts,
    ):
        found = {}
        for slug, seen in starts.all().items():
            if not seen.last.get("failed"):
                raise RuntimeError(f"{slug} did not fail: {seen.last['message']}")
            found[slug] = (seen.seconds, seen.last["message"].partition("\n")[0])
        return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure how soon a failed start says why.")
    parser.add_argument("--rounds", type=int, default=3, help="starts of each (default: 3)")
    options = parser.parse_args()
    if not os.environ.get("KUBECONFIG"):
        parser.error("KUBECONFIG must name a cluster")
    cases = {slug: FAILURES[slug] for slug in SHOWN.values()}
    rounds = []
    for _ in range(options.rounds):
        with Kubernetes(Path(os.environ["KUBECONFIG"])) as kubernetes:
            rounds.append(measure(kubernetes, cases, "detailed", 300))
    with Kubernetes(Path(os.environ["KUBECONFIG"])) as kubernetes:
        plain = measure(kubernetes, cases, "plain", PLAIN_TIMEOUT)
    print(f"{'seconds until the last message':<56} {'detailed':>8} {'longest':>8} {'plain':>8}")
    for what, slug in SHOWN.items():
        times = [found[slug][0] for found in rounds]
        print(
            f"{what:<56} {statistics.median(times):8.1f} {max(times):8.1f} {plain[slug][0]:8.1f}"
            f"  {plain[slug][1]}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
