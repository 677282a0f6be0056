"""What the page shows beside a conversation: a timeline, the inbox, figures, a memory, very many entries."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.async_api import Page, Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
REFUND = 'Call refund with {"order": "A-17", "amount": 120}'
REFUSED = "Failed to load resource: the server responded"
ENTRIES = 10_000
COUNT_DRAWN = """() => {
    window.drawnAtOnce = []
    new MutationObserver((changes) => drawnAtOnce.push(changes.flatMap((one) => [...one.addedNodes]).length))
        .observe(document.querySelector("#conversation"), { childList: true, subtree: true })
}"""

pytestmark = IN_A_BROWSER


async def say(host: RunningHost, agent: str, thread: str, message: str) -> dict[str, Any]:
    """Send a message as another program does."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=20) as client:
        body = {"message": message, "thread_id": thread, "stream": True}
        answer = await client.post(f"/api/agents/{agent}/run", json=body)
        return dict(json.loads(answer.text.rpartition("data: ")[2]))


async def stop(host: RunningHost, agent: str, thread: str, message: str) -> None:
    """Send a message, and stop its run."""
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/{agent}", timeout=20) as client:
        body = {"message": message, "thread_id": thread, "wait_for_response": False, "stream": True}
        run = (await client.post("/run", json=body)).json()["run_id"]
        (await client.post(f"/threads/{thread}/runs/{run}/cancel")).raise_for_status()
        events = await client.get(f"/threads/{thread}/runs/{run}/events")
        assert "event: cancelled" in events.text


@pytest.mark.behaviour("page.timeline")
async def test_a_runs_timeline_has_its_steps_with_lengths_tokens_arguments_and_results(host: RunningHost) -> None:
    """Also while it runs, and in the order in which they came."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/support/timed")
        await ask(page, "Where is my order A-17?")
        await page.get_by_role("button", name="Timeline").click()
        timeline = page.locator(".timeline")
        await timeline.locator(".tool_call.busy").wait_for()
        await timeline.locator(".ended").wait_for()
        steps = await timeline.locator(".what").all_text_contents()
        lengths = await timeline.locator("li time").all_text_contents()
        await timeline.locator(".tool_call summary").click()
        values = await timeline.locator(".tool_call :is(pre, .values)").all_text_contents()
        width = await timeline.locator(".tool_call .bar").evaluate(
            "bar => bar.offsetWidth / bar.parentNode.offsetWidth"
        )
        await page.get_by_role("button", name="Timeline").click()
        await expect(timeline).to_be_hidden()

    assert steps == [
        "Accepted",
        "Attempt 1 996 tokens",
        "Model asks for find_order 498 tokens",
        "find_order",
        "Model answers 498 tokens",
        "Answered",
    ]
    assert all(re.fullmatch(r"\+?[\d.]+( ms| s)?", length) for length in lengths), lengths
    assert [value.split() for value in values] == [
        ["numberA-17"],
        ["Order", "A-17:", "shipped", "on", "Monday"],
    ]
    assert 0.1 < width < 0.9


def a_retried_run() -> dict[str, Any]:
    """Return the timeline of a run, as the app tells it, whose first attempt failed with its answer."""
    at = {"at": "2026-01-01T12:00:00Z", "ended_at": "2026-01-01T12:00:01Z"}
    used, cost = {"input_token_count": 30, "output_token_count": 10, "total_token_count": 40}, "5.000001"
    call = {"kind": "model_call", **at, "usage": used, "cost": cost, "model": "small"}
    steps = [
        {"kind": "accepted", **at},
        {"kind": "attempt", **at, "attempt": 1, "code": "run_failed", "usage": used, "cost": cost},
        {"kind": "attempt", **at, "attempt": 2},
        {**call, "id": "1", "tools": ["find_order"]},
        {**call, "id": "2", "tools": []},
        {"kind": "ended", **at, "status": "success"},
    ]
    run = {"run_id": "r" * 32, "status": "success", "created_at": at["at"], "ended_at": at["ended_at"]}
    return {**run, "usage": {"total_token_count": 120}, "cost": "15.000003", "notifies": False, "steps": steps}


@pytest.mark.behaviour("page.timeline")
async def test_each_attempt_of_a_run_says_what_it_used_and_cost(host: RunningHost) -> None:
    """With its answers that were dropped, and all that it asked its model for."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/attempts")
        await ask(page, "hello")
        await ended(page)
        await page.route("**/timeline", lambda route: route.fulfill(json=a_retried_run()))
        await page.get_by_role("button", name="Timeline").click()
        attempts = page.locator(".timeline .attempt")
        await expect(attempts).to_have_count(2)
        said = await attempts.locator(".what").all_text_contents()
        for number in range(2):
            await attempts.nth(number).locator("summary").click()
        more = await attempts.locator(".step-body").all_text_contents()

    assert said == ["Attempt 1 run_failed 40 tokens", "Attempt 2 80 tokens"]
    assert more == [
        "30 input tokens, 10 output tokens · cost 5.000001",
        "60 input tokens, 20 output tokens · cost 10.000002",
    ]


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
        await second.get_by_label("Reason to refuse").fill("too much")
        await page.keyboard.press("Enter")
        await expect(second.get_by_text("Refused: too much.")).to_be_visible()
        await expect(page.locator("#waiting")).to_be_empty()
        await first.get_by_role("link").first.click()
        answer = await ended(page, number=2)
        await page.goto(f"{host.origin}/api/ui/#/?approvals")
        await page.get_by_text("Nothing waits for you").wait_for()

    assert "Refunded 120 for A-17." in answer


