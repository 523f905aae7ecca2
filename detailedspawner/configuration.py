"""`configure(c)`: what an admin adds to `jupyterhub_config.py`."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

from jupyterhub.app import JupyterHub
from traitlets import TraitError
from traitlets.config.loader import LazyConfigValue

from .gate import configured_access, find_proxy
from .handlers import extra_handlers, place_first, undone_parts
from .metrics import follow_starts
from .pages import template_paths
from .profiling import check_profiles
from .settings import check_config, check_names
from .spawner import DetailedKubeSpawner
from .tracking import Log

SPAWNER_CLASS = "detailedspawner.DetailedKubeSpawner"
# what a configuration may hold for KubeSpawner itself, which ours stands in for
KUBESPAWNER_NAMES = frozenset({"kubernetes", "kubespawner", "kubespawner.KubeSpawner"})
# seconds between two looks for what the Hub makes while it starts
HANDLERS_PAUSE = 0.005
# a task that nobody holds may be collected
_placing: set[asyncio.Task[None]] = set()


def configure(c: Any) -> None:
    """Turn on DetailedKubeSpawner in a JupyterHub configuration.

    Sets the spawner class unless another than KubeSpawner was chosen, appends
    the templates behind the admin's own, adds the REST API, and puts a quicker and
    stricter start and stop of servers before the Hub's. May be called twice. A
    wrong trait ends the Hub's start with its name and value.
    """
    hub = c.JupyterHub
    chosen = hub.get("spawner_class")
    name = chosen if isinstance(chosen, str) or chosen is None else _class_name(chosen)
    if name is None or name in KUBESPAWNER_NAMES or name == "kubespawner.spawner.KubeSpawner":
        hub.spawner_class = SPAWNER_CLASS
    _add(hub, "template_paths", template_paths(), before_default=True)
    _add(hub, "extra_handlers", extra_handlers())
    DetailedKubeSpawner.at_first_spawner[:] = [place_handlers]
    follow_starts()
    _check_when_loaded(c)


def _class_name(chosen: type) -> str:
    return f"{chosen.__module__}.{chosen.__qualname__}"


def _add(section: Any, name: str, values: list[Any], *, before_default: bool = False) -> None:
    """Add to a list that may be set, lazily extended or absent; each value once.

    `before_default`: the Hub's own templates stand in the default of the list, and
    the first folder that has a template wins.
    """
    current = section.get(name)
    if isinstance(current, (list, tuple)):
        section[name] = [*current, *(value for value in values if value not in current)]
        return
    if not isinstance(current, LazyConfigValue):
        current = section[name]
    asked = current.to_dict()
    known = [*asked.get("extend", []), *asked.get("prepend", [])]
    values = [value for value in values if value not in known]
    if not before_default:
        current.extend(values)
    elif values:
        # behind what the admin put first: that is named again in front of ours
        current.prepend([*asked.get("prepend", []), *values])


def _check_when_loaded(config: Any) -> None:
    """Check the traits as soon as the whole configuration was read.

    The Hub reads its configuration while its loop runs, so the next turn of the
    loop sees all of it, also what was set after `configure(c)`.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # read by something that is no Hub, such as a tool: what is there is checked
        _check(config)
    else:
        loop.call_soon(_check_or_exit, config)
        _placing.add(task := loop.create_task(_place_when_made()))
        task.add_done_callback(_placing.discard)


def _check(config: Any) -> None:
    check_config(config)
    check_profiles(config, DetailedKubeSpawner)
    check_names(config, set(DetailedKubeSpawner.class_trait_names(config=True)))


def _check_or_exit(config: Any) -> None:
    try:
        _check(config)
    except TraitError as error:
        logging.getLogger("jupyterhub").critical("detailedspawner: %s", error)
        sys.exit(f"detailedspawner: {error}")


async def _place_when_made() -> None:
    """Put our handlers first as soon as the Hub has made what answers requests.

    Then look whether the Hub reaches its proxy.
    """
    while not place_handlers():
        # nothing tells; requests come only after more turns of the loop than one
        await asyncio.sleep(HANDLERS_PAUSE)
    app = JupyterHub.instance()
    report_undone(app.log)
    access = configured_access(app.tornado_settings, starting=True)
    if not isinstance(access, str):
        # a wrong address is told now, not by the first start
        await find_proxy(access, app.log)


def place_handlers(_log: object = None) -> bool:
    """Put our handlers before the Hub's own; False if there is no Hub to have them yet."""
    return JupyterHub.initialized() and place_first(JupyterHub.instance())


def report_undone(log: Log) -> list[str]:
    """Log, once, which parts of `configure(c)` the Hub does not have, and return them."""
    if not JupyterHub.initialized():
        return []
    undone = undone_parts(JupyterHub.instance())
    for part, wrong in undone.items():
        log.warning("detailedspawner.configure(c) has set %s, which was undone: %s", part, wrong)
    return list(undone)
