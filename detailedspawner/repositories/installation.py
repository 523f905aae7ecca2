"""Whether a Hub has what `configure(c)` gives it, and answers with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from ..paths import template_paths
from ..spawner import DetailedKubeSpawner

SPAWNER_CLASS = "JupyterHub.spawner_class"
TEMPLATES = "JupyterHub.template_paths"
HANDLERS = "JupyterHub.extra_handlers"
FIRST_HANDLERS = "handlers before the Hub's own"


def undone_parts(app: Any, extra: Sequence[Any], first: Sequence[Any]) -> dict[str, str]:
    """Return the parts that an application does not have, with what is there instead.

    `extra` is what belongs into `extra_handlers`, `first` what answers in place of the
    Hub's own handlers; who answers is known as soon as the Hub has made what does.
    """
    undone = {}
    if not issubclass(app.spawner_class, DetailedKubeSpawner):
        undone[SPAWNER_CLASS] = f"{SPAWNER_CLASS} is {app.spawner_class.__name__}."
    # behind the Hub's own folder ours would never be asked
    stock = str(Path(app.data_files_path) / "templates")
    paths = list(app.template_paths)
    before_stock = paths[: paths.index(stock)] if stock in paths else paths
    if not set(template_paths()) <= set(before_stock):
        undone[TEMPLATES] = f"{TEMPLATES} was set after configure(c)."
    declared = {handler[0] for handler in app.extra_handlers}
    if absent := [handler[0] for handler in extra if handler[0] not in declared]:
        undone[HANDLERS] = f"{HANDLERS} lacks {', '.join(absent)}."
    if getattr(app, "tornado_application", None) is not None:
        for part, wanted in ((HANDLERS, extra), (FIRST_HANDLERS, first)):
            if others := list(_others(app, wanted)):
                undone.setdefault(part, " ".join(others))
    return undone


def _others(app: Any, wanted: Sequence[Any]) -> Iterator[str]:
    """Tell of each path that something else answers than the handler that should."""
    for pattern, handler, *_ in app.add_url_prefix(app.hub_prefix, wanted):
        path = _example(pattern)
        request = HTTPServerRequest(
            start_line=RequestStartLine("GET", path, "HTTP/1.1"),
            headers=HTTPHeaders({"Host": "127.0.0.1"}),
        )
        # who would answer is known only to what asks the rules in their order
        found = app.tornado_application.find_handler(request).handler_class
        if found is not handler:
            yield f"{path} is answered by {found.__module__}.{found.__qualname__}."


def _example(pattern: str) -> str:
    """Return a path that a handler's pattern matches."""
    return re.sub(r"\([^()]*\)", "x", pattern).replace("\\", "")
