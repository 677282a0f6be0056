"""Threads on the page: found, named, pinned, shared, saved, and forked at an answer or to edit a message."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import FilePayload, Locator, Page, Route, expect

from tests.hosting.http.browsed_page import (
    IN_A_BROWSER,
    LOST,
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
async def test_a_thread_is_saved_as_markdown_or_as_json_with_all_that_the_app_keeps(
    host: RunningHost, tmp_path: Path
) -> None:
    """In Markdown nothing in a message or a call ends a block of it. A download that breaks off is no file."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/clerk/saved")
        await ask(page, REFUND)
        await page.get_by_role("button", name="Approve").click()
        await ended(page, number=2)
        await expect(page.locator("#title")).to_have_text(REFUND)
        name, text = await saved(page, "Markdown", tmp_path)
        other_name, kept = await saved(page, "JSON", tmp_path)
        exported = await page.evaluate("fetch('../agents/clerk/threads/saved/export').then((one) => one.json())")
        await page.evaluate("void (Response.prototype.blob = () => Promise.reject(new TypeError('network error')))")
        page.on("download", lambda download: browser.complaints.append(download.suggested_filename))
        await page.get_by_role("button", name="Download").click()
        await page.get_by_role("button", name="JSON", exact=True).click()
        await page.get_by_role("alert").get_by_text("The download was cut off. Try again.").wait_for()

    assert (name, other_name) == ("clerk-saved.md", "clerk-saved.json")
    assert re.sub(r"(## \w+), .*", r"\1, TIME", text).split("\n\n")[:3] == [
        f"# {REFUND}",
        "Agent clerk, thread saved",
        "## User, TIME",
    ]
    assert re.findall(r"^## (\w+),", text, re.MULTILINE) == ["User", "clerk", "User", "clerk"]
    assert 'Calls `refund`:\n\n````\n{\n  "order": "```A-17",\n  "amount": 120\n}\n````' in text
    for said in ("Asks for approval of `refund`.", "Approved `refund`.", "Refunded 120 for ```A-17."):
        assert said in text
    assert {**json.loads(kept), "exported_at": ""} == {**exported, "exported_at": ""}


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
)
ORIGIN = "Fork of another thread"


def noted(page: Page) -> list[Any]:
    """Return the list of the forks that the page asks for from now on."""
    asked: list[Any] = []
    page.on("request", lambda one: asked.append(one.post_data_json) if one.url.endswith("/fork") else None)
    return asked


def forks(page: Page, says: str = "Fork") -> Locator:
    return page.get_by_role("button", name=says, exact=True)


def box(page: Page) -> Locator:
    return page.get_by_label("Message", exact=True)


async def offered(page: Page) -> tuple[int, int]:
    """Return how many answers and how many messages have a button."""
    return await forks(page).count(), await forks(page, "Edit").count()


async def said(page: Page) -> list[str]:
    """Return what was asked in the conversation that is open."""
    return await page.locator(".request").all_text_contents()


async def until_kept_apart(host: RunningHost, thread_id: str) -> None:
    """Return once a large picture of a thread is apart from its conversation: before, it is read whole."""
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/writer/threads/{thread_id}/") as http:
        while '"attachment"' not in (await http.get("messages")).text:  # noqa: ASYNC110 - nothing says so
            await asyncio.sleep(0.02)


async def at_a_fork(page: Page, origin: str) -> str:
    """Wait until a fork of that thread is open, and return its id."""
    await expect(page.get_by_role("link", name=ORIGIN)).to_have_attribute("href", f"#/writer/{origin}")
    await expect(page).to_have_url(re.compile("/writer/[0-9a-f]{32}$"))
    return page.url.rpartition("/")[2]


@pytest.mark.behaviour("page.forks")
async def test_a_fork_goes_on_from_an_answer_and_leads_back_to_its_origin(host: RunningHost) -> None:
    """Whether the answer came just now, or was read with its position; the origin stays as it was."""

    async def of_others(route: Route) -> None:
        if origin not in route.request.url:
            await route.continue_()

    origin = ""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer")
        await page.route("**/messages?*", of_others)
        for number, message in enumerate(("one", "two", "three"), start=1):
            await ask(page, message)
            await ended(page, number=number)
        origin = page.url.rpartition("/")[2]
        asked = noted(page)
        await forks(page).first.click()
        first = await at_a_fork(page, origin)
        await ended(page)
        await ask(page, "another")
        await ended(page, number=2)
        of_first = await said(page)
        await page.unroute("**/messages?*")
        await page.get_by_role("link", name=ORIGIN).click()
        await ended(page, number=3)
        of_origin = await said(page)
        await forks(page).nth(1).click()
        second = await at_a_fork(page, origin)
        await ended(page, number=2)
        of_second = await said(page)

    assert (of_first, of_origin, of_second) == (["one", "another"], ["one", "two", "three"], ["one", "two"])
    assert [one["thread_id"] for one in asked] == [first, second]


