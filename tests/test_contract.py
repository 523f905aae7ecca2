"""The JSON, its OpenAPI description and its documentation say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints
from unittest.mock import AsyncMock

import httpx
import jsonschema
import pytest
import yaml
from kubernetes_asyncio.client import ApiException
from openapi_spec_validator import validate
from traitlets.config import Config

import detailedspawner
from detailedspawner import models
from detailedspawner.handlers import API, extra_handlers
from detailedspawner.models import ServerState, ServerStatus
from detailedspawner.models.values import Value
from detailedspawner.pods import judge

from .resthub import PAGED, RestHub, resthub
from .test_rest_profiles import PROFILES, listed

OPENAPI = yaml.safe_load((Path(detailedspawner.__file__).parent / "openapi.yaml").read_text())
SCHEMAS = OPENAPI["components"]["schemas"]
DOCS = (Path(__file__).parents[1] / "docs" / "rest.md").read_text()
VALUES = [getattr(models, name) for name in models.__all__]
OBJECTS = [value for value in VALUES if not issubclass(value, Enum)]


def resolved(item: dict[str, Any]) -> dict[str, Any]:
    """Return what an entry of the description refers to, or itself."""
    if "$ref" not in item:
        return item
    found: Any = OPENAPI
    for part in item["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    result: dict[str, Any] = found
    return result


def against(document: Any, schema: dict[str, Any]) -> None:
    """Check a document against a schema; raises ValidationError."""
    whole = {**schema, "components": OPENAPI["components"]}
    jsonschema.Draft202012Validator(whole).validate(document)


def against_schema(document: Any, name: str) -> None:
    """Check a document against one of the named schemas; raises ValidationError."""
    against(document, {"$ref": f"#/components/schemas/{name}"})


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each path with what GET gives there; there is nothing else."""
    for path, item in OPENAPI["paths"].items():
        assert set(item) == {"get"}
        yield path, item["get"]


def test_the_description_is_valid() -> None:
    validate(OPENAPI)


def test_every_model_is_public() -> None:
    everywhere = {value.__name__ for value in Value.__subclasses__()}
    assert everywhere == {value.__name__ for value in OBJECTS}


@pytest.mark.parametrize("value", OBJECTS, ids=lambda value: value.__name__)
def test_every_field_is_described_and_documented(value: type) -> None:
    names = [field.name for field in fields(value)]
    assert list(SCHEMAS[value.__name__]["properties"]) == names
    assert sorted(SCHEMAS[value.__name__]["required"]) == sorted(names)
    assert SCHEMAS[value.__name__]["additionalProperties"] is False
    section = re.search(rf"^## {value.__name__}\n(.*?)(?=^## |\Z)", DOCS, re.M | re.S)
    assert section is not None
    assert re.findall(r"^\| `(\w+)` \| .+ \|$", section.group(1), re.M) == names


@pytest.mark.parametrize("value", OBJECTS, ids=lambda value: value.__name__)
def test_every_word_of_an_enum_is_described(value: type) -> None:
    hints = get_type_hints(value)
    for name, schema in SCHEMAS[value.__name__]["properties"].items():
        for hint in (hints[name], *get_args(hints[name])):
            if isinstance(hint, type) and issubclass(hint, Enum):
                assert schema["enum"] == [word.value for word in hint]


def test_the_words_of_filters_are_those_of_the_enum() -> None:
    state = OPENAPI["components"]["parameters"]["state"]["schema"]["items"]["enum"]
    assert state == [word.value for word in ServerState]


def test_every_handler_is_described_and_documented() -> None:
    served = [handler for handler in extra_handlers() if handler[0].startswith(API)]
    for path in OPENAPI["paths"]:
        example = API + re.sub(r"\{\w+\}", "x", path)
        matching = [entry for entry in served if re.fullmatch(entry[0], example)]
        assert len(matching) == 1
        served.remove(matching[0])
        assert {method.upper() for method in OPENAPI["paths"][path]} <= set(
            matching[0][1].SUPPORTED_METHODS
        )
        named = path.format(name="NAME", server="SERVER", container="CONTAINER")
        assert f"| `{named.removeprefix('/')}` |" in DOCS
    assert served == []


def test_the_examples_fit_the_description() -> None:
    examples = 0
    for response in OPENAPI["components"]["responses"].values():
        for content in response.get("content", {}).values():
            against(content["example"], content["schema"])
            examples += 1
    assert examples >= 9


def test_a_document_that_does_not_fit_is_refused() -> None:
    with pytest.raises(jsonschema.ValidationError):
        against_schema({"state": "starting"}, "ServerStatus")


