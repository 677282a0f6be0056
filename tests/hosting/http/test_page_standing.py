"""The standing approvals of a thread on the page: who gave them, and a button that ends each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, UNWANTED, WIDER, browsed, faults_of
from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.delegating import start, wait
from tests.support.desk import THREADS
from tests.support.orchestrations_app import HOST
from tests.support.running_host import RunningHost

SOURCE = """
from agent_framework import ToolApprovalMiddleware

from hosting.app import AgentFunctionApp
from tests.support.clerk import clerk
from tests.support.delegating import delegating

plain = clerk(str)
plain.name = "Plain"
cashier = clerk(str, ToolApprovalMiddleware())
cashier.name = "Cashier"
app = AgentFunctionApp(agents=[clerk(str, ToolApprovalMiddleware()), plain, delegating(cashier)])
"""
REFUSED = "Failed to load resource: the server responded"
HOSTILE = "<script>hacked()</script>"

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """One process of an app whose agent keeps standing approvals."""
    with RunningHost(make_app(tmp_path_factory.mktemp("standing"), SOURCE, host=HOST)) as running:
        yield running


async def give(host: RunningHost, thread_id: str, *amounts: str) -> None:
    """Have a tool approved for good, once for each of these."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        for amount in amounts:
            body = {"message": f"call refund {amount}", "thread_id": thread_id}
            (asked,) = (await http.post("/api/agents/Clerk/run", json=body)).json()["pending_approvals"]
            decision = {"approved": True, "always": "tool_with_arguments"}
            await http.post(f"{THREADS}/{thread_id}/approvals/{asked['id']}", json=decision)


@pytest.mark.behaviour("page.standing")
async def test_a_standing_approval_is_withdrawn_on_the_page(host: RunningHost) -> None:
    """Beside what the agent is, in the thread where it was given; a new thread shows nothing of it."""
    await give(host, "t", "5", HOSTILE)
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/Clerk/new?about")
        await expect(page.locator(".about")).to_contain_text("Settings of its runs")
        await expect(page.locator(".about")).not_to_contain_text("Approved for this thread")
        await page.goto(f"{host.origin}/api/ui/#/Clerk/t?about")
        rows = page.locator(".about section", has_text="Approved for this thread").get_by_role("listitem")
        await expect(rows).to_have_count(2)
        await expect(rows.nth(1)).to_contain_text(HOSTILE)
        assert await page.evaluate(UNWANTED) == []

        await rows.first.get_by_role("button", name="Withdraw the approval of refund").click()
        await expect(rows).to_have_count(1)
        await rows.first.get_by_role("button").press("Enter")
        await expect(rows).to_have_text(["Nothing. Each tool asks again."])


async def ask(host: RunningHost, thread_id: str, agent: str = "Clerk") -> None:
    """Have a tool's call wait for an answer."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        body = {"message": "call refund 5", "thread_id": thread_id}
        (await http.post(f"/api/agents/{agent}/run", json=body)).raise_for_status()


async def standing(host: RunningHost, thread_id: str) -> list[dict[str, Any]]:
    """Return what is approved for good."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        return list((await http.get(f"{THREADS}/{thread_id}/approvals/standing")).json()["standing_approvals"])


async def until_standing(host: RunningHost, thread_id: str) -> list[dict[str, Any]]:
    """Return what is approved for good once there is any: it stands when its run has ended."""
    for _ in range(400):
        if approvals := await standing(host, thread_id):
            return approvals
        await asyncio.sleep(0.05)
    raise AssertionError("Nothing is approved for good.")


