"""What every Hub that a test or benchmark starts has in common."""

from __future__ import annotations

import os
from typing import Any


def base(c: Any) -> None:
    """Configure addresses, a service that may do all, and the namespace."""
    c.JupyterHub.bind_url = f"http://127.0.0.1:{os.environ['PROXY_PORT']}"
    c.JupyterHub.hub_bind_url = f"http://{os.environ['HUB_ADDRESS']}:{os.environ['HUB_PORT']}"
    c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{os.environ['PROXY_API_PORT']}"
    c.JupyterHub.authenticator_class = "dummy"
    c.JupyterHub.allow_named_servers = True
    c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0}
    c.JupyterHub.services = [{"name": "suite", "api_token": os.environ["SUITE_TOKEN"]}]
    c.JupyterHub.load_roles = [
        {
            "name": "suite",
            "scopes": ["admin:users", "admin:servers", "tokens", "read:metrics"],
            "services": ["suite"],
        }
    ]
    c.Authenticator.allow_all = True
    c.KubeSpawner.namespace = os.environ["SUITE_NAMESPACE"]
