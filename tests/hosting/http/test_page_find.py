"""Threads on the page: found, named, pinned, with the origin of a fork, and shared by their owner."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.async_api import Locator, Page, expect

from tests.hosting.http.browsed_page import (
    IN_A_BROWSER,
    ON_EACH_SCREEN,
    UNWANTED,
    WIDER,
    answered,
    ask,
    browsed,
    ended,
    faults_of,
)
from tests.support.running_host import ROOT, RunningHost

PAGE_APP = ROOT / "tests" / "hosting" / "http" / "page_app"
REFUSED = "Failed to load resource: the server responded"
HOSTILE = "<img src=x onerror=hacked()>"
PRINCIPAL = """
def signed_in(request):
    name = request.headers.get("x-user")
    return None if name is None else Principal("https://login.example", name)


app ="""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app with owners: who sends the header `x-user` is signed in."""
    app = Path(shutil.copytree(PAGE_APP, tmp_path_factory.mktemp("owned") / "app")) / "function_app.py"
    text = app.read_text(encoding="utf-8").replace("writer])", "writer], principal=signed_in)")
    text = text.replace("\napp =", PRINCIPAL).replace(
        "from hosting.tools", "from hosting.app import Principal\nfrom hosting.tools"
    )
    app.write_text(text, encoding="utf-8")
    with RunningHost(app.parent, "--port", "0") as host:
        yield host


async def begin(host: RunningHost, thread: str, message: str, user: str | None = None) -> None:
    """Have a turn of the writer's."""
    headers = {} if user is None else {"x-user": user}
    async with httpx.AsyncClient(base_url=host.origin, timeout=20, headers=headers) as client:
        body = {"message": message, "thread_id": thread}
        (await client.post("/api/agents/writer/run", json=body)).raise_for_status()


def row(page: Page, thread: str) -> Locator:
    """Return the link to a thread in the list."""
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
        await name.press("Enter")
        await expect(page.locator("#title")).to_have_text("Market days")
        await expect(rename).to_be_focused()
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


@pytest.mark.behaviour("page.labels")
async def test_a_thread_without_a_title_is_called_a_new_thread(host: RunningHost) -> None:
    """In the list and above the conversation."""
    await begin(host, "label-emptied", "These words are forgotten")
    async with httpx.AsyncClient(base_url=host.origin) as client:
        (await client.post("/api/agents/writer/threads/label-emptied/reset")).raise_for_status()
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer/label-emptied")

        await expect(page.locator("#title")).to_have_text("New thread")
        await expect(row(page, "label-emptied").locator(".name")).to_have_text("New thread")


@pytest.mark.behaviour("page.forks")
async def test_a_fork_in_the_list_leads_to_its_origin(host: RunningHost) -> None:
    """By the title that this has."""
    await begin(host, "fork-origin", "Where it began")
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/writer/threads/fork-origin") as client:
        (await client.post("/fork", json={"thread_id": "fork-made"})).raise_for_status()
        (await client.post("/describe", json={"title": "The origin"})).raise_for_status()
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer/fork-made")
        await ended(page)
        await page.get_by_role("link", name="Fork of The origin").click()
        await expect(page).to_have_url(re.compile("#/writer/fork-origin$"))


@pytest.mark.behaviour("page.share")
async def test_a_thread_is_shared_by_a_link_which_its_owner_takes_back(owned: RunningHost) -> None:
    """Who has it reads and writes there under the owner's name for it, and after the withdrawal is told so."""
    await begin(owned, "shared", "Words of Ada", "ada")
    async with browsed(owned.origin, REFUSED) as adas, browsed(owned.origin, REFUSED) as bobs:
        await adas.context.set_extra_http_headers({"x-user": "ada"})
        await bobs.context.set_extra_http_headers({"x-user": "bob"})
        await adas.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await adas.open("#/writer/shared")
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

    assert link.startswith(f"{owned.origin}/api/ui/#/?shared=")


