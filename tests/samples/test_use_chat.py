"""samples/use_chat as its user has it: the app on a local host, the Node server, and the page in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import expect

from tests.samples.node_server import installed, started
from tests.support.browsing import a_browser, needs_browser

pytestmark = [pytest.mark.slow(seconds=20), pytest.mark.behaviour("samples.use-chat")]

POSTCARD = 'Call send_postcard with {"to": "Ada", "text": "Hello"}'


@pytest.fixture(scope="module")
def origin(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server for the sample's app."""
    packages = installed("use_chat", Path(pytestconfig.cache.mkdir("use-chat")))
    with started("use_chat", packages, tmp_path_factory.mktemp("app")) as address:
        yield address


@needs_browser
async def test_the_page_chats_asks_and_goes_on_when_it_is_loaded_again(origin: str) -> None:
    complaints: list[str] = []
    asked_for: list[str] = []
    async with a_browser() as browser:
        page = await browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked_for.append(asked.url))
        await page.goto(origin)
        await page.fill("input", "What is the weather in Paris?")
        await page.click("text=Send")
        await expect(page.locator(".assistant")).to_have_text("The weather in Paris: partly cloudy, 18 °C.")
        await page.fill("input", POSTCARD)
        await page.click("text=Send")
        await expect(page.locator(".question")).to_contain_text("May send_postcard")
        await page.reload()
        await page.click("text=Approve")
        await expect(page.locator(".tool").last).to_contain_text("On its way to Ada: Hello")
        await expect(page.locator(".assistant").last).to_contain_text("Ada")
        await expect(page.locator(".user")).to_have_count(2)

    assert complaints == []
    assert [url for url in asked_for if not url.startswith((origin, "data:"))] == []


async def test_a_page_of_another_address_gets_nothing(origin: str) -> None:
    """Neither one that sends its origin, nor one whose own name leads here."""
    async with httpx.AsyncClient(base_url=origin) as http:
        answers = [
            await http.get("/chat/abc", headers=headers)
            for headers in ({}, {"Origin": "http://evil.example"}, {"Host": "evil.example:80"})
        ]

    assert [answer.status_code for answer in answers] == [200, 403, 403]
