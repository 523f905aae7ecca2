"""The status as readers get it, and the two configurations that come as examples."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from detailedspawner.models import (
    Container,
    ContainerKind,
    Health,
    HealthCheck,
    HealthStatus,
    ServerState,
    ServerStatus,
    StartWarning,
    Step,
    StepKind,
    StepStatus,
)
from detailedspawner.pods import PodView, judge
from detailedspawner.settings import DetailedTraits

EXAMPLES = Path(__file__).parents[1] / "examples"
INIT_DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def test_a_status_becomes_plain_json() -> None:
    status = ServerStatus(
        start_id="7f3a9c",
        revision="7f3a9c.17",
        state=ServerState.STARTING,
        progress=40,
        message="Containers with non-ready statuses: notebook.",
        details=(Step("Clone", StepStatus.READY, StepKind.INIT, ("git-clone",), started_at=0.25),),
        ready_containers=1,
        total_containers=2,
        containers=(Container("git-clone", ContainerKind.INIT, "git:1", StepStatus.READY),),
        health=Health(HealthStatus.INITIALIZING, last=HealthCheck(1.5, "refused", "nothing")),
        warnings=(StartWarning("Clone", "slow"),),
        updated_at=1764504000.5,
    )
    plain = status.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["state"] == "starting"
    assert plain["updated_at"] == "2025-11-30T12:00:00.500Z"
    assert plain["details"][0]["started_at"] == "1970-01-01T00:00:00.250Z"
    assert plain["details"][0]["containers"] == ["git-clone"]
    assert plain["containers"][0]["kind"] == "init"
    assert plain["health"]["last"]["at"] == "1970-01-01T00:00:01.500Z"
    assert plain["expected_seconds"] is None


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> DetailedTraits:
    """Return the traits as the example's configuration sets them."""
    config = Config()
    monkeypatch.setattr("traitlets.config.get_config", lambda: config)
    runpy.run_path(str(EXAMPLES / name))
    return DetailedTraits(**config.DetailedKubeSpawner)


def seven_containers(done: int, at_work: int) -> dict[str, Any]:
    """Return a pod whose first `done` containers are done and the next ones at work."""
    names = ["init-certificates", "download-image", "git-clone"]
    sidecars = ["git-proxy", "oauth2-proxy"]
    always = {"restartPolicy": "Always"}
    spec = {
        "nodeName": "node",
        "initContainers": [
            *({"name": name} for name in names),
            *({"name": name, **always} for name in sidecars),
        ],
        "containers": [{"name": "jupyter-server"}, {"name": "git-sidecar"}],
    }
    states = []
    for position, name in enumerate([*names, *sidecars]):
        state: dict[str, Any] = {"waiting": {"reason": "PodInitializing"}}
        if position < done:
            state = INIT_DONE
        elif position < done + at_work:
            state = {"running": {"startedAt": "2025-11-30T12:00:00Z"}}
        states.append({"name": name, "ready": position < done, "state": state})
    status = {"phase": "Pending", "initContainerStatuses": states}
    return {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec, "status": status}


def words(view: PodView) -> dict[str, str]:
    """Return the steps of containers with their statuses."""
    return {step.step: step.status.value for step in view.steps if step.containers}


def test_seven_containers_of_which_two_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = example("seven_containers.py", monkeypatch).pod_settings()
    view = judge(seven_containers(done=2, at_work=1), now=0.0, settings=settings)
    assert words(view) == {
        "Initialization": "ready",
        "Downloading session image": "ready",
        "Cloning and configuring the repository": "executing",
        "Git credentials services": "waiting",
        "Authentication and proxying services": "waiting",
        "Auxiliary session services": "waiting",
        "Starting session": "waiting",
    }
    assert (view.ready, view.total) == (2, 7)
    assert view.message == (
        "Containers with non-ready statuses: git-clone, git-proxy, oauth2-proxy, jupyter-server, "
        "git-sidecar."
    )


def test_zero_to_jupyterhub(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = example("zero_to_jupyterhub.py", monkeypatch).pod_settings()
    spec = {
        "initContainers": [{"name": "block-cloud-metadata", "image": "network-tools"}],
        "containers": [{"name": "notebook", "image": "singleuser"}],
    }
    view = judge({"spec": spec}, now=0.0, settings=settings)
    assert words(view) == {"Securing the network": "waiting", "Starting your server": "waiting"}
    assert view.steps[0].step == "Finding a machine"
