"""Whether the parts that starts depend on are well."""

from __future__ import annotations

from dataclasses import dataclass

from .values import Value


@dataclass(frozen=True, slots=True)
class Check(Value):
    """Whether a part is well: `ok` is null when that is not known; the message says what is."""

    ok: bool | None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Watch(Value):
    """One watch on the API server; `namespace` is null for one on all namespaces.

    `failing_since` is when it began to fail, null while it works.
    """

    kind: str
    namespace: str | None
    ok: bool
    message: str | None = None
    failing_since: float | None = None


@dataclass(frozen=True, slots=True)
class HubHealth(Value):
    """All parts; `ok` when none is known to be broken."""

    version: str
    ok: bool
    watches: tuple[Watch, ...]
    api_server: Check
    proxy_route: Check
    templates: Check
    handlers: Check
    spawner_class: Check
