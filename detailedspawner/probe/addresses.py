"""Where the proxy and a server are reached."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
_API_SERVICE = "proxy-api"


def proxy_base_url(proxy: Any, configured: str, env: Mapping[str, str]) -> str | None:
    """Return where the Hub reaches the proxy, as "http://host:port"; None: not known.

    `proxy` is the Hub's Proxy object, `configured` what the administrator set, `env`
    the environment of the Hub's process. Nothing is tried: whether the address is
    right is told by `hub_route_answers`.
    """
    if configured:
        return route_target(configured)
    # a proxy that the Hub starts is beside it, whatever services there are
    if not getattr(proxy, "should_start", False):
        found = _service_url(str(getattr(proxy, "api_url", "") or ""), env)
        if found:
            return found
    return _connectable(str(getattr(proxy, "public_url", "") or ""))


def route_target(url: str) -> str | None:
    """Return scheme, host and port of a URL as the Hub writes them for routes; None: it has none.

    The port is always there, IPv6 addresses are in brackets, the path is gone.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
    except (KeyError, ValueError):
        return None
    if not parts.hostname:
        return None
    return f"{parts.scheme}://{_bracketed(parts.hostname)}:{port}"


def pinned_context(certificate: str) -> ssl.SSLContext | None:
    """Return a context that trusts the certificate in a file (PEM) and no other.

    For the proxy that the Hub starts with its own certificate: the Hub reaches it on
    loopback, by a name that is not in it. None if the file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    try:
        context.load_verify_locations(certificate)
    except (OSError, ValueError):
        return None
    # one that a public authority signed must do without the authority
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return context


def _service_url(api_url: str, env: Mapping[str, str]) -> str | None:
    """Return the plain http address of the proxy that zero-to-jupyterhub made.

    Kubernetes describes each service of the namespace in the environment. The chart
    may have put a prefix before their names; the name in `api_url` tells.
    """
    try:
        name, _, domain = (urlsplit(api_url).hostname or "").partition(".")
    except ValueError:
        name = domain = ""
    is_chart = name.endswith(_API_SERVICE)
    prefix = name.removesuffix(_API_SERVICE) if is_chart else ""
    key = prefix.upper().replace("-", "_")
    # where the chart has a certificate made, only proxy-http leads past the redirect to https
    host, port = env.get(f"{key}PROXY_HTTP_SERVICE_HOST"), env.get(f"{key}PROXY_HTTP_SERVICE_PORT")
    if not (host and port):
        host = env.get(f"{key}PROXY_PUBLIC_SERVICE_HOST")
        # the first port is the https one if there are two
        port = env.get(f"{key}PROXY_PUBLIC_SERVICE_PORT_HTTP") or env.get(
            f"{key}PROXY_PUBLIC_SERVICE_PORT"
        )
    if not (host and port):
        # the environment can be switched off, the names of services cannot
        return f"http://{prefix}proxy-public{'.' * bool(domain)}{domain}:80" if is_chart else None
    scheme = "https" if port == env.get(f"{key}PROXY_PUBLIC_SERVICE_PORT_HTTPS") else "http"
    return route_target(f"{scheme}://{_bracketed(host)}:{port}")


def _connectable(bind_url: str) -> str | None:
    """Turn the address that a proxy listens on into one to connect to."""
    try:
        parts = urlsplit(bind_url)
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
    except (KeyError, ValueError):
        return None
    host = parts.hostname or "*"
    # "all addresses" is none to connect to, and the Hub's own name may lead elsewhere
    if host in ("*", "0.0.0.0"):  # noqa: S104 (compared, not bound)
        host = "127.0.0.1"
    elif host == "::":
        host = "::1" if socket.has_ipv6 else "127.0.0.1"
    return f"{parts.scheme}://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host
