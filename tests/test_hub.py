"""The private parts of JupyterHub and KubeSpawner that `hub` needs are still there."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from jupyterhub.spawner import Spawner
from kubernetes_asyncio.client import ApiException
from kubespawner import KubeSpawner
from tornado import web

from detailedspawner import hub

PRIVATE = [
    {"owner": KubeSpawner, "name": "_start_reflector", "takes": ["kind", "reflector_class"]},
    {"owner": KubeSpawner, "name": "_start_watching_pods", "takes": ["replace"]},
    {"owner": KubeSpawner, "name": "_start_watching_events", "takes": ["replace"]},
    {"owner": KubeSpawner, "name": "_get_reflector_key", "takes": ["kind"]},
    {"owner": KubeSpawner, "name": "_make_create_pod_request", "takes": ["pod", "request_timeout"]},
    {"owner": KubeSpawner, "name": "_get_pod_url", "takes": ["pod"]},
    {"owner": KubeSpawner, "name": "_expand_all", "takes": ["src"]},
    {"owner": KubeSpawner, "name": "_sorted_dict_values", "takes": []},
]


@pytest.mark.parametrize("row", PRIVATE, ids=lambda row: row["name"])
def test_a_private_method_is_there_and_takes_what_is_passed(row: dict[str, Any]) -> None:
    parameters = inspect.signature(getattr(row["owner"], row["name"])).parameters
    assert [name for name in row["takes"] if name not in parameters] == []
    assert f"`{row['owner'].__name__}.{row['name']}`" in hub.__doc__.replace(
        "`KubeSpawner._start_watching_pods`, `_start_watching_events`",
        "`KubeSpawner._start_watching_pods`, `KubeSpawner._start_watching_events`",
    ).replace("`_sorted_dict_values`", "`KubeSpawner._sorted_dict_values`")


def test_a_private_attribute_is_there() -> None:
    assert hasattr(Spawner, "_log_name")
    assert "`Spawner._log_name`" in hub.__doc__


def test_kubespawner_creates_its_pod_through_the_method_that_is_replaced() -> None:
    source = inspect.getsource(KubeSpawner)
    assert "self._make_create_pod_request, pod" in source
    assert "self._start_reflector(" in source
    assert "self.is_pod_running(" in source


ANSWERS = [
    {"body": '{"code": 403, "message": "quota"}', "is": {"code": 403, "message": "quota"}},
    {"body": '{"message": "quota"}', "is": {"code": 422, "message": "quota"}},
    {"body": "<html>", "is": {"code": 422, "message": "Unprocessable"}},
    {"body": "[1]", "is": {"code": 422, "message": "Unprocessable"}},
    {"body": None, "is": {"code": 422, "message": "Unprocessable"}},
]


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: str(row["body"]))
def test_the_status_of_an_api_error(row: dict[str, Any]) -> None:
    error = ApiException(status=422, reason="Unprocessable")
    error.body = row["body"]
    assert hub.status_of(error) == row["is"]


@pytest.mark.parametrize(("users", "below_500"), [(True, True), (False, False)])
def test_a_start_ends_with_the_sentence_and_the_right_kind(users: bool, below_500: bool) -> None:
    error = hub.spawn_error("50 % is <b>", "50 % is &lt;b&gt;", "image", users=users)
    assert isinstance(error, web.HTTPError)
    assert (error.status_code < 500) is below_500
    assert error.jupyterhub_message == "50 % is <b>"  # type: ignore[attr-defined]
    assert error.jupyterhub_html_message == "50 % is &lt;b&gt;"  # type: ignore[attr-defined]
    # the Hub logs it this way
    assert "50 %" in str(error)
