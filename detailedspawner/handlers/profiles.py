"""GET the profiles that a user can choose from."""

from __future__ import annotations

import json
from collections.abc import Mapping

from jupyterhub.scopes import needs_scope
from tornado import web

from ..profilelists import Entries
from ..repositories.profiles import slugs, user_profiles
from ..repositories.rows import count_by_profile
from .arguments import ArgumentsAPIHandler, missing, needs_some, refused

SCOPE = "read:users"


class ProfileListAPIHandler(ArgumentsAPIHandler):
    """The profiles as one user sees them."""

    @needs_some(SCOPE)  # type: ignore[untyped-decorator]
    async def get(self) -> None:
        """Write the profiles of `user`, by default the asker."""
        self.check_arguments("user")
        user_name = self.get_argument("user", None, strip=False)
        if user_name is None:
            if self.current_user.kind != "user":
                raise refused("user must name whose profiles are asked for")
            user_name = self.current_user.name
        if not user_name:
            # a scope cannot be for nobody
            raise missing()
        await self.write_profiles(user_name)

    @needs_scope(SCOPE)  # type: ignore[untyped-decorator]
    async def write_profiles(self, user_name: str) -> None:
        """Write the profiles of a user; 500 when they cannot be evaluated."""
        user = self.find_user(user_name)
        if user is None:
            raise missing()

        def counts(entries: Entries) -> Mapping[str, int] | None:
            if "read:servers" not in self.parsed_scopes:
                return None
            scope = self.parsed_scopes["read:servers"]
            return count_by_profile(self.db, scope, *slugs(entries))

        try:
            found = await user_profiles(user, counts)
        except Exception as error:
            self.log.exception("The profiles of %s cannot be evaluated: %r", user_name, error)
            raise web.HTTPError(500, "The profiles cannot be evaluated") from error
        self.finish(json.dumps([profile.to_dict() for profile in found]))
