"""The traits of the check that a server answers before its user is sent to it."""

from __future__ import annotations

from typing import Any

from traitlets import Any as AnyTrait
from traitlets import Bool, Enum, Float, Int, TraitError, Unicode, Union, validate
from traitlets.config import Configurable

from .health import HealthSettings, check_setting

NAMES = {
    "health_enabled": "enabled",
    "health_path": "path",
    "health_interval": "interval",
    "health_timeout": "timeout",
    "health_threshold": "threshold",
    "health_successes": "successes",
    "health_statuses": "statuses",
    "health_proxy_url": "proxy_url",
    "on_unhealthy": "on_unhealthy",
}


# what is longer means never, and has a word of its own
MOST_SECONDS = 1e9


class Seconds(Float[Any, Any]):
    """A number of seconds; True is none."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Refuse what traitlets takes for a number, or cannot turn into one."""
        if isinstance(value, bool) or (isinstance(value, int) and abs(value) > MOST_SECONDS):
            self.error(obj, value)
        return super().validate(obj, value)


class HealthTraits(Configurable):
    """How a server is asked whether it answers, each also per profile."""

    health_enabled = Bool(
        True,
        config=True,
        help="""
        Ask each server through the proxy before its start counts as done.

        Switched off, a start ends as KubeSpawner's does: when the pod is ready.
        """,
    )
    health_path = Unicode(
        "api",
        config=True,
        help="""
        Set the path that is asked, below the server's own base URL.

        It must be one that answers without a login or with a redirect to one.
        """,
    )
    health_interval = Seconds(
        1.0,
        config=True,
        help="""
        Set the seconds between two checks.

        In the first 10 seconds a server is looked at more often, so that a quick one
        is found at once; these quick looks can make it healthy, not unhealthy.
        """,
    )
    health_timeout = Seconds(
        5.0,
        config=True,
        help="""
        Set the seconds after which a check without an answer has failed.
        """,
    )
    health_threshold: Any = Union(
        [Int(), Unicode()],
        default_value=60,
        config=True,
        help="""
        Set after how many failed checks in a row a server is unhealthy.

        A whole number of checks, or a duration such as "90s" or "2m".
        """,
    )
    health_successes = Int(
        1,
        config=True,
        help="""
        Set how many good checks in a row make a server healthy.

        More than one helps where several replicas of a proxy learn of a route one
        after the other.
        """,
    )
    health_statuses = AnyTrait(
        None,
        allow_none=True,
        config=True,
        help="""
        List the HTTP statuses that mean healthy.

        By default (None) every answer of the server itself below 500, as the Hub has
        always done; `[200]` asks for more.
        """,
    )
    health_proxy_url = Unicode(
        config=True,
        help="""
        Set where the Hub reaches the proxy, such as `http://proxy-public`.

        Found by itself for the proxy that the Hub starts and for
        zero-to-jupyterhub. If the Hub's own pages do not answer there, servers start
        without being asked through the proxy, and the log says so.
        """,
    )
    health_proxy_ca = Unicode(
        config=True,
        help="""
        Name the file with the certificates (PEM) that an https proxy is trusted by.

        By default those of the system, and for the proxy that the Hub starts its own.
        """,
    )
    on_unhealthy = Enum(
        ["stop", "open"],
        default_value="stop",
        config=True,
        help="""
        Choose what becomes of a server that does not answer.

        "stop" ends the start and says why. "open" lets its user in, with a warning. That
        is for a server whose pod answers: where nothing answers at all, the Hub itself
        gives up after `http_timeout`.
        """,
    )
    health_readiness_probe = Bool(
        False,
        config=True,
        help="""
        Add an HTTP readiness probe to a main container that has none.

        Kubernetes then keeps asking the server from its own machine, so that one that
        hangs later is noticed, at no cost for the Hub.
        """,
    )

    @validate(*NAMES)
    def _check_health_trait(self, proposal: Any) -> Any:
        value = proposal["value"]
        _check(proposal["trait"].name, value)
        return value

    def health_settings(self) -> HealthSettings:
        """Return the settings of the check.

        Raises TraitError for a value that came in past validation, as a profile's
        merged list does.
        """
        values = {short: getattr(self, name) for name, short in NAMES.items()}
        for name, short in NAMES.items():
            _check(name, values[short])
        if values["statuses"] is not None:
            values["statuses"] = tuple(values["statuses"])
        return HealthSettings(**values)


def _check(name: str, value: Any) -> None:
    try:
        check_setting(NAMES[name], value)
    except ValueError as error:
        raise TraitError(str(error)) from None
