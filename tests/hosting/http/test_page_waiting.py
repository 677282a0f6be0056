"""What the page says while a person or a process is waited for, and that it stops saying so."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.carriers import GUARD_SECONDS
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
REFUND = 'Call refund with {"order": "A-17", "amount": 120}'
SPEECH = " ".join(f"word{number}" for number in range(60))
FIRST = "Answer the approval above first."
REFUSED, LOST = "Failed to load resource: the server responded", "net::ERR"
LEASE = {"LEASE_SECONDS": "10"}  # the page looks each 4 s at the least, and the host takes its time to start
LEASE_GUARD_MS = 60_000.0
NOTE_STATES = """() => {
    window.states = []
    const state = document.querySelector(".turn .state")
    const note = () => state.textContent === states.at(-1) || states.push(state.textContent)
    note()
    new MutationObserver(note).observe(state, { childList: true })
}"""

MANY_RUNS = 30
FLOWS = """
from agent_framework import FunctionTool, tool
from pydantic import BaseModel, Field

from hosting.app import AgentFunctionApp
from hosting.tools import current, idempotent
from tests.support.clerk import clerk
from tests.support.flows import asking_flow, text_flow


class Address(BaseModel):
    street: str = Field(min_length=2)
    number: int = Field(ge=1)


@idempotent
@tool
async def ship(n: str) -> str:
    shelf = await current().step("reserve", lambda: f"shelf {n}")
    address = await current().ask(f"Where does {n} go?", schema=Address)
    return f"{n} from {shelf} to {address.street} {address.number}"


agent = clerk(print)
agent.default_options["tools"] += [FunctionTool(name="where", func=None, description="Where?"), ship]
app = AgentFunctionApp(agents=[agent], workflows=[asking_flow, text_flow])
"""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app whose workflow asks."""
    app = Path(shutil.copytree(APP, tmp_path_factory.mktemp("waiting") / "app"))
    (app / "function_app.py").write_text(FLOWS)
    with RunningHost(app) as host:
        yield host


@pytest.mark.behaviour("client-tools.answered")
async def test_a_tool_of_the_caller_is_answered_by_a_form(flows: RunningHost) -> None:
    """The card shows the call, and takes any JSON."""
    async with browsed(flows.origin) as browser:
        page = await browser.open("#/Clerk")
        await ask(page, "call where 5")
        card = page.locator(".card.ask")
        await expect(card.locator("h3")).to_have_text("where is called by the agent and run by its caller")
        await card.locator("textarea").fill('{"city": "Paris"}')
        await card.get_by_role("button", name="Send the result").click()
        await expect(page.locator(".turn").last).to_contain_text('told: {"city": "Paris"}')


@pytest.mark.behaviour("asks.checked")
async def test_what_a_tool_asks_is_answered_by_a_form_that_shows_a_wrong_answer_at_its_place(
    flows: RunningHost,
) -> None:
    """The tool goes on with the answer that fits, and the timeline has its step under the call."""
    async with browsed(flows.origin, REFUSED) as browser:
        page = await browser.open("#/Clerk/asked")
        await ask(page, "call ship 5")
        card = page.locator(".card.ask")
        await expect(card.locator(".question")).to_have_text("Where does 5 go?")
        street, number = [card.get_by_label(name, exact=True) for name in ("Street", "Number")]
        await street.fill("Elm")
        await number.fill("0")
        await card.get_by_role("button", name="Answer", exact=True).click()
        wrong = card.locator(".row-of-field:has(.refusal:not(:empty))")
        await expect(wrong).to_contain_text("Number")
        await expect(number).to_be_focused()
        await expect(street).to_have_value("Elm")
        await number.fill("3")
        await number.press("Enter")
        await expect(page.locator(".turn").last).to_contain_text("told: 5 from shelf 5 to Elm 3")
        await expect(card).to_have_count(0)
        await page.locator(".turn").first.get_by_role("button", name="Timeline").click()
        steps = page.locator(".timeline").first.locator(":is(.tool_call, .tool_step) .what")
        await expect(steps).to_have_text(["ship asks a person", "Step reserve"])


