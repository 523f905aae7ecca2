"""What a browser shows when something is wrong, hostile or narrow, and to whom it is hard to see.

As in test_page_static.py, only what the Hub says is canned.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from detailedspawner.models.status import StartWarning

from .statuses import failure, replace_texts, start

# one browser for all, so one loop
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

DOCS = Path(__file__).parents[2] / "docs"
EVIL = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>\x1b[31mred'


# ---- broken and silent streams --------------------------------------------------------------


async def test_a_refused_stream_is_replaced_by_asking(hub, page):
    hub.rendered, hub.stream_code = start(1), 400
    hub.status = start(3)
    await page.goto(hub.page_url)
    await expect(page.get_by_text("3 of 7 containers ready")).to_be_visible()
    hub.status = start(5)
    await expect(page.get_by_text("5 of 7 containers ready")).to_be_visible()
    hub.status = start(7, state="running", revision=8)
    await expect(page).to_have_title("The server")


async def test_a_broken_stream_is_tried_again(hub, page):
    hub.rendered = hub.status = start(1)
    await page.clock.install()
    await page.goto(hub.page_url)
    await hub.send(start(2))
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()
    hub.break_streams()
    hub.status = start(3)
    await page.clock.run_for(3000)
    await expect(page.get_by_text("3 of 7 containers ready")).to_be_visible()
    await page.clock.run_for(60_000)
    await hub.send(start(4))
    await expect(page.get_by_text("4 of 7 containers ready")).to_be_visible()


async def test_a_silent_stream_is_noticed(hub, page):
    hub.rendered = start(1)
    await page.clock.install()
    await page.goto(hub.page_url)
    await hub.until(lambda: bool(hub.streams))
    hub.status = start(4)  # which the stream does not tell
    await page.clock.run_for(20_000)
    await expect(page.get_by_text("4 of 7 containers ready")).to_be_visible()


async def test_an_answer_overtaken_by_an_event_is_not_shown(hub, page):
    hub.rendered = start(1)
    overtaken = start(2)
    hub.status, hub.stream_code = start(5), 400
    await page.goto(hub.page_url)
    await expect(page.get_by_text("5 of 7 containers ready")).to_be_visible()
    hub.status = overtaken
    asked = len(hub.asked("GET", "token%7C1%3A2%2B3"))
    await hub.until(lambda: len(hub.asked("GET", "token%7C1%3A2%2B3")) > asked + 1)
    await expect(page.get_by_text("5 of 7 containers ready")).to_be_visible()


async def test_a_lost_hub_is_told(hub, page):
    hub.rendered, hub.stream_code, hub.status = start(1), 400, None
    await page.clock.install()
    await page.goto(hub.page_url)
    await expect(page.get_by_text("The connection to the Hub is lost")).to_be_hidden()
    for _ in range(10):
        await page.clock.run_for(3000)
    await expect(page.get_by_text("The connection to the Hub is lost")).to_be_visible()
    hub.status = start(2)
    await page.clock.run_for(30_000)
    await expect(page.get_by_text("The connection to the Hub is lost")).to_be_hidden()


async def test_an_ended_session_is_told(hub, page):
    hub.rendered = hub.status = start(1)
    hub.stream_code = hub.status_code = 403
    await page.goto(hub.page_url)
    await expect(page.get_by_text("does not accept this session")).to_be_visible()
    await expect(page.get_by_role("link", name="Reload the page")).to_be_visible()


# ---- texts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [EVIL, EVIL + "x" * 100_000], ids=["markup", "100 kB"])
async def test_texts_from_outside_stay_texts(hub, page, text, screenshot):
    evil = replace_texts(failure(), text)
    evil["details"][3]["message"] = "other " + text
    evil["warnings"] = [StartWarning(text, text, text).to_dict()]
    hub.rendered = replace_texts(start(1), text)
    await page.goto(hub.page_url)
    await hub.send(replace_texts(start(2), text), raw_event={"reason": text, "message": text})
    await hub.send(progress=1, message=text, html_message=text)
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()
    await hub.send(evil)
    await expect(page).to_have_title(re.compile("^Failed: <img src=x"))
    root = page.locator("#detailedspawner")
    await expect(root).to_contain_text("<img src=x")
    await expect(root).to_contain_text("red")
    await expect(root).not_to_contain_text("[31m")
    await expect(root.locator("img, script")).to_have_count(0)
    assert await page.evaluate("window.hacked") is None
    assert len(await root.inner_text()) < 60_000


async def test_hostile_texts_in_the_first_page_stay_texts(hub, browser):
    hub.rendered = replace_texts(failure(), EVIL)
    hub.rendered["warnings"] = [StartWarning(EVIL, EVIL, EVIL).to_dict()]
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(hub.page_url)
    await expect(page.locator("#detailedspawner img, #detailedspawner script")).to_have_count(0)
    await expect(page.locator("section.alert-danger")).to_contain_text("<img src=x")
    await context.close()


async def test_a_strict_content_security_policy_is_kept(hub, page):
    hub.headers = {
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'"
    }
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    await hub.send(failure())
    await expect(page.locator("li pre")).to_be_visible()


async def test_a_page_under_such_a_policy_breaks_no_rule_of_it(hub, page):
    """Only the Hub's own frame has inline scripts; nothing of ours is reported."""
    hub.headers = {
        "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'"
    }
    reported: list[str] = []
    page.on("console", lambda message: reported.append(message.text))
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    await hub.send(failure())
    await expect(page.locator("li pre")).to_be_visible()
    assert [text for text in reported if "Content Security Policy" in text] == []


