"""The private parts of JupyterHub and KubeSpawner that `hub` needs are still there."""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import ClientConnectorError, ClientOSError, ServerDisconnectedError
from jupyterhub import orm
from jupyterhub.handlers.base import BaseHandler
from jupyterhub.spawner import Spawner
from jupyterhub.user import User
from kubernetes_asyncio.client import ApiException
from kubespawner import KubeSpawner
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session
from tornado import gen, web
from tornado.log import app_log

from detailedspawner import hub
from detailedspawner.hub.servers import FLAGS

PRIVATE = [
    {"owner": KubeSpawner, "name": "_start_reflector", "takes": ["kind", "reflector_class"]},
    {"owner": KubeSpawner, "name": "_start_watching_pods", "takes": ["replace"]},
    {"owner": KubeSpawner, "name": "_start_watching_events", "takes": ["replace"]},
    {"owner": KubeSpawner, "name": "_get_reflector_key", "takes": ["kind"]},
    {"owner": KubeSpawner, "name": "_make_create_pod_request", "takes": ["pod", "request_timeout"]},
    {"owner": KubeSpawner, "name": "_get_pod_url", "takes": ["pod"]},
    {"owner": KubeSpawner, "name": "_expand_all", "takes": ["src"]},
    {"owner": KubeSpawner, "name": "_sorted_dict_values", "takes": []},
    {"owner": KubeSpawner, "name": "_render_options_form", "takes": ["profile_list"]},
    {"owner": User, "name": "_delete_spawner", "takes": ["name_or_spawner"]},
]


@pytest.mark.parametrize("row", PRIVATE, ids=lambda row: row["name"])
def test_a_private_method_is_there_and_takes_what_is_passed(row: dict[str, Any]) -> None:
    parameters = inspect.signature(getattr(row["owner"], row["name"])).parameters
    assert [name for name in row["takes"] if name not in parameters] == []
    assert f"`{row['owner'].__name__}.{row['name']}`" in hub.__doc__.replace(
        "`KubeSpawner._start_watching_pods`, `_start_watching_events`",
        "`KubeSpawner._start_watching_pods`, `KubeSpawner._start_watching_events`",
    ).replace("`_sorted_dict_values`", "`KubeSpawner._sorted_dict_values`")


@pytest.mark.parametrize("name", ["_log_name", "_spawn_future"])
def test_a_private_attribute_is_there(name: str) -> None:
    assert hasattr(Spawner, name)
    assert f"`Spawner.{name}`" in hub.__doc__


@pytest.mark.parametrize("name", FLAGS)
def test_the_hub_keeps_what_it_is_doing_in_a_flag(name: str) -> None:
    # servers have been renamed since JupyterHub 6
    if name != "_rename_pending" or hasattr(Spawner, name):
        assert isinstance(vars(Spawner)[name], bool)
    assert f"`{name}`" in hub.__doc__.replace("Spawner._spawn", "_spawn")


def test_the_hub_keeps_the_start_and_counts_failures_where_they_are_looked_for() -> None:
    source = inspect.getsource(BaseHandler.spawn_single_user)
    assert "spawner._spawn_future = maybe_future(finish_user_spawn())" in source
    assert "self.settings['failure_count'] += 1" in source
    assert "failure_limit = spawner.consecutive_failure_limit" in source
    assert '`settings["failure_count"]`' in hub.__doc__


def test_tornado_tells_of_a_future_that_fails_after_its_time_as_is_looked_for() -> None:
    source = inspect.getsource(gen.with_timeout)
    assert '"Exception in Future %r after timeout"' in source
    assert "app_log.error(" in source