@pytest.mark.behaviour("page.standing")
@pytest.mark.parametrize(
    ("button", "arguments"),
    [("Always approve this tool", None), ("Always with these arguments", {"order": "5"})],
)
@pytest.mark.parametrize("place", ["thread", "inbox"])
async def test_a_card_approves_later_calls_too(
    host: RunningHost, button: str, arguments: dict[str, str] | None, place: str
) -> None:
    """In the thread and in the inbox."""
    thread_id = f"{place}-{button[7:11].strip()}"
    await ask(host, thread_id)
    async with browsed(host.origin) as browser:
        page = await browser.open("#/?approvals" if place == "inbox" else f"#/Clerk/{thread_id}")
        asked = page.locator("#conversation")
        if place == "inbox":  # it has the cards of other threads too
            asked = asked.get_by_role("listitem").filter(has=page.get_by_role("link", name=thread_id))
        await asked.get_by_role("button", name=button).click()
        await expect(asked.locator(".card.ask")).to_have_count(0)
        await expect(asked).to_contain_text("Approved" if place == "inbox" else "told:")
        approvals = await until_standing(host, thread_id)
        await page.goto(f"{host.origin}/api/ui/#/Clerk/{thread_id}?about")
        await expect(page.locator(".about")).to_contain_text("Approved for this thread")

    [given] = approvals
    assert (given["tool"], given["arguments"] is None) == ("refund", arguments is None)


@pytest.mark.behaviour("page.standing")
async def test_a_card_of_a_background_task_approves_later_calls_too(host: RunningHost) -> None:
    """Its agent is not listed; the task's thread says what it takes."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        body = {"message": f"{start('call refund 5', 'Cashier')}\n{wait(1)}", "thread_id": "task"}
        (await http.post("/api/agents/Planner/run", json=body)).raise_for_status()
        [task] = (await http.get("/api/agents/Planner/threads/task/export")).json()["background_tasks"]
    place = f"/api/agents/{task['agent']}/threads/{task['thread_id']}/approvals/standing"
    async with browsed(host.origin) as browser:
        page = await browser.open(f"#/{task['agent']}/{task['thread_id']}")
        await page.get_by_role("button", name="Always approve this tool").click()
        await expect(page.locator(".card.ask")).to_have_count(0)
        await expect(page.locator("#conversation")).to_contain_text("told:")

    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        [given] = (await http.get(place)).json()["standing_approvals"]
    assert given["tool"] == "refund"


@pytest.mark.behaviour("page.standing")
async def test_a_card_of_an_agent_that_takes_none_has_two_answers(host: RunningHost) -> None:
    """Its description says so."""
    await ask(host, "plain", "Plain")
    async with browsed(host.origin) as browser:
        page = await browser.open("#/Plain/plain")
        await page.evaluate("fetch('../agents/Plain/threads/plain/approvals/standing')")
        await expect(page.locator(".card.ask").get_by_role("button", name="Approve", exact=True)).to_be_visible()
        await expect(page.get_by_role("button", name="Always")).to_have_count(0)


@pytest.mark.behaviour("page.standing")
async def test_a_withdrawal_that_is_refused_says_why(host: RunningHost) -> None:
    """And can be tried again."""
    await give(host, "refused", "5")
    problem = {"code": "thread_busy", "detail": "Run r is under way.", "error": "Run r is under way."}
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/Clerk/refused?about")
        button = page.get_by_role("button", name="Withdraw the approval of refund")
        await page.route("**/approvals/standing/*", lambda route: route.fulfill(status=409, json=problem))
        await button.click()
        await expect(page.locator(".about [role=alert]")).to_have_text("Run r is under way.")
        await page.unroute("**/approvals/standing/*")
        await button.click()
        await expect(page.locator(".about")).to_contain_text("Each tool asks again.")


@ON_EACH_SCREEN
@pytest.mark.behaviour("page.standing")
async def test_the_list_fits_each_screen_and_reads_aloud(host: RunningHost, is_phone: bool, theme: str) -> None:
    """By the rules of axe."""
    thread_id = f"{theme}-{is_phone}"
    await give(host, thread_id, "5")
    async with browsed(host.origin, is_phone=is_phone, theme=theme) as browser:
        page = await browser.open(f"#/Clerk/{thread_id}?about")
        await expect(page.locator(".about")).to_contain_text("Approved for this thread")

        assert await page.evaluate(WIDER) <= 0
        assert await faults_of(page) == []
        await ask(host, f"asked-{thread_id}")
        await page.goto(f"{host.origin}/api/ui/#/Clerk/asked-{thread_id}")
        await expect(page.get_by_role("button", name="Always with these arguments")).to_be_visible()
        assert await page.evaluate(WIDER) <= 0
        assert await faults_of(page) == []
