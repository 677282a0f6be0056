"""Background agents on the page: the timeline leads from a run to the threads of its tasks, and back."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, UNWANTED, WIDER, browsed, faults_of
from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.delegating import start, wait
from tests.support.orchestrations_app import HOST
from tests.support.running_host import RunningHost

SOURCE = """
from hosting.app import AgentFunctionApp
from tests.support.delegating import planner

app = AgentFunctionApp(agents=[planner()])
"""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """One process of an app whose agent has a background agent."""
    with RunningHost(make_app(tmp_path_factory.mktemp("tasks"), SOURCE, host=HOST)) as running:
        yield running


async def begin(host: RunningHost, thread_id: str) -> None:
    """Have a task begun, and waited for."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        body = {"message": f"{start('tea')}\n{wait(1)}", "thread_id": thread_id}
        (await http.post("/api/agents/Clerk/run", json=body)).raise_for_status()


@pytest.mark.behaviour("page.tasks")
async def test_the_timeline_leads_to_a_task_s_thread_and_back(host: RunningHost) -> None:
    """That thread is shown without a box: nobody sends a background agent a message. The list is its parent's."""
    await begin(host, "t")
    async with browsed(host.origin) as browser:
        page = await browser.open("#/Clerk/t")
        await page.get_by_role("button", name="Timeline").click()
        row = page.locator(".timeline li.tool_call", has_text="begins a task")
        await row.locator("summary").click()
        await row.get_by_role("link", name="Clerk_Researcher").click()

        await expect(page.locator("#title")).to_have_text("tea")
        await expect(page.locator("#composer")).to_be_hidden()
        await expect(page.locator("#threads a")).to_have_count(1)
        for gone in ("Agent", "Figures", "Call it from your code"):
            await expect(page.locator("#tools").get_by_role("button", name=gone, exact=True)).to_be_hidden()
        assert await page.evaluate(UNWANTED) == []

        await page.get_by_role("button", name="Timeline").click()
        await page.locator(".timeline").get_by_role("link", name="Clerk").click()
        await expect(page.locator("#composer")).to_be_visible()
        assert page.url.endswith("#/Clerk/t")


@pytest.mark.behaviour("page.tasks")
async def test_an_address_of_no_agent_and_no_thread_shows_the_first_agent(host: RunningHost) -> None:
    """As one without a thread does."""
    async with browsed(host.origin, "Failed to load resource: the server responded") as browser:
        page = await browser.open("#/Nobody/nowhere")
        await expect(page.locator("#title")).to_have_text("Clerk")
        await expect(page.locator("#composer")).to_be_visible()


@ON_EACH_SCREEN
@pytest.mark.behaviour("page.tasks")
async def test_the_links_fit_each_screen_and_read_aloud(host: RunningHost, is_phone: bool, theme: str) -> None:
    """By the rules of axe."""
    thread_id = f"{theme}-{is_phone}"
    await begin(host, thread_id)
    async with browsed(host.origin, is_phone=is_phone, theme=theme) as browser:
        page = await browser.open(f"#/Clerk/{thread_id}")
        await page.get_by_role("button", name="Timeline").click()
        row = page.locator(".timeline li.tool_call", has_text="begins a task")
        await row.locator("summary").click()
        assert await faults_of(page) == []
        await row.get_by_role("link", name="Clerk_Researcher").click()
        await expect(page.locator("#title")).to_have_text("tea")
        await expect(page.locator("#composer")).to_be_hidden()
        await page.get_by_role("button", name="Timeline").click()
        await expect(page.locator(".timeline")).to_contain_text("begun by Clerk")

        assert await page.evaluate(WIDER) <= 0
        assert await faults_of(page) == []
