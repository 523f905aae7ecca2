"""`configure(c)`: what it sets, what it leaves alone, and what it tells."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.app import JupyterHub
from kubespawner import KubeSpawner
from tornado import web
from traitlets import TraitError
from traitlets.config import Config, LazyConfigValue

from detailedspawner import DetailedKubeSpawner, configure
from detailedspawner.configuration import HANDLERS_PAUSE, SPAWNER_CLASS, place_handlers
from detailedspawner.handlers import extra_handlers, undone_parts
from detailedspawner.handlers.hubhandlers import UserServerAPIHandler
from detailedspawner.pages import template_paths


def appended(value: Any) -> list[Any]:
    """Return what a list of the configuration holds, set or lazily extended."""
    if not isinstance(value, LazyConfigValue):
        return list(value)
    asked = value.to_dict()
    return [*asked.get("prepend", []), *asked.get("extend", [])]


SPAWNERS = [
    {"was": None, "is": SPAWNER_CLASS},
    {"was": "kubespawner", "is": SPAWNER_CLASS},
    {"was": "kubespawner.KubeSpawner", "is": SPAWNER_CLASS},
    {"was": KubeSpawner, "is": SPAWNER_CLASS},
    {"was": "detailed", "is": "detailed"},
    {"was": DetailedKubeSpawner, "is": DetailedKubeSpawner},
    {"was": "mine.MySpawner", "is": "mine.MySpawner"},
]


@pytest.mark.parametrize("row", SPAWNERS, ids=lambda row: str(row["was"]))
def test_spawner_class(row: dict[str, Any]) -> None:
    config = Config()
    if row["was"] is not None:
        config.JupyterHub.spawner_class = row["was"]
    configure(config)
    assert config.JupyterHub.spawner_class == row["is"]


def test_nothing_that_was_set_is_changed() -> None:
    config = Config()
    config.JupyterHub.template_paths = ["/mine"]
    config.JupyterHub.extra_handlers = [("/x", object)]
    config.KubeSpawner.image = "mine:1"
    configure(config)
    # the admin's own templates come first, so they win
    assert config.JupyterHub.template_paths == ["/mine", *template_paths()]
    assert config.JupyterHub.extra_handlers[0] == ("/x", object)
    assert config.KubeSpawner == Config({"image": "mine:1"})


DATA = JupyterHub().data_files_path
STOCK = f"{DATA}/templates"
OURS = template_paths()[0]
ORDERS = [
    {"name": "absent", "do": lambda hub: None, "order": [OURS, STOCK]},
    {
        "name": "set",
        "do": lambda hub: hub.update(template_paths=["/mine"]),
        "order": ["/mine", OURS, STOCK],
    },
    {
        "name": "prepended",
        "do": lambda hub: hub.template_paths.prepend(["/mine"]),
        "order": ["/mine", OURS, STOCK],
    },
    # as without this package, the Hub's own folder comes before what was appended
    {
        "name": "appended",
        "do": lambda hub: hub.template_paths.append("/mine"),
        "order": [OURS, STOCK, "/mine"],
    },
]


@pytest.mark.parametrize("row", ORDERS, ids=lambda row: row["name"])
def test_the_pages_come_after_the_admins_and_before_the_hubs(row: dict[str, Any]) -> None:
    config = Config()
    row["do"](config.JupyterHub)
    configure(config)
    configure(config)
    paths = JupyterHub(config=config).template_paths
    paths = [*paths, STOCK]  # as the Hub does when it is not there yet
    assert list(dict.fromkeys(paths)) == row["order"]


@pytest.mark.parametrize("lists", ["absent", "set", "extended"])
def test_it_may_be_called_twice(lists: str) -> None:
    config = Config()
    if lists == "set":
        config.JupyterHub.template_paths = ["/mine"]
        config.JupyterHub.extra_handlers = []
    if lists == "extended":
        config.JupyterHub.template_paths.append("/mine")
    configure(config)
    once = [appended(config.JupyterHub[name]) for name in ("template_paths", "extra_handlers")]
    configure(config)
    twice = [appended(config.JupyterHub[name]) for name in ("template_paths", "extra_handlers")]
    assert once == twice
    assert template_paths()[0] in once[0]
    assert once[1] == extra_handlers()


def test_a_wrong_trait_ends_the_start_also_when_set_afterwards(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def start() -> None:
        config = Config()
        configure(config)
        config.DetailedKubeSpawner.step_names = {"git": ""}
        await asyncio.sleep(60)

    with pytest.raises(SystemExit, match=r"step_names.*\{'git': ''\}"):
        asyncio.run(start())


def test_without_a_loop_what_is_there_is_checked_at_once() -> None:
    config = Config()
    config.DetailedKubeSpawner.main_container = ""
    with pytest.raises(TraitError, match="main_container"):
        configure(config)


PARTS = [
    {"change": {}, "undone": []},
    {"change": {"spawner_class": KubeSpawner}, "undone": ["JupyterHub.spawner_class"]},
    {"change": {"template_paths": ["/mine"]}, "undone": ["JupyterHub.template_paths"]},
    {
        "change": {"template_paths": [STOCK, *template_paths()]},
        "undone": ["JupyterHub.template_paths"],
    },
    {"change": {"extra_handlers": []}, "undone": ["JupyterHub.extra_handlers"]},
]


@pytest.mark.parametrize("row", PARTS, ids=lambda row: str(row["undone"]))
def test_what_a_later_assignment_undid_is_found(row: dict[str, Any]) -> None:
    whole = {
        "data_files_path": DATA,
        "spawner_class": DetailedKubeSpawner,
        "template_paths": ["/mine", *template_paths()],
        "extra_handlers": extra_handlers(),
    }
    # with nothing made yet that answers, as `detailedspawner check` has it
    assert list(undone_parts(SimpleNamespace(**{**whole, **row["change"]}))) == row["undone"]


async def test_the_first_spawner_reports_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(DetailedKubeSpawner, "at_first_spawner", [told.append])
    monkeypatch.setattr(KubeSpawner, "__init__", lambda self, *args, **kwargs: None)
    monkeypatch.setattr(DetailedKubeSpawner, "log", logging.getLogger("test"))
    DetailedKubeSpawner()
    DetailedKubeSpawner()
    assert len(told) == 1


class Hub:
    """As much of a Hub as gets handlers."""

    hub_prefix = "/hub/"
    add_url_prefix = staticmethod(JupyterHub.add_url_prefix)

    def __init__(self) -> None:
        self.tornado_application: Any = None


class Application(web.Application):
    """Notes which handlers come before its own."""

    placed: list[Any]

    def add_handlers(self, host_pattern: str, host_handlers: Any) -> None:
        """Note them; its own handlers come by another way."""
        self.placed = [*getattr(self, "placed", []), *host_handlers]


async def placed(app: Hub) -> None:
    """Wait until the application has handlers before its own."""
    while not hasattr(app.tornado_application, "placed"):
        await asyncio.sleep(0.001)


async def test_start_and_stop_come_before_the_hubs_as_soon_as_it_can_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Hub()
    monkeypatch.setattr(JupyterHub, "initialized", lambda: True)
    monkeypatch.setattr(JupyterHub, "instance", lambda: app)
    config = Config()
    configure(config)
    configure(config)
    # the Hub makes it some time after its configuration was read
    await asyncio.sleep(0)
    assert place_handlers() is False
    app.tornado_application = Application()
    await asyncio.wait_for(placed(app), 5)
    # however many ask for it
    assert place_handlers() is True
    await asyncio.sleep(3 * HANDLERS_PAUSE)
    handlers = app.tornado_application.placed
    assert len(handlers) == len(set(handlers))
    paths = [pattern for pattern, handler in handlers if handler is UserServerAPIHandler]
    assert paths == [
        "/hub/api/users/([^/]+)/server",
        "/hub/api/users/([^/]+)/servers/([^/]*)",
    ]
    assert [pattern for pattern, _ in handlers if pattern == "/hub/spawn"] == ["/hub/spawn"]


def test_without_a_hub_there_is_nothing_to_come_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JupyterHub, "initialized", lambda: False)
    assert place_handlers() is False
