"""What people are asked on the page: questions, sign-ins, standing approvals; and what they tell runs at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import HOSTILE, IN_A_BROWSER, REFUSED, UNWANTED, ask, browsed, ended, for_everybody
from tests.support.carriers import GUARD_SECONDS
from tests.support.delegating import start, wait
from tests.support.running_host import RunningHost
from tests.support.signer import LINK

pytestmark = IN_A_BROWSER

ADA = "Ada <b>"


def client_of(host: RunningHost) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS)


async def run(host: RunningHost, agent: str, thread: str, message: str) -> dict[str, Any]:
    """Have an agent do something on a thread, and return the answer."""
    async with client_of(host) as http:
        answer = await http.post(f"agents/{agent}/run", json={"message": message, "thread_id": thread})
        return dict(answer.raise_for_status().json())


@pytest.mark.behaviour("page.answers")
async def test_a_question_of_a_workflow_stands_with_its_answer_and_who_gave_it(asking: RunningHost) -> None:
    """In each tab and after a reload; the next run has the one graph of both."""
    tabs = []
    async with browsed(asking.origin, REFUSED) as browser:
        page = await browser.open("#/Asking/asked")
        await ask(page, "tea")
        await expect(page.locator(".graph li")).to_have_text(["reviewer: waits for a person"])
        other = await browser.open("#/Asking/asked")
        await expect(other.locator(".graph li")).to_have_text(["reviewer: waits for a person"])
        await page.get_by_role("switch", name="Approved").check()
        await page.get_by_role("button", name="Answer", exact=True).click()
        answer = await ended(page, number=2)
        await ended(other, number=2)
        for tab in (page, other, page):
            await expect(tab.locator(".turn").nth(1).locator(".graph li")).to_have_text(["reviewer: done 2 times"])
            await expect(tab.locator(".graph:visible")).to_have_count(1)
            await expect(tab.locator(".request").last.locator(".note")).to_have_text(f"Answered by {ADA} just now")
            tabs.append(await tab.locator(".request").last.locator("> div > :not(.note)").all_text_contents())
            await page.reload()
            await ended(page, number=2)
        await page.get_by_role("button", name="Timeline").first.click()
        step = page.locator(".step-row.approval_answered")
        await expect(step.locator(".what")).to_have_text(f"Question answered by {ADA}")
        await step.locator("summary").click()
        await for_everybody(page)

    assert "tea: True" in answer
    assert tabs == [["reviewer asked", "Questiontextteastepsonetwo", "Answerapprovedtrue"]] * 3


@pytest.mark.behaviour("page.inbox")
async def test_words_stand_with_a_question_and_who_is_second_is_told_who_decided_what(asking: RunningHost) -> None:
    """What was asked and said, as text that hides nothing; on the card, which asks no more, and in the timeline."""
    asked = await run(asking, "payer", "raced", f"Pay it. {HOSTILE} \u202eno")
    [approval] = asked["pending_approvals"]
    written = rf"Pay it. {HOSTILE} \u202eno"
    async with client_of(asking) as http, browsed(asking.origin, REFUSED) as browser:
        page = await browser.open("#/?approvals")
        card = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="raced"))
        approve = card.get_by_role("button", name="Approve", exact=True)
        await expect(card.locator(".words dt")).to_have_text(["Asked", "payer said"])
        await expect(card.locator(".words dd")).to_have_text([written, f"I looked: {written}"])
        await for_everybody(page)
        refused = {"approved": False, "reason": "not today"}
        (await http.post(f"agents/payer/threads/raced/approvals/{approval['id']}", json=refused)).raise_for_status()
        await approve.click()
        await expect(card.get_by_text(f"It was refused by {ADA} just now: not today.")).to_be_visible()
        await expect(approve).to_be_disabled()
        await page.goto(f"{asking.origin}/api/ui/#/payer/raced")
        await page.get_by_role("button", name="Timeline").first.click()
        await expect(page.locator(".step-row.approval_answered .what")).to_have_text(
            f"Call refused by {ADA}: not today"
        )


@pytest.mark.behaviour("page.standing")
async def test_a_card_approves_later_calls_too_until_that_is_withdrawn(asking: RunningHost) -> None:
    """In the inbox and in the thread; it stands beside what the agent is, and a new thread has nothing of it."""
    async with browsed(asking.origin, REFUSED) as browser:
        page = await browser.open("#/Clerk/new?about")
        about = page.locator(".about")
        rows = about.locator("section", has_text="Approved for this thread").get_by_role("listitem")
        await expect(about).to_contain_text("Settings of its runs")
        await expect(about).not_to_contain_text("Approved for this thread")
        for place, button, amount in (
            ("?approvals", "Always with these arguments", HOSTILE),
            ("Clerk/given", "Always approve this tool", "5"),
        ):
            await run(asking, "Clerk", "given", f"call refund {amount}")
            await page.goto(f"{asking.origin}/api/ui/#/{place}")
            asked = page.locator("#conversation")
            if place == "?approvals":  # it has the cards of other threads too
                asked = asked.get_by_role("listitem").filter(has=page.get_by_role("link", name="given"))
            await expect(asked.get_by_role("button", name=button)).to_be_visible()
            await for_everybody(page)
            await asked.get_by_role("button", name=button).click()
            await expect(asked.locator(".card.ask")).to_have_count(0)
        await ended(page, number=4)  # only then does the rule of the last run stand
        await page.goto(f"{asking.origin}/api/ui/#/Clerk/given?about")
        await expect(rows).to_have_count(2)
        await for_everybody(page)
        await rows.first.get_by_role("button", name="Withdraw the approval of refund").click()
        await expect(rows).to_have_count(1)
        await rows.first.get_by_role("button").press("Enter")
        await expect(rows).to_have_text(["Nothing. Each tool asks again."])


@pytest.mark.behaviour("page.sign-in")
@pytest.mark.parametrize(
    ("place", "button", "then"), [("thread", "I have signed in", "pushed by ada"), ("inbox", "Refuse", "Refused")]
)
async def test_a_card_leads_to_the_service_and_takes_the_users_word(
    asking: RunningHost, place: str, button: str, then: str
) -> None:
    """In the thread and in the inbox; nothing opens by itself, and the service's page cannot reach back."""
    thread = f"sign-in-{place}"
    await run(asking, "Signer", thread, "call push 5")
    async with browsed(asking.origin) as browser:
        page = await browser.open("#/?approvals" if place == "inbox" else f"#/Signer/{thread}")
        asked = page.locator("#conversation")
        if place == "inbox":
            asked = asked.get_by_role("listitem").filter(has=page.get_by_role("link", name=thread))
        card = asked.locator(".card.ask")
        await expect(card).to_contain_text("push needs you to sign in to GitHub")
        await expect(card).to_contain_text("It asks for: repo")
        link = card.get_by_role("link")
        await expect(link).to_have_text("Sign in at github.example")
        assert [await link.get_attribute(name) for name in ("href", "target", "rel")] == [
            LINK,
            "_blank",
            "noopener noreferrer",
        ]
        assert (await page.evaluate(UNWANTED), len(page.context.pages)) == ([], 1)

        await card.get_by_role("button", name=button).click()
        await expect(card).to_have_count(0)
        await expect(asked).to_contain_text(then)


