"""The page in a headless Chromium, watched: what it writes to its console, asks of other servers, and is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from tests.support.browsing import GUARD_MS, a_browser, needs_browser

ELSEWHERE = "elsewhere.example"
"""A name that is this machine's in the shared browser alone: what lies there is of another origin than the page."""
REFUSED, LOST = "Failed to load resource: the server responded", "net::ERR"
"""What a browser writes to its console of a status above 399, and of a connection that was lost."""
HOSTILE = "<img src=x onerror=hacked()>"
PHONE = {"width": 390, "height": 780}
DESK = {"width": 1280, "height": 800}
IN_A_BROWSER = [
    pytest.mark.slow,
    needs_browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("shared_browser"),
]
"""The marks of tests that call `browsed`: on the event loop of the browser that they share."""
WIDER = "document.documentElement.scrollWidth - innerWidth"
UNWANTED = """[...document.querySelectorAll("*")].flatMap(one => [
    ...(one.matches(":is(.turns, .view, #threads, #files, #title) " +
        ":is(script, iframe, object, embed, form, style, img, math)")
        ? [one.outerHTML] : []),
    ...one.getAttributeNames().filter(name => name.startsWith("on")),
    ...(one.href && !/^https?:/.test(one.href) ? [String(one.href)] : []),
])"""
REPORTED = """addEventListener("securitypolicyviolation", event => console.error("CSP", event.violatedDirective))"""


BROKEN = """axe.run({ resultTypes: ["violations"], preload: false })
    .then(found => found.violations.map(rule => [rule.id, rule.nodes[0].html]))"""
"""What keeps to the rules stays in the browser, and no sheet is fetched again: only rules about sound and rotation,
which are off or have nothing to look at here, read what is fetched."""


async def for_everybody(page: Page) -> None:
    """Fail where the page, as it stands, breaks a rule of axe-core, is wider than its screen, or has foreign markup.

    On a phone in the dark theme, and on a desk in the light one, as which it is left.
    """
    for size, theme in ((PHONE, "dark"), (DESK, "light")):
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert await faults_of(page) == []
        assert await page.evaluate(WIDER) <= 0
    assert await page.evaluate(UNWANTED) == []


async def faults_of(page: Page) -> list[Any]:
    """Return each of axe-core's rules that the page breaks, with the first element that does."""
    if not await page.evaluate("'axe' in window"):  # half a megabyte, which a document is given once
        await page.evaluate(AXE_SCRIPT)
    found: list[Any] = await page.evaluate(BROKEN)
    return found


@dataclass
class Browsed:
    """One browser's profile with the page of an app; `complaints` are what it should never have to say."""

    context: BrowserContext
    origin: str
    complaints: list[str] = field(default_factory=list)
    is_expected: tuple[str, ...] = ()

    async def open(self, place: str = "", prefix: str = "/api/ui/") -> Page:
        """Open the page in a new tab at `#/agent/thread`, and return it once it is ready for a message."""
        page = await self.context.new_page()
        page.set_default_timeout(GUARD_MS)
        page.on("console", self._noted)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._asked)
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        await page.add_init_script(REPORTED)
        await page.goto(f"{self.origin}{prefix}{place}")
        return page

    def _noted(self, message: ConsoleMessage) -> None:
        # The browser itself notes each status above 399 and each lost connection; a test says which it makes.
        if not any(expected in message.text for expected in self.is_expected):
            self.complaints.append(f"{message.type}: {message.text} at {message.location}")

    def _asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "data" and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.complaints.append(f"request: {request.url}")


_shared: list[Browser] = []


@asynccontextmanager
async def sharing_browser() -> AsyncIterator[None]:
    """Have `browsed` open its profiles in one browser, whose start takes longer than most that is done in them."""
    async with a_browser(f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1") as browser:
        _shared.append(browser)
        yield
        _shared.remove(browser)


@asynccontextmanager
async def profile(**options: Any) -> AsyncIterator[BrowserContext]:
    """Yield a new profile, whose pages nobody watches."""
    async with await _shared[0].new_context(**options) as context:
        yield context


@asynccontextmanager
async def browsed(origin: str, *expected: str, is_phone: bool = False, theme: str = "light") -> AsyncIterator[Browsed]:
    """Yield a new profile; at the end nothing may have been complained of, but what is `expected`."""
    options = {"viewport": PHONE if is_phone else DESK, "color_scheme": theme, "reduced_motion": "reduce"}
    async with profile(**options) as context:
        opened = Browsed(context, origin, is_expected=expected)
        yield opened
        assert opened.complaints == [], opened.complaints


async def ask(page: Page, message: str) -> None:
    """Write a message and send it, as a person does."""
    await page.get_by_label("Message", exact=True).fill(message)
    await page.keyboard.press("Enter")


async def ended(page: Page, how: str = "completed", number: int = 1) -> str:
    """Wait until so many turns ended so, and return the answer of the last of them."""
    turn = page.locator(f".turn[data-end={how}]").nth(number - 1)
    await expect(turn).to_be_visible()  # which says what the page showed where it is not
    # Not as it is rendered: a browser renders no turn that is off the screen.
    return await turn.locator(".response").text_content() or ""


async def answered(page: Page) -> str:
    """Wait until the first turn completed, and return the words of its answer alone."""
    await ended(page)
    return await page.locator(".markdown").first.text_content() or ""