@pytest.mark.behaviour("page.forks")
async def test_a_message_is_edited_with_its_pictures_and_files_or_not_at_all(host: RunningHost) -> None:
    """In another tab too. Of a large picture the page has nothing after a reload but that it was there."""
    files: list[FilePayload] = [
        {"name": "plan.png", "mimeType": "image/png", "buffer": PNG},
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"all of it"},
    ]
    async with browsed(host.origin, REFUSED) as browser:
        page, other = await browser.open("#/writer/pictures"), await browser.open("#/writer/pictures")
        await page.locator("#picker").set_input_files(files)
        await page.get_by_label("Remove notes.txt").wait_for()
        await ask(page, "one")
        for tab in (page, other):
            await ended(tab)
            await forks(tab, "Edit").click()
            await at_a_fork(tab, "pictures")
            await expect(box(tab)).to_have_value("one")
            await expect(tab.locator("#files li")).to_have_text(["plan.png", re.compile("notes.txt")])
        await ask(page, "two")
        await ended(page)
        edited = await said(page)
        pictures = await page.locator(".request img").count()
        await page.locator("#picker").set_input_files([{**files[0], "buffer": PNG * 1000}])
        await page.get_by_label("Remove plan.png").wait_for()
        await ask(page, "three")
        await ended(page, number=2)
        large = [await offered(page)]
        await until_kept_apart(host, page.url.rpartition("/")[2])
        await page.reload()
        await ended(page, number=2)
        large.append(await offered(page))

    assert (edited, pictures) == (["twonotes.txt:\n\nall of it"], 1)
    assert large == [(2, 2), (2, 1)]


@pytest.mark.behaviour("page.forks")
async def test_a_fork_is_made_once_however_often_it_is_asked_for(host: RunningHost) -> None:
    async def lost(route: Route) -> None:
        await route.fetch()
        await route.abort()

    async with browsed(host.origin, LOST, REFUSED) as browser:
        page = await browser.open("#/writer/once")
        await ask(page, "one")
        await ended(page)
        asked = noted(page)
        await page.route("**/fork", lost, times=1)
        await forks(page).dblclick()
        await page.get_by_role("alert").get_by_text("The app does not answer").wait_for()
        tried = len(asked)
        async with page.expect_response("**/fork") as answer:
            await forks(page).dblclick()
        fork = await at_a_fork(page, "once")
        await ended(page)
        is_replayed = (await answer.value).headers.get("idempotency-replayed")

    assert (tried, is_replayed) == (1, "true")
    assert [one["thread_id"] for one in asked] == [fork, fork]


@pytest.mark.behaviour("page.forks")
async def test_a_fork_that_is_refused_says_so_by_its_problem(host: RunningHost) -> None:
    """Here somebody else emptied the thread, and went on: where the answer was, another one is. The page stays where it
    is, and the button may be pressed again."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/emptied")
        await ask(page, "one")
        await ended(page)
        await page.reload()
        await ended(page)
        async with httpx.AsyncClient(base_url=host.origin) as client:
            (await client.post("/api/agents/writer/threads/emptied/reset")).raise_for_status()
            again = {"message": "two", "thread_id": "emptied"}
            (await client.post("/api/agents/writer/run", json=again)).raise_for_status()
        asked = noted(page)
        for number in (1, 2):
            await forks(page).first.press("Enter")
            await page.get_by_role("alert").get_by_text("The conversation has nothing of a run").wait_for()
            await page.get_by_role("alert").get_by_text("unknown_run").wait_for()
            await page.get_by_role("button", name="Close", exact=True).click()
            assert len(asked) == number

    assert page.url.endswith("/writer/emptied")


@pytest.mark.behaviour("page.forks")
async def test_an_answer_is_generated_again_in_a_fork_that_ends_before_its_message(host: RunningHost) -> None:
    """The newest answer or an older one, after a reload too, the first one with its picture; what is written and not
    sent stays in the box, where the focus is, and the old thread as it was."""
    picture: FilePayload = {"name": "plan.png", "mimeType": "image/png", "buffer": PNG}
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer")
        await page.locator("#picker").set_input_files(picture)
        await page.get_by_label("Remove plan.png").wait_for()
        for number, message in enumerate(("one", "two", "three"), start=1):
            await ask(page, message)
            await ended(page, number=number)
        origin = page.url.rpartition("/")[2]
        asked = noted(page)
        said_in, answers, pictures = [], [], []
        for number in (3, 2, 1):
            await box(page).fill("a draft")
            await forks(page, "Regenerate").nth(number - 1).press("Enter")
            await at_a_fork(page, origin)
            await expect(box(page)).to_be_focused()
            await ended(page, number=number)
            said_in.append(await said(page))
            answers.append(await page.locator(".turn").last.locator(".markdown").text_content())
            pictures.append(await page.locator(".request img").count())
            await page.go_back()
            await page.reload()
            await ended(page, number=3)
        of_origin = await said(page)

    assert said_in == [["one", "two", "three"], ["one", "two"], ["one"]]
    assert (answers, pictures) == (["three", "two", "one"], [1, 1, 1])
    assert of_origin == ["one", "two", "three"]
    assert [one["before"] for one in asked] == [True] * 3
