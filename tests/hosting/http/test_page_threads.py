"""Threads on the page: found, named, pinned, shared, saved, and forked at an answer or to edit a message."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Locator, Page, expect

from tests.hosting.http.browsed_page import (
    IN_A_BROWSER,
    REFUSED,
    ask,
    browsed,
    ended,
    for_everybody,
)
from tests.support.running_host import RunningHost

pytestmark = IN_A_BROWSER
REFUND = 'Call refund with {"order": "```A-17", "amount": 120}'


async def begin(host: RunningHost, thread: str, message: str, agent: str = "writer") -> None:
    async with httpx.AsyncClient(base_url=host.origin, timeout=20) as client:
        body = {"message": message, "thread_id": thread}
        (await client.post(f"/api/agents/{agent}/run", json=body)).raise_for_status()


def row(page: Page, thread: str) -> Locator:
    return page.locator(f'#threads a[title="{thread}"]')


@pytest.mark.behaviour("page.find")
async def test_a_thread_is_found_by_its_title_and_by_words_of_its_messages(host: RunningHost) -> None:
    """Its row shows where they stand, until the search is over; and the page says where it found nothing."""
    await begin(host, "find-first", "Rhubarb for the market")
    await begin(host, "find-other", "Something else")
    await begin(host, "find-other", "and elderberries")
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        search, note = page.get_by_placeholder("Find a thread"), page.locator("#threads-note")
        await search.fill("ELDERBERRIES")
        await expect(row(page, "find-first")).to_be_hidden()
        await expect(row(page, "find-other")).to_be_visible()
        await expect(row(page, "find-other").locator("..").locator("mark")).to_have_text("elderberries")
        await for_everybody(page)
        await search.fill("no such words")
        await expect(note).to_contain_text("Nothing found")
        await search.fill("rhub")
        await expect(row(page, "find-first")).to_be_visible()
        await search.press("Enter")
        await expect(page).to_have_url(re.compile("#/writer/find-first$"))
        await search.fill("")
        await expect(row(page, "find-other")).to_be_visible()
        await expect(page.locator("#threads mark")).to_have_count(0)


@pytest.mark.behaviour("page.labels")
async def test_a_thread_is_renamed_and_pinned(host: RunningHost) -> None:
    """By the keyboard; its name stands in the list and above the conversation, and comes again after a reload."""
    await begin(host, "label-pinned", "The first words")
    await begin(host, "label-other", "Other words")
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer/label-pinned")
        await ended(page)
        await expect(page.locator("#title")).to_have_text("The first words")
        rename = page.get_by_role("button", name="Rename or pin the thread")
        await rename.press("Enter")
        name = page.get_by_role("textbox", name="Name")
        await expect(name).to_be_focused()
        await name.fill("Market days")
        await page.get_by_role("checkbox", name="Pin it").press("Space")
        await for_everybody(page)
        await name.press("Enter")
        await expect(page.locator("#title")).to_have_text("Market days")
        await expect(rename).to_be_focused()
        await expect(page.get_by_role("button", name="Share the thread")).to_be_hidden()  # everybody has it
        await expect(page.locator("#threads a").first).to_contain_text("Market days")
        await page.reload()
        await expect(page.locator("#title")).to_have_text("Market days")
        await expect(page.locator("#threads a").first).to_contain_text("(pinned)")
        await rename.click()
        await expect(page.get_by_role("checkbox", name="Pin it")).to_be_checked()
        await name.fill("")
        await page.get_by_role("checkbox", name="Pin it").uncheck()
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator("#title")).to_have_text("The first words")
        await expect(row(page, "label-pinned")).not_to_contain_text("(pinned)")


@pytest.mark.behaviour("page.share")
async def test_a_thread_is_shared_by_a_link_which_its_owner_takes_back(asking: RunningHost) -> None:
    """Who has it reads and writes there under the owner's name for it, and after the withdrawal is told so."""
    await begin(asking, "shared", "Words of Ada", "Joker")
    async with browsed(asking.origin, REFUSED) as adas, browsed(asking.origin, REFUSED) as bobs:
        await bobs.context.set_extra_http_headers({"x-user": "bob"})
        await adas.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await adas.open("#/Joker/shared")
        await ended(page)
        await page.get_by_role("button", name="Share the thread").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_text("Nobody yet.").wait_for()
        await dialog.get_by_label("Person").press("Enter")
        await expect(dialog.get_by_role("alert")).to_contain_text("id must be")
        await dialog.get_by_label("Person").fill("bob")
        await dialog.get_by_label("Access").select_option("run")
        await dialog.get_by_label("Person").press("Enter")
        await dialog.get_by_role("button", name="Copy link").click()
        await dialog.get_by_role("button", name="Copied").wait_for()
        await for_everybody(page)
        link = await page.evaluate("navigator.clipboard.readText()")
        other = await bobs.open(link.partition("/ui/")[2])
        await expect(other.locator("#title")).to_have_text("Words of Ada")
        await expect(other.locator("#subtitle")).to_contain_text("Shared with you")
        await expect(other.get_by_role("button", name="Fork")).to_be_hidden()
        await ask(other, "Words of Bob")
        await ended(other, number=2)
        await expect(page.locator(".request")).to_have_count(2)
        await dialog.get_by_role("button", name="Stop sharing").click()
        await dialog.get_by_text("Nobody yet.").wait_for()
        await other.reload()
        await expect(other.locator("#notice")).to_contain_text("Nothing is shared with you")
        await expect(other.locator(".request")).to_have_count(0)

    assert link.startswith(f"{asking.origin}/api/ui/#/?shared=")


async def saved(page: Page, kind: str, folder: Path) -> tuple[str, str]:
    """Download the thread that is open, and return the file's name and text."""
    await page.get_by_role("button", name="Download").click()
    async with page.expect_download() as begun:
        await page.get_by_role("button", name=kind, exact=True).click()
    download = await begun.value
    await download.save_as(folder / kind)
    return download.suggested_filename, (folder / kind).read_text(encoding="utf-8")


@pytest.mark.behaviour("page.downloads")
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


@pytest.mark.behaviour("page.downloads")
async def test_a_thread_is_saved_as_json_with_all_that_the_app_keeps(host: RunningHost, tmp_path: Path) -> None:
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/kept")
        await ask(page, "one")
        await ended(page)
        name, text = await saved(page, "JSON", tmp_path)
        exported = await page.evaluate("fetch('../agents/writer/threads/kept/export').then((one) => one.json())")

    assert name == "writer-kept.json"
    assert {**json.loads(text), "exported_at": ""} == {**exported, "exported_at": ""}


@pytest.mark.behaviour("page.downloads")
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
