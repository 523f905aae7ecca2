"""The stand-in with kubectl, and beside a real cluster."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client, config

from detailedspawner.demo.store import Store

from .demoobjects import (
    container,
    new_store,
    pod,
    run_on_a_node,
    serving,
    uid_of,
    until,
)
from .docblocks import command


@pytest.fixture
def store() -> Store:
    return new_store()


@pytest.fixture
async def url(store: Store) -> AsyncIterator[str]:
    async with serving(store, "secret") as address:
        yield address


@pytest.fixture
def environment(url: str, tmp_path: Path) -> dict[str, str]:
    """What makes kubectl talk to the stand-in."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "demo", "cluster": {"server": url}}],
        "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "demo"}}],
        "users": [{"name": "demo", "user": {}}],
        "current-context": "demo",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    return {**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig"), "HOME": str(tmp_path)}


@pytest.fixture
def kubectl(environment: dict[str, str]) -> Callable[..., Any]:
    """Runs kubectl on the stand-in; returns its exit code and all it printed."""

    async def run(*words: str, stdin: str = "") -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *words,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 60)
        return process.returncode, printed.decode()

    return run


async def test_kubectl(store: Store, kubectl: Callable[..., Any]) -> None:
    manifest = json.dumps({"apiVersion": "v1", "kind": "Pod", **pod()})
    assert await kubectl("create", "-f", "-", stdin=manifest) == (0, "pod/a created\n")
    code, printed = await kubectl("create", "-f", "-", stdin=manifest)
    assert (code, 'pods "a" already exists' in printed) == (1, True)
    running = {"name": "main", "state": {"running": {}}, "lastState": {}, "image": "busybox:1"}
    statuses = [{**running, "imageID": "", "ready": True, "restartCount": 2}]
    ready = [{"type": "Ready", "status": "True", "observedGeneration": 1}]
    run_on_a_node(store, containerStatuses=statuses, conditions=ready, podIP="127.0.0.2")
    code, printed = await kubectl("get", "pods", "-A")
    lines = [line.split() for line in printed.splitlines()]
    assert lines[0] == ["NAMESPACE", "NAME", "AGE"]
    assert lines[1][:2] == ["default", "a"]
    code, printed = await kubectl("get", "pod", "a", "-o", "jsonpath={.status.podIP}")
    assert (code, printed) == (0, "127.0.0.2")
    about = {"kind": "Pod", "name": "a", "namespace": "default", "uid": uid_of(store)}
    body = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "Seen", "type": "Normal"}
    store.create("events", "default", {**body, "message": "It was seen.", "source": {}})
    code, printed = await kubectl("describe", "pod", "a")
    assert (code, "It was seen." in printed) == (0, True)
    assert await kubectl("logs", "a", "--tail=3") == (0, "default a main False 3\n")
    code, printed = await kubectl("get", "serviceaccounts")
    assert [line.split()[0] for line in printed.splitlines()] == ["NAME", "default"]
    deletion = asyncio.ensure_future(kubectl("delete", "pod", "a"))
    await until(lambda: "deletionTimestamp" in store.get("pods", "default", "a")["metadata"])
    assert not deletion.done()
    store.delete("pods", "default", "a", grace=0)  # as the node does at the end
    code, printed = await deletion
    assert (code, printed.startswith('pod "a" deleted')) == (0, True)
    code, printed = await kubectl("get", "pod", "a")
    assert (code, 'pods "a" not found' in printed) == (1, True)


async def test_the_command_of_the_readme_explains_a_pod(
    store: Store, environment: dict[str, str]
) -> None:
    store.create("pods", "default", pod())
    waiting = {"reason": "ErrImagePull", "message": "manifest unknown"}
    status = {"name": "main", "image": "busybox:1", "imageID": "", "ready": False}
    status |= {"restartCount": 0, "state": {"waiting": waiting}, "lastState": {}}
    run_on_a_node(store, phase="Pending", containerStatuses=[status])
    folder = Path(sys.executable).parent
    process = await asyncio.create_subprocess_shell(
        command("README.md", "kubectl get"),
        env={**environment, "PATH": f"{folder}{os.pathsep}{environment['PATH']}"},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    assert "busybox:1" in printed.decode()


# Against a real cluster.


@pytest.mark.cluster
async def test_a_real_cluster_fills_in_the_same(store: Store) -> None:
    settings = client.Configuration()
    await config.load_kube_config(client_configuration=settings)
    probe = {"httpGet": {"path": "/api", "port": 8888}}
    main = container(readinessProbe=probe, resources={"limits": {"memory": "1.5Gi", "cpu": 1}})
    sidecar = container("sidecar", "busybox", restartPolicy="Always", ports=[{"containerPort": 1}])
    bodies = [
        pod(automountServiceAccountToken=False),
        pod(
            automountServiceAccountToken=False,
            containers=[main],
            initContainers=[sidecar],
            restartPolicy="OnFailure",
        ),
    ]
    async with client.ApiClient(settings) as connection:
        core: Any = client.CoreV1Api(connection)
        for body in bodies:
            # Nothing is left of a dry run.
            answer = await core.create_namespaced_pod(
                "default", body, dry_run="All", _preload_content=False
            )
            real = await answer.json()
            made = store.create("pods", "default", body)
            store.delete("pods", "default", "a")
            assert (made["spec"], made["status"]) == (real["spec"], real["status"])
