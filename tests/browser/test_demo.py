"""The demo's real pages, from signing in to JupyterLab, and to a failure that explains itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from ..behaviour.hub import free_port, until_answers
from .acting import choose, sign_in

# one browser for all, so one loop
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASSWORD = "demo-password"
SECONDS = 1000  # in milliseconds, Playwright's unit


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running demo."""
    folder, port = tmp_path_factory.mktemp("demo"), free_port()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "DEMO_PASSWORD": PASSWORD,
        "DEMO_STATE": str(folder),
    }
    with (folder / "demo.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "detailedspawner.demo", "--port", str(port)],
            env=environment, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        address = f"http://127.0.0.1:{port}"

        try:
            until_answers(process, f"{address}/hub/api", folder / "demo.log")
            yield address
        finally:
            process.terminate()
            process.wait(60)


async def start(page: Page, demo: str, user: str, profile: str) -> None:
    """Sign in and start a server with a profile, as a person does."""
    await page.goto(f"{demo}/hub/login")
    await sign_in(page, user, PASSWORD)
    await choose(page, profile)
    await page.wait_for_url("**/spawn-pending/**")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_seven_named_steps_lead_to_jupyterlab(demo, page, screenshot, axe, theme):
    await page.emulate_media(color_scheme=theme)
    await start(page, demo, f"good-{theme}", "Session with repository")
    steps = page.get_by_role("list", name="Steps of the start").locator("> li")
    await expect(page.get_by_text("2 of 7 containers ready")).to_be_visible(timeout=30 * SECONDS)
    await expect(steps.filter(has_text="Initialization")).to_contain_text("Ready")
    await expect(steps.filter(has_text="Cloning and configuring")).to_contain_text("In progress")
    await expect(steps.filter(has_text="Auxiliary session services")).to_contain_text("Waiting")
    await screenshot(page, f"demo-starting-{theme}")
    assert await axe(page) == []
    await page.wait_for_url(f"**/user/good-{theme}/lab**", timeout=60 * SECONDS)
    await expect(page.locator("#jp-top-panel")).to_be_visible(timeout=60 * SECONDS)


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_failure_says_what_failed_and_is_still_there_after_a_reload(
    demo, page, screenshot, axe, theme
):
    await page.emulate_media(color_scheme=theme)
    await start(page, demo, f"bad-{theme}", "Failing preparation")
    cause = page.get_by_text(re.compile("exit code 1|stopped with|ended with")).first
    await expect(page).to_have_title(re.compile("^Failed"), timeout=90 * SECONDS)
    await expect(cause).to_be_visible()
    await expect(page.get_by_text("fatal: repository")).to_be_visible()
    await screenshot(page, f"demo-failed-{theme}")
    assert await axe(page) == []
    await page.reload()
    await expect(page.get_by_text("fatal: repository")).to_be_visible()
    await screenshot(page, f"demo-not-running-{theme}")
    assert await axe(page) == []