async def test_texts_can_be_replaced(hub, page):
    hub.template_vars = {"detailedspawner_texts": {"heading_starting": "{server} démarre"}}
    hub.rendered = start(1)
    hub.server_name = "gpu"
    await page.goto(hub.page_url)
    await expect(page.get_by_role("heading", level=1)).to_have_text("gpu démarre")


(EXAMPLE,) = re.findall("```html\n(.*?)```", (DOCS / "pages.md").read_text(), re.DOTALL)
SITE_PAGES: dict[str, str] = {
    "spawn_pending.html": EXAMPLE
    + """{% block stylesheet %}{{ super() }}<meta name="site" />{% endblock %}""",
    "not_running.html": """{% extends "detailedspawner/not_running.html" %}
        {% block heading %}<p>Before</p>{{ super() }}{% endblock %}
        {% block start_button %}{{ super() }}<a href="/other">Elsewhere</a>{% endblock %}""",
    "page.html": """{% extends "templates/page.html" %}
        {% block announcement %}<p>Everywhere</p>{% endblock %}""",
}


async def test_a_site_changes_parts_of_the_pages_by_templates_of_its_own(hub, page, tmp_path):
    for name, text in SITE_PAGES.items():
        (tmp_path / name).write_text(text)
    hub.put_templates_first(tmp_path)
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    await hub.send(start(2))
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()
    await expect(page.locator("meta[name=site]")).to_have_count(1)
    for text in ("Starting your server", "Servers are stopped after 8 hours.", "Everywhere"):
        await expect(page.get_by_text(text)).to_be_visible()
    hub.rendered, hub.template_vars = failure(), {"failed": True, "failed_message": "boom"}
    await page.goto(f"{hub.origin}/@/space%20word/hub/not-running")
    await expect(page.get_by_role("link", name="Elsewhere")).to_be_visible()
    await expect(page.get_by_text("the password was not accepted")).to_be_visible()
    for text in ("Before", "Everywhere"):
        await expect(page.get_by_text(text)).to_be_visible()


async def test_unknown_keys_and_words_of_a_later_version_are_tolerated(hub, page):
    hub.rendered = start(1)
    await page.goto(hub.page_url)
    later = {**start(2), "state": "dreaming", "mood": {"deep": [1]}}
    later["details"][0]["status"] = "pondering"
    await hub.send(later, feature=1)
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible()


async def test_a_warning_of_the_whole_start_names_no_step(hub, page):
    hub.rendered = start(2)
    hub.rendered["warnings"] = [StartWarning("", "Small is started instead.").to_dict()]
    await page.goto(hub.page_url)
    box = page.locator("[data-part=warnings] [data-part=text]")
    assert await box.inner_text() == "Small is started instead."


# ---- for everyone ---------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", ["starting", "failed", "cancelling", "stopped", "running"])
async def test_axe_finds_nothing(hub, page, axe, theme, state):
    await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    hub.rendered = failure() if state == "failed" else start(2, state=state)
    hub.rendered["warnings"] = [
        StartWarning("Image", "This image is old.", "Choose 2.0.").to_dict()
    ]
    await page.goto(hub.page_url)
    if state == "starting":
        await hub.send(progress=10, message="A line in the log")
    await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert await axe(page) == []


@pytest.mark.parametrize("page_name", ["spawn-pending", "not-running"])
async def test_axe_finds_nothing_without_scripts_and_where_no_server_runs(
    hub, browser, axe, page_name
):
    hub.rendered = failure()
    hub.settings = {"help_url": "https://help.example", "contact": "mailto:it@help.example"}
    hub.template_vars = {"failed": True, "failed_message": "boom"}
    # axe itself is a script, so those of the page are only kept from loading
    context = await browser.new_context()
    await context.route("**/detailedspawner/static/*.js*", lambda route: route.abort())
    page = await context.new_page()
    stopped = f"{hub.origin}/@/space%20word/hub/not-running"
    await page.goto(hub.page_url if page_name == "spawn-pending" else stopped)
    await expect(page.get_by_role("link", name="Help")).to_be_visible()
    assert await axe(page) == []
    await context.close()


@pytest.mark.parametrize("state", ["starting", "failed"])
async def test_the_page_fits_a_narrow_screen(hub, page, screenshot, state):
    await page.set_viewport_size({"width": 320, "height": 700})
    hub.rendered = start(2) if state == "starting" else failure()
    hub.rendered["details"][3]["step"] = "Averyveryveryveryverylongnamewithoutanyspaceinit" * 2
    await page.goto(hub.page_url)
    width = await page.evaluate("document.documentElement.scrollWidth")
    await screenshot(page, f"narrow-{state}")
    assert width <= 320


async def test_nothing_moves_for_those_who_asked_for_it(hub, page):
    await page.emulate_media(reduced_motion="reduce")
    hub.rendered = start(2)
    await page.goto(hub.page_url)
    assert await page.evaluate("document.getAnimations().length") == 0


async def test_the_page_works_by_keyboard(hub, page):
    hub.rendered = start(2)
    await page.goto(hub.page_url)
    step = page.locator("li details").first
    await step.locator("summary").focus()
    await page.keyboard.press("Enter")
    await expect(step).to_have_attribute("open", "")
    await page.keyboard.press("Space")
    await expect(step).not_to_have_attribute("open", "")
    await page.get_by_role("button", name="Cancel start").focus()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator("details[data-part=events]")).to_have_attribute("open", "")
