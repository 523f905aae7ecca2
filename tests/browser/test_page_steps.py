"""Steps unfold, a person's choice of what is unfolded is kept, and times are told in words."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.async_api import Page, expect

from .statuses import failure, start

# one browser for all, so one loop
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def unfolding(page: Page, name: str) -> Any:
    """Return the part of one step that unfolds."""
    return page.locator("li.ds-step", has_text=name).locator("details")


async def test_a_failing_step_unfolds_by_itself(hub, page, screenshot):
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    await expect(unfolding(page, "Cloning the repository")).not_to_have_attribute("open", "")
    await hub.send(failure())
    await expect(unfolding(page, "Cloning the repository")).to_have_attribute("open", "")
    await expect(page.get_by_text("git-clone · Failed · image · exit code 128")).to_be_visible()
    await expect(unfolding(page, "Git credentials")).not_to_have_attribute("open", "")
    await screenshot(page, "failed-unfolded")


async def test_what_a_person_unfolds_or_folds_is_kept(hub, page):
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    await unfolding(page, "Trusting").locator("summary").click()
    await hub.send(start(2))
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()
    await expect(unfolding(page, "Trusting")).to_have_attribute("open", "")

    await hub.send(failure())
    await unfolding(page, "Cloning the repository").locator("summary").click()
    # the page is loaded anew, as by F5
    hub.rendered = failure()
    await page.reload()
    await expect(unfolding(page, "Trusting")).to_have_attribute("open", "")
    await expect(unfolding(page, "Cloning the repository")).not_to_have_attribute("open", "")
    # of another start nothing is known
    hub.rendered = failure(start_id="other", revision="other.1")
    await page.reload()
    await expect(unfolding(page, "Trusting")).not_to_have_attribute("open", "")
    await expect(unfolding(page, "Cloning the repository")).to_have_attribute("open", "")


WORDS: list[dict[str, Any]] = [
    # half of the starts take 90 s, 95 of 100 at most 100 s; this one began 63 s ago
    {"median": 90.0, "most": 100.0, "words": "1 min 03 s · usually ready in about 40 s", "bar": 70},
    {"median": 60.0, "most": 70.0, "words": "1 min 03 s · usually ready in about 7 s", "bar": 95},
    {"median": 30.0, "most": 60.0, "words": "1 min 03 s · any moment now", "bar": 95},
    {"median": None, "most": None, "words": "1 min 03 s", "bar": 40},
]


@pytest.mark.parametrize("row", WORDS)
async def test_how_long_it_will_take_is_told_in_words(hub, page, row):
    hub.rendered = {**start(1), "expected_seconds": None}
    await page.clock.install(time=time.time())
    await page.goto(hub.page_url)
    await hub.until(lambda: bool(hub.streams))
    # the time stands still, whatever the machine is busy with; a longer leap would be a sleep
    await page.clock.pause_at(time.time() + 20)
    status = start(2)
    status.update(expected_seconds=row["median"], expected_at_most_seconds=row["most"])
    await hub.send(status)
    await expect(page.locator("[data-part=elapsed]")).to_have_text(row["words"])
    await expect(page.get_by_role("progressbar")).to_have_attribute("value", str(row["bar"]))


async def test_a_server_without_scripts_is_told_how_long_it_takes(hub, browser):
    hub.rendered = start(1)
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(hub.page_url)
    await expect(page.locator("[data-part=elapsed]")).to_have_text("usually takes about 1 min 30 s")
    await unfolding(page, "Trusting").locator("summary").click()
    await expect(page.get_by_text("certificates · Ready · image")).to_be_visible()
    await context.close()


TITLES: list[dict[str, Any]] = [
    {"status": start(2), "title": "2 of 7 ready \u2013 Starting your server…"},
    {"status": failure(), "title": "Failed: Cloning the repository"},
    {"status": start(7, state="running"), "title": "Ready"},
    {"status": start(2, state="cancelling"), "title": "Cancelling your server…"},
    {"status": start(2, state="stopped"), "title": "Cancelled"},
]


@pytest.mark.parametrize("row", TITLES, ids=lambda row: row["title"])
async def test_the_title_tells_the_state(hub, browser, row):
    hub.rendered = row["status"]
    for scripts in (False, True):
        context = await browser.new_context(java_script_enabled=scripts)
        page = await context.new_page()
        await page.goto(hub.page_url)
        # counts are told by the script
        title = row["title"] if scripts else row["title"].split("\u2013 ")[-1]
        await expect(page).to_have_title(title)
        await context.close()