@pytest.mark.behaviour("page.approvals")
@pytest.mark.parametrize("is_reloaded", [False, True], ids=["live", "after a reload"])
async def test_the_box_waits_for_an_approval_and_opens_when_it_is_answered(
    host: RunningHost, *, is_reloaded: bool
) -> None:
    """It says why."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/clerk")
        await ask(page, REFUND)
        await page.get_by_text("May the agent call refund?").wait_for()
        if is_reloaded:
            await page.reload()
        box = page.get_by_label("Message", exact=True)
        await expect(box).to_be_disabled()
        await expect(page.get_by_role("button", name="Send")).to_be_disabled()
        await expect(page.locator("#hint")).to_have_text(FIRST)
        await page.get_by_role("button", name="Approve").click()
        await expect(box).to_be_enabled()
        await expect(page.locator("#hint")).not_to_have_text(FIRST)
        await ended(page, number=2)
        await ask(page, "thank you")
        await ended(page, number=3)


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
async def test_of_two_questions_the_one_that_is_answered_elsewhere_goes_and_the_other_stays(flows: RunningHost) -> None:
    """With what is written in it, and the graph waits on."""
    async with browsed(flows.origin, REFUSED) as browser:
        page = await browser.open("#/Asking/two")
        await ask(page, "tea+coffee")
        cards = page.locator(".card.ask")
        await expect(cards).to_have_count(2)
        note = cards.filter(has_text="coffee").get_by_label("Note", exact=True)
        await note.fill("strong")
        async with httpx.AsyncClient(base_url=f"{flows.origin}/api/workflows/Asking/threads/two") as client:
            waiting, _ = (await client.get("/approvals")).json()["approvals"]
            (await client.post(f"/approvals/{waiting['id']}", json={"value": {"approved": True}})).raise_for_status()
        await expect(cards).to_have_count(1)
        await expect(note).to_have_value("strong")
        await expect(page.locator("#hint")).to_have_text("Answer the question above first.")
        await expect(page.locator(".graph li")).to_have_text(["reviewer: waits for a person"])


@pytest.mark.behaviour("page.inbox")
async def test_what_is_answered_elsewhere_goes_from_the_inbox_though_there_are_more_pages(host: RunningHost) -> None:
    """Only what comes behind the first page stays."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open()
        shown = ["one", "two", "three"]

        async def answer(route: Route) -> None:
            listed: list[dict[str, object]] = [
                {
                    "id": name,
                    "agent": "clerk",
                    "agent_kind": "agent",
                    "kind": "approve",
                    "thread_id": name,
                    "run_id": name,
                    "tool": "refund",
                    "arguments": {},
                    "requested_at": f"2026-01-0{number}T09:00:00+00:00",
                    "expires_at": None,
                }
                for number, name in enumerate(["one", "two", "three"], 1)
                if name in shown
            ]
            await route.fulfill(json={"approvals": listed, "next_cursor": "more"})

        await page.route("**/approvals?*", answer)
        await page.clock.install()
        await page.goto(f"{host.origin}/api/ui/#/?approvals")
        cards = page.locator(".card.ask")
        await expect(cards).to_have_count(3)
        shown.remove("two")
        await page.clock.fast_forward(5000)
        await expect(cards).to_have_count(2)


@pytest.mark.behaviour("page.approvals")
async def test_a_message_that_met_an_approval_stays_in_the_box_which_says_why(host: RunningHost) -> None:
    """The approval was asked for after the page had looked: there is no banner, and the message is sent after it."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/clerk/met")
        await page.get_by_text("No messages yet").wait_for()
        box = page.get_by_label("Message", exact=True)
        await page.route("**/approvals", lambda route: route.fulfill(json={"approvals": []}))
        async with httpx.AsyncClient(base_url=host.origin) as client:
            asked = {"message": REFUND, "thread_id": "met"}
            (await client.post("/api/agents/clerk/run", json=asked)).raise_for_status()
        await page.get_by_text("asked for approval").wait_for()
        await box.fill("go on")
        await page.unroute("**/approvals")
        await box.press("Enter")
        await expect(box).to_be_disabled()
        await expect(box).to_have_value("go on")
        await expect(page.locator("#hint")).to_have_text(FIRST)
        await expect(page.locator("#notice")).to_be_hidden()
        await page.get_by_role("button", name="Approve").click()
        await ended(page, number=2)
        await box.press("Enter")
        await ended(page, number=3)


@pytest.mark.behaviour("page.approvals")
async def test_a_call_is_refused_by_one_press_with_the_reason_that_is_written(host: RunningHost) -> None:
    """Without one too."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/clerk")
        for number, reason in ((2, ""), (4, "too much")):
            await ask(page, REFUND)
            await page.get_by_label("Reason to refuse").fill(reason)
            await page.get_by_role("button", name="Refuse").click()
            said = await ended(page, number=number)

    assert "Reason: too much" in said