def test_the_hub_keeps_servers_in_the_columns_that_are_read() -> None:
    names = {column.key for column in hub.SERVERS}
    assert names <= {column.key for column in orm.Spawner.__table__.columns}
    assert "`orm.Spawner`" in hub.__doc__
    engine = create_engine("sqlite://")
    orm.Base.metadata.create_all(engine)
    kept = {"pod_name": "x", "a": {"b": {"c": 1}, "d": 2}}
    with Session(engine) as session:
        session.add(orm.Spawner(name="", state=kept, user_options={"profile": "x"}))
        session.commit()
        state, options = session.execute(select(hub.SERVERS.state, hub.SERVERS.user_options)).one()
    engine.dispose()
    assert hub.written("a", "b") in state
    assert hub.written("profile") + '"x"' in options


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


def refused_by(host: str) -> ClientConnectorError:
    key = SimpleNamespace(host=host, port=443, ssl=True, is_ssl=True)
    return ClientConnectorError(key, OSError("refused"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "silent"),
    [
        (refused_by("10.96.0.1"), True),
        # a hook has asked somebody else
        (refused_by("gitlab.example"), False),
        (ServerDisconnectedError(), True),
        (ClientOSError("reset"), True),
        (ApiException(status=500), False),
        (OSError("no space"), False),
        (asyncio.TimeoutError(), False),
    ],
    ids=repr,
)
def test_an_api_server_that_does_not_answer_is_told_from_other_trouble(
    error: Exception, silent: bool
) -> None:
    status = hub.no_answer(error, "https://10.96.0.1:443")
    assert (status is not None) is silent
    assert status is None or (status["reason"], status["message"]) == ("NoAnswer", str(error))


@pytest.mark.parametrize(("users", "below_500"), [(True, True), (False, False)])
def test_a_start_ends_with_the_sentence_and_the_right_kind(users: bool, below_500: bool) -> None:
    error = hub.spawn_error("50 % is <b>", "50 % is &lt;b&gt;", "image", users=users)
    assert isinstance(error, web.HTTPError)
    assert (error.status_code < 500) is below_500
    assert error.jupyterhub_message == "50 % is <b>"  # type: ignore[attr-defined]
    assert error.jupyterhub_html_message == "50 % is &lt;b&gt;"  # type: ignore[attr-defined]
    # the Hub logs it this way
    assert "50 %" in str(error)


MISTAKES = [
    {"error": web.HTTPError(403), "counts": True, "left": 4},
    {"error": hub.spawn_error("x", "x", "image", users=True), "counts": True, "left": 4},
    {"error": hub.spawn_error("x", "x", "node", users=False), "counts": True, "left": 5},
    {"error": web.HTTPError(500), "counts": True, "left": 5},
    {"error": ValueError("x"), "counts": True, "left": 5},
    # JupyterHub 6 tells by itself
    {"error": web.HTTPError(403), "counts": False, "left": 5},
]


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: f"{row['error']!r} {row['counts']}")
async def test_a_users_mistake_does_not_count(
    row: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app_log.filters.clear()
    monkeypatch.setattr(hub.servers, "COUNTS_MISTAKES", row["counts"])
    settings = {"failure_count": 4}
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    limits = []

    def as_the_hub(_: Any) -> None:
        settings["failure_count"] += 1
        limits.append(spawner.consecutive_failure_limit)

    future.add_done_callback(as_the_hub)
    handler = SimpleNamespace(settings=settings)
    spawner = SimpleNamespace(_spawn_future=future, handler=handler, consecutive_failure_limit=5)
    hub.forgive_failure(spawner, row["error"])
    hub.forgive_failure(spawner, row["error"])
    future.set_exception(row["error"])
    await asyncio.wait({future})
    future.exception()
    await asyncio.sleep(0)
    try:
        raise row["error"]
    except Exception:
        # as tornado does where the Hub has waited for a start in vain
        app_log.error("Exception in Future %r after timeout", future, exc_info=True)
    assert settings["failure_count"] == row["left"]
    # what is not told in one line comes with its traceback
    assert caplog.text.count("after timeout") == (0 if row["left"] == 4 else 1)
    # 0 is no limit, so that the Hub does not end meanwhile
    assert limits == [0 if row["left"] == 4 else 5]
    assert spawner.consecutive_failure_limit == 5
