"""DetailedKubeSpawner against an API server whose pods a test moves by hand."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes_asyncio.client import Configuration, V1Container
from kubespawner import KubeSpawner
from kubespawner import spawner as kubespawner_module
from traitlets.config import Config

from detailedspawner import DetailedKubeSpawner
from detailedspawner.composing import START_ID_ANNOTATION
from detailedspawner.demo.api import make_app
from detailedspawner.demo.store import Store
from detailedspawner.ending import read_line
from detailedspawner.following import kept_failure
from detailedspawner.hub import HubKubeSpawner
from detailedspawner.hub.servers import FLAGS
from detailedspawner.probe import close_session
from detailedspawner.spawner import NOWHERE

READY = {"type": "Ready", "status": "True"}
HELPER = {"name": "helper", "image": "helper:1"}
RUNNING = {"running": {"startedAt": "2025-11-30T12:00:00Z"}}


class Cluster:
    """The API server, and the answers that a test makes it give instead."""

    def __init__(self) -> None:
        self.store = Store()
        self.store.create("namespaces", None, {"metadata": {"name": "ns"}})
        # (method, resource) to the codes that the next requests get
        self.refusals: dict[tuple[str, str], list[int]] = {}
        # (method, resource) to what the next request waits for
        self.gates: dict[tuple[str, str], asyncio.Event] = {}
        self.asked: list[tuple[str, str]] = []

    @web.middleware
    async def script(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Answer as a test wants, else as the store does."""
        resource = request.path.split("/")[5] if request.path.count("/") > 4 else request.path
        kind = "WATCH" if request.query.get("watch") else request.method
        asked = (kind, resource)
        self.asked.append(asked)
        if asked in self.gates:
            await self.gates.pop(asked).wait()
        if self.refusals.get(asked):
            code = self.refusals[asked].pop(0)
            message = f'pods "x" is forbidden: scripted {code}'
            return web.json_response(
                {"kind": "Status", "code": code, "message": message}, status=code
            )
        answer: web.StreamResponse = await handler(request)
        return answer

    def pod(self, name: str = "jupyter-alice") -> dict[str, Any] | None:
        """Return a pod, None when there is none."""
        found = [pod for pod in self.store.list("pods", "ns") if pod["metadata"]["name"] == name]
        return found[0] if found else None

    def move(self, *, sidecars: bool = True, conditions: tuple[Any, ...] = (READY,)) -> None:
        """Have the pod running, with its sidecars ready or not."""

        def change(pod: dict[str, Any]) -> None:
            def states(containers: Any, ready: bool) -> list[dict[str, Any]]:
                more = {"ready": ready, "restartCount": 0, "imageID": "", "state": RUNNING}
                return [{"name": c["name"], "image": c["image"], **more} for c in containers or ()]

            pod["status"].update(
                phase="Running",
                podIP="127.0.0.9",
                conditions=list(conditions),
                initContainerStatuses=states(pod["spec"].get("initContainers"), sidecars),
                containerStatuses=states(pod["spec"]["containers"], True),
            )

        self.store.update("pods", "ns", "jupyter-alice", change)


