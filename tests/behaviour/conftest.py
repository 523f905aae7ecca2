"""One cluster and one Hub for the whole suite: the embedded ones, or KUBECONFIG's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from . import cases, registry
from .cluster import Kubernetes
from .hub import Hub, Run, running_hub

# more at once would only wait for the same two cores
AT_ONCE = 5


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """The cluster that KUBECONFIG names, else the embedded one."""
    kubeconfig = os.environ.get("KUBECONFIG")
    if kubeconfig:
        registry.push_slow_image(cases.BUSYBOX, cases.SINGLEUSER, cases.SLOW)
        with Kubernetes(Path(kubeconfig)) as cluster:
            yield cluster
        return
    from detailedspawner.demo.cluster import start_in_thread

    state = tmp_path_factory.mktemp("cluster")
    with start_in_thread(state, time_scale=0.4) as cluster:
        path = state / "kubeconfig"
        cluster.kubeconfig(path)
        with Kubernetes(path) as client:
            yield client


@pytest.fixture(scope="session")
def hub(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A real Hub with a real configurable-http-proxy in front of the cluster."""
    folder = tmp_path_factory.mktemp("hub")
    with running_hub(kubernetes, Path(__file__).with_name("hub_config.py"), folder) as hub:
        yield hub


class Runs:
    """All cases, started side by side the first time that one is asked for."""

    def __init__(self, hub: Hub) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._runs: dict[str, Future[Run]] = {
            slug: self._pool.submit(hub.run, f"user-{slug}", slug) for slug in cases.CASES
        }

    def __getitem__(self, slug: str) -> Run:
        return self._runs[slug].result(300)

    def close(self) -> None:
        """Wait for those still going."""
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def runs(hub: Hub) -> Iterator[Runs]:
    """What was seen of each case."""
    with contextlib.closing(Runs(hub)) as runs:
        yield runs
