"""The page keeps up with the Hub through proxies, sleep and restarts, and in two tabs."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from .statuses import failure, replace_texts, start

# one browser for all, so one loop
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_where_no_stream_gets_through_the_hub_waits_for_changes(hub, page):
    hub.rendered, hub.stream_code, hub.status = start(1), 400, start(1)
    await page.goto(hub.page_url)
    # from the second question on, the answer comes when something has changed
    await hub.until(lambda: any("wait=" in path for _, path, _ in hub.requests))
    for ready in (3, 5):
        hub.status = start(ready)
        await expect(page.get_by_text(f"{ready} of 7 containers ready")).to_be_visible()
    hub.status = failure(revision="7f3a9c.20")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Could not start your server")


async def test_behind_a_proxy_that_holds_the_stream_back_no_change_is_late(hub, page):
    def tries() -> int:
        return len(hub.asked("GET", "progress?_xsrf=token%7C1%3A2%2B3"))

    hub.rendered = hub.status = start(1)
    hub.stream_held_back = True
    await page.clock.install()
    await page.goto(hub.page_url)
    # the first one is given up when nothing of it has come
    while not any("wait=" in path for _, path, _ in hub.requests):
        await page.clock.run_for(1000)
    for ready in (2, 3, 4):
        # the stream is given up and tried anew, now and then
        tried = tries()
        while tries() == tried:
            await page.clock.run_for(1000)
        # less than the silence after which a stream is given up
        hub.status = start(ready)
        await expect(page.get_by_text(f"{ready} of 7 containers ready")).to_be_visible()
    # once it is let through, it takes over again
    hub.stream_held_back = False
    while not hub.streams:
        await page.clock.run_for(1000)
    await hub.send(start(5))
    await expect(page.get_by_text("5 of 7 containers ready")).to_be_visible()
    await expect(page.get_by_text("The connection to the Hub is lost")).to_be_hidden()


async def test_a_restarted_hub_is_found_again(hub, page):
    hub.rendered = hub.status = start(2, revision=17)
    await page.goto(hub.page_url)
    await hub.send(start(3, revision=18))
    await expect(page.get_by_text("3 of 7 containers ready")).to_be_visible()
    await hub.stop()
    await expect(page.get_by_text("The connection to the Hub is lost")).to_be_visible(
        timeout=30_000
    )
    # the numbers of the same start begin anew
    hub.status = start(4, revision=1)
    await hub.start()
    await expect(page.get_by_text("4 of 7 containers ready")).to_be_visible(timeout=30_000)
    await expect(page.get_by_text("The connection to the Hub is lost")).to_be_hidden()
    await hub.send(start(5, revision=2))
    await expect(page.get_by_text("5 of 7 containers ready")).to_be_visible()


@pytest.mark.parametrize("what", ["network", "sleep"])
async def test_after_sleep_and_in_another_network_the_present_status_is_shown(hub, page, what):
    hub.rendered = hub.status = start(1)
    await page.clock.install()
    await page.goto(hub.page_url)
    await hub.send(start(2))
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()
    hub.status = start(5)  # which the open, dead stream does not tell
    if what == "network":
        await page.evaluate("window.dispatchEvent(new Event('online'))")
    else:
        await page.clock.fast_forward(3_600_000)
    await expect(page.get_by_text("5 of 7 containers ready")).to_be_visible()
    await hub.until(lambda: len(hub.asked("GET", "3A2%2B3")) >= 3)


async def test_two_tabs_show_the_same(hub, page):
    hub.rendered = start(1)
    other = await page.context.new_page()
    await page.goto(hub.page_url)
    await other.goto(hub.page_url)
    await hub.until(lambda: len(hub.streams) == 2)
    await hub.send(start(4))
    for tab in (page, other):
        await expect(tab.get_by_text("4 of 7 containers ready")).to_be_visible()
    # cancelled in one of them
    hub.status = start(4, state="stopped", revision=9)
    await hub.send(start(4, state="stopped", revision=9))
    for tab in (page, other):
        await expect(tab.get_by_role("heading", level=1)).to_have_text("Start cancelled")


async def test_three_hundred_steps_are_shown(hub, page):
    def many(ready: int, revision: int) -> dict:
        status = start(1, revision=revision)
        step = status["details"][2]
        status["details"] = [
            {**step, "step": f"Step {number}", "status": "ready" if number < ready else "waiting"}
            for number in range(300)
        ]
        return status

    hub.rendered = many(1, 1)
    await page.clock.install()
    await page.goto(hub.page_url)
    await hub.send(many(250, 2))
    steps = page.locator("li.ds-step")
    await expect(steps).to_have_count(300)
    await expect(steps.nth(249)).to_contain_text("Ready")
    await expect(steps.nth(250)).to_contain_text("Waiting")
    await page.clock.run_for(1000)
    # nobody wants to hear 249 sentences
    await expect(page.get_by_role("status")).to_have_text(
        "Step 1: Ready. Step 2: Ready. Step 3: Ready. 246 more steps have changed."
    )


HOSTILE = {
    "turned round": "\u202egnp.exe\u202c \u2066x\u2069",
    "one word": "w" * 5000,
    "controls": "a\x00b\x07c\x1b[2Jd\x9be\x7f",
    "markup": "</script><script>document.title='x'</script>{{ 7*7 }}",
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_hostile_texts_harm_neither_the_page_nor_its_layout(hub, page, kind, screenshot):
    await page.set_viewport_size({"width": 320, "height": 700})
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    await hub.send(replace_texts(failure(), HOSTILE[kind]))
    await expect(page.get_by_role("heading", level=1)).to_have_text("Could not start your server")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 320
    text = await page.locator("#detailedspawner").inner_text()
    assert not set(text) & set("\u202e\u202c\u2066\u2069\x00\x07\x1b\x9b\x7f")
    assert "[2J" not in text
    await screenshot(page, f"hostile-{kind}".replace(" ", "-"))
