"""The form of jupyterhub-fancy-profiles, run as its users do: it keeps working, with our keys."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jupyterhub_fancy_profiles import setup_ui
from playwright.async_api import Page, expect
from traitlets.config import Config

from detailedspawner.configuration import configure

from ..resthub import RestHub, resthub, until
from .acting import sign_in
from .conftest import chromium

pytestmark = pytest.mark.browser

PROFILES: list[dict[str, Any]] = [
    {
        "display_name": "Small",
        "description": "One processor.",
        "icon": {"url": "https://example.org/small.svg"},
        "labels": {"team": "physics"},
        "kubespawner_override": {"environment": {"SIZE": "small"}},
        "profile_options": {
            "image": {
                "display_name": "Image",
                "unlisted_choice": {
                    "enabled": True,
                    "display_name": "Custom image",
                    "display_name_in_choices": "Another image",
                    "description_in_choices": "By its name",
                    "validation_regex": "^.+:.+$",
                    "validation_message": "Must be name:tag",
                    "kubespawner_override": {"image": "{value}"},
                },
                "choices": {
                    "2024": {
                        "display_name": "Image of 2024",
                        "hidden": True,
                        "redirect": {"to": "2025"},
                        "kubespawner_override": {"image": "lab:2024"},
                    },
                    "2025": {
                        "display_name": "Image of 2025",
                        "deprecated": True,
                        "deprecation_message": "Don't build on it.",
                        "redirect": {"to": "2026", "message": {"text": "2025 is not built."}},
                        "kubespawner_override": {"image": "lab:2025"},
                    },
                    "2026": {
                        "display_name": "Image of 2026",
                        "default": True,
                        "kubespawner_override": {"image": "lab:2026"},
                    },
                },
            }
        },
    },
    {
        "display_name": "Old",
        "deprecated": True,
        "deprecation_message": "Use Small.",
        "redirect": {"to": "small"},
    },
    {"display_name": "Staff", "hidden": True},
]

# where a configuration file may set the form up
ORDERS = ["first", "last"]


@pytest.fixture(params=ORDERS)
async def fancy(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RestHub]:
    def config(c: Config) -> None:
        c.KubeSpawner.profile_list = PROFILES
        if request.param == "first":
            del c.JupyterHub.extra_handlers
            setup_ui(c)
            configure(c)
        else:
            setup_ui(c)

    async with resthub(tmp_path, monkeypatch, config) as hub:
        yield hub


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A page of a browser that lives as long as the test, as the Hub in its process does."""
    async with chromium() as launched:
        yield await launched.new_page()


async def open_form(fancy: RestHub, page: Page) -> None:
    """Log alice in and show her form."""
    origin = str(fancy.client.base_url)
    await page.goto(f"{origin}/hub/login")
    await sign_in(page, "alice", "x")
    await page.goto(f"{origin}/hub/spawn")


async def choose(page: Page, option: str) -> None:
    """Open the list of images and take one of it."""
    await page.get_by_role("combobox", name="Image").click()
    await page.get_by_role("option", name=option).click()


async def started(fancy: RestHub, page: Page) -> dict[str, Any]:
    """Press Start and return the pod that this makes."""
    await page.get_by_role("button", name="Start").click()
    await expect(page).to_have_url(re.compile("/hub/spawn-pending/alice"))
    await until(lambda: fancy.pod("jupyter-alice"))
    pod = fancy.pod("jupyter-alice")
    assert pod is not None
    return pod


async def test_the_form_offers_nothing_hidden_and_says_what_is_deprecated(
    fancy: RestHub, page: Page, screenshot: Any
) -> None:
    await open_form(fancy, page)
    await expect(page.get_by_role("heading", name="Small")).to_be_visible()
    await expect(page.get_by_role("heading", name="Old (deprecated)")).to_be_visible()
    await expect(page.get_by_text("Use Small.")).to_be_visible()
    await page.get_by_role("combobox", name="Image").click()
    offered = [
        (await option.inner_text()).splitlines()
        for option in await page.get_by_role("option").all()
    ]
    assert offered == [
        ["Image of 2025 (deprecated)", "Don't build on it."],
        ["Image of 2026"],
        ["Another image", "By its name"],
    ]
    await screenshot(page, "fancy-profiles")
    assert "Staff" not in await page.content()
    assert "Image of 2024" not in await page.content()


async def test_a_start_with_what_the_form_has_chosen_beforehand(fancy: RestHub, page: Page) -> None:
    await open_form(fancy, page)
    pod = await started(fancy, page)
    assert pod["spec"]["containers"][0]["image"] == "lab:2026"
    assert fancy.app.users["alice"].spawners[""].user_options == {
        "profile": "small",
        "image": "2026",
    }


async def test_a_start_with_a_choice_that_is_redirected(fancy: RestHub, page: Page) -> None:
    await open_form(fancy, page)
    await choose(page, "Image of 2025")
    pod = await started(fancy, page)
    assert pod["spec"]["containers"][0]["image"] == "lab:2026"
    await expect(page.get_by_text("2025 is not built.")).to_be_visible()


async def test_a_start_with_a_value_that_is_typed_in(fancy: RestHub, page: Page) -> None:
    await open_form(fancy, page)
    await choose(page, "Another image")
    await page.get_by_role("combobox", name="Custom image").fill("mine:3")
    pod = await started(fancy, page)
    assert pod["spec"]["containers"][0]["image"] == "mine:3"
    (server,) = (
        await fancy.get("/users/alice/servers", fancy.token(fancy.app.users["alice"]))
    ).json()
    assert server["pod_template"]["options"]["image"]["current"]["id"] == "mine:3"


async def test_a_start_with_a_profile_that_is_redirected(fancy: RestHub, page: Page) -> None:
    await open_form(fancy, page)
    await page.get_by_role("radio", name="Old (deprecated)").click()
    pod = await started(fancy, page)
    assert {"name": "SIZE", "value": "small"} in pod["spec"]["containers"][0]["env"]
    await expect(page.get_by_text("“Small” is started in place of “Old”.")).to_be_visible()
