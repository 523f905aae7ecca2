"""The models to JSON and back, and the two configurations that come as examples."""

from __future__ import annotations

import json
import runpy
import types
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traitlets.config import Config

from detailedspawner import models
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
from detailedspawner.models.values import TIME_NAMES, Value
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


OBJECTS = [
    value
    for value in (getattr(models, name) for name in models.__all__)
    if not issubclass(value, Enum)
]
# milliseconds from 1970 to 2100
TIMES = st.integers(0, 4_102_444_800_000).map(lambda milliseconds: milliseconds / 1000)


def any_value(hint: Any, name: str = "") -> st.SearchStrategy[Any]:
    """Return all values that a field of this type can have."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is types.UnionType:
        return st.none() | any_value(arguments[0], name)
    if origin is tuple:
        return st.lists(any_value(arguments[0]), max_size=2).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.text(), any_value(arguments[1]), max_size=2)
    if issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if issubclass(hint, Value):
        hints = get_type_hints(hint)
        names = [item.name for item in fields(hint)]  # type: ignore[arg-type]
        return st.builds(hint, **{name: any_value(hints[name], name) for name in names})
    if hint is float:
        numbers = st.floats(0, 1e9, allow_nan=False)
        return TIMES if name in TIME_NAMES or name.endswith("_at") else numbers
    return {int: st.integers(), bool: st.booleans(), str: st.text()}[hint]


@pytest.mark.parametrize("kind", OBJECTS, ids=lambda kind: kind.__name__)
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_every_model_comes_back_from_json_as_it_was(kind: Any, data: st.DataObject) -> None:
    value = data.draw(any_value(kind))
    plain = json.loads(json.dumps(value.to_dict()))
    assert kind.from_dict(plain) == value
    assert kind.from_dict(plain).to_dict() == value.to_dict()


CONTAINER = {"name": "notebook", "kind": "main", "image": None, "status": "ready"}
# a document that is no container -> what is said of it
NO_CONTAINERS: dict[str, tuple[Any, str]] = {
    "text": ("notebook", "Container: 'notebook' is no object"),
    "a field missing": ({"name": "notebook"}, "Container.kind is missing"),
    "a field too many": ({**CONTAINER, "names": 1}, "Container has no field 'names'"),
    "no text": ({**CONTAINER, "name": 1}, "Container.name: 1 is of a wrong type"),
    "no word": ({**CONTAINER, "kind": "side"}, "Container.kind: 'side' is not a valid"),
    "no number": ({**CONTAINER, "restarts": True}, "Container.restarts: True is of a wrong type"),
    "nothing": ({**CONTAINER, "name": None}, "Container.name: None is of a wrong type"),
}


@pytest.mark.parametrize("case", NO_CONTAINERS)
def test_a_document_that_is_no_value_is_refused(case: str) -> None:
    document, message = NO_CONTAINERS[case]
    with pytest.raises(ValueError, match=message):
        Container.from_dict(document)


# a field of a step -> what is said of it
NO_STEPS: dict[str, tuple[Any, str]] = {
    "started_at": ("yesterday", "Step.started_at: "),
    "finished_at": ("2025-11-30T12:00:00", "does not say its time zone"),
    "containers": ("notebook", "Step.containers: 'notebook' is of a wrong type"),
    "expected_seconds": (True, "Step.expected_seconds: True is of a wrong type"),
}


@pytest.mark.parametrize("field", NO_STEPS)
def test_a_field_of_a_wrong_form_is_refused(field: str) -> None:
    wrong, message = NO_STEPS[field]
    step = {"step": "Clone", "status": "ready", "kind": "init"}
    with pytest.raises(ValueError, match=message):
        Step.from_dict({**step, field: wrong})


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
