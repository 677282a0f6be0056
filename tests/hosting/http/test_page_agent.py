"""What the page shows of an agent: its instructions, model, tools and rules, and what its model calls were sent."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, UNWANTED, WIDER, browsed, faults_of
from tests.support.running_host import RunningHost

HOSTILE = "<img src=x onerror=hacked()>"

pytestmark = IN_A_BROWSER


@pytest.mark.behaviour("page.agent")
async def test_the_header_opens_what_an_agent_is(host: RunningHost) -> None:
    """By keyboard too, and closes it again; the tools say their rules, and open to their schemas."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/support")
        await page.get_by_role("button", name="Agent", exact=True).press("Enter")
        about = page.locator(".about")
        await expect(about.locator("pre").first).to_have_text("Help.")
        tools = about.locator("details")
        await expect(tools.locator("summary")).to_have_text(
            ["find_ordermay be called again", "refundasks for approval"]
        )
        await tools.nth(1).locator("summary").press("Enter")
        await expect(tools.nth(1).locator("pre")).to_contain_text('"amount"')
        await expect(about).to_contain_text('callers may set it: {"type":"number","minimum":0,"maximum":1}')
        await expect(about).to_contain_text("10,000 tokens for a thread")
        await expect(about).to_contain_text("7 days")
        await page.get_by_role("button", name="Agent", exact=True).press("Enter")
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()


@pytest.mark.behaviour("page.agent")
async def test_the_header_says_that_the_offline_model_answers(host: RunningHost) -> None:
    """And of no agent with another model."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/clerk")
        await expect(page.locator("#model")).to_have_text("offline model")
        await expect(page.locator("#model")).to_be_visible()
        async with page.expect_response("**/agents/writer"):
            await page.locator("#agents").get_by_text("writer").click()
        await expect(page.locator("#title")).to_have_text("writer")
        await expect(page.locator("#model")).to_be_hidden()


@pytest.mark.behaviour("page.hostile")
async def test_no_text_of_an_agent_becomes_more_than_text(host: RunningHost) -> None:
    """Wherever its author, or an MCP server that others run, may have written it."""

    async def forge(route: Route) -> None:
        answer = await route.fetch()
        text = await answer.text()
        for word in ("Help with orders.", "Look up an order by its number.", "find_order", "owner_memory"):
            text = text.replace(f'"{word}"', json.dumps(HOSTILE))
        await route.fulfill(response=answer, body=text)

    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await page.route("**/agents/clerk", forge)
        await page.goto(f"{host.origin}/api/ui/#/clerk?about")
        await page.locator(".about details summary").first.click()
        await expect(page.locator(".about pre").first).to_have_text(HOSTILE)
        await expect(page.locator(".about details b").first).to_have_text(HOSTILE)

        assert await page.evaluate(UNWANTED) == []


@pytest.mark.behaviour("page.for-everybody")
@ON_EACH_SCREEN
async def test_what_an_agent_is_stands_in_nobodys_way(host: RunningHost, theme: str, is_phone: bool) -> None:
    """Opened to a tool's schema."""
    async with browsed(host.origin, theme=theme, is_phone=is_phone) as browser:
        page = await browser.open("#/clerk?about")
        await page.locator(".about details summary").first.click()
        await expect(page.locator(".about details pre").first).to_be_visible()

        assert await faults_of(page) == []
        assert await page.evaluate(WIDER) <= 0
