"""What a person decides by on the page: characters that are not seen are written out; and Enter of an input method."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "unseen_app"
UNSEEN = "\u202e\u2066\u200b\x1b\x9b\u2028\U000e0041\ufeff"
ASKED = f"ada{UNSEEN}eve"
SHOWN = r"ada\u202e\u2066\u200b\u001b\u009b\u2028\udb40\udc41\ufeffeve"
CONFIRMS = """field => field.dispatchEvent(new KeyboardEvent("keydown",
    { key: "Enter", keyCode: 229, which: 229, isComposing: false, bubbles: true, cancelable: true }))"""
"""The key that confirms a word of an input method, as Safari sends it: the word has ended before."""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def payer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The app with an agent and a workflow that ask."""
    folder = tmp_path_factory.mktemp("unseen") / "app"  # an engine and a log of its own
    shutil.copytree(APP, folder)
    with RunningHost(folder, environ={"UNSEEN_LOG": f"sqlite:{folder / 'log.sqlite'}"}) as host:
        yield host


async def begin(host: RunningHost, path: str, thread: str) -> None:
    """Have something asked on a thread."""
    async with httpx.AsyncClient(base_url=f"{host.origin}/api", timeout=20) as client:
        (await client.post(path, json={"message": ASKED, "thread_id": thread})).raise_for_status()


def hides_nothing(text: str) -> bool:
    """Whether none of these characters is in a text."""
    return not set(text) & set(UNSEEN)


@pytest.mark.behaviour("approvals.visible")
@pytest.mark.parametrize("place", ["#/Payer/decided", "#/?approvals"], ids=["in the conversation", "in the inbox"])
async def test_a_call_that_waits_is_shown_with_all_that_is_in_it(payer: RunningHost, place: str) -> None:
    """Its tool, its keys and its values; what was decided too."""
    await begin(payer, "/agents/Payer/run", "decided" if "Payer" in place else "boxed")
    async with browsed(payer.origin) as browser:
        page = await browser.open(place)
        card = page.locator(".card.ask").filter(has=page.get_by_text("May the agent call")).first
        await expect(card.locator("h3")).to_have_text(r"May the agent call pay\u202eyap?")
        await expect(card.locator(".values")).to_contain_text(r"to\u2066" + SHOWN)
        assert hides_nothing(await card.text_content() or "")
        await card.get_by_label("Reason to refuse").fill("no\u202eon")
        await page.keyboard.press("Enter")
        await page.get_by_text(r"no\u202eon").first.wait_for()
        decided = page.locator(".decision, .inbox [role=status]")
        assert all(map(hides_nothing, await decided.all_text_contents()))


@pytest.mark.behaviour("approvals.visible")
async def test_a_question_of_a_workflow_is_shown_with_all_that_is_in_it(payer: RunningHost) -> None:
    """In the inbox."""
    await begin(payer, "/workflows/Asking/run", "w")
    async with browsed(payer.origin) as browser:
        page = await browser.open("#/?approvals")
        card = page.locator(".card.ask").filter(has=page.get_by_label("Answer", exact=True)).first
        await expect(card.locator(".values").first).to_contain_text(SHOWN)
        assert hides_nothing(await card.text_content() or "")


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
