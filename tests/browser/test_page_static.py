"""What a browser shows of a start: its steps, its end, and its button.

The pages, the script and the Hub's own styles are the real ones; only what the
Hub says is canned.
"""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.async_api import Page, expect

from .statuses import failure, start

# one browser for all, so one loop
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def step_named(page: Page, name: str) -> Any:
    """Return the row of one step."""
    return page.get_by_role("listitem").filter(has_text=name)


# ---- a start that goes well -----------------------------------------------------------------


async def test_the_page_shows_the_steps_before_any_script_has_run(hub, browser):
    hub.rendered = start(2)
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(hub.page_url)

    await expect(page.get_by_role("heading", level=1)).to_have_text("Starting your server")
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()
    await expect(page.get_by_role("list", name="Steps of the start").locator("> li")).to_have_count(
        10
    )
    await expect(step_named(page, "Cloning the repository")).to_contain_text("Ready")
    await expect(step_named(page, "Git credentials")).to_contain_text("In progress")
    await expect(page.get_by_role("button", name="Cancel start")).to_have_count(0)
    # And it comes back by itself, until the Hub redirects to the server.
    assert 'http-equiv="refresh"' in await page.content()
    await context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_start_is_shown_until_its_server_is_ready(hub, page, screenshot, theme):
    await page.emulate_media(color_scheme=theme)
    hub.rendered = start(0)
    await page.goto(hub.page_url)
    await expect(page).to_have_title("0 of 7 ready \u2013 Starting your server…")

    await hub.send(start(2))
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()
    await expect(page).to_have_title("2 of 7 ready \u2013 Starting your server…")
    await expect(step_named(page, "Cloning the repository")).to_contain_text("Ready")
    await expect(step_named(page, "Git credentials")).to_contain_text("In progress")
    await expect(step_named(page, "Usage metrics")).to_contain_text("Waiting")
    await expect(page.get_by_role("progressbar", name="Progress of the start")).to_have_attribute(
        "value", re.compile("^[789].$")
    )
    await screenshot(page, f"starting-{theme}")

    await hub.send(start(6))
    await expect(page.get_by_text("6 of 7 containers ready")).to_be_visible()
    await hub.send(start(7, state="running"))
    await expect(page.get_by_role("heading", level=1)).to_have_text("Opening your server")
    await screenshot(page, f"ready-{theme}")
    await hub.send(progress=100, ready=True, message="Server ready", url=hub.server_url)
    await expect(page).to_have_title("The server")
    assert page.url == hub.origin + hub.server_url


async def test_a_deep_link_is_left_to_the_hub(hub, page):
    hub.rendered = start(6)
    await page.goto(f"{hub.page_url}?next=%2Fhub%2Fuser%2Fada%2Flab%2Ftree%2Fa.ipynb")
    before = len(hub.asked("GET", "a.ipynb"))
    await hub.send(ready=True, progress=100, message="Server ready", url=hub.server_url)
    # Loading the very page anew lets the Hub check and follow ?next=.
    await hub.until(lambda: len(hub.asked("GET", "a.ipynb")) > before)
    assert hub.asked("GET", hub.server_url) == []


async def test_changes_are_announced_once_and_politely(hub, page):
    hub.rendered = start(1)
    await page.clock.install()
    await page.goto(hub.page_url)
    region = page.get_by_role("status")
    await expect(region).to_have_text("")

    await hub.send(start(2))
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()
    await page.clock.run_for(1000)
    await expect(region).to_have_text(
        "Cloning the repository: Ready. Git credentials: In progress."
    )
    await page.evaluate(
        "new MutationObserver(() => window.again = 1)"
        ".observe(document.querySelector('[role=status]'), {childList: true, characterData: true})"
    )
    await hub.send({**start(2, revision=3), "message": "Still at it."})
    await expect(page.get_by_text("Still at it.").first).to_be_visible()
    await page.clock.run_for(5000)
    assert await page.evaluate("window.again") is None


