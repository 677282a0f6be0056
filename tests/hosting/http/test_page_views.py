"""What the page shows beside conversations: what an agent is, figures, budgets, a memory, schedules and feedback."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.async_api import Page, Route, expect

from tests.hosting.http.browsed_page import (
    HOSTILE,
    IN_A_BROWSER,
    REFUSED,
    ask,
    browsed,
    ended,
    for_everybody,
)
from tests.support.running_host import RunningHost

pytestmark = IN_A_BROWSER
ENTRIES = 10_000
COUNT_DRAWN = """() => {
    window.drawnAtOnce = []
    new MutationObserver((changes) => drawnAtOnce.push(changes.flatMap((one) => [...one.addedNodes]).length))
        .observe(document.querySelector("#conversation"), { childList: true, subtree: true })
}"""
COMMENT = f"</textarea>{HOSTILE} \u202e"


@pytest.mark.behaviour("page.budget")
async def test_what_is_left_of_a_budget_stands_above_the_conversation(host: RunningHost) -> None:
    """It is read again after each run; an agent that has none is not asked."""
    asked: list[str] = []

    async def today(route: Route) -> None:
        asked.append(urlsplit(route.request.url).path)
        state = {"per": "owner/day", "tokens": 2000, "left_tokens": 1500, "cost": "0.5", "left_cost": "0.25"}
        await route.fulfill(json={"agent": "support", "budget": state})

    async with browsed(host.origin) as browser:
        page = await browser.open("#/support")
        await expect(page.locator("#subtitle")).to_contain_text("at most 10,000 tokens a thread")
        await ask(page, "Where is my order A-17?")
        await expect(page.locator("#subtitle")).to_contain_text("9,004 of 10,000 tokens left")
        await page.route("**/budget", today)
        await page.goto(f"{host.origin}/api/ui/#/clerk")
        await expect(page.locator("#subtitle")).to_have_text("Looks up orders, and refunds them when a person agrees.")
        await page.goto(f"{host.origin}/api/ui/#/support")
        await expect(page.locator("#subtitle")).to_contain_text("1,500 of 2,000 tokens and 0.25 of 0.5 left today")

    assert {*asked} == {"/api/agents/support/budget"}


@pytest.mark.behaviour("page.budget")
async def test_a_new_thread_is_offered_where_the_budget_of_one_is_used_up(host: RunningHost) -> None:
    """Only where it has a budget of its own; what is written and not sent comes along."""
    budgets: dict[str, dict[str, Any]] = {
        "left": {"per": "thread", "tokens": 9, "left_tokens": 1, "cost": "0.5", "left_cost": "0.1"},
        "of-a-day": {"per": "owner/day", "tokens": 9, "left_tokens": 0},
        "spent": {"per": "thread", "tokens": 9, "left_tokens": 0},
    }

    async def with_budget(route: Route) -> None:
        answer = await route.fetch()
        budget = budgets[route.request.url.rpartition("/")[2]]
        await route.fulfill(response=answer, json={**await answer.json(), "budget": budget})

    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open()
        box, offer = page.get_by_label("Message", exact=True), page.get_by_role("link", name="Begin a new thread")
        for thread in budgets:
            await page.route(f"**/threads/{thread}", with_budget)
            await page.goto(f"{host.origin}/api/ui/#/support/{thread}")
            await ask(page, "Where is my order A-17?")
            await ended(page)
            await expect(page.locator("#subtitle")).to_contain_text("left")
            await page.unroute_all(behavior="wait")  # the page asks again and again
            assert await offer.is_visible() is (thread == "spent")
        await box.fill("not sent")
        await offer.press("Enter")
        await page.get_by_text("Ask support").wait_for()
        await expect(box).to_have_value("not sent")
        await expect(offer).to_be_hidden()


async def say(host: RunningHost, agent: str, thread: str, message: str) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=host.origin, timeout=20) as client:
        body = {"message": message, "thread_id": thread, "stream": True}
        answer = await client.post(f"/api/agents/{agent}/run", json=body)
        return dict(json.loads(answer.text.rpartition("data: ")[2]))


async def stop(host: RunningHost, agent: str, thread: str, message: str) -> None:
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/{agent}", timeout=20) as client:
        body = {"message": message, "thread_id": thread, "wait_for_response": False, "stream": True}
        run = (await client.post("/run", json=body)).json()["run_id"]
        (await client.post(f"/threads/{thread}/runs/{run}/cancel")).raise_for_status()
        events = await client.get(f"/threads/{thread}/runs/{run}/events")
        assert "event: cancelled" in events.text


@pytest.mark.behaviour("feedback.page")
@pytest.mark.behaviour("page.figures")
async def test_figures_are_drawn_and_are_a_table_too(host: RunningHost) -> None:
    """Of an agent by day, and of a thread by run, with the codes of its failures. A stopped run is none of them."""
    for message in ("one", "fail", "three"):
        run_id = (await say(host, "writer", "plotted", message))["run_id"]
    rated = f"{host.origin}/api/agents/writer/threads/plotted/runs/{run_id}/feedback"
    async with httpx.AsyncClient() as client:
        (await client.post(rated, json={"score": 0.75})).raise_for_status()
    await stop(host, "writer", "plotted", "word " * 60)
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer/plotted")
        await ended(page)
        await page.get_by_role("button", name="Figures").press("Enter")
        await page.locator(".chart svg").nth(2).wait_for()
        await for_everybody(page)
        drawn = await page.locator(".chart h2").all_text_contents()
        ends = await page.locator(".chart").last.locator("rect:not(.main) title").all_text_contents()
        points = await page.locator(".chart circle").count()
        await page.get_by_text("As a table").click()
        rows = [(await row.locator("td").all_text_contents())[1:3] for row in await page.locator("tbody tr").all()]
        of_thread = await page.locator(".facts > div").all_text_contents()
        await page.get_by_role("button", name="Figures").click()
        await ended(page)
        await page.goto(f"{host.origin}/api/ui/#/writer?figures")
        await page.get_by_text("Slowest day").wait_for()
        await page.get_by_text("Feedback, mean").wait_for()
        facts = await page.locator(".facts dd").all_text_contents()

    assert drawn == ["Latency", "Tokens", "Runs by how they ended"]
    assert [re.sub(".*: ", "", title) for title in ends] == ["1 stopped", "1 failed (run_failed)"]
    assert rows == [["", "run_cancelled"], ["", ""], ["run_failed", ""], ["", ""]]
    assert (points, of_thread[1:3]) == (4, ["Failed1 (25.0 %)", "Stopped1"])
    assert (int(facts[0]) >= 4, facts[1].split()[0] >= "1", facts[2] >= "1") == (True, True, True)


@pytest.mark.behaviour("page.memory")
async def test_what_an_agent_remembers_is_listed_with_its_thread_added_edited_and_forgotten(host: RunningHost) -> None:
    """By keys alone; what another program adds is seen without a reload, and what is being written stays."""
    tea, place = "Drinks tea.", f"{host.origin}/api/agents/clerk/memory"
    await say(host, "clerk", "learning", f'Call remember with {{"fact": "{tea}"}}')
    async with browsed(host.origin, REFUSED) as browser, httpx.AsyncClient() as client:

        async def known() -> list[str]:
            return [one["text"] for one in (await client.get(place)).json()["facts"]]

        page = await browser.open("#/support?memory")
        await page.get_by_text("Ask support").wait_for()
        await expect(page.get_by_role("button", name="Memory")).to_be_hidden()
        await page.goto(f"{host.origin}/api/ui/#/clerk/learning")
        await ended(page)
        await page.clock.install()
        await page.get_by_role("button", name="Memory").press("Enter")
        facts = page.locator(".cards > li")
        await expect(facts).to_have_count(1)
        learnt = await facts.locator("p").all_text_contents()
        await for_everybody(page)
        adding = page.get_by_label("A fact to remember")
        await adding.fill("Has a dog.")
        await adding.press("Enter")
        await expect(facts).to_have_count(2)
        await expect(adding).to_have_value("")
        await expect(adding).to_be_focused()
        await facts.nth(1).get_by_role("button", name="Edit").press("Enter")
        await page.keyboard.type(" It is old.")
        (await client.post(place, json={"text": "Has a cat."})).raise_for_status()
        await page.clock.fast_forward(10_000)
        await expect(facts).to_have_count(3)
        await expect(page.get_by_label("Edit fact")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(facts.nth(1).get_by_role("button", name="Edit")).to_be_focused()
        edited = await known()
        await facts.nth(1).get_by_role("button", name="Forget").press("Enter")
        await page.get_by_role("button", name="Forget fact").press("Enter")
        await expect(facts).to_have_count(2)
        forgotten = await known()
        await page.get_by_role("button", name="Forget all").press("Enter")
        await page.get_by_role("button", name="Forget everything").press("Enter")
        await page.get_by_text("No facts yet").wait_for()
        await expect(adding).to_be_focused()
        erased = await known()

    assert learnt == [tea, "Learned just now in learning"]
    assert (edited, forgotten, erased) == (
        [tea, "Has a dog. It is old.", "Has a cat."],
        [tea, "Has a cat."],
        [],
    )


def an_entry(position: int) -> dict[str, Any]:
    """Return what the app tells of one of very many entries."""
    said = {
        "role": "user" if position % 2 else "assistant",
        "contents": [{"$type": "text", "text": f"entry {position}"}],
    }
    kind = "request" if position % 2 else "response"
    run = f"{(position + 1) // 2:032x}"
    return {"position": position, "type": kind, "run_id": run, "created_at": "2026-01-01T00:00:00Z", "messages": [said]}


async def very_many(page: Page) -> list[str]:
    """Have the thread consist of very many entries, which it would take minutes to make; return what is asked for."""
    asked: list[str] = []

    async def tell(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        if "after" in query:
            await route.fulfill(json={"entries": [], "has_more": False})
            return
        asked.append(route.request.url)
        last = int(query.get("before", [str(ENTRIES + 1)])[0]) - 1
        positions = range(last, max(0, last - int(query["limit"][0])), -1)
        entries = [an_entry(position) for position in positions]
        await route.fulfill(json={"entries": entries, "has_more": positions[-1] > 1})

    await page.route("**/messages?*", tell)
    return asked


@pytest.mark.behaviour("page.long")
async def test_ten_thousand_entries_are_shown_page_by_page_and_none_in_one_go(host: RunningHost) -> None:
    """So a key that is pressed meanwhile waits for some entries, and never for a page."""
    await say(host, "writer", "long", "the only entry in truth")
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await page.get_by_text("Ask writer").wait_for()
        asked = await very_many(page)
        await page.evaluate(COUNT_DRAWN)
        await page.goto(f"{host.origin}/api/ui/#/writer/long")
        await page.get_by_text(f"entry {ENTRIES}", exact=True).wait_for()
        await expect(page.locator(".turn")).to_have_count(20)
        for pages in range(2, 6):
            await page.get_by_role("button", name="Earlier messages").click()
            await expect(page.locator(".turn")).to_have_count(20 * pages)
        texts = await page.locator(".turn .request").all_text_contents()
        at_once = await page.evaluate("Math.max(...drawnAtOnce)")

    assert texts == [f"entry {position}" for position in range(ENTRIES - 199, ENTRIES, 2)]
    assert len(asked) == 5
    assert at_once <= 4 * 20  # nodes: of one page of turns


@pytest.mark.behaviour("page.agent")
async def test_the_header_opens_what_an_agent_is(host: RunningHost) -> None:
    """By keyboard too, and closes it again: tools with their rules and schemas, and whether the model is offline."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/support")
        await page.get_by_role("button", name="Agent", exact=True).press("Enter")
        about = page.locator(".about")
        await expect(about.locator("pre").first).to_have_text("Help.")
        tools = about.locator("details")
        await expect(tools.locator("summary")).to_have_text(
            ["find_ordermay be called again", "refundasks for approval"]
        )
        await tools.nth(1).locator("summary").press("Enter")
        await expect(tools.nth(1).locator("pre")).to_contain_text('"amount"')
        await expect(about).to_contain_text('callers may set it: {"type":"number","minimum":0,"maximum":1}')
        await expect(about).to_contain_text("10,000 tokens for a thread")
        await expect(about).to_contain_text("7 days")
        await for_everybody(page)
        await page.get_by_role("button", name="Agent", exact=True).press("Enter")
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await expect(page.locator("#model")).to_be_hidden()
        await page.locator("#agents").get_by_text("clerk").click()
        await expect(page.locator("#model")).to_have_text("offline model")
        await expect(page.locator("#model")).to_be_visible()


