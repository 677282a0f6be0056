"""Times on the page: of each message, and of each call of a tool."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.async_api import Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.running_host import RunningHost

REFUSED = "Failed to load resource: the server responded"

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.times")]


async def test_each_message_and_each_answer_has_its_time(host: RunningHost) -> None:
    """As it comes, and the stored one after a reload; with the day where that is another one."""

    async def of_another_day(route: Route) -> None:
        told: dict[str, Any] = await (await route.fetch()).json()
        entries = [{**entry, "created_at": "2020-02-03T12:00:00Z"} for entry in told["entries"]]
        await route.fulfill(json={**told, "entries": entries})

    begun = datetime.now(UTC)
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        times = page.locator(".turn").first.locator("time")
        await ask(page, "one")
        await ended(page)
        shown = await times.all_text_contents()
        exact = [await times.nth(number).get_attribute("datetime") or "" for number in range(2)]
        await page.reload()
        await ended(page)
        stored = await times.all_text_contents()
        await page.route("**/messages?*", of_another_day)
        await page.reload()
        await ended(page)
        old = await times.all_text_contents()

    assert [bool(re.fullmatch(r"\d+:\d\d\s[AP]M", text)) for text in shown] == [True, True]
    assert [begun <= datetime.fromisoformat(at.replace("Z", "+00:00")) for at in exact] == [True, True]
    assert len(stored) == 2
    assert [text.partition(", 2020")[0] for text in old] == ["Feb 3", "Feb 3"]


async def test_a_call_of_a_tool_says_how_long_it_took(host: RunningHost) -> None:
    """At once, and after a reload when it is opened: then its timeline is read."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/support/lasting")
        took = page.locator(".steps .took")
        await ask(page, "Where is my order A-17?")
        await ended(page)
        await expect(took).to_have_text(re.compile(r"^[1-9][.]\d s$"))
        await page.reload()
        await ended(page)
        await expect(took).to_be_empty()
        await page.locator(".steps summary").press("Enter")
        await expect(took).to_have_text(re.compile(r"^[1-9][.]\d s$"))