@pytest.mark.behaviour("approvals.edited")
async def test_the_arguments_of_a_call_are_a_form_and_the_call_is_made_with_what_it_has(
    host: RunningHost,
) -> None:
    """The record has both."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/clerk/edited")
        await ask(page, REFUND)
        card = page.locator(".card.ask")
        await card.get_by_role("button", name="Edit arguments").click()
        await card.get_by_label("Amount").fill("100")
        await card.get_by_role("button", name="Approve as changed").click()
        await ended(page, number=2)
        async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/clerk/threads/edited") as client:
            (_, first) = (await client.get("/runs")).json()["runs"]
            steps = (await client.get(f"/runs/{first['run_id']}/timeline")).json()["steps"]

    (decision,) = [step for step in steps if step["kind"] == "approval_answered"]
    assert (decision["arguments"], decision["edited_arguments"]) == (
        {"order": "A-17", "amount": 120},
        {"order": "A-17", "amount": 100},
    )


@pytest.mark.behaviour("page.live")
async def test_after_a_kill_the_page_says_when_the_run_goes_on_until_it_does(tmp_path: Path) -> None:
    """As on several machines, where another process only sees that nothing comes any more."""
    folder = Path(shutil.copytree(APP, tmp_path / "app"))
    with RunningHost(folder, environ=LEASE) as host:
        async with browsed(host.origin, LOST, REFUSED) as browser:
            page = await browser.open("#/writer")
            page.set_default_timeout(LEASE_GUARD_MS)
            await ask(page, SPEECH)
            await page.locator(".markdown", has_text="word3").wait_for()
            await page.evaluate(NOTE_STATES)
            host.process.kill()
            await page.get_by_text("Connection lost").wait_for()
            for path in folder.rglob("*-processes"):  # by which it would know at once that the process is dead
                path.rename(path.with_name("gone"))
            with RunningHost(folder, "--port", host.origin.rpartition(":")[2], environ=LEASE):
                await page.locator(".turn[data-end=completed]").wait_for()
                said = await page.evaluate("states")

    assert said == [
        "Answering",
        "Connection lost. Reconnecting",
        "Reconnected. If the process of this run was lost, another one continues it within 17 s",
        "Attempt 2: continuing from the saved steps",
        "Answering",
        "",
    ]


@pytest.mark.behaviour("page.long")
@pytest.mark.parametrize("is_workflow", [False, True], ids=["failed runs", "runs of a workflow"])
async def test_timelines_are_read_of_the_turns_in_sight_alone_and_together(
    host: RunningHost, flows: RunningHost, *, is_workflow: bool
) -> None:
    """The others are read when somebody scrolls there."""
    origin, path = (flows.origin, "workflows/Text") if is_workflow else (host.origin, "agents/writer")
    async with httpx.AsyncClient(base_url=f"{origin}/api/{path}", timeout=20) as client:
        for _ in range(MANY_RUNS):
            await client.post("/run", json={"message": "abc" if is_workflow else "fail", "thread_id": "many"})
    held: list[Route] = []
    are_two = asyncio.Event()

    def hold(route: Route) -> None:
        held.append(route)
        if len(held) > 1:
            are_two.set()

    async with browsed(origin, REFUSED) as browser:
        page = await browser.open()
        read: set[str] = set()
        page.on("request", lambda request: read.add(request.url) if request.url.endswith("/timeline") else None)
        await page.route("**/timeline", hold)
        await page.goto(f"{origin}/api/ui/#/{path.split('/')[1]}/many")
        await asyncio.wait_for(are_two.wait(), 4 * GUARD_SECONDS)
        await page.unroute("**/timeline")  # which lets them go
        async with page.expect_response("**/approvals"):  # of the next look
            pass
        in_sight = len(read)
        async with page.expect_request("**/timeline"):
            await page.evaluate("scrollTo(0, 0)")

    assert 1 < in_sight < MANY_RUNS


@pytest.mark.behaviour("page.graph")
async def test_of_runs_that_continue_each_other_the_last_has_the_one_graph(flows: RunningHost) -> None:
    """After a reload too."""
    async with browsed(flows.origin, REFUSED) as browser:
        page = await browser.open("#/Asking/chain")
        await ask(page, "tea")
        for number in range(3):
            await page.get_by_label("Note", exact=True).fill("again" if number < 2 else "enough")
            await page.get_by_role("button", name="Answer", exact=True).click()
            await ended(page, number=number + 2)
        for _ in range(2):
            await expect(page.locator(".turn").last.locator(".graph li")).to_have_text(["reviewer: done 4 times"])
            await expect(page.locator(".request.answered")).to_have_count(3)
            await expect(page.locator(".graph:visible")).to_have_count(1)
            await page.reload()
