"""GET what concerns the whole Hub: the namespaces in use, and whether all parts are well."""

from __future__ import annotations

import json

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

    def initialize(self, patterns: list[str]) -> None:
        """Take the patterns of all handlers that should be installed."""
        self.patterns = patterns

    @needs_scope("read:hub")  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write each part with what is wrong; 200 also then, since the Hub itself answers."""
        self.check_arguments()
        health = await hub_health(self.users, self.settings, self.patterns)
        self.finish(json.dumps(health.to_dict()))