RIGHT = '{"approved": true}'
ASKING = """
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.flows import asking_flow

app = AgentFunctionApp(agents=[scripted_agent("Joker")], workflow=asking_flow)
"""


@pytest.mark.behaviour("page.inbox")
async def test_what_a_workflow_asks_is_answered_in_the_inbox(tmp_path: Path) -> None:
    """By JSON too; what does not fit its schema is refused there, and the question stands."""
    shutil.copytree(APP, tmp_path / "app")
    (tmp_path / "app" / "function_app.py").write_text(ASKING)
    with RunningHost(tmp_path / "app") as host:
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/workflows/Asking", timeout=20) as client:
            await client.post("/run", json={"message": "tea", "thread_id": "t"})
            async with browsed(host.origin, REFUSED) as browser:
                page = await browser.open("#/?approvals")
                await page.get_by_role("button", name="Write as JSON").click()
                for answer, says in (("nonsense", "not JSON"), ("{}", "is not what "), (RIGHT, "Answered.")):
                    await page.locator("textarea.json").fill(answer)
                    await page.get_by_role("button", name="Answer", exact=True).click()
                    await page.get_by_text(says).wait_for()
                await expect(page.get_by_text("Answered.")).to_be_focused()
            newest = (await client.get("/threads/t/runs")).json()["runs"][0]
            async with client.stream("GET", f"/threads/t/runs/{newest['run_id']}/events") as events:
                told = (await events.aread()).decode()

    assert "tea: True" in told