@pytest.mark.parametrize("hours_wrong", [-3, 0, 3])
async def test_elapsed_times_count_up_even_with_a_wrong_clock(hub, page, hours_wrong):
    hub.rendered = start(1)
    await page.clock.install(time=time.time() + hours_wrong * 3600)
    await page.goto(hub.page_url)
    await hub.send(start(2))
    row = step_named(page, "Git credentials")
    await expect(row).to_contain_text("12 s, usually about 20 s")
    await page.clock.run_for(5000)
    await expect(row).to_contain_text("17 s, usually about 20 s")
    await expect(step_named(page, "Getting the image")).to_contain_text("41 s")


async def test_kubernetes_events_are_kept_in_the_event_log(hub, page, screenshot):
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    event = {"type": "Normal", "reason": "Pulled", "message": "Image is there"}
    await hub.send(start(2), raw_event=event)
    for number in range(600):
        await hub.send(progress=10, message=f"line {number}")
    await page.get_by_text("Event log").click()
    log = page.get_by_role("log", name="Event log")
    await expect(log).to_contain_text("line 599")
    await expect(log.locator("> div")).to_have_count(500)
    await expect(log).not_to_contain_text("line 99\n")


# ---- a start that ends otherwise ------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_failed_start_says_what_failed_and_why(hub, page, screenshot, theme):
    await page.emulate_media(color_scheme=theme)
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    await hub.send(failure())

    await expect(page.get_by_role("heading", level=1)).to_have_text("Could not start your server")
    await expect(page).to_have_title("Failed: Cloning the repository")
    alert = page.locator("section.alert-danger")
    await expect(alert).to_contain_text("Failed at: Cloning the repository")
    await expect(alert).to_contain_text("the password was not accepted")
    await expect(alert).to_contain_text("Connect your account again")
    row = step_named(page, "Cloning the repository")
    await expect(row).to_contain_text("Failed")
    await expect(row.locator("pre")).to_contain_text("fatal: Authentication failed")
    await expect(page.get_by_text("Start 7f3a9c")).to_be_visible()
    await expect(page.get_by_role("button", name="Cancel start")).to_be_hidden()
    await screenshot(page, f"failed-{theme}")
    before = len(hub.asked("GET", "/hub/spawn-pending/ada@example.org"))
    await page.get_by_role("link", name="Try again").click()
    await hub.until(lambda: bool(hub.asked("POST", "/users/ada@example.org/server")))
    # the page of the new start
    await hub.until(lambda: len(hub.asked("GET", "/hub/spawn-pending/ada@example.org")) > before)


async def test_the_hubs_own_failure_is_explained_by_the_status(hub, page):
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    await expect(page.get_by_role("button", name="Cancel start")).to_be_visible()
    hub.status = failure()
    await hub.send(failed=True, progress=100, message="Spawn failed: boom")
    await expect(page.locator("section.alert-danger")).to_contain_text(
        "the password was not accepted"
    )


async def test_a_server_with_options_offers_to_choose_others(hub, page):
    hub.rendered, hub.options_form = failure(), "<form></form>"
    await page.goto(hub.page_url)
    await expect(page.get_by_role("link", name="Choose other options")).to_be_visible()


async def test_another_spawner_gets_a_bar_and_its_messages(hub, page):
    await page.goto(hub.page_url)
    await hub.send(progress=30, message="Half way there")
    await expect(page.get_by_text("Half way there").first).to_be_visible()
    await expect(page.get_by_role("progressbar")).to_have_attribute("value", "30")
    await expect(page.get_by_role("list", name="Steps of the start")).to_be_hidden()
    await hub.send(failed=True, progress=100, message="Spawn failed: no more room")
    await expect(page.locator("section.alert-danger")).to_contain_text("Spawn failed: no more room")


