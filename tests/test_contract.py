"""The JSON, its OpenAPI description and its documentation say the same."""

from __future__ import annotations

import re
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, get_type_hints

import jsonschema
import pytest
import yaml
from openapi_spec_validator import validate

import detailedspawner
from detailedspawner import models
from detailedspawner.handlers import API, extra_handlers
from detailedspawner.models import ServerState, ServerStatus
from detailedspawner.pods import judge

OPENAPI = yaml.safe_load((Path(detailedspawner.__file__).parent / "openapi.yaml").read_text())
SCHEMAS = OPENAPI["components"]["schemas"]
DOCS = (Path(__file__).parents[1] / "docs" / "rest.md").read_text()
VALUES = [getattr(models, name) for name in models.__all__]
OBJECTS = [value for value in VALUES if not issubclass(value, Enum)]


def against_schema(document: Any, name: str) -> None:
    """Check a document against one of the schemas; raises ValidationError."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": OPENAPI["components"]}
    jsonschema.Draft202012Validator(schema).validate(document)


def test_the_description_is_valid() -> None:
    validate(OPENAPI)


@pytest.mark.parametrize("value", OBJECTS, ids=lambda value: value.__name__)
def test_every_field_is_described_and_documented(value: type) -> None:
    names = [field.name for field in fields(value)]
    assert list(SCHEMAS[value.__name__]["properties"]) == names
    assert sorted(SCHEMAS[value.__name__]["required"]) == sorted(names)
    section = re.search(rf"^## {value.__name__}\n(.*?)(?=^## |\Z)", DOCS, re.M | re.S)
    assert section is not None
    assert re.findall(r"^\| `(\w+)` \| .+ \|$", section.group(1), re.M) == names


@pytest.mark.parametrize("value", OBJECTS, ids=lambda value: value.__name__)
def test_every_word_of_an_enum_is_described(value: type) -> None:
    hints = get_type_hints(value)
    for name, schema in SCHEMAS[value.__name__]["properties"].items():
        if isinstance(hints[name], type) and issubclass(hints[name], Enum):
            assert schema["enum"] == [word.value for word in hints[name]]


def test_every_handler_is_described() -> None:
    served = [handler for handler in extra_handlers() if handler[0].startswith(API)]
    for path in OPENAPI["paths"]:
        example = API + re.sub(r"\{\w+\}", "x", path)
        matching = [entry for entry in served if re.fullmatch(entry[0], example)]
        assert len(matching) == 1
        served.remove(matching[0])
        assert {method.upper() for method in OPENAPI["paths"][path]} <= set(
            matching[0][1].SUPPORTED_METHODS
        )
    assert served == []


PODS = [
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
def test_what_is_served_fits_the_description(pod: dict[str, Any]) -> None:
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


def test_the_examples_fit_the_description() -> None:
    for name, schema in (("status", "ServerStatus"), ("error", "Error")):
        content = OPENAPI["components"]["responses"][name]["content"]["application/json"]
        against_schema(content["example"], schema)


def test_a_document_that_does_not_fit_is_refused() -> None:
    with pytest.raises(jsonschema.ValidationError):
        against_schema({"state": "starting"}, "ServerStatus")
