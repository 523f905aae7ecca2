"""The namespaces that servers are in."""

from __future__ import annotations

from dataclasses import dataclass

from .values import Value


@dataclass(frozen=True, slots=True)
class Namespace(Value):
    """One namespace, and how many servers it has; stopped ones are counted where they ran."""

    name: str
    servers_count: int
    active_count: int