@pytest.mark.behaviour("page.put")
async def test_messages_that_another_puts_in_stand_between_the_turns_and_say_by_whom(asking: RunningHost) -> None:
    """An open page shows new ones. They are no turn of the agent: nothing of a run is offered for them."""
    shown = f"Put in by {ADA}, without a run"

    async def put(*messages: dict[str, str]) -> None:
        body = {"messages": [*messages]}
        (await http.post("agents/Joker/threads/put/messages", json=body)).raise_for_status()

    async with browsed(asking.origin, "404 (Not Found)") as browser, client_of(asking) as http:
        page = await browser.open("#/Joker/put")
        turns = page.locator(".turn")
        await expect(page.locator("#message")).to_be_editable()
        await put({"message": "my name is Ada"}, {"role": "assistant", "message": "**Hello**, Ada."})
        await expect(turns).to_have_count(1)
        await expect(page.locator("#empty")).to_have_count(0)
        await run(asking, "Joker", "put", "one")
        await put({"message": "I like trains"})
        await put({"role": "assistant", "message": "Noted."})
        await expect(turns).to_have_count(4)
        await expect(turns.locator("h2")).to_have_text([shown, "A turn of Joker", shown, shown])
        await expect(turns.first.locator(".request")).to_have_text("my name is Ada")
        await expect(turns.first.locator(".markdown strong")).to_have_text("Hello")
        offered = [await turns.nth(number).get_by_role("button").all_inner_texts() for number in range(2)]
        ratings = await turns.first.get_by_role("button", name="Good answer").count()
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        await for_everybody(page)

    assert ("Regenerate" in offered[0], "Regenerate" in offered[1], ratings) == (False, True, 0)


