"""What may be set for the health check, and how a wrong value is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from detailedspawner.health import HealthSettings, check_setting, server_path

GOOD: dict[str, list[Any]] = {
    "enabled": [True, False],
    "path": [
        "api",
        "",
        "/api",
        "api/status",
        "a..b",
        "...",
        "api?full=1",
        "x%20y",
        "health?next=..",
    ],
    "interval": [1, 0.05, 3600.0],
    "timeout": [5, 0.5],
    "threshold": [1, 60, "90s", "2m", "1.5s", "1h"],
    "successes": [1, 3],
    "statuses": [None, [200], (200, 302), {404}],
    "proxy_url": ["", "http://proxy", "https://hub.example:8443", "http://[::1]:8000/"],
    "on_unhealthy": ["stop", "open"],
}

BAD: dict[str, list[Any]] = {
    "enabled": [None, 1, "yes"],
    "path": [
        None,
        "..",
        "../other",
        "api/../../..",
        "./api",
        "%2e%2e/other",
        "%2E%2e/other",
        ".%2e/other",
        "%252e%252e/other",
        "%25252e./other",
        "..;x=1/other",
        "api%2f..%2f..",
        "api%5c..",
        "http://elsewhere/",
        "HTTPS:elsewhere",
        "//elsewhere/",
        "\\\\elsewhere",
        "api\\..",
        "api\r\nHost: elsewhere",
        "api\x00",
        "api%00",
        "api%0d%0a",
        "a b",
        "api\u2028",
        "\uff0e\uff0e/other",
        "api#part",
        "api%zz",
        "api%",
        "x%253Fy",
    ],
    "interval": [0, -1, math.nan, math.inf, "1", None, True],
    "timeout": [0, -0.1, math.nan, math.inf, "5s", False],
    "threshold": [0, -1, 1.5, True, None, "", "60", "s", "-5s", "0s", "1d", "9" * 400 + "s"],
    "successes": [0, -1, 1.0, "1", True],
    "statuses": [[], "200", 200, [200, "404"], [99], [199], [500], [1000], [True], [200.0]],
    "proxy_url": [
        None,
        "proxy:8000",
        "//proxy",
        "ftp://proxy",
        "http://",
        "http://proxy:99999",
        "http://proxy:port",
        "http://proxy:0",
        "http://proxy/hub/",
        "http://proxy?x=1",
        "http://proxy?",
        "http://proxy#x",
        "http://user:secret@proxy",
        "http://pro xy",
        "http://proxy\r\nX: y",
        "http://[::1",
    ],
    "on_unhealthy": [None, "", "Stop", "close", True],
}  # fmt: skip


def rows(table: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    """Return each setting with each of its values."""
    return [(name, value) for name, values in table.items() for value in values]


@pytest.mark.parametrize(("name", "value"), rows(GOOD))
def test_what_can_be_used_is_accepted(name: str, value: Any) -> None:
    check_setting(name, value)


@pytest.mark.parametrize(("name", "value"), rows(BAD))
def test_what_cannot_be_used_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^(health_)?{name}: .* is wrong: "):
        check_setting(name, value)


def test_each_setting_is_checked_and_has_a_good_default() -> None:
    settings = HealthSettings()
    for name in GOOD:
        check_setting(name, getattr(settings, name))
    assert set(GOOD) == set(BAD) == set(HealthSettings.__dataclass_fields__)


def test_the_message_names_the_trait_and_the_value() -> None:
    with pytest.raises(ValueError, match=r"^health_interval: -1 is wrong") as error:
        check_setting("interval", -1)
    assert "seconds" in str(error.value)
    with pytest.raises(ValueError, match=r"^on_unhealthy: 'shut' is wrong"):
        check_setting("on_unhealthy", "shut")


def test_a_refused_value_is_shown_short_and_without_credentials() -> None:
    with pytest.raises(ValueError, match="credentials") as error:
        check_setting("proxy_url", "http://user:hunter22@proxy/" + "x" * 10_000)
    assert "hunter22" not in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("threshold", "count", "seconds"),
    [(60, 60, None), ("90s", None, 90), ("2m", None, 120), ("1.5s", None, 1.5), ("1h", None, 3600)],
)
def test_a_threshold_is_a_count_or_a_duration(
    threshold: int | str, count: int | None, seconds: float | None
) -> None:
    settings = HealthSettings(threshold=threshold)
    assert (settings.threshold_count, settings.threshold_seconds) == (count, seconds)


@pytest.mark.parametrize(
    ("base_url", "path", "expected"),
    [
        ("/user/x/", "api", "/user/x/api"),
        ("/user/x", "/api", "/user/x/api"),
        ("/a%20b/user/x/n/", "", "/a%20b/user/x/n/"),
        ("/", "api?x=1", "/api?x=1"),
    ],
)
def test_the_path_is_below_the_base_url(base_url: str, path: str, expected: str) -> None:
    assert server_path(base_url, path) == expected
