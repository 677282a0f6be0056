"""Files on the page: added, seen on their way up and while they are read, saved and deleted."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import FilePayload, Locator, Page, Route, expect

from tests.hosting.http.browsed_page import (
    HOSTILE,
    IN_A_BROWSER,
    LOST,
    REFUSED,
    UNWANTED,
    ask,
    browsed,
    ended,
    for_everybody,
)
from tests.support.app_folder import make_app
from tests.support.browsing import GUARD_MS
from tests.support.carriers import GUARD_SECONDS
from tests.support.running_host import RunningHost

SOURCE = """
from hosting.app import AgentFunctionApp, FileSearch, Principal
from tests.support.hashed_words import HashedWords
from tests.support.searcher import searcher


def signed_in(request):
    name = request.headers.get("x-user")
    roles = ("operators",) if name == "root" else ()
    return None if name is None else Principal("https://login.example", name, roles=roles)


search = FileSearch(embeddings=HashedWords(), chunk_tokens=100, overlap_tokens=0)
app = AgentFunctionApp(agents=[searcher(search)], principal=PRINCIPAL)
"""
LIMITS = {"AGENT_FILE_BYTES": "20971520", "AGENT_FILES_QUOTA_BYTES": "94371840"}
PART_BYTES = 8 * 1024 * 1024
NAME = f"{HOSTILE}.txt"
DROP = """(section, [name, text]) => {
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([text], name, { type: "text/plain" }))
    for (const type of ["dragenter", "dragover", "drop"])
        section.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }))
}"""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app of an agent that searches files, which knows no users."""
    folder = make_app(tmp_path_factory.mktemp("library"), SOURCE.replace("PRINCIPAL", "None"))
    with RunningHost(folder, environ=LIMITS) as host:
        yield host


def client_of(host: RunningHost, user: str = "ada") -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS, headers={"x-user": user})


def place(page: Page, title: str = "Files of this thread") -> Locator:
    return page.get_by_role("region", name=title)


def row(page: Page, name: str) -> Locator:
    return page.locator(".file").filter(has=page.get_by_role("heading", name=name, exact=True))


async def add(page: Page, *files: FilePayload | Path, title: str = "Files of this thread") -> None:
    async with page.expect_file_chooser() as chooser:
        await place(page, title).get_by_role("button", name="Add files").click()
    await (await chooser.value).set_files([*files])  # type: ignore[arg-type]


def text_file(name: str, text: str = "Oolong costs four crowns.") -> FilePayload:
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def large_file(folder: Path, size: int) -> Path:
    path = folder / "large.bin"
    path.write_bytes(os.urandom(size))
    return path


async def stored(host: RunningHost, thread: str) -> list[dict[str, Any]]:
    """Return the files of a thread as the app tells them."""
    async with client_of(host) as http:
        return list((await http.get(f"agents/Librarian/threads/{thread}/files")).json()["files"])


@pytest.mark.behaviour("citations.page")
@pytest.mark.behaviour("page.files-view")
async def test_a_file_is_added_read_cited_and_deleted(library: RunningHost) -> None:
    """Its state changes by itself; the answer leads to the passage, now and after a reload, and to the file."""
    async with browsed(library.origin, REFUSED) as browser:
        page = await browser.open("#/Librarian/whole?files")
        await add(page, text_file("prices.txt"))
        await expect(row(page, "prices.txt")).to_contain_text("Ready: agents find it")
        await expect(row(page, "prices.txt")).to_contain_text("25 bytes")
        await page.get_by_role("button", name="Files", exact=True).click()
        await ask(page, "search oolong")
        await ended(page)
        for _ in range(2):
            await expect(page.locator(".turn .markdown")).to_contain_text("[1]")
            await page.get_by_role("button", name="prices.txt").click()
            dialog = page.get_by_role("dialog", name="prices.txt")
            await expect(dialog.locator(".passage")).to_have_text("Oolong costs four crowns.")
            await for_everybody(page)
            await expect(dialog).to_contain_text("characters 0 to 25")
            async with page.expect_download() as download:
                await dialog.get_by_role("button", name="Download file").click()
            assert (await download.value).suggested_filename == "prices.txt"
            assert (await (await download.value).path()).read_bytes() == b"Oolong costs four crowns."
            await page.keyboard.press("Escape")
            await page.reload()
        await page.get_by_role("button", name="Files", exact=True).click()
        async with page.expect_download() as again:
            await row(page, "prices.txt").get_by_role("button", name="Download").click()
        assert (await (await again.value).path()).read_bytes() == b"Oolong costs four crowns."
        await row(page, "prices.txt").get_by_role("button", name="Delete").press("Enter")
        await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
        await page.get_by_role("button", name="Delete file").press("Enter")
        await expect(row(page, "prices.txt")).to_have_count(0)
        await expect(place(page).get_by_role("button", name="Add files")).to_be_focused()

    assert await stored(library, "whole") == []


