"""Calls that wait for approval on the page: in their conversation and in the inbox, with all that is in them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, REFUSED, ask, browsed, ended, for_everybody
from tests.support.running_host import RunningHost

pytestmark = IN_A_BROWSER
REFUND = 'Call refund with {"order": "A-17", "amount": 120}'
CONFIRMS = """field => field.dispatchEvent(new KeyboardEvent("keydown",
    { key: "Enter", keyCode: 229, which: 229, isComposing: false, bubbles: true, cancelable: true }))"""
"""The key that confirms a word of an input method, as Safari sends it: the word has ended before."""


@pytest.mark.behaviour("page.approvals")
async def test_the_box_opens_and_the_card_goes_when_the_approval_is_answered_elsewhere(host: RunningHost) -> None:
    """By another program. Who was about to answer has the focus in the box, and is told."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/clerk/elsewhere")
        await ask(page, REFUND)
        await page.get_by_text("May the agent call refund?").wait_for()
        await expect(page.get_by_label("Message", exact=True)).to_be_disabled()
        await page.get_by_label("Reason to refuse").focus()
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/clerk/threads/elsewhere") as client:
            (waiting,) = (await client.get("/approvals")).json()["approvals"]
            (await client.post(f"/approvals/{waiting['id']}", json={"approved": True})).raise_for_status()
        await expect(page.get_by_label("Message", exact=True)).to_be_enabled()
        await expect(page.get_by_text("May the agent call refund?")).to_have_count(0)
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        await expect(page.locator("#live")).to_contain_text("refund no longer waits for an answer.")


@pytest.mark.behaviour("page.approvals")
@pytest.mark.behaviour("approvals.edited")
async def test_a_call_is_refused_by_one_press_with_a_reason_or_made_with_the_arguments_that_its_form_has(
    host: RunningHost,
) -> None:
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/clerk/decided")
        for number, reason in ((2, ""), (4, "too much")):
            await ask(page, REFUND)
            await page.get_by_label("Reason to refuse").fill(reason)
            await page.get_by_role("button", name="Refuse").click()
            said = await ended(page, number=number)
        await page.reload()
        await ended(page, number=4)
        outcomes = await page.locator(".outcome").all_text_contents()
        await ask(page, REFUND)
        card = page.locator(".card.ask")
        await card.get_by_role("button", name="Edit arguments").click()
        await card.get_by_label("Amount").fill("100")
        await card.get_by_role("button", name="Approve as changed").click()
        await ended(page, number=6)
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/clerk/threads/decided") as client:
            (_, asked, *_) = (await client.get("/runs")).json()["runs"]
            steps = (await client.get(f"/runs/{asked['run_id']}/timeline")).json()["steps"]

    (decision,) = [step for step in steps if step["kind"] == "approval_answered"]
    assert "Reason: too much" in said
    assert outcomes == ["asked for approval", "refused"] * 2
    assert (decision["arguments"], decision["edited_arguments"]) == (
        {"order": "A-17", "amount": 120},
        {"order": "A-17", "amount": 100},
    )


async def say(host: RunningHost, agent: str, thread: str, message: str) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=host.origin, timeout=20) as client:
        body = {"message": message, "thread_id": thread, "stream": True}
        answer = await client.post(f"/api/agents/{agent}/run", json=body)
        return dict(json.loads(answer.text.rpartition("data: ")[2]))


@pytest.mark.behaviour("page.inbox")
async def test_what_waits_on_any_thread_is_answered_in_one_place(host: RunningHost) -> None:
    """Of two agents; one is approved, one refused with a reason, and the side says how many are left."""
    for agent, message in (("clerk", REFUND), ("support", "I want a refund")):
        await say(host, agent, f"inbox-{agent}", message)
    async with browsed(host.origin) as browser:
        page = await browser.open("#/?approvals")
        await expect(page.locator(".card.ask")).to_have_count(2)
        await expect(page.locator("#waiting")).to_have_text("2")
        first = page.get_by_role("listitem").filter(has_text="inbox-clerk").filter(has=page.locator(".card"))
        await first.get_by_role("button", name="Approve").click()
        await expect(first.get_by_text("Approved.")).to_be_focused()
        second = page.get_by_role("listitem").filter(has_text="inbox-support").filter(has=page.locator(".card"))
        await for_everybody(page)
        await second.get_by_label("Reason to refuse").fill("too much")
        await page.keyboard.press("Enter")
        await expect(second.get_by_text("Refused: too much.")).to_be_visible()
        await expect(page.locator("#waiting")).to_be_empty()
        await first.get_by_role("link").first.click()
        answer = await ended(page, number=2)
        await page.goto(f"{host.origin}/api/ui/#/?approvals")
        await page.get_by_text("Nothing waits for you").wait_for()

    assert "Refunded 120 for A-17." in answer


@pytest.mark.behaviour("page.input-method")
async def test_enter_that_confirms_a_word_of_an_input_method_sends_nothing(host: RunningHost) -> None:
    """In the box of a message, of a fact, of a schedule, of the search, and of the reason of a refusal."""
    sent: list[str] = []
    async with browsed(host.origin, "Failed to load resource: the server responded") as browser:
        page = await browser.open("#/clerk/typed")
        page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
        box = page.get_by_label("Message", exact=True)
        await box.fill("にほん")
        await box.evaluate(CONFIRMS)
        search = page.locator("#search")
        await search.evaluate(CONFIRMS)
        place = page.url
        await page.goto(f"{host.origin}/api/ui/#/clerk?memory")
        fact = page.get_by_label("A fact to remember")
        await fact.fill("にほん")
        await fact.evaluate(CONFIRMS)
        await page.goto(f"{host.origin}/api/ui/#/clerk?schedules")
        await page.get_by_role("button", name="New schedule").click()
        await page.get_by_label("Cron expression").fill("0 9 * * *")
        await page.get_by_label("Cron expression").evaluate(CONFIRMS)
        refused = await page.locator("#plan-refusal").text_content()
        kept = await fact.count()
        await page.goto(f"{host.origin}/api/ui/#/clerk/typed")
        await ask(page, 'Call refund with {"order": "A-17", "amount": 120}')
        await page.get_by_label("Reason to refuse").evaluate(CONFIRMS)
        await expect(page.get_by_role("button", name="Approve")).to_be_enabled()
        await page.get_by_label("Reason to refuse").press("Enter")
        await ended(page, number=2)

    assert place.endswith("#/clerk/typed")
    assert (refused, kept) == ("", 0)
    assert [url.rpartition("/agents/clerk/")[2].partition("/appr")[0] for url in sent] == ["run", "threads/typed"]
