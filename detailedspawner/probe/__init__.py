"""Whether a server answers where its user will reach it: requests, routes, waiting.

Requests carry no credentials and follow no redirects, and none of them raises for
what a server does.
"""

from __future__ import annotations

from .asking import PATIENCE, HubRoute, ask, close_session, hub_route_answers
from .routes import (
    RouteTable,
    add_early_route,
    confirm_early_route,
    pinned_context,
    proxy_base_url,
    remove_early_route,
    route_target,
)
from .waiting import ProxyAccess, Result, Server, wait_until_healthy

__all__ = [
    "PATIENCE",
    "HubRoute",
    "ProxyAccess",
    "Result",
    "RouteTable",
    "Server",
    "add_early_route",
    "ask",
    "close_session",
    "confirm_early_route",
    "hub_route_answers",
    "pinned_context",
    "proxy_base_url",
    "remove_early_route",
    "route_target",
    "wait_until_healthy",
]