@pytest.mark.behaviour("page.files-view")
async def test_a_file_is_dropped_where_it_belongs(library: RunningHost) -> None:
    """On a place; elsewhere in the view it goes to the first one, and on a conversation it is sent or kept."""
    async with browsed(library.origin, REFUSED) as browser, client_of(library) as http:
        page = await browser.open("#/Librarian/dropped?files")
        await place(page, "Files of Librarian").evaluate(DROP, ["of-agent.txt", "one"])
        await expect(place(page, "Files of Librarian").locator(".file")).to_contain_text("of-agent.txt")
        await page.locator("#title").evaluate(DROP, ["of-thread.txt", "two"])
        await expect(place(page).locator(".file")).to_contain_text("of-thread.txt")
        await page.get_by_role("button", name="Files", exact=True).click()
        await expect(page.locator("#files li")).to_have_count(0)  # nothing was attached meanwhile
        await page.locator("#conversation").evaluate(DROP, ["kept.txt", "three"])
        await page.get_by_role("button", name="Keep").click()
        await expect(place(page).locator(".file")).to_have_count(2)
        await expect(row(page, "kept.txt")).to_contain_text("Ready")
        await page.get_by_role("button", name="Files", exact=True).click()
        await expect(page.locator("#files li")).to_have_count(0)
        of_agent = (await http.get("agents/Librarian/files")).json()["files"]

    assert [file["name"] for file in of_agent] == ["of-agent.txt"]
    assert [file["name"] for file in await stored(library, "dropped")] == ["of-thread.txt", "kept.txt"]


@pytest.mark.behaviour("page.uploads")
async def test_a_large_file_comes_in_parts_of_which_none_is_lost_also_over_a_reload(
    library: RunningHost, tmp_path: Path
) -> None:
    """A part that was lost comes again; after a reload the same file goes on. It is whole, and holds no other room."""
    path = large_file(tmp_path, 2 * PART_BYTES + 500)
    parts: list[int] = []
    is_held = asyncio.Event()

    async def lose(route: Route) -> None:
        parts.append(len(parts))
        if len(parts) == 2:
            await route.abort()
        elif len(parts) == 3:  # it never arrives
            is_held.set()
        else:
            await route.continue_()

    async with browsed(library.origin, LOST) as browser, client_of(library) as http:
        page = await browser.open("#/Librarian/large?files")
        await page.route("**/parts", lose)
        await add(page, path)
        progress = page.get_by_role("progressbar", name="Upload of large.bin")
        await expect(row(page, "large.bin")).to_contain_text("8 MB of 16 MB. Connection lost. Trying again")
        await for_everybody(page)
        assert float(await progress.get_attribute("value") or 0) >= PART_BYTES
        await asyncio.wait_for(is_held.wait(), GUARD_MS / 1000)
        await page.reload()
        await expect(row(page, "large.bin")).to_contain_text("8 MB of 16 MB came before this page was loaded again")
        other = await browser.open("#/Librarian/large?files")
        await expect(place(other)).to_contain_text("No files yet.")
        async with page.expect_file_chooser() as chooser:
            await row(page, "large.bin").get_by_role("button", name="Choose file").click()
        await (await chooser.value).set_files(path)
        await expect(row(page, "large.bin")).to_contain_text("Cannot be searched. The file is of no kind that is read")
        quota = (await http.get("agents/Librarian/threads/large/files")).json()["quota"]

    assert len(parts) == 5
    [file] = await stored(library, "large")
    assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert quota["open_bytes"] == 0


@pytest.mark.behaviour("page.uploads")
async def test_an_upload_that_is_given_up_leaves_nothing(library: RunningHost, tmp_path: Path) -> None:
    """While it goes on, or after a reload: no file, no room in the quota, and no note in the tab."""
    path, files = large_file(tmp_path, PART_BYTES + 1000), "agents/Librarian/threads/given-up/files"
    async with browsed(library.origin, LOST) as browser, client_of(library) as http:
        before = (await http.get(files)).json()["quota"]
        page = await browser.open("#/Librarian/given-up?files")
        await page.route("**/complete", lambda route: None)  # so it is not over
        for button in ("Cancel", "Discard"):
            await add(page, path)
            await expect(row(page, "large.bin")).to_contain_text("8 MB of 8 MB")
            if button == "Discard":
                await page.reload()
            await row(page, "large.bin").get_by_role("button", name=button).click()
            await expect(row(page, "large.bin")).to_have_count(0)
            await expect(place(page).get_by_role("button", name="Add files")).to_be_focused()
            await page.reload()
            await expect(place(page)).to_contain_text("No files yet.")
            assert (await http.get(files)).json()["quota"] == before