PODS: list[dict[str, Any]] = [
    {},
    {"spec": {"containers": [{"name": "notebook", "image": "lab:1"}]}},
    {
        "spec": {"nodeName": "n", "containers": [{"name": "notebook", "image": "lab:1"}]},
        "status": {
            "phase": "Pending",
            "containerStatuses": [
                {
                    "name": "notebook",
                    "restartCount": 4,
                    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                    "lastState": {"terminated": {"exitCode": 1, "message": "no such file"}},
                }
            ],
        },
    },
]


@pytest.mark.parametrize("pod", PODS, ids=["nothing", "planned", "failing"])
def test_a_status_fits_the_description(pod: dict[str, Any]) -> None:
    view = judge(pod, now=1.0)
    status = ServerStatus(
        start_id="a",
        revision="a.1",
        state=ServerState.STARTING,
        progress=view.progress,
        message=view.message,
        details=view.steps,
        containers=view.containers,
        ready_containers=view.ready,
        total_containers=view.total,
        started_at=1.0,
    )
    against_schema(status.to_dict(), "ServerStatus")


# --- every answer of every handler --------------------------------------------------


def config(c: Config) -> None:
    """Offer profiles, which cannot be evaluated for one user."""
    listed(c)

    def of_user(spawner: Any) -> list[dict[str, Any]]:
        if spawner.user.name == "broken":
            raise RuntimeError("no profiles")
        return PROFILES

    c.KubeSpawner.profile_list = of_user
    c.DetailedKubeSpawner.show_logs = True


async def answers(hub: RestHub, path: str, code: str) -> list[httpx.Response]:
    """Return answers of a path that should have this code."""
    own = path.format(name="alice", server="lab", container="notebook")
    every = hub.service("every", "read:servers", "access:servers", "read:users", "read:hub")
    alice = hub.token(hub.app.users["alice"])
    token = None if path == "/openapi.yaml" else alice if path == "/profiles" else every
    if code == "200":
        found = [await hub.get(own, token)]
        return [*found, await hub.get(own, token, headers=PAGED)] if "servers" in path else found
    if code == "304":
        tag = (await hub.get(own, token)).headers["ETag"]
        return [await hub.get(own, token, headers={"If-None-Match": tag})]
    if code == "400":
        return [await hub.get(f"{own}?unknown=1", token)]
    if code == "403":
        nothing = hub.service("nothing", "read:groups")
        return [await hub.get(own), await hub.get(own, "wrong"), await hub.get(own, nothing)]
    if code == "404":
        named = own if "alice" in own else f"{own}?user=alice"
        elsewhere = named.replace("alice", "nobody")
        return [
            await hub.get(elsewhere, every),
            await hub.get(named.replace("alice", "bob"), alice),
        ]
    if code == "503":
        spawner = hub.app.users["alice"].spawners["lab" if "servers" in path else ""]
        with pytest.MonkeyPatch.context() as patch:
            refused = AsyncMock(side_effect=ApiException(status=403))
            patch.setattr(spawner.api, "read_namespaced_pod_log", refused)
            return [await hub.get(own, every)]
    assert (path, code) == ("/profiles", "500")
    return [await hub.get(f"{path}?user=broken", every)]


async def test_every_answer_is_as_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with resthub(tmp_path, monkeypatch, config) as hub:
        alice = hub.user("alice")
        hub.user("bob")
        hub.user("broken")
        for server in ("", "lab"):
            await hub.start(alice, server, profile="small", image="2025")
        for path, operation in operations():
            for code, response in operation["responses"].items():
                for answer in await answers(hub, path, code):
                    where = f"{code} {answer.request.url} {answer.text[:300]}"
                    assert str(answer.status_code) == code, where
                    content = resolved(response).get("content")
                    if content is None:
                        assert answer.text == "", where
                        continue
                    ((kind, described),) = content.items()
                    assert answer.headers["Content-Type"].split(";")[0] == kind, where
                    document = answer.json() if kind == "application/json" else answer.text
                    against(document, described["schema"])


async def test_every_argument_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with resthub(tmp_path, monkeypatch) as hub:
        hub.user("alice")
        hub.server(hub.app.users["alice"], "lab")
        every = hub.service("every", "read:servers", "read:users", "read:hub")
        for path, operation in operations():
            described = [
                resolved(parameter)["name"]
                for parameter in operation.get("parameters", ())
                if resolved(parameter)["in"] == "query"
            ]
            own = path.format(name="alice", server="lab", container="notebook")
            asked = f"{own}?unknown=1" + ("&user=alice" if path == "/profiles" else "")
            message = (await hub.get(asked, every)).json()["message"]
            known = message.split("known: ")[1].split(", ")
            assert sorted(known) == (sorted(described) or ["none"]), path


async def test_the_description_is_served_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with resthub(tmp_path, monkeypatch) as hub:
        assert yaml.safe_load((await hub.get("/openapi.yaml")).text) == OPENAPI
