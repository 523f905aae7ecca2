"""The page of a real start: a browser follows it through a restart of the Hub to the server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page as BrowserPage
from playwright.async_api import expect

from ..browser.acting import sign_in
from ..browser.conftest import browser, page  # noqa: F401 (fixtures)
from .cluster import Kubernetes
from .hub import Hub, running_hub

# one browser for all, so one loop
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SECONDS = 1000  # in milliseconds, Playwright's unit


@pytest.fixture(scope="module")
def lasting(kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A Hub whose proxy outlives it."""
    folder = tmp_path_factory.mktemp("lasting")
    config = Path(__file__).with_name("hub_config.py")
    with running_hub(kubernetes, config, folder, {"SUITE_OWN_PROXY": "1"}) as hub:
        yield hub


async def open_start(tab: BrowserPage, hub: Hub, user: str, slug: str) -> None:
    """Start a server, sign in as its user, and open its page."""
    assert await asyncio.to_thread(hub.start, user, slug) == 202
    await tab.goto(f"{hub.url}/hub/login?next=%2Fhub%2Fspawn-pending%2F{user}")
    await sign_in(tab, user, "x")
    await tab.wait_for_url("**/hub/spawn-pending/**")


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGTERM, id="TERM"),
        pytest.param(signal.SIGKILL, id="KILL", marks=pytest.mark.slow),
    ],
)
async def test_an_open_page_outlives_the_hub_and_leads_to_the_server(lasting, page, how):  # noqa: F811
    user = f"page-{how.name.lower()}"
    await open_start(page, lasting, user, "init-container")
    step = page.get_by_role("listitem").filter(has_text="Prepare")
    await expect(step).to_contain_text("In progress", timeout=30 * SECONDS)
    loaded: list[str] = []
    page.on("framenavigated", lambda frame: loaded.append(frame.url))
    await asyncio.to_thread(lasting.restart, how)
    await asyncio.to_thread(lasting.wait_until_up)
    await expect(page.get_by_text("The connection to the Hub is lost")).to_be_hidden(
        timeout=30 * SECONDS
    )
    await page.wait_for_url(f"**/user/{user}/**", timeout=60 * SECONDS)
    # it was never told that the start had ended, nor loaded anew
    assert not [url for url in loaded if "/hub/" in url]
    assert (await asyncio.to_thread(lasting.model, user))["ready"]
    assert (await page.goto(f"{lasting.url}/user/{user}/api")).status == 200
    await asyncio.to_thread(lasting.stop, user)


async def test_a_cancel_on_the_page_ends_the_start_and_its_pod(lasting, page, kubernetes):  # noqa: F811
    await open_start(page, lasting, "page-cancel", "init-container")
    await expect(page.get_by_text("0 of 2 containers ready")).to_be_visible(timeout=30 * SECONDS)
    await page.get_by_role("button", name="Cancel start").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        "Start cancelled", timeout=30 * SECONDS
    )
    await expect(page).to_have_title("Cancelled")
    names = [pod["metadata"]["name"] for pod in await asyncio.to_thread(kubernetes.list, "pods")]
    assert not [name for name in names if "page-cancel" in name]
