"""The traits of what is done before a server's pod is made."""

from __future__ import annotations

from typing import Any

from traitlets import Int, List, TraitError, validate
from traitlets.config import Configurable

from .preparationentries import check_preparations


class PreparationTraits(Configurable):
    """What an admin has done for each server, as steps that users see."""

    preparations: Any = List(
        config=True,
        help="""
        List what is to be done before the pod is made, each a step that users see.

        Each is a dict of `name`, `run`, and if wanted `timeout` in seconds and `undo`.
        `run(spawner)` is called for each start, in order: an async function on the loop
        of the Hub, a plain one in a thread, where it may look at `spawner.cancelled`, a
        threading.Event. What it sets on the spawner is what the pod gets.
        `undo(spawner)` is called when the start fails or is cancelled after `run` began.
        """,
    )
    preparation_workers = Int(
        20,
        config=True,
        help="""
        Set how many preparations may run in threads at once, of all servers together.
        """,
    )

    @validate("preparations")
    def _check_preparations(self, proposal: Any) -> Any:
        check_preparations(proposal["value"])
        return proposal["value"]

    @validate("preparation_workers")
    def _check_preparation_workers(self, proposal: Any) -> int:
        workers: int = proposal["value"]
        if isinstance(workers, bool) or workers < 1:
            raise TraitError(f"preparation_workers: {workers!r} is wrong: it must be from 1 on")
        return workers