@pytest.mark.behaviour("page.steering")
@pytest.mark.parametrize(("agent", "offered"), [("steers", "steer"), ("rejects", "queue")])
async def test_a_word_joins_the_run_at_work_which_answers_both(
    asking: RunningHost, gates: Path, agent: str, offered: str
) -> None:
    """What the agent does stands as the choice. A reload shows both words in the turn of that run."""
    async with browsed(asking.origin) as browser:
        page = await browser.open(f"#/{agent}")
        await ask(page, "first")
        await page.locator(".turn .step.busy").wait_for()
        choice, message = [
            page.get_by_label(label, exact=True) for label in ("A run is in progress. Your message", "Message")
        ]
        await message.fill("and this")
        await expect(choice).to_have_value(offered)
        await for_everybody(page)
        await choice.select_option("joins the run")
        await message.press("Enter")
        await page.get_by_text("Waiting for its turn").wait_for()
        (gates / agent).touch()
        await ended(page, "joined")
        answer = await ended(page)
        await page.reload()
        await expect(page.locator(".turn")).to_have_count(1)
        asked = page.locator(".turn .request")
        await expect(asked).to_contain_text("first")
        await expect(asked).to_contain_text("and this")

    assert '"user: and this"' in answer


@pytest.mark.behaviour("page.pausing")
async def test_a_run_says_how_far_it_is_and_is_paused_and_resumed(asking: RunningHost, gates: Path) -> None:
    """By one button, which goes with the run; the timeline has how long it stood."""
    async with browsed(asking.origin) as browser:
        page = await browser.open("#/Clerk")
        await ask(page, "call read A-17")
        state = page.locator(".turn .state").last
        await expect(state).to_have_text("reading <b>page</b> 2 (40 %)")
        await page.get_by_role("button", name="Pause", exact=True).click()
        await expect(state).to_have_text("Pausing after this step")
        (gates / "A-17").touch()
        await expect(state).to_have_text("Paused")
        await page.get_by_role("button", name="Timeline").last.click()
        await expect(page.locator(".timeline .note").first).to_contain_text("paused")
        await for_everybody(page)
        await page.get_by_role("button", name="Resume", exact=True).click()
        await expect(page.locator(".turn .markdown").last).to_contain_text("A-17 read")
        await expect(page.get_by_role("button", name="Pause", exact=True)).to_be_hidden()
        await expect(page.locator(".timeline .paused")).to_contain_text("Paused by hand")


@pytest.mark.behaviour("page.reasoning")
async def test_thoughts_stand_folded_above_the_answer(asking: RunningHost) -> None:
    async with browsed(asking.origin) as browser:
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


@pytest.mark.behaviour("page.tasks")
async def test_the_timeline_leads_to_a_task_s_thread_and_back(asking: RunningHost) -> None:
    """That thread is shown without a box: nobody sends a background agent a message. The list is its parent's."""
    await run(asking, "Planner", "t", f"{start('tea')}\n{wait(1)}")
    async with browsed(asking.origin) as browser:
        page = await browser.open("#/Planner/t")
        await page.get_by_role("button", name="Timeline").click()
        row = page.locator(".timeline li.tool_call", has_text="begins a task")
        await row.locator("summary").click()
        await for_everybody(page)
        await row.get_by_role("link", name="Planner_Researcher").click()

        await expect(page.locator("#title")).to_have_text("tea")
        await expect(page.locator("#composer")).to_be_hidden()
        await expect(page.locator("#threads a")).to_have_count(1)
        for gone in ("Agent", "Figures", "Call it from your code"):
            await expect(page.locator("#tools").get_by_role("button", name=gone, exact=True)).to_be_hidden()

        await page.get_by_role("button", name="Timeline").click()
        await expect(page.locator(".timeline")).to_contain_text("begun by Planner")
        await for_everybody(page)
        await page.locator(".timeline").get_by_role("link", name="Planner").click()
        await expect(page.locator("#composer")).to_be_visible()
        assert page.url.endswith("#/Planner/t")


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


@pytest.mark.behaviour("page.inbox")
async def test_what_waits_on_any_thread_is_answered_in_one_place(host: RunningHost) -> None:
    """Of two agents; one is approved, one refused with a reason, and the side says how many are left."""
    for agent, message in (("clerk", REFUND), ("support", "I want a refund")):
        await run(host, agent, f"inbox-{agent}", message)
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
