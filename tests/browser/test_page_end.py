"""What a person can do after a failure, and what a running container writes meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import expect

from .statuses import failure, start

# one browser for all, so one loop
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("page_name", ["spawn-pending", "not-running"])
async def test_the_details_of_a_failure_are_copied(hub, page, page_name):
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=hub.origin)
    hub.rendered = failure()
    hub.template_vars = {"failed": True, "failed_message": "boom"}
    url = hub.page_url
    if page_name == "not-running":
        url = f"{hub.origin}/@/space%20word/hub/not-running"
    await page.goto(url)
    await page.get_by_role("button", name="Copy details").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    text = await page.evaluate("navigator.clipboard.readText()")
    for part in (
        "Could not start your server", "the password was not accepted", "Start 7f3a9c",
        "Connect your account again", "Cloning the repository · Failed",
        "fatal: Authentication failed",
    ):  # fmt: skip
        assert part in text


async def test_a_browser_without_a_clipboard_copies_all_the_same(hub, page):
    hub.rendered = failure()
    # as over plain http
    await page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        "document.addEventListener('copy', () => {"
        " window.copied = document.activeElement.value; });"
    )
    await page.goto(hub.page_url)
    await page.get_by_role("button", name="Copy details").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "Start 7f3a9c" in await page.evaluate("window.copied")


ANSWERS: list[dict[str, Any]] = [
    # options that are not valid any more are chosen anew
    {"code": 400, "leads_to": "**/hub/spawn/**"},
    {"code": 201, "leads_to": "**/hub/spawn-pending/**"},
]


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: str(row["code"]))
async def test_a_failed_start_is_tried_again_with_its_options(hub, page, row):
    hub.rendered, hub.options_form, hub.post_code = failure(), "<form></form>", row["code"]
    await page.goto(hub.page_url)
    await expect(page.get_by_role("link", name="Choose other options")).to_be_visible()
    async with page.expect_navigation(url=row["leads_to"]):
        await page.get_by_role("link", name="Try again").click()
    [(_, _, headers)] = [one for one in hub.requests if one[0] == "POST"]
    assert headers["X-XSRFToken"] == "token|1:2+3"
    # no body stands for the options of the last time; the Hub takes no other type from a cookie
    assert headers["Content-Length"] == "0"
    assert headers["Content-Type"] == "application/json"


async def test_a_start_that_cannot_be_tried_again_says_why(hub, page):
    hub.rendered, hub.post_code = failure(), 503
    await page.goto(hub.page_url)
    await page.get_by_role("link", name="Try again").click()
    text = "could not be started again: not today"
    await expect(page.locator("[data-part=notice-text]")).to_contain_text(text)
    await expect(page.get_by_role("status")).to_contain_text(text)


async def test_a_failure_names_where_to_find_help(hub, page):
    hub.rendered = failure()
    hub.settings = {"help_url": "https://help.example/a?b=1&c", "contact": "mailto:it@x.example"}
    await page.goto(hub.page_url)
    link = page.get_by_role("link", name="Help")
    await expect(link).to_have_attribute("href", "https://help.example/a?b=1&c")
    link = page.get_by_role("link", name="Contact")
    await expect(link).to_have_attribute("href", "mailto:it@x.example")


async def test_the_texts_of_the_admin_are_shown_as_text(hub, page):
    hub.rendered = failure()
    hub.template_vars = {"detailedspawner_texts": {"try_again": "Encore", "home": "Accueil"}}
    hub.settings = {"texts": {"try_again": "<b>Noch einmal</b>"}}
    await page.goto(hub.page_url)
    await expect(page.get_by_role("link", name="<b>Noch einmal</b>")).to_be_visible()
    await expect(page.get_by_role("link", name="Accueil").first).to_be_visible()


async def test_the_log_of_a_running_container_is_shown_in_its_unfolded_step(
    hub, page, axe, screenshot
):
    hub.rendered, hub.settings = start(1), {"show_logs": True}
    hub.logs = {"git-clone": "Cloning\n\x1b[31mReceiving <b>objects</b>"}
    await page.goto(hub.page_url)
    step = page.locator("li.ds-step", has_text="Cloning the repository")
    assert not hub.asked("GET", "git-clone")
    await step.locator("summary").click()
    await expect(step.locator("pre")).to_contain_text("Receiving <b>objects</b>")
    hub.logs["git-clone"] = "Cloning\nall done"
    await expect(step.locator("pre")).to_contain_text("all done", timeout=20_000)
    await screenshot(page, "live-log")
    assert await axe(page) == []
    # what has ended is not asked about any more
    await hub.send(start(2))
    await expect(step.locator("pre")).to_have_count(0)


async def test_of_a_container_whose_log_is_not_shown_nothing_is_said(hub, page):
    hub.rendered, hub.settings, hub.log_code = start(1), {"show_logs": True}, 404
    await page.goto(hub.page_url)
    step = page.locator("li.ds-step", has_text="Cloning the repository")
    async with page.expect_response("**/logs/git-clone?*"):
        await step.locator("summary").click()
    await expect(step.locator("details")).to_have_attribute("open", "")
    await expect(step.locator("pre")).to_have_count(0)


@pytest.mark.parametrize("shown", [True, False])
async def test_logs_that_are_not_shown_are_not_asked_for(hub, page, shown):
    hub.rendered, hub.settings = start(1), {"show_logs": shown}
    await page.goto(hub.page_url)
    step = page.locator("li.ds-step", has_text="Cloning the repository")
    await step.locator("summary").click()
    await expect(step.locator("details")).to_have_attribute("open", "")
    if shown:
        await expect(step.locator("pre")).to_contain_text("cannot be shown: The Hub does not show")
    else:
        await expect(step.locator("pre")).to_have_count(0)