async def test_a_failed_start_is_told_on_the_page_of_a_server_that_does_not_run(
    hub, page, screenshot
):
    hub.rendered = failure()
    hub.template_vars = {"failed": True, "failed_message": hub.rendered["message"] + " (7f3a9c)"}
    await page.goto(f"{hub.origin}/@/space%20word/hub/not-running#hash")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Could not start your server")
    await expect(page.get_by_text("the password was not accepted")).to_have_count(1)
    await expect(page.locator("section.alert-danger")).to_contain_text("Connect your account again")
    await expect(page.locator("li pre")).to_contain_text("fatal: Authentication failed")
    await screenshot(page, "not-running")
    link = page.get_by_role("link", name="Try again")
    await expect(link).to_have_attribute("href", re.compile("/hub/spawn/ada@example.org#hash$"))
    await link.click()
    # at this very address the Hub shows the new start
    await hub.until(lambda: len(hub.asked("GET", "/hub/not-running")) == 2)
    assert len(hub.asked("POST", "/hub/api/users/ada@example.org/server")) == 1
    assert page.url.endswith("/hub/not-running#hash")


async def test_a_server_that_does_not_run_and_never_failed_is_launched_by_the_hubs_link(hub, page):
    hub.server_name = "gpu"
    await page.goto(f"{hub.origin}/@/space%20word/hub/not-running")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Server not running")
    await expect(page.get_by_text("Your server gpu is not running.")).to_be_visible()
    await page.get_by_role("link", name="Launch Server gpu").click()
    assert page.url.endswith("/hub/spawn/ada@example.org")


async def test_a_stopped_server_is_started_after_the_implicit_spawn_seconds(hub, page):
    hub.template_vars = {"implicit_spawn_seconds": 0.1}
    await page.goto(f"{hub.origin}/@/space%20word/hub/not-running")
    await page.wait_for_url("**/hub/spawn/**")


# ---- cancel ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server_name", "ending"),
    [("", "/hub/api/users/ada@example.org/server"),
     ("gpu box/ä", "/hub/api/users/ada@example.org/servers/gpu%20box%2F%C3%A4")],
)  # fmt: skip
async def test_the_button_stops_this_very_server(hub, page, screenshot, server_name, ending):
    hub.server_name = server_name
    hub.rendered = start(1)
    hub.status = start(1, state="cancelling", revision=5)
    await page.goto(hub.page_url)
    await hub.send(start(2))
    hub.status = start(1, state="cancelling", revision=5)
    await page.get_by_role("button", name="Cancel start").click()
    await expect(page.get_by_role("button", name="Cancelling…")).to_be_disabled()
    await hub.until(lambda: bool(hub.asked("DELETE", "")))
    [(_, path, headers)] = [one for one in hub.requests if one[0] == "DELETE"]
    assert path.replace("%40", "@").endswith(ending)
    assert headers["X-XSRFToken"] == "token|1:2+3"
    # The Hub takes a half cancelled start for a ready one: nobody must be sent there.
    await hub.send(ready=True, progress=100, message="Server ready", url=hub.server_url)
    hub.status = start(1, state="stopped", revision=6)

    await expect(page.get_by_role("heading", level=1)).to_have_text("Start cancelled")
    await expect(page.get_by_role("link", name="Start again")).to_be_visible()
    await expect(page.get_by_role("link", name="Back to Home")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await screenshot(page, "cancelled")


async def test_a_server_that_is_gone_after_its_cancel_was_cancelled(hub, page):
    hub.server_name, hub.rendered = "gpu", start(1)
    await page.goto(hub.page_url)
    await page.get_by_role("button", name="Cancel start").dblclick()
    # The Hub forgets a named server, and the stream has no more to say.
    await expect(page.get_by_role("heading", level=1)).to_have_text("Start cancelled")
    assert len(hub.asked("DELETE", "/servers/gpu")) == 1


async def test_a_cancel_that_the_hub_refuses_can_be_tried_again(hub, page):
    hub.rendered, hub.delete_code = start(1), 503
    await page.goto(hub.page_url)
    await page.get_by_role("button", name="Cancel start").click()
    await expect(page.get_by_text("could not be cancelled: not today")).to_be_visible()
    await expect(page.get_by_role("button", name="Cancel start")).to_be_enabled()
