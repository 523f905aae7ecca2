"""GET what concerns the whole Hub: the namespaces in use, and whether all parts are well."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jupyterhub.app import JupyterHub
from jupyterhub.scopes import needs_scope

from ..repositories.health import hub_health
from ..repositories.namespaces import namespaces_in_use
from .arguments import ArgumentsAPIHandler


class NamespaceListAPIHandler(ArgumentsAPIHandler):
    """The namespaces in use."""

    @needs_scope("read:hub")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write each namespace with its numbers of servers."""
        self.check_arguments()
        found = await namespaces_in_use(self.db, self.users)
        self.finish(json.dumps([namespace.to_dict() for namespace in found]))


class HealthAPIHandler(ArgumentsAPIHandler):
    """Whether the parts that starts depend on are well."""

    def initialize(self, undone_parts: Callable[[Any], dict[str, str]]) -> None:
        """Take what tells which parts of the installation an application lacks."""
        self.undone_parts = undone_parts

    @needs_scope("read:hub")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write each part with what is wrong; 200 also then, since the Hub itself answers."""
        self.check_arguments()
        undone = self.undone_parts(JupyterHub.instance()) if JupyterHub.initialized() else None
        health = await hub_health(self.users, self.settings, undone)
        self.finish(json.dumps(health.to_dict()))
