"""The thoughts of an agent that shows them, on the page: folded above its answer, and in its timeline."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.app_folder import make_app
from tests.support.running_host import RunningHost

SOURCE = """
from hosting.app import AgentFunctionApp
from tests.support.thinker import thinker

app = AgentFunctionApp()
app.add_agent(thinker(name="shows"), reasoning="show")
app.add_agent(thinker(name="keeps"))
"""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app of an agent that shows its thoughts, and of one that keeps them."""
    with RunningHost(make_app(tmp_path_factory.mktemp("thinking"), SOURCE)) as host:
        yield host


@pytest.mark.behaviour("page.reasoning")
async def test_thoughts_stand_folded_above_the_answer(thinking: RunningHost) -> None:
    """As they come and after a reload, each one a paragraph; the timeline has them with their calls."""
    async with browsed(thinking.origin) as browser:
        page = await browser.open("#/shows")
        await ask(page, "look")
        await ended(page)
        for _ in range(2):
            thoughts = page.locator(".turn .thoughts")
            await expect(thoughts.locator("p").first).to_be_hidden()
            await thoughts.locator("summary").click()
            await expect(thoughts.locator("p")).to_have_text(["Let me look.", "It is a door."])
            await expect(page.locator(".turn .markdown")).to_have_text("A door.")
            await page.reload()


@pytest.mark.behaviour("page.reasoning")
async def test_kept_thoughts_are_not_on_the_page(thinking: RunningHost) -> None:
    """Neither while the agent works nor afterwards."""
    async with browsed(thinking.origin) as browser:
        page = await browser.open("#/keeps")
        await ask(page, "look")
        await ended(page)
        await expect(page.locator(".turn .thoughts")).to_be_hidden()
        await page.reload()
        await expect(page.locator(".turn .markdown")).to_have_text("A door.")
        await expect(page.locator(".turn .thoughts")).to_be_hidden()
