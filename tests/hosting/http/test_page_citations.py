"""What an answer cites, on the page: numbers in the text, and the sources below it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.running_host import RunningHost

SOURCE = """
from hosting.app import AgentFunctionApp, FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.searcher import searcher

app = AgentFunctionApp(agents=[searcher(FileSearch(embeddings=HashedWords()))])
"""
TEXT = "# Drinks\n\nOolong costs four crowns."

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app of an agent that searches a file."""
    with RunningHost(make_app(tmp_path_factory.mktemp("library"), SOURCE)) as host:
        with httpx.Client(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS) as http:
            headers = {"content-type": "text/markdown"}
            http.post("files?name=prices.md", content=TEXT.encode(), headers=headers).raise_for_status()
            while http.get("files").json()["files"][0]["index"]["status"] != "ready":
                pass
        yield host


@pytest.mark.behaviour("citations.page")
async def test_an_answer_has_numbers_for_its_marks_and_the_sources_below(library: RunningHost) -> None:
    """As it comes and after a reload."""
    async with browsed(library.origin) as browser:
        page = await browser.open("#/Librarian")
        await ask(page, "search oolong")
        await ended(page)
        for _ in range(2):
            await expect(page.locator(".turn .markdown")).to_contain_text("Oolong costs four crowns. [1]")
            await expect(page.locator(".turn .sources li")).to_have_text(["prices.md, Drinks"])
            await page.reload()


@pytest.mark.behaviour("citations.page")
async def test_an_answer_without_citations_has_no_list(library: RunningHost) -> None:
    """Nor room for one."""
    async with browsed(library.origin) as browser:
        page = await browser.open("#/Librarian")
        await ask(page, "hello")
        await ended(page)
        await expect(page.locator(".turn .sources")).to_be_hidden()