async def until(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """Let the loop run until a condition holds; returns its result."""

    async def poll() -> Any:
        while not (result := condition()):
            await asyncio.sleep(0.005)
        return result

    return await asyncio.wait_for(poll(), seconds)


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    """An API server as every client's default; all that spawners share is new."""
    scripted = Cluster()
    app = make_app(scripted.store, lambda *_: "")
    app.middlewares.insert(0, scripted.script)
    server = TestServer(app)
    await server.start_server()
    configuration = Configuration()
    configuration.host = str(server.make_url("")).rstrip("/")
    Configuration.set_default(configuration)
    monkeypatch.setattr(kubespawner_module, "load_config", lambda *_, **__: None)
    monkeypatch.setattr(HubKubeSpawner, "events_refused", set())
    yield scripted
    for reflector in list(HubKubeSpawner.reflectors.values()):
        await reflector.stop()
    HubKubeSpawner.reflectors.clear()
    await server.close()


Make = Callable[..., DetailedKubeSpawner]


@pytest.fixture
async def make(cluster: Cluster) -> AsyncIterator[Make]:
    """Makes spawners of alice's default server."""
    made: list[DetailedKubeSpawner] = []

    def build(**traits: Any) -> DetailedKubeSpawner:
        hub = SimpleNamespace(
            public_host="http://hub", url="http://hub", base_url="/hub/", api_url="http://hub/api"
        )
        user = SimpleNamespace(
            name="alice",
            id=1,
            created=None,
            url="/user/alice/",
            escaped_name="alice",
            settings={},
        )
        values = {"namespace": "ns", "start_timeout": 30, "image": "lab:1", "health_enabled": False}
        values.update(traits)
        spawner = DetailedKubeSpawner(
            config=Config({"KubeSpawner": values}),
            hub=hub,
            user=user,
            _mock=True,
            api_token="token",
            oauth_client_id="client",
        )
        made.append(spawner)
        return spawner

    yield build
    for spawner in made:
        await spawner.api.api_client.close()


async def started(cluster: Cluster, spawner: DetailedKubeSpawner) -> asyncio.Task[str]:
    """Start a server and return its start once there is a pod."""
    start = asyncio.ensure_future(spawner.start())
    await until(lambda: cluster.pod() or start.done())
    return start


async def test_a_start_ends_as_soon_as_the_pod_is_ready(cluster: Cluster, make: Make) -> None:
    spawner, looks = make(), []
    look = spawner.is_pod_running
    spawner.is_pod_running = lambda pod: looks.append(pod) or look(pod)
    start = await started(cluster, spawner)
    # after so many looks KubeSpawner pauses for up to 5 seconds
    await until(lambda: len(looks) >= 4)
    cluster.move()
    assert await asyncio.wait_for(start, 0.5) == "http://127.0.0.9:8888"


async def test_a_start_begins_when_it_is_called_awaited_or_not(
    cluster: Cluster, make: Make
) -> None:
    spawner = make()
    start = spawner.start()
    first = await anext(spawner.progress())
    assert first["status"]["start_id"] == spawner.detailed_status().start_id
    await until(cluster.pod)
    cluster.move()
    await start


async def test_options_that_change_between_two_starts_are_loaded_again(make: Make) -> None:
    spawner = make(
        profile_list=[
            {"display_name": name, "slug": name, "kubespawner_override": {"image": f"{name}:1"}}
            for name in ("one", "two")
        ]
    )
    for name in ("one", "two"):
        spawner.user_options = {"profile": name}
        await spawner.load_user_options()
        assert spawner.image == f"{name}:1"


async def test_a_native_sidecar_must_be_ready(cluster: Cluster, make: Make) -> None:
    sidecar = {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"}
    spawner = make(init_containers=[sidecar])
    start = await started(cluster, spawner)
    cluster.move(sidecars=False, conditions=())
    await until(lambda: spawner.detailed_status().ready_containers == 1)
    assert not start.done()
    cluster.move()
    await asyncio.wait_for(start, 0.5)


async def test_the_pod_carries_the_start_and_the_end_of_its_logs(
    cluster: Cluster, make: Make
) -> None:
    chosen = {"name": "own", "image": "own:1", "terminationMessagePolicy": "File"}
    spawner = make(init_containers=[chosen, {"name": "other", "image": "other:1"}])
    start = await started(cluster, spawner)
    pod = cluster.pod()
    assert pod is not None
    assert pod["metadata"]["annotations"][START_ID_ANNOTATION] == spawner.detailed_status().start_id
    policies = {
        c["name"]: c["terminationMessagePolicy"]
        for c in [*pod["spec"]["initContainers"], *pod["spec"]["containers"]]
    }
    fallback = "FallbackToLogsOnError"
    assert policies == {"own": "File", "other": fallback, "notebook": fallback}
    cluster.move()
    await start


async def test_containers_that_a_hook_adds_are_steps(cluster: Cluster, make: Make) -> None:
    def hook(_: Any, pod: Any) -> Any:
        pod.spec.init_containers = [V1Container(name="added", image="added:1")]
        return pod

    spawner = make(modify_pod_hook=hook)
    start = await started(cluster, spawner)
    status = spawner.detailed_status()
    assert "Added" in [step.step for step in status.details]
    assert status.total_containers == 2
    cluster.move()
    await start


async def test_an_older_pod_with_the_same_name_is_not_shown_and_makes_way(
    cluster: Cluster, make: Make
) -> None:
    old = {
        "metadata": {"name": "jupyter-alice", "labels": {"component": "singleuser-server"}},
        "spec": {"containers": [{"name": "notebook", "image": "old:1"}]},
    }
    cluster.store.create("pods", "ns", old)
    cluster.move()
    old_uid = (cluster.pod() or {})["metadata"]["uid"]
    spawner = make()
    start = asyncio.ensure_future(spawner.start())
    await until(lambda: cluster.pod() and cluster.pod()["metadata"]["uid"] != old_uid)
    assert not start.done()
    assert spawner.detailed_status().ready_containers == 0
    cluster.move()
    await asyncio.wait_for(start, 5)


async def test_a_refused_pod_ends_the_start_with_the_answer(cluster: Cluster, make: Make) -> None:
    cluster.refusals["POST", "pods"] = [403]
    spawner = make()
    with pytest.raises(Exception, match="403") as caught:
        await spawner.start()
    status = spawner.detailed_status()
    assert status.state.value == "failed"
    (failed,) = [step for step in status.details if step.status.value == "failed"]
    sentence = f"{status.message} {failed.hint} (start {status.start_id})"
    assert caught.value.jupyterhub_message == sentence  # type: ignore[attr-defined]
    assert "scripted 403" in status.message
    assert len(status.details) == 3


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_busy_api_is_asked_again(cluster: Cluster, make: Make, code: int) -> None:
    cluster.refusals["POST", "pods"] = [code]
    start = await started(cluster, make())
    cluster.move()
    await asyncio.wait_for(start, 10)


async def test_without_the_right_to_read_events_servers_start(
    cluster: Cluster, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.refusals["GET", "events"] = [403, 403]
    start = await started(cluster, make())
    cluster.move()
    await asyncio.wait_for(start, 5)


async def test_a_start_cancelled_during_the_first_list_takes_no_other_along(
    cluster: Cluster, make: Make
) -> None:
    gate = cluster.gates["GET", "pods"] = asyncio.Event()
    first = asyncio.ensure_future(make().start())
    await until(lambda: ("GET", "pods") in cluster.asked)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate.set()
    second = await started(cluster, make())
    cluster.move()
    await asyncio.wait_for(second, 5)
    assert await asyncio.wait_for(make().poll(), 5) is None


async def test_a_failed_first_list_fails_that_start_only(cluster: Cluster, make: Make) -> None:
    cluster.refusals["GET", "pods"] = [403]
    with pytest.raises(Exception, match="refused"):
        await make().start()
    second = await started(cluster, make())
    cluster.move()
    await asyncio.wait_for(second, 5)


async def test_stop_returns_as_soon_as_the_pod_is_gone(cluster: Cluster, make: Make) -> None:
    spawner = make()
    start = await started(cluster, spawner)
    cluster.move()
    await start
    cluster.store.update(
        "pods", "ns", "jupyter-alice", lambda pod: pod["spec"].update(nodeName="node")
    )
    stop = asyncio.ensure_future(spawner.stop())
    await until(lambda: "deletionTimestamp" in (spawner.current_pod() or {})["metadata"])
    assert not stop.done()
    cluster.store.delete("pods", "ns", "jupyter-alice", grace=0)
    await asyncio.wait_for(stop, 0.5)


async def test_while_a_pod_may_exist_the_server_counts_as_running(
    cluster: Cluster, make: Make
) -> None:
    gate = cluster.gates["POST", "pods"] = asyncio.Event()
    spawner = make()
    start = asyncio.ensure_future(spawner.start())
    await until(lambda: ("POST", "pods") in cluster.asked)
    assert await spawner.poll() is None
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    # so the Hub calls stop(), which makes sure, also of a pod that comes after it was asked
    assert await spawner.poll() is None
    stop = asyncio.ensure_future(spawner.stop())
    await asyncio.sleep(0)
    gate.set()
    await stop
    assert await spawner.poll() == 1
    assert cluster.pod() is None


async def test_a_deleted_pod_ends_the_start_at_once(cluster: Cluster, make: Make) -> None:
    start = await started(cluster, make())
    cluster.store.delete("pods", "ns", "jupyter-alice", grace=0)
    with pytest.raises(Exception, match="removed"):
        await asyncio.wait_for(start, 2)


async def test_the_deadline_names_the_step(cluster: Cluster, make: Make) -> None:
    spawner = make(start_timeout=2)
    start = await started(cluster, spawner)
    with pytest.raises(Exception, match=r"Finding a machine.*2 seconds"):
        await asyncio.wait_for(start, 5)


UNSEEN = [
    {"name": "the right to watch is missing", "lists": True},
    {"name": "all rights were taken away after the first list", "lists": False},
]


@pytest.mark.parametrize("limit", [{"start_timeout": 2}, {"progress_timeout": 1}], ids=str)
@pytest.mark.parametrize("row", UNSEEN, ids=lambda row: row["name"])
async def test_a_start_whose_pod_cannot_be_seen_says_so(
    cluster: Cluster,
    make: Make,
    caplog: pytest.LogCaptureFixture,
    row: dict[str, Any],
    limit: dict[str, float],
) -> None:
    caplog.set_level("INFO")
    spawner = make(**limit)
    cluster.refusals["WATCH", "pods"] = [403] * 100
    # the first list of the namespace is let through
    await spawner.watch_pods()
    if not row["lists"]:
        cluster.refusals["GET", "pods"] = [403] * 100
    start = await started(cluster, spawner)
    with pytest.raises(Exception, match="The Hub cannot see pods") as caught:
        await asyncio.wait_for(start, 10)
    assert "did not finish" in str(caught.value)
    assert "The Hub cannot see pods: the API server answers 403 Forbidden." in str(caught.value)
    status = spawner.detailed_status()
    assert "scripted" not in json.dumps(status.to_dict())
    # what the API server said is for administrators
    assert 'pods "x" is forbidden: scripted 403' in caplog.text
    (told,) = filter(None, map(read_line, caplog.messages))
    assert (told["outcome"], told["category"], told["users_fault"]) == ("failed", "watch", False)


async def test_a_start_without_progress_ends(cluster: Cluster, make: Make) -> None:
    start = await started(cluster, make(progress_timeout=1))
    with pytest.raises(Exception, match=r"Finding a machine.*nothing has changed for 1 seconds"):
        await asyncio.wait_for(start, 5)


async def test_each_start_is_one_line_of_the_log(
    cluster: Cluster, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    spawner = make()
    start = await started(cluster, spawner)
    cluster.move()
    await start
    # the Hub calls it when all of the start is done
    spawner.add_poll_callback(lambda: None)
    (record,) = filter(None, (read_line(line) for line in caplog.text.splitlines()))
    assert (record["outcome"], record["user"], record["server"]) == ("ready", "alice", "")
    assert record["start_id"] == spawner.detailed_status().start_id


@pytest.mark.parametrize(
    ("asked", "codes", "traits", "told"),
    [
        (("POST", "pods"), [429] * 99, {}, "The cluster is too busy to take the server."),
        (("POST", "pods"), [503] * 99, {}, "The cluster is too busy to take the server."),
        (("POST", "services"), [403], {"services_enabled": True}, "The cluster refused the server"),
    ],
)
async def test_what_the_cluster_does_not_do_is_not_the_users_fault(
    cluster: Cluster,
    make: Make,
    asked: tuple[str, str],
    codes: list[int],
    traits: dict[str, Any],
    told: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster.refusals[asked] = codes
    spawner = make(**traits, k8s_api_request_retry_timeout=1)
    with pytest.raises(Exception, match=told) as caught:
        await spawner.start()
    # the Hub logs it in one line, and counts it
    assert getattr(caught.value, "status_code", None) == 500
    status = spawner.detailed_status()
    assert status.message.startswith(told)
    assert "seconds" not in status.message
    assert f"scripted {codes[0] if codes else 403}" in caplog.text
    assert f"Start {status.start_id} failed" in caplog.text


async def test_what_is_left_of_an_evicted_server_makes_room_for_the_new_one(
    cluster: Cluster, make: Make
) -> None:
    old = {
        "metadata": {"name": "jupyter-alice", "labels": {"component": "singleuser-server"}},
        "spec": {"containers": [{"name": "notebook", "image": "lab:1"}]},
    }
    cluster.store.create("pods", "ns", old)
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}
    cluster.store.update("pods", "ns", "jupyter-alice", lambda pod: pod["status"].update(evicted))
    left = cluster.pod()
    assert left is not None
    spawner = make()
    start = asyncio.ensure_future(spawner.start())
    told: list[str] = []

    def replaced() -> bool:
        told.append(spawner.detailed_status().state.value)
        pod = cluster.pod()
        return start.done() or bool(pod and pod["metadata"]["uid"] != left["metadata"]["uid"])

    await until(replaced)
    cluster.move()
    await asyncio.wait_for(start, 5)
    # nothing of the old one is told of the new one
    assert set(told) <= {"starting"}
    assert spawner.detailed_status().warnings == ()


async def test_a_hook_that_fails_once_the_pod_is_there_is_the_cause(
    cluster: Cluster, make: Make
) -> None:
    async def hook(spawner: Any, pod: Any) -> None:
        raise ValueError("no such course")

    spawner = make(after_pod_created_hook=hook)
    with pytest.raises(ValueError, match="no such course"):
        await spawner.start()
    assert cluster.pod() is None
    assert spawner.detailed_status().message == "no such course"


async def test_the_last_failure_outlives_the_hub(cluster: Cluster, make: Make) -> None:
    cluster.refusals["POST", "pods"] = [403]
    before = make()
    with pytest.raises(Exception, match="403"):
        await before.start()
    # in this order the Hub does it
    await before.run_post_stop_hook()
    state = json.loads(json.dumps(before.get_state()))
    failed = before.detailed_status()
    after = make()
    after.load_state(state)
    assert after.detailed_snapshot() == failed.to_dict()


async def test_what_an_option_hides_is_hidden_everywhere(cluster: Cluster, make: Make) -> None:
    spawner = make()
    spawner.user_options = {"git_token": "hunter2-hunter2"}
    start = await started(cluster, spawner)
    spawner.report("cloning with hunter2-hunter2")
    assert "hunter2" not in json.dumps(spawner.detailed_snapshot())
    assert "cloning with" in json.dumps(spawner.detailed_snapshot())
    cluster.move()
    await start


async def test_options_are_loaded_once_and_before_the_start(cluster: Cluster, make: Make) -> None:
    loads: list[str] = []

    async def profiles(_: Any) -> list[dict[str, Any]]:
        loads.append("profiles")
        return [{"slug": "big", "display_name": "Big", "kubespawner_override": {"image": "big:1"}}]

    spawner = make(profile_list=profiles)
    spawner.user_options = {"profile": "big"}
    await spawner.run_pre_spawn_hook()
    assert spawner.image == "big:1"
    start = await started(cluster, spawner)
    assert loads == ["profiles"]
    pod = cluster.pod()
    assert pod is not None
    assert pod["spec"]["containers"][0]["image"] == "big:1"
    cluster.move()
    await start


def test_no_private_name_of_kubespawner_is_taken_by_accident() -> None:
    replaced = {"_start_reflector", "_start_watching_events", "_make_create_pod_request", *FLAGS}
    own = {
        name
        for owner in DetailedKubeSpawner.__mro__
        if owner.__module__.startswith("detailedspawner")
        for name in vars(owner)
        if name.startswith("_") and not name.startswith("__")
    }
    set_in_init = DetailedKubeSpawner.__init__.__code__.co_names
    own |= {name for name in set_in_init if name.startswith("_") and name != "__init__"}
    taken = {name for name in own if hasattr(KubeSpawner, name)}
    # traitlets keeps these per class
    taken -= {
        name for name in taken if name.startswith(("_all_trait", "_trait", "_static", "_ins"))
    }
    # JupyterHub 5 has one flag less
    assert taken - {"_traits", "_descriptors"} == replaced - {"_rename_pending"} | (
        {"_rename_pending"} & set(dir(KubeSpawner))
    )


async def test_the_claims_of_a_pod_that_waits_are_looked_at(
    cluster: Cluster, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detailedspawner.spawner.CLAIMS_INTERVAL", 0.01)
    volume = {"name": "home", "persistentVolumeClaim": {"claimName": "home-alice"}}
    claim = {
        "metadata": {"name": "home-alice"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "none",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    about = cluster.store.create("persistentvolumeclaims", "ns", claim)
    event = {
        "metadata": {"name": "home-alice.1"},
        "involvedObject": {
            "kind": "PersistentVolumeClaim",
            "namespace": "ns",
            "name": "home-alice",
            "uid": about["metadata"]["uid"],
        },
        "type": "Warning",
        "reason": "ProvisioningFailed",
        "message": 'storageclass.storage.k8s.io "none" not found',
    }
    cluster.store.create("events", "ns", event)
    spawner = make(volumes=[volume])
    start = await started(cluster, spawner)
    problem = await until(lambda: spawner.detailed_status() and problem_of(spawner))
    assert problem.reason == "ProvisioningFailed"
    assert "Preparing storage" in [step.step for step in spawner.detailed_status().details]
    cluster.move()
    await start


def problem_of(spawner: DetailedKubeSpawner) -> Any:
    """Return what is in the way of the present start."""
    return spawner._detailed_start and spawner._detailed_start.problem


class Proxy:
    """The Hub's proxy: a table of routes, and the Hub behind them."""

    should_start = True
    public_url = "http://127.0.0.1:1"
    ssl_cert = ""

    def __init__(self) -> None:
        self.routes: dict[str, Any] = {}

    async def add_route(self, spec: str, target: str, data: Any) -> None:
        self.routes[spec] = {"target": target, "data": data}

    async def get_all_routes(self) -> dict[str, Any]:
        return self.routes

    async def delete_route(self, spec: str) -> None:
        self.routes.pop(spec, None)


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    """A proxy that answers as the Hub for its API and passes on what has a route."""
    made = Proxy()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/hub/"):
            return web.json_response({"version": "5"})
        if not made.routes:
            raise web.HTTPFound("/hub" + request.path)
        return web.Response()

    app = web.Application()
    app.router.add_get("/{rest:.*}", answer)
    server = TestServer(app)
    await server.start_server()
    made.public_url = str(server.make_url(""))
    yield made
    await close_session()
    await server.close()


@pytest.fixture
async def notebook() -> AsyncIterator[SimpleNamespace]:
    """The server in the pod, which answers what a test wants, or nothing at all."""
    answers = SimpleNamespace(status=200, site=None)

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=answers.status)

    app = web.Application()
    app.router.add_get("/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()

    async def listen() -> None:
        await web.TCPSite(runner, "127.0.0.9", 8888).start()

    answers.listen = listen
    yield answers
    await runner.cleanup()


ASKED = {"health_enabled": True, "health_interval": 0.05, "health_threshold": 2}


def behind(proxy: Proxy, spawner: DetailedKubeSpawner) -> DetailedKubeSpawner:
    """Give a spawner the Hub's proxy, and the path of its server."""
    spawner.user.settings = {"proxy": proxy, "hub": SimpleNamespace(base_url="/hub/")}
    spawner.proxy_spec = "/user/alice/"
    return spawner


async def test_a_start_ends_when_the_server_answers_through_the_proxy(
    cluster: Cluster, make: Make, proxy: Proxy, notebook: SimpleNamespace
) -> None:
    spawner = behind(proxy, make(**ASKED))
    start = await started(cluster, spawner)
    cluster.move()
    await until(lambda: spawner.detailed_status().health.last)
    assert not start.done()
    assert proxy.routes == {}
    await notebook.listen()
    await asyncio.wait_for(start, 5)
    assert proxy.routes["/user/alice/"]["data"] == {"user": "alice", "server_name": ""}


async def test_a_pod_that_dies_while_it_is_asked_ends_the_start(
    cluster: Cluster, make: Make, proxy: Proxy
) -> None:
    spawner = behind(proxy, make(**ASKED))
    start = await started(cluster, spawner)
    cluster.move()
    await until(lambda: spawner.detailed_status().health.last)
    cluster.store.delete("pods", "ns", "jupyter-alice", grace=0)
    with pytest.raises(Exception, match="removed"):
        await asyncio.wait_for(start, 2)
    assert spawner.detailed_status().state.value == "failed"


async def test_the_route_of_a_start_that_failed_is_removed(
    cluster: Cluster, make: Make, proxy: Proxy, notebook: SimpleNamespace
) -> None:
    spawner = behind(proxy, make(**ASKED, health_statuses=[201], start_timeout=3))
    await notebook.listen()
    start = await started(cluster, spawner)
    cluster.move()
    with pytest.raises(Exception, match=r"Connecting to the session.*3 seconds"):
        await asyncio.wait_for(start, 10)
    assert list(proxy.routes) == ["/user/alice/"]
    await spawner.run_post_stop_hook()
    assert proxy.routes == {}


async def test_the_route_that_the_hub_has_taken_over_is_left_to_it(
    cluster: Cluster, make: Make, proxy: Proxy, notebook: SimpleNamespace
) -> None:
    spawner = behind(proxy, make(**ASKED))
    await notebook.listen()
    start = await started(cluster, spawner)
    cluster.move()
    await asyncio.wait_for(start, 5)
    spawner.add_poll_callback(lambda: None)
    await spawner.run_post_stop_hook()
    assert list(proxy.routes) == ["/user/alice/"]


async def test_a_server_is_not_ready_before_its_gate(cluster: Cluster, make: Make) -> None:
    spawner = make()
    # what the Hub shows for a moment when it cancels a start: a server and nothing pending
    spawner.server = SimpleNamespace(base_url="/user/alice/")
    assert spawner.ready
    start = await started(cluster, spawner)
    assert not spawner.ready
    cluster.move()
    await start
    # the Hub itself still asks the server, and may be told to cancel meanwhile
    assert not spawner.ready
    spawner.add_poll_callback(lambda: None)
    assert spawner.ready
    spawner.cancel_start()
    assert not spawner.ready


BAD_OVERRIDES = {
    "a path that leaves the server": {"health_path": "../admin"},
    "a threshold of none": {"health_threshold": 0},
    "an unknown way out": {"on_unhealthy": "pray"},
    "a list merged with a wrong status": {"health_statuses": [700]},
    "a grace of an unknown kind": {"failure_graces": {"nonsense": 1}},
}


@pytest.mark.parametrize("name", BAD_OVERRIDES)
async def test_a_wrong_override_of_a_profile_is_the_answer(
    cluster: Cluster, make: Make, name: str
) -> None:
    override = BAD_OVERRIDES[name]
    profile = {"slug": "p", "display_name": "P", "kubespawner_override": override}
    spawner = make(profile_list=[profile])
    spawner.user_options = {"profile": "p"}
    (trait,) = override
    with pytest.raises(Exception, match=trait) as caught:
        await spawner.run_pre_spawn_hook()
    assert trait in caught.value.jupyterhub_message  # type: ignore[attr-defined]
    assert getattr(caught.value, "status_code", 400) == 400


async def test_a_restarted_hub_finishes_a_start(
    cluster: Cluster, make: Make, proxy: Proxy, notebook: SimpleNamespace
) -> None:
    before = make(**ASKED)
    start = await started(cluster, before)
    before._interrupted = {"start_id": before.detailed_status().start_id, "began": time.time()}
    state = before.get_state()
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    after = behind(proxy, make(**ASKED))
    after.load_state(state)
    assert await after.poll() is None
    url = asyncio.ensure_future(after.get_url())
    await until(lambda: after.detailed_status().start_id == state["detailedspawner"]["start_id"])
    cluster.move()
    await until(lambda: after.detailed_status().health.last)
    assert not after.ready
    await notebook.listen()
    assert await asyncio.wait_for(url, 5) == "http://127.0.0.9:8888"
    assert "detailedspawner" not in after.get_state()


@pytest.mark.parametrize("began", [None, "soon", -1, 1e300, float("inf"), 10**400, [7]], ids=repr)
async def test_a_start_goes_on_whatever_time_was_kept_of_it(
    cluster: Cluster, make: Make, began: Any
) -> None:
    before = make()
    start = await started(cluster, before)
    kept = {"start_id": before.detailed_status().start_id, "began": began, "deadline": began}
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    after = make()
    after.load_state({"pod_name": "jupyter-alice", "detailedspawner": kept})
    url = asyncio.ensure_future(after.get_url())
    await until(lambda: after.detailed_status().start_id == kept["start_id"])
    cluster.move()
    assert await asyncio.wait_for(url, 5) == "http://127.0.0.9:8888"


async def test_a_start_that_a_restarted_hub_finishes_can_be_cancelled(
    cluster: Cluster, make: Make
) -> None:
    before = make()
    start = await started(cluster, before)
    kept = {"start_id": before.detailed_status().start_id, "began": time.time()}
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    after = make()
    after.load_state({"pod_name": "jupyter-alice", "detailedspawner": kept})
    after.server = SimpleNamespace(base_url="/user/alice/", url="http://x/")
    url = asyncio.ensure_future(after.get_url())
    await until(lambda: after.detailed_status().start_id == kept["start_id"])
    after.cancel_start()
    # what the Hub asks there in vain is over soon
    assert await asyncio.wait_for(url, 1) == NOWHERE
    assert after.http_timeout == 1
    assert not after.ready


@pytest.mark.parametrize("complete", [True, False])
async def test_a_start_without_all_that_belongs_to_its_pod_does_not_go_on(
    cluster: Cluster, make: Make, complete: bool
) -> None:
    gate = asyncio.Event()
    if not complete:
        # the Hub ends before the service is there
        cluster.gates["POST", "services"] = gate
    before = make(services_enabled=True)
    start = await started(cluster, before)
    kept = before.get_state()["detailedspawner"]
    if complete:
        await until(lambda: before.get_state()["detailedspawner"].get("all_made"))
        kept = before.get_state()["detailedspawner"]
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    gate.set()
    after = make(services_enabled=True)
    after.load_state({"pod_name": "jupyter-alice", "detailedspawner": kept})
    url = asyncio.ensure_future(after.get_url())
    if complete:
        await until(lambda: after.detailed_status().start_id == kept["start_id"])
        cluster.move()
        assert await asyncio.wait_for(url, 5) != NOWHERE
        return
    assert await asyncio.wait_for(url, 5) == NOWHERE
    assert "interrupted by a restart" in after.detailed_status().message


async def test_a_resumed_start_that_fails_is_not_ready(cluster: Cluster, make: Make) -> None:
    before = make()
    start = await started(cluster, before)
    kept = {"start_id": before.detailed_status().start_id, "began": time.time()}
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    after = make()
    after.load_state({"pod_name": "jupyter-alice", "detailedspawner": kept})
    url = asyncio.ensure_future(after.get_url())
    await until(lambda: after.detailed_status().start_id == kept["start_id"])
    cluster.store.delete("pods", "ns", "jupyter-alice", grace=0)
    assert await asyncio.wait_for(url, 5) == NOWHERE
    after.server = SimpleNamespace(base_url="/user/alice/", url="http://x/")
    after.add_poll_callback(lambda: None)
    assert not after.ready
    assert after.detailed_status().state.value == "failed"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("no groups"), "no groups"),
        # as the Hub's own timeout
        (TimeoutError(), "The start ended: TimeoutError."),
    ],
)
async def test_a_start_that_fails_before_its_own_part_tells_why(
    cluster: Cluster, make: Make, error: Exception, told: str
) -> None:
    spawner = make()
    spawner._spawn_pending = True
    reader = asyncio.ensure_future(anext(aiter(spawner.progress())))
    await reader
    failed = asyncio.get_running_loop().create_future()
    failed.set_exception(error)
    spawner._spawn_future = failed
    await spawner.run_post_stop_hook()
    spawner._spawn_pending = False
    status = spawner.detailed_status()
    assert (status.state.value, status.message) == ("failed", told)
    kept = kept_failure(spawner.get_state())
    assert kept is not None
    assert kept.to_dict() == status.to_dict()


async def test_a_missing_file_of_certificates_locks_nobody_out(
    cluster: Cluster, make: Make, proxy: Proxy, notebook: SimpleNamespace
) -> None:
    proxy.public_url = "https://127.0.0.1:1"
    spawner = behind(proxy, make(**ASKED, health_proxy_ca="/no/such/file.pem"))
    await notebook.listen()
    start = await started(cluster, spawner)
    cluster.move()
    await asyncio.wait_for(start, 5)


async def test_a_start_that_had_no_pod_yet_was_interrupted(cluster: Cluster, make: Make) -> None:
    spawner = make()
    spawner.load_state({"pod_name": "jupyter-alice", "detailedspawner": {"start_id": "abc"}})
    spawner._check_pending = True
    assert await spawner.poll() == 1
    spawner._check_pending = False
    status = spawner.detailed_status()
    assert (status.state.value, status.start_id) == ("failed", "abc")
    assert "interrupted" in status.message


KILLED = {"exitCode": 137, "reason": "OOMKilled"}


@pytest.mark.parametrize("name", ["notebook", "lab"])
@pytest.mark.parametrize(
    ("phase", "ended", "told"),
    [
        ("Failed", KILLED, "needed more memory"),
        # another container goes on, or this one would be started again
        ("Running", KILLED, "needed more memory"),
        ("Running", {"exitCode": 3, "reason": "Error"}, "exit code 3"),
        # the user has shut it down from within
        ("Succeeded", {"exitCode": 0, "reason": "Completed"}, None),
        ("Running", {"exitCode": 0, "reason": "Completed"}, None),
    ],
)
async def test_the_end_of_the_main_container_is_the_end_of_the_server(
    cluster: Cluster, make: Make, name: str, phase: str, ended: dict[str, Any], told: str | None
) -> None:
    def rename(_: Any, pod: Any) -> Any:
        pod.spec.containers[0].name = name
        return pod

    spawner = make(main_container=name, modify_pod_hook=rename, extra_containers=[HELPER])
    assert spawner.planned_pod()["spec"]["containers"][0]["name"] == name
    start = await started(cluster, spawner)
    cluster.move()
    await start
    spawner.add_poll_callback(lambda: None)
    assert await spawner.poll() is None

    def end(pod: dict[str, Any]) -> None:
        pod["status"].update(phase=phase, conditions=[{"type": "Ready", "status": "False"}])
        for status in pod["status"]["containerStatuses"]:
            if status["name"] == name:
                status.update(ready=False, state={"terminated": ended})

    cluster.store.update("pods", "ns", "jupyter-alice", end)
    code = ended["exitCode"]
    await until(lambda: spawner._detailed_start.problem is not None)
    # the Hub's stop looks once more, when the pod is gone
    assert await spawner.poll() == code
    assert cluster.pod() is None
    assert await spawner.poll() == 1
    await spawner.run_post_stop_hook()
    kept = kept_failure(spawner.get_state())
    assert (kept is None) if told is None else (kept is not None and told in kept.message)


@pytest.mark.parametrize("read_meanwhile", [False, True])
async def test_why_a_running_server_died_stays_readable(
    cluster: Cluster, make: Make, read_meanwhile: bool
) -> None:
    spawner = make()
    start = await started(cluster, spawner)
    cluster.move()
    await start
    spawner.add_poll_callback(lambda: None)
    killed = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}

    def kill(pod: dict[str, Any]) -> None:
        pod["status"]["phase"] = "Failed"
        pod["status"]["containerStatuses"][0].update(ready=False, state=killed)

    cluster.store.update("pods", "ns", "jupyter-alice", kill)
    await until(lambda: spawner._detailed_start.view.verdict.value == "failed")
    # as the Hub does when it finds that the server has ended
    spawner._stop_pending = True
    if read_meanwhile:
        spawner.detailed_status()
    await spawner.run_post_stop_hook()
    spawner._stop_pending = False
    status = kept_failure(spawner.get_state())
    assert status is not None
    assert status.state.value == "failed"
    assert "memory" in status.message


async def test_a_server_whose_pod_is_being_deleted_by_another_says_so_afterwards(
    cluster: Cluster, make: Make
) -> None:
    spawner = make()
    start = await started(cluster, spawner)
    cluster.move()
    await start
    spawner.add_poll_callback(lambda: None)

    def delete(pod: dict[str, Any]) -> None:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        ended = {"terminated": {"exitCode": 143, "reason": "Error"}}
        pod["status"]["containerStatuses"][0].update(ready=False, state=ended)

    cluster.store.update("pods", "ns", "jupyter-alice", delete)
    await until(lambda: spawner._detailed_start.view.verdict.value == "stopping")
    assert await spawner.poll() == 143
    spawner._stop_pending = True
    spawner.detailed_status()
    await spawner.run_post_stop_hook()
    spawner._stop_pending = False
    status = kept_failure(spawner.get_state())
    assert status is not None
    assert (status.state.value, status.message) == (
        "failed",
        "The server was removed from the cluster.",
    )
