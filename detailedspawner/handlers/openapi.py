"""GET the description of the API itself."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from .arguments import ArgumentsAPIHandler


@cache
def description() -> str:
    """Return the OpenAPI description that the package carries, in YAML."""
    return files("detailedspawner").joinpath("openapi.yaml").read_text("utf-8")


class OpenAPIHandler(ArgumentsAPIHandler):
    """The description, for everybody: it holds nothing of this Hub."""

    def get_content_type(self) -> str:
        """Return the type under which YAML is registered."""
        return "application/yaml"

    async def get(self) -> None:
        """Write the description as it is packaged."""
        self.check_arguments()
        self.finish(description())
