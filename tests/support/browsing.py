"""A headless Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.support.browser import find_browser

GUARD_MS = 20_000.0
expect.set_options(GUARD_MS)
needs_browser = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium: Debian's chromium-headless-shell, or CHROMIUM=/path/to/one"
)


@asynccontextmanager
async def a_browser(*options: str) -> AsyncIterator[Browser]:
    """Yield a Chromium of the machine's."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", *options])
        yield browser
        await browser.close()


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Page]:
    """Yield the page at `url`, loaded, in a browser of its own."""
    async with a_browser() as browser:
        page = await browser.new_page()
        await page.goto(url)
        yield page