@pytest.mark.behaviour("feedback.page")
async def test_a_person_rates_an_answer_by_keys_and_takes_it_back(host: RunningHost) -> None:
    """What was given is shown when the thread is opened again, and may be changed."""
    run_id = (await say(host, "writer", "rated", "hello"))["run_id"]
    path = f"{host.origin}/api/agents/writer/threads/rated/runs/{run_id}/feedback"

    async def kept() -> list[tuple[float, str | None]]:
        async with httpx.AsyncClient() as client:
            return [(one["score"], one["comment"]) for one in (await client.get(path)).json()["feedback"]]

    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer/rated")
        await ended(page)
        good, bad = (page.get_by_role("button", name=f"{word} answer") for word in ("Good", "Bad"))
        comment = page.get_by_label("Comment (optional)")
        await expect(good).to_have_attribute("aria-pressed", "false")
        await bad.press("Enter")
        await page.get_by_role("dialog", name="Bad answer").wait_for()
        await comment.fill(COMMENT)
        await for_everybody(page)
        await page.get_by_role("button", name="Send", exact=True).last.press("Enter")
        await expect(bad).to_have_attribute("aria-pressed", "true")
        await expect(bad).to_be_focused()
        given = await kept()
        await page.reload()
        await ended(page)
        await expect(bad).to_have_attribute("aria-pressed", "true")
        await good.press("Enter")
        await expect(comment).to_have_value(COMMENT)
        await comment.fill("")
        await page.get_by_role("button", name="Send", exact=True).last.press("Enter")
        await expect(good).to_have_attribute("aria-pressed", "true")
        changed = await kept()
        await good.press("Enter")
        await page.keyboard.press("Escape")
        await expect(good).to_be_focused()
        cancelled = await kept()
        await good.press("Enter")
        await page.get_by_role("button", name="Take back").press("Enter")
        await expect(good).to_have_attribute("aria-pressed", "false")

    assert (given, changed, cancelled, await kept()) == ([(0, COMMENT)], [(1, None)], [(1, None)], [])
