"""What a request asks for: each argument read once, and refused with its reason."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection
from enum import Enum
from typing import Any, TypeVar

from jupyterhub.apihandlers.base import APIHandler
from jupyterhub.scopes import needs_scope
from tornado import web

E = TypeVar("E", bound=Enum)

# what every request may carry: the Hub's token against forged requests
ALWAYS = frozenset({"_xsrf"})
# databases count no further
LARGEST_NUMBER = 2**63 - 1


# JupyterHub 5 takes a scope with any filter for one that is asked for without
_FILTERED_LATER = (
    {"post_filter": True} if "post_filter" in inspect.signature(needs_scope).parameters else {}
)


def needs_some(scope: str) -> Any:
    """Restrict a handler's method to who has a scope, with whatever filter.

    What is answered must be filtered then.
    """
    return needs_scope(scope, **_FILTERED_LATER)


class ArgumentsAPIHandler(APIHandler):  # type: ignore[misc]  # jupyterhub has no type hints
    """A handler of the REST API that says what it does not understand."""

    async def prepare(self) -> None:
        """Refuse names that no database takes, before anything is looked up."""
        await super().prepare()
        if any("\0" in part for part in (*self.path_args, *self.path_kwargs.values()) if part):
            raise missing()

    def check_arguments(self, *known: str, several: Collection[str] = ()) -> None:
        """Refuse arguments that would have no effect; `several`: those that may be repeated."""
        for name, values in self.request.query_arguments.items():
            if name in ALWAYS:
                continue
            if name not in known:
                expected = ", ".join(known) or "none"
                raise refused(f"Unknown argument {name!r}; known: {expected}")
            if len(values) > 1 and name not in several:
                raise refused(f"{name} must be given only once")
            if any(b"\0" in value for value in values):
                raise refused(f"{name} must not hold a NUL character")
        # a body has no meaning here, but would be taken for more arguments
        self.request.arguments = dict(self.request.query_arguments)

    def seconds(self, name: str, default: float, most: float) -> float:
        """Return an argument in seconds, at most `most`."""
        text = self.get_argument(name, None)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise refused(f"{name} must be a number of seconds from 0 on, not {text!r}")
        return min(value, most)

    def word(self, name: str, words: Collection[str]) -> str | None:
        """Return an argument that is one of some words."""
        text: str | None = self.get_argument(name, None)
        if text is not None and text not in words:
            raise refused(f"{name} must be one of {', '.join(words)}, not {text!r}")
        return text

    def words(self, name: str, kind: type[E]) -> list[E]:
        """Return all values of an argument that may be given several times."""
        known = [word.value for word in kind]
        texts = self.get_arguments(name)
        for text in texts:
            if text not in known:
                raise refused(f"{name} must be one of {', '.join(known)}, not {text!r}")
        return [kind(text) for text in texts]

    def page(self) -> tuple[int, int]:
        """Return offset and limit as the Hub's own lists take them."""
        offset, limit = self.get_api_pagination()
        if offset > LARGEST_NUMBER:
            raise refused("offset is too large")
        return offset, limit


def refused(reason: str) -> web.HTTPError:
    """Return a 400 in the Hub's form."""
    return web.HTTPError(400, reason)


def missing() -> web.HTTPError:
    """Return a 404 that reads as the Hub's own does where the asker may not see a thing."""
    return web.HTTPError(404, "No access to resources or resources not found")
