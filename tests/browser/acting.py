"""What a person does on the Hub's own pages."""

from __future__ import annotations

from playwright.async_api import Page


async def sign_in(page: Page, user: str, password: str) -> None:
    """Fill the form of the login page, which is shown, and send it."""
    await page.get_by_label("Username").fill(user)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()


async def choose(page: Page, profile: str) -> None:
    """Choose a profile in the form, which is shown, and start a server with it."""
    await page.get_by_text(profile, exact=True).click()
    await page.get_by_role("button", name="Start").click()