@pytest.mark.behaviour("page.inbox")
async def test_a_call_that_begins_to_wait_is_counted_at_the_side_and_says_later_what_was_decided(
    host: RunningHost,
) -> None:
    """A moment after its run ended. The call stays in the conversation, and says that it was refused."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/clerk/counted")
        await ask(page, REFUND)
        await page.get_by_role("button", name="Refuse").wait_for()
        await expect(page.locator("#waiting")).to_have_text("1", timeout=15_000)  # the second count, on a slow machine
        await page.get_by_role("button", name="Refuse").click()
        await ended(page, number=2)
        await page.reload()
        await ended(page, number=2)
        outcomes = await page.locator(".outcome").all_text_contents()

    assert outcomes == ["asked for approval", "refused"]


@pytest.mark.behaviour("page.inbox")
async def test_who_is_second_in_the_inbox_is_told_what_the_first_one_decided(host: RunningHost) -> None:
    """And the card asks no more."""
    (approval,) = (await say(host, "clerk", "raced", REFUND))["pending_approvals"]
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/?approvals")
        card = page.get_by_role("listitem").filter(has_text="raced").filter(has=page.locator(".card"))
        await card.get_by_role("button", name="Approve").wait_for()
        place = f"/api/agents/clerk/threads/raced/approvals/{approval['id']}"
        async with httpx.AsyncClient(base_url=host.origin) as client:
            (await client.post(place, json={"approved": False, "reason": "not today"})).raise_for_status()
        await card.get_by_role("button", name="Approve").click()
        await expect(card.get_by_text("It was refused just now: not today.")).to_be_visible()
        await expect(card.get_by_role("button", name="Approve")).to_be_disabled()


@pytest.mark.behaviour("page.inbox")
async def test_an_app_that_knows_its_callers_says_who_decided(tmp_path: Path) -> None:
    """On the card of who came second, and in the timeline of the run that asked."""
    app = Path(shutil.copytree(APP, tmp_path / "app")) / "function_app.py"
    text = app.read_text(encoding="utf-8").replace("writer])", "writer], principal=easy_auth())")
    imported = "from hosting.principal import easy_auth\nfrom hosting.tools"
    app.write_text(text.replace("from hosting.tools", imported), encoding="utf-8")
    with RunningHost(app.parent, "--port", "0", "--principal", "ada") as owned:
        (approval,) = (await say(owned, "clerk", "raced", REFUND))["pending_approvals"]
        async with browsed(owned.origin, REFUSED) as browser:
            page = await browser.open("#/clerk/raced")
            await page.get_by_role("button", name="Approve").wait_for()
            place = f"/api/agents/clerk/threads/raced/approvals/{approval['id']}"
            async with httpx.AsyncClient(base_url=owned.origin) as client:
                (await client.post(place, json={"approved": False})).raise_for_status()
            await page.get_by_role("button", name="Approve").click()
            await expect(page.get_by_text("It was refused by ada just now.")).to_be_visible()
            await page.get_by_role("button", name="Timeline").first.click()
            await expect(page.locator(".step-row.approval_answered .what")).to_have_text("Call refused by ada")


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
@pytest.mark.parametrize(
    ("budget", "is_offered"),
    [
        ({"per": "thread", "tokens": 9, "left_tokens": 0}, True),
        ({"per": "thread", "tokens": 9, "left_tokens": 5, "cost": "0.5", "left_cost": "0"}, True),
        ({"per": "thread", "tokens": 9, "left_tokens": 1, "cost": "0.5", "left_cost": "0.1"}, False),
        ({"per": "owner/day", "tokens": 9, "left_tokens": 0}, False),
    ],
)
async def test_a_new_thread_is_offered_where_the_budget_of_one_is_used_up(
    host: RunningHost, budget: dict[str, Any], is_offered: bool
) -> None:
    """Only where it has a budget of its own; what is written and not sent comes along."""

    async def with_budget(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "budget": budget})

    thread = f"spent-{budget['per'][0]}-{budget['left_tokens']}"
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open(f"#/support/{thread}")
        offer = page.get_by_role("link", name="Begin a new thread")
        await page.route(f"**/threads/{thread}", with_budget)
        await ask(page, "Where is my order A-17?")
        await ended(page)
        await expect(page.locator("#subtitle")).to_contain_text("left")
        shown = await offer.is_visible()
        if shown:
            await page.get_by_label("Message", exact=True).fill("not sent")
            await offer.press("Enter")
            await page.get_by_text("Ask support").wait_for()
            await expect(page.get_by_label("Message", exact=True)).to_have_value("not sent")
            await expect(offer).to_be_hidden()

    assert shown == is_offered


@pytest.mark.behaviour("page.figures")
async def test_figures_are_drawn_and_are_a_table_too(host: RunningHost) -> None:
    """Of an agent by day, and of a thread by run, with the codes of its failures. A stopped run is none of them."""
    for message in ("one", "fail", "three"):
        await say(host, "writer", "plotted", message)
    await stop(host, "writer", "plotted", "word " * 60)
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer/plotted")
        await ended(page)
        await page.get_by_role("button", name="Figures").click()
        await page.locator(".chart svg").nth(2).wait_for()
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
        adding = page.get_by_label("A fact to remember")
        await adding.fill("Has a dog.")
        await adding.press("Enter")
        await expect(facts).to_have_count(2)
        await expect(adding).to_have_value("")
        await expect(adding).to_be_focused()
        is_written = asyncio.Event()

        async def read_late(route: Route) -> None:
            if route.request.method == "GET":
                await is_written.wait()
            await route.continue_()

        await page.route(place, read_late)
        await adding.fill("x" * 501)
        await adding.press("Enter")
        await page.get_by_role("alert").get_by_text("invalid_field").wait_for()
        await expect(adding).to_have_value("x" * 501)
        await facts.nth(1).get_by_role("button", name="Edit").press("Enter")
        async with page.expect_response(place):
            is_written.set()
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
        await page.keyboard.press("Enter")  # "Cancel" has the focus
        await expect(facts).to_have_count(2)
        await facts.get_by_role("link", name="learning").press("Enter")
        await ended(page)
        await page.get_by_role("button", name="Memory").press("Enter")
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


@pytest.mark.behaviour("page.verbs")
async def test_who_goes_to_a_button_while_a_thread_loads_is_left_there(host: RunningHost) -> None:
    """Enter then does what the button says. The box for a message gets the focus where it stayed at what led there."""
    await say(host, "writer", "slow", "hello")
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/other")
        loaded, is_there = asyncio.Event(), asyncio.Event()

        async def late(route: Route) -> None:
            is_there.set()
            await loaded.wait()
            await route.continue_()

        await page.route("**/slow/messages?*", late)
        thread, figures = page.locator("#threads a[title=slow]"), page.get_by_role("button", name="Figures")
        await thread.press("Enter")
        await is_there.wait()
        await figures.focus()
        loaded.set()
        await ended(page)
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await expect(figures).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page).to_have_title(re.compile("Figures"))
        await thread.press("Enter")
        await ended(page)
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()


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
