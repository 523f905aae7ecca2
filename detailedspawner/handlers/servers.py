"""GET lists of servers: all that the asker may see, or those of one user."""

from __future__ import annotations

import json
from typing import Any

from ..models import ServerState
from ..repositories.servers import Filters, Servers
from .arguments import ArgumentsAPIHandler, missing, needs_some

SCOPE = "read:servers"
PAGING = ("offset", "limit")


class ServerListAPIHandler(ArgumentsAPIHandler):
    """All servers that the asker may see, running and stopped."""

    @needs_some(SCOPE)  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write a page of servers, narrowed by `state`, `user` and `profile`."""
        self.check_arguments("state", "user", "profile", *PAGING, several=("state", "user"))
        users = self.get_arguments("user", strip=False) or None
        await self.write_page(users)

    async def write_page(self, users: list[str] | None, *, empty: bool = True) -> None:
        """Write the servers of some users; a 404 in place of an empty list if that is asked."""
        offset, limit = self.page()
        filters = Filters(
            states=self.words("state", ServerState),
            users=users,
            profile=self.get_argument("profile", None, strip=False),
        )
        servers = Servers(self.db, self.users, self.settings)
        found, total = await servers.page(self.parsed_scopes[SCOPE], filters, offset, limit)
        if not total and not empty:
            raise missing()
        items = [server.to_dict() for server in found]
        document: Any = items
        if self.accepts_pagination:
            document = self.paginated_model(items, offset, limit, total)
        self.finish(json.dumps(document))


class UserServersAPIHandler(ServerListAPIHandler):
    """The servers of one user that the asker may see."""

    # another name than the Hub's filter goes by: who may see one server of a user may ask
    @needs_some(SCOPE)  # type: ignore[untyped-decorator]
    async def get(self, owner: str) -> None:
        """Write a page of this user's servers; 404 when there is nothing to be seen."""
        self.check_arguments("state", "profile", *PAGING, several=("state",))
        whole = self.has_scope(f"{SCOPE}!user={owner}")
        if whole and self.find_user(owner) is None:
            raise missing()
        await self.write_page([owner], empty=whole)
