"""docs/zero-to-jupyterhub.md holds: its values and rights, with the chart's role on a real cluster.

See z2jh_hub.py for whose configuration it is.
"""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..docblocks import ROOT, texts
from . import cases
from .cluster import Kubernetes
from .hub import Hub, eventually, running_hub
from .registry import push_image_with

pytestmark = pytest.mark.cluster

CONFIG = Path(__file__).with_name("z2jh_hub.py")
# what the chart's role lets the Hub do, in templates/hub/rbac.yaml
CHARTS_ROLE: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "hub"},
    "rules": [
        {
            "apiGroups": [""],
            "resources": ["pods", "persistentvolumeclaims", "secrets", "services"],
            "verbs": ["get", "watch", "list", "create", "delete"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "watch", "list"]},
    ],
}
(LOG_ROLE,) = [text for text in texts("zero-to-jupyterhub.md", "yaml") if "kind: Role" in text]
(CHECK,) = texts("zero-to-jupyterhub.md", "sh")


@pytest.fixture(scope="module")
def limited(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Kubernetes:
    """The cluster as the chart's role lets the Hub see it."""
    script = b"#!/bin/sh\necho the network is secured\nsleep 2\n"
    push_image_with(
        cases.BUSYBOX, cases.BUSYBOX, cases.NETWORK_TOOLS, {"bin/iptables": (script, 0o755)}
    )
    limited = copy.copy(kubernetes)
    limited.kubeconfig = tmp_path_factory.mktemp("z2jh") / "kubeconfig"
    kubernetes.account(CHARTS_ROLE, limited.kubeconfig)
    return limited


@pytest.fixture(scope="module")
def hub(limited: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A Hub that is configured as by the chart, and may do what the chart's may."""
    folder = tmp_path_factory.mktemp("z2jh-hub")
    more = {"SUITE_OWN_PROXY": "1", "SUITE_SHOW_LOGS": "1"}
    with running_hub(limited, CONFIG, folder, more) as hub:
        yield hub


def check(kubernetes: Kubernetes, **more: str) -> tuple[int, list[str]]:
    """Run the page's command where the Hub would run; returns its exit code and lines."""
    _, _, command = CHECK.partition(" -- ")
    words = command.split()
    assert words[0] == "python"
    assert words[-1].endswith("/jupyterhub_config.py")
    ports = ("PROXY_PORT", "PROXY_API_PORT", "HUB_PORT")
    environment = {
        **os.environ, **dict.fromkeys(ports, "1"), **more,
        "HUB_ADDRESS": "127.0.0.1", "SUITE_TOKEN": "t", "PYTHONPATH": str(ROOT),
        "SUITE_NAMESPACE": kubernetes.namespace, "KUBECONFIG": str(kubernetes.kubeconfig),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, *words[1:-1], str(CONFIG)],
        env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_the_charts_own_role_is_enough(limited: Kubernetes) -> None:
    code, lines = check(limited)
    assert [line for line in lines if line.startswith(("wrong", "note     right"))] == []
    assert code == 0
    for about in ("configure(c)", "settings", "right on pods", "right on events",
                  "right on persistentvolumeclaims"):  # fmt: skip
        assert any(line.startswith(f"ok       {about}: ") for line in lines), about


def test_a_start_shows_the_charts_container_by_its_name(hub: Hub, limited: Kubernetes) -> None:
    assert hub.start("ada", "server") == 202
    events = list(hub.stream("ada"))
    statuses = [event["status"] for event in events if "status" in event]
    steps = {step["step"] for status in statuses for step in status["details"]}
    assert "Securing the network" in steps
    executing = [
        status for status in statuses for step in status["details"]
        if (step["step"], step["status"]) == ("Securing the network", "executing")
    ]  # fmt: skip
    assert executing
    assert executing[0]["total_containers"] == 2
    assert events[-1].get("ready") is True, events[-1]["status"]["containers"]
    assert hub.visit("ada").status_code < 500
    (pod,) = [pod for pod in limited.list("pods") if "jupyter-ada" in pod["metadata"]["name"]]
    # by these the chart's network policies let the Hub reach it
    labels = pod["metadata"]["labels"]
    assert labels["component"] == "singleuser-server"
    assert labels["app.kubernetes.io/component"] == "singleuser-server"
    assert pod["spec"]["containers"][0]["ports"][0]["containerPort"] == 8888


def test_a_failure_says_its_cause(hub: Hub) -> None:
    assert hub.start("bob", "wrong") == 202
    last = list(hub.stream("bob"))[-1]
    assert last["failed"]
    assert "image name" in last["message"]
    assert last["status"]["state"] == "failed"


def test_logs_need_the_role_of_the_page(
    hub: Hub, limited: Kubernetes, kubernetes: Kubernetes
) -> None:
    path = "/detailedspawner/users/ada/server/logs/block-cloud-metadata"
    answer = hub.client.get(path)
    assert (answer.status_code, answer.json()["message"]) == (
        503, "The Hub has no right to get pods/log."
    )  # fmt: skip
    code, lines = check(limited, SUITE_SHOW_LOGS="1")
    assert code == 1
    (wrong,) = [line for line in lines if line.startswith("wrong")]
    assert "right on pods/log: may not get" in wrong

    kubernetes.grant(*yaml.safe_load_all(LOG_ROLE))

    def shown() -> str:
        return str(hub.client.get(path).json().get("text"))

    eventually(lambda: "the network is secured" in shown(), "the log is shown")
    assert check(limited, SUITE_SHOW_LOGS="1")[0] == 0
