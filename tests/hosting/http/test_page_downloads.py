"""A thread as a file that the page saves: as Markdown to read, and as JSON with all that the app keeps."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.running_host import RunningHost

REFUSED, LOST = "Failed to load resource: the server responded", "net::ERR"
REFUND = 'Call refund with {"order": "```A-17", "amount": 120}'

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.downloads")]


async def saved(page: Page, kind: str, folder: Path) -> tuple[str, str]:
    """Download the thread that is open, and return the file's name and text."""
    await page.get_by_role("button", name="Download").click()
    async with page.expect_download() as begun:
        await page.get_by_role("button", name=kind, exact=True).click()
    download = await begun.value
    await download.save_as(folder / kind)
    return download.suggested_filename, (folder / kind).read_text(encoding="utf-8")


async def test_a_thread_is_saved_as_markdown(host: RunningHost, tmp_path: Path) -> None:
    """Each message with its time, each call with its arguments and result; what stands in it ends no block of it."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/clerk/saved")
        await ask(page, REFUND)
        await page.get_by_role("button", name="Approve").click()
        await ended(page, number=2)
        await expect(page.locator("#title")).to_have_text(REFUND)
        name, text = await saved(page, "Markdown", tmp_path)

    assert name == "clerk-saved.md"
    assert re.sub(r"(## \w+), .*", r"\1, TIME", text).split("\n\n")[:3] == [
        f"# {REFUND}",
        "Agent clerk, thread saved",
        "## User, TIME",
    ]
    assert re.findall(r"^## (\w+),", text, re.MULTILINE) == ["User", "clerk", "User", "clerk"]
    assert 'Calls `refund`:\n\n````\n{\n  "order": "```A-17",\n  "amount": 120\n}\n````' in text
    assert "Asks for approval of `refund`." in text
    assert "Approved `refund`." in text
    assert "Refunded 120 for ```A-17." in text


async def test_a_long_thread_is_saved_to_its_last_message(host: RunningHost, tmp_path: Path) -> None:
    """Page by page."""
    entries = [
        {
            "position": number,
            "type": "request",
            "created_at": "2026-01-01T12:00:00Z",
            "messages": [{"role": "user", "contents": [{"$type": "text", "text": f"message {number}"}]}],
        }
        for number in range(1, 6)
    ]

    async def in_pages_of_two(route: Route) -> None:
        after = int(re.search(r"after=(\d+)", route.request.url)[1])  # type: ignore[index]
        page = entries[after : after + 2]
        await route.fulfill(json={"entries": page, "has_more": after + 2 < len(entries)})

    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/long-one")
        await ask(page, "one")
        await ended(page)
        await page.route("**/messages?*order=asc*", in_pages_of_two)
        _, text = await saved(page, "Markdown", tmp_path)

    assert re.findall(r"message \d", text) == [f"message {number}" for number in range(1, 6)]


async def test_a_thread_is_saved_as_json_with_all_that_the_app_keeps(host: RunningHost, tmp_path: Path) -> None:
    """As its export has it."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/kept")
        await ask(page, "one")
        await ended(page)
        name, text = await saved(page, "JSON", tmp_path)
        exported = await page.evaluate("fetch('../agents/writer/threads/kept/export').then((one) => one.json())")

    assert name == "writer-kept.json"
    assert {**json.loads(text), "exported_at": ""} == {**exported, "exported_at": ""}


async def test_a_download_that_cannot_be_read_says_so_and_saves_nothing(host: RunningHost) -> None:
    """By its problem."""
    away = {"code": "log_unavailable", "detail": "The thread's log cannot be reached. Try again."}
    async with browsed(host.origin, REFUSED, LOST) as browser:
        page = await browser.open("#/writer/unread")
        await ask(page, "one")
        await ended(page)
        page.on("download", lambda download: browser.complaints.append(download.suggested_filename))
        await page.route("**/export", lambda route: route.fulfill(status=503, json=away))
        await page.route("**/messages?*", lambda route: route.fulfill(status=503, json=away))
        for kind in ("JSON", "Markdown"):
            await page.get_by_role("button", name="Download").click()
            await page.get_by_role("button", name=kind, exact=True).click()
            await page.get_by_role("alert").get_by_text(away["detail"]).wait_for()
            await page.get_by_role("button", name="Close", exact=True).click()


async def test_an_export_that_breaks_off_is_no_file(host: RunningHost) -> None:
    """It would lack what was not read, and look like all."""
    broken = "Response.prototype.blob = () => Promise.reject(new TypeError('network error'))"
    async with browsed(host.origin, REFUSED) as browser:
        await browser.context.add_init_script(broken)
        page = await browser.open("#/writer/broken-off")
        await ask(page, "one")
        await ended(page)
        page.on("download", lambda download: browser.complaints.append(download.suggested_filename))
        await page.get_by_role("button", name="Download").click()
        await page.get_by_role("button", name="JSON", exact=True).click()
        await page.get_by_role("alert").get_by_text("The download was cut off. Try again.").wait_for()
