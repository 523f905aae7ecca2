"""Measures what servers that do not answer cost the Hub while they are waited for.

    python benchmarks/waiting.py [--servers 200] [--seconds 60]

Starts that many servers on the embedded cluster, whose containers run but listen on
nothing, with DetailedKubeSpawner and with plain KubeSpawner, and prints the share of one
core that the Hub's process takes meanwhile. Fails when it is more than 10 %.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from detailedspawner.demo.cluster import start_in_thread
from tests.behaviour.cluster import Kubernetes
from tests.behaviour.hub import Hub, eventually, running_hub

BOUND = 0.10  # of one core
AT_ONCE = 8
CONFIG = Path(__file__).with_name("latency_hub.py")


def measure(kubernetes: Kubernetes, spawner: str, servers: int, seconds: float) -> float:
    """Return the share of one core that the Hub takes while all servers are waited for."""
    environment = {"BENCHMARK_SPAWNER": spawner, "BENCHMARK_PODS": "silent"}
    with (
        tempfile.TemporaryDirectory() as folder,
        running_hub(kubernetes, CONFIG, Path(folder), environment) as hub,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        users = [f"{spawner}-{number}" for number in range(servers)]
        list(pool.map(lambda user: hub.start(user, "held"), users))
        eventually(lambda: running(kubernetes) >= servers, "all pods run", 600, 2)
        # past the quick looks of the first 10 seconds
        time.sleep(15)
        share = cpu_share(hub, seconds)
        list(pool.map(lambda user: hub.client.delete(hub.path(user)), users))
        return share


def running(kubernetes: Kubernetes) -> int:
    """Return how many pods run."""
    return sum(pod["status"].get("phase") == "Running" for pod in kubernetes.list("pods"))


def cpu_share(hub: Hub, seconds: float) -> float:
    """Return the CPU time of the Hub's process during so many seconds, by second."""
    process = psutil.Process(hub.pid)
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / seconds


def main() -> int:
    """Measure and print; returns 1 when the bound is exceeded."""
    parser = argparse.ArgumentParser(description="Measure what waiting costs the Hub.")
    parser.add_argument("--servers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    shares = {}
    for spawner in ("detailed", "plain"):
        with (
            tempfile.TemporaryDirectory() as state,
            start_in_thread(Path(state), time_scale=0.4) as cluster,
        ):
            path = Path(state) / "kubeconfig"
            cluster.kubeconfig(path)
            with Kubernetes(path) as kubernetes:
                shares[spawner] = measure(kubernetes, spawner, options.servers, options.seconds)
        print(f"{spawner:<10} {shares[spawner]:6.3f} of a core", flush=True)
    return int(shares["detailed"] > BOUND)


if __name__ == "__main__":
    sys.exit(main())
