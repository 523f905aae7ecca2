"""Measures for how long the Hub's loop comes to nothing else.

    python benchmarks/loop.py [--starts 50] [--servers 5000]

Starts servers at the same time on the embedded cluster, and lists all servers of a large
database page by page, with DetailedKubeSpawner and with plain KubeSpawner (which lists
users). A ticker in the Hub's loop notes the longest block. What counts is the work of the
Hub's own thread, so that whatever else the machine does is left out. Fails when ours is
longer by more than 10 ms.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jupyterhub import orm

sys.path.insert(0, str(Path(__file__).parents[1]))

from detailedspawner.demo.cluster import start_in_thread
from tests.behaviour.cluster import Kubernetes
from tests.behaviour.hub import Hub, eventually, running_hub

BOUND = 0.010  # seconds beyond plain KubeSpawner
PAGE = 100
CONFIG = Path(__file__).with_name("loop_hub.py")
PAGED = {"Accept": "application/jupyterhub-pagination+json"}
LISTS = {"detailed": "/detailedspawner/servers", "plain": "/users?include_stopped_servers=1"}


def fill(folder: Path, servers: int) -> None:
    """Make a database with so many servers that are stopped."""
    db = orm.new_session_factory(f"sqlite:///{folder / 'jupyterhub.sqlite'}")()
    names = [f"stopped-{number}" for number in range(servers)]
    db.execute(orm.User.__table__.insert(), [{"name": name, "cookie_id": name} for name in names])
    ids = dict(db.query(orm.User.name, orm.User.id).all())
    more = {"name": "", "state": {"pod_name": "x"}, "user_options": {"profile": "held"}}
    db.execute(orm.Spawner.__table__.insert(), [{"user_id": ids[n], **more} for n in names])
    db.commit()
    db.get_bind().dispose()


def blocks(hub: Hub) -> dict[str, Any]:
    """Return the longest blocks since this was asked last."""
    found: dict[str, Any] = hub.client.get("/benchmark/blocks").raise_for_status().json()
    return found


def start_all(hub: Hub, starts: int) -> dict[str, Any]:
    """Return the longest blocks while so many servers start at the same time."""
    users = [f"user-{number}" for number in range(starts)]
    # what is made once is no part of it
    hub.start("first", "held")
    list(hub.stream("first"))
    hub.stop("first")
    for user in users:
        hub.client.post(f"/users/{user}").raise_for_status()
    with ThreadPoolExecutor(starts) as pool:
        blocks(hub)
        list(
            pool.map(lambda user: hub.client.post(hub.path(user), json={"profile": "held"}), users)
        )
        # asking for each would be what is measured
        eventually(lambda: len(hub.routes()) > starts, "all have a route", 300, 1)
        eventually(lambda: all(hub.model(u)["ready"] for u in users), "all are ready", 300, 2)
        found = blocks(hub)
        list(pool.map(lambda user: hub.client.delete(hub.path(user)), users))
    return found


def list_all(hub: Hub, spawner: str, servers: int) -> dict[str, Any]:
    """Return the longest blocks while all are listed page by page."""
    path = LISTS[spawner]
    sign = "&" if "?" in path else "?"
    found: dict[str, Any] = {}
    # the first round is what a Hub does once
    for _ in range(2):
        blocks(hub)
        for offset in range(0, servers, PAGE):
            page = f"{path}{sign}limit={PAGE}&offset={offset}"
            items = hub.client.get(page, headers=PAGED).raise_for_status().json()["items"]
            assert len(items) == PAGE
        found = blocks(hub)
    return found


def measure(spawner: str, starts: int, servers: int) -> dict[str, dict[str, Any]]:
    """Return the longest blocks of a Hub by what it did."""
    environment = {"BENCHMARK_SPAWNER": spawner, "BENCHMARK_PODS": "real"}
    with (
        tempfile.TemporaryDirectory() as state,
        tempfile.TemporaryDirectory() as folder,
        start_in_thread(Path(state), time_scale=0.4) as cluster,
    ):
        path = Path(state) / "kubeconfig"
        cluster.kubeconfig(path)
        fill(Path(folder), servers)
        with (
            Kubernetes(path) as kubernetes,
            running_hub(kubernetes, CONFIG, Path(folder), environment) as hub,
        ):
            return {
                f"{servers} servers listed": list_all(hub, spawner, servers),
                f"{starts} starts at once": start_all(hub, starts),
            }


def main() -> int:
    """Measure and print; returns 1 when a bound is exceeded."""
    parser = argparse.ArgumentParser(description="Measure what blocks the Hub's loop.")
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--servers", type=int, default=5000)
    parser.add_argument("--who", action="store_true", help="name the longest callbacks")
    options = parser.parse_args()
    print(f"{'longest block in ms':<34} {'own work':>10} {'wall clock':>10}", flush=True)
    own: dict[str, list[float]] = {}
    for spawner in ("plain", "detailed"):
        for what, block in measure(spawner, options.starts, options.servers).items():
            own.setdefault(what, []).append(block["own"])
            shown = f"{block['own'] * 1000:10.1f} {block['wall'] * 1000:10.1f}"
            print(f"{what + ', ' + spawner:<34} {shown}", flush=True)
            for took, name in block["slowest"] if options.who else ():
                print(f"    {took * 1000:8.1f}  {name}", flush=True)
    over = [what for what, (plain, ours) in own.items() if ours > plain + BOUND]
    for what in over:
        print(f"over the bound of {BOUND * 1000:g} ms beyond plain KubeSpawner: {what}")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