@pytest.mark.behaviour("page.uploads")
async def test_what_is_refused_says_why_and_the_others_are_taken(library: RunningHost, tmp_path: Path) -> None:
    """A file that is too large, one with a name that nobody could read, and one of a kind that is not read."""
    zipped: FilePayload = {"name": "bundle.zip", "mimeType": "application/zip", "buffer": b"PK\x05\x06" + bytes(18)}
    async with browsed(library.origin, REFUSED) as browser:
        page = await browser.open("#/Librarian/refused?files")
        await add(page, large_file(tmp_path, 20_971_521))
        await add(page, text_file("x\u202egnp.exe"), text_file(NAME), zipped)
        alerts = page.get_by_role("alert")
        await expect(row(page, "large.bin").get_by_role("alert")).to_have_text(
            "The file has 20,971,521 bytes, and may have 20,971,520. Send a smaller one."
        )
        await expect(alerts.filter(has_text="characters that cannot be seen")).to_contain_text(r"'x\u202egnp.exe'")
        await expect(page.get_by_role("heading", name=r"x\u202egnp.exe")).to_be_visible()
        await expect(row(page, NAME)).to_contain_text("Ready")
        await expect(row(page, "bundle.zip")).to_contain_text("Cannot be searched. The file is of no kind that is read")
        await for_everybody(page)
        await row(page, NAME).get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("dialog")).to_contain_text(NAME)
        unwanted = await page.evaluate(UNWANTED)
        await page.keyboard.press("Escape")
        await row(page, "large.bin").get_by_role("button", name="Remove").click()
        await expect(row(page, "large.bin")).to_have_count(0)

    assert unwanted == []
    assert [file["name"] for file in await stored(library, "refused")] == [NAME, "bundle.zip"]


@pytest.mark.behaviour("page.files-view")
async def test_two_tabs_show_the_same_files(library: RunningHost) -> None:
    """What one adds or deletes is in the other at once, and what another program deletes soon; a late click says so."""
    async with browsed(library.origin, REFUSED) as browser:
        one, other = [await browser.open("#/Librarian/tabs?files") for _ in range(2)]
        await expect(place(other)).to_contain_text("No files yet.")
        await other.clock.install()
        await other.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # both ask for nothing then
        await add(one, text_file("a.txt"), text_file("b.txt"))
        await expect(row(other, "b.txt")).to_be_visible()
        await row(one, "a.txt").get_by_role("button", name="Delete").click()
        await one.get_by_role("button", name="Delete file").click()
        await expect(row(other, "a.txt")).to_have_count(0)
        [file] = await stored(library, "tabs")
        async with client_of(library) as http:
            path = f"agents/Librarian/threads/tabs/files/{file['file_id']}"
            (await http.delete(path)).raise_for_status()
        await row(other, "b.txt").get_by_role("button", name="Download").click()
        await expect(other.locator("#notice")).to_contain_text("There is no file")
        await expect(row(other, "b.txt")).to_have_count(0)
        await one.clock.fast_forward(10_000)
        await expect(row(one, "b.txt")).to_have_count(0)


@pytest.mark.behaviour("page.small")
async def test_a_view_that_few_open_is_loaded_when_it_is_opened(library: RunningHost) -> None:
    """Where the app has it no more, the page says what to do, and shows the conversation."""
    asked: list[str] = []
    async with browsed(library.origin, LOST, "modulepreload") as browser:
        page = await browser.open("#/Librarian")
        page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
        await page.get_by_role("button", name="Files", exact=True).click()
        await expect(place(page, "Your files")).to_be_visible()
        await page.context.route("**/files.js", lambda route: route.abort())
        other = await browser.open("#/Librarian?files")
        await expect(other.locator("#notice")).to_contain_text("Reload the page: the app may have a newer version.")
        await expect(other.get_by_label("Message", exact=True)).to_be_visible()

    assert [name for name in asked if name.endswith(".js")] == ["files.js", "transfers.js"]