@pytest.mark.behaviour("page.share")
async def test_without_owners_nothing_is_shared(host: RunningHost) -> None:
    """Everybody has every thread."""
    await begin(host, "not-shared", "hello")
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer/not-shared")
        await answered(page)
        await expect(page.get_by_role("button", name="Rename or pin the thread")).to_be_visible()
        await expect(page.get_by_role("button", name="Share the thread")).to_be_hidden()


@pytest.mark.behaviour("page.hostile")
async def test_no_name_of_a_thread_or_person_becomes_more_than_text(owned: RunningHost) -> None:
    """In the list, above the conversation, in the origin of a fork, and in the dialogs."""
    await begin(owned, "hostile", "hello", "ada")
    headers = {"x-user": "ada"}
    async with httpx.AsyncClient(
        base_url=f"{owned.origin}/api/agents/writer/threads/hostile", headers=headers
    ) as client:
        (await client.post("/describe", json={"title": HOSTILE})).raise_for_status()
        (await client.post("/fork", json={"thread_id": "hostile-fork"})).raise_for_status()
        grant = {"issuer": HOSTILE, "id": HOSTILE, "access": "read"}
        (await client.post("/grants", json=grant)).raise_for_status()
    async with browsed(owned.origin, REFUSED) as browser:
        await browser.context.set_extra_http_headers(headers)
        page = await browser.open("#/writer/hostile")
        await page.get_by_role("link", name=f"Fork of {HOSTILE}").wait_for()
        await expect(page.locator("#title")).to_have_text(HOSTILE)
        listed = await page.evaluate(UNWANTED)
        await page.get_by_role("button", name="Share the thread").click()
        await page.get_by_role("dialog").get_by_text(HOSTILE).wait_for()
        grants = await page.locator("dialog").evaluate("dialog => dialog.querySelectorAll('img, script').length")
        await page.keyboard.press("Escape")
        await page.goto(f"{owned.origin}/api/ui/#/?shared={quote(HOSTILE, safe='')}")
        await expect(page.locator("#notice")).to_contain_text("Nothing is shared with you")
        shared = await page.evaluate(UNWANTED)

    assert (listed, grants, shared) == ([], 0, [])


@pytest.mark.behaviour("page.for-everybody")
@ON_EACH_SCREEN
async def test_lists_and_dialogs_of_threads_are_for_everybody(owned: RunningHost, is_phone: bool, theme: str) -> None:
    """With a pinned thread, a fork, an open search, and both dialogs."""
    await begin(owned, "axe", "hello", "ada")
    headers = {"x-user": "ada"}
    async with httpx.AsyncClient(base_url=f"{owned.origin}/api/agents/writer/threads/axe", headers=headers) as client:
        (await client.post("/describe", json={"title": "Pinned", "pinned": True})).raise_for_status()
        (await client.post("/fork", json={"thread_id": "axe-fork"})).raise_for_status()
        (await client.post("/grants", json={"issuer": "i", "id": "bob", "access": "read"})).raise_for_status()
    async with browsed(owned.origin, REFUSED, is_phone=is_phone, theme=theme) as browser:
        await browser.context.set_extra_http_headers(headers)
        page = await browser.open("#/writer/axe")
        await ended(page)
        faults = [await faults_of(page)]
        for name in ("Rename or pin the thread", "Share the thread"):
            await page.get_by_role("button", name=name).click()
            await page.get_by_role("dialog").wait_for()
            faults.append([*await faults_of(page), *([WIDER] if await page.evaluate(WIDER) > 0 else [])])
            await page.keyboard.press("Escape")
        if is_phone:
            await page.get_by_role("button", name="Agents and threads").click()
        await page.get_by_placeholder("Find a thread").fill("hello")
        await page.locator("#threads mark").first.wait_for()
        faults.append(await faults_of(page))

    assert faults == [[], [], [], []]
