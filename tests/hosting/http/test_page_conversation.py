"""The page over the local host, as somebody uses it who sees, presses keys, reloads, and has two tabs."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, LOST, REFUSED, answered, ask, browsed, ended, for_everybody
from tests.support.running_host import ROOT, RunningHost

pytestmark = IN_A_BROWSER
APP = ROOT / "tests" / "hosting" / "http" / "page_app"
SPEECH = " ".join(f"word{number}" for number in range(60))
LEASE = {"LEASE_SECONDS": "6"}  # the page looks each 4 s at the least, and the host takes its time to start
LEASE_GUARD_MS = 60_000.0  # the lease of a killed process runs out first
WATCH = """speech => {
    window.odd = []
    window.states = []
    const state = document.querySelector(".turn .state")
    const look = () => {
        const shown = document.querySelector(".markdown").textContent
        if (!speech.startsWith(shown)) odd.push(shown)
        if (state.textContent !== states.at(-1)) states.push(state.textContent)
    }
    look()
    new MutationObserver(look).observe(document.querySelector(".turns"), { childList: true, subtree: true })
}"""
KEYS = {"master": "m", "host": "a key of the page", "functions": {}, "system": {}}


def copied(folder: Path) -> Path:
    """Return a copy of the app, with state of its own."""
    return Path(shutil.copytree(APP, folder / "app"))


@pytest.mark.behaviour("page.verbs")
@pytest.mark.behaviour("hosting.examples")
async def test_a_proposed_message_is_answered_with_its_tools_and_is_there_after_a_reload(host: RunningHost) -> None:
    """It is proposed for a terminal too. The browser shows the thread's address from the first event on."""
    asked, answer = "What is the weather in Paris?", "The weather in Paris: partly cloudy, 18 °C."
    async with browsed(host.origin) as browser:
        page = await browser.open("#/assistant")
        await page.get_by_role("button", name=asked).click()
        await expect(page.locator("#empty code")).to_contain_text(asked)
        await page.get_by_label("Message", exact=True).press("Enter")
        assert answer in await ended(page)
        await expect(page.locator(".request")).to_have_text(asked)
        await expect(page).to_have_url(re.compile(r"/api/ui/#/assistant/[0-9a-f]{32}$"))
        await page.reload()
        assert answer in await ended(page)
        await page.get_by_text("get_weather").click()
        await expect(page.get_by_text("partly cloudy, 18 °C", exact=True)).to_be_visible()


async def attach(page: Page, name: str, kind: str) -> None:
    await page.locator("#picker").set_input_files({"name": name, "mimeType": kind, "buffer": b"p" * 20_000})
    await page.get_by_label(f"Remove {name}").wait_for()


async def of_another_day(route: Route) -> None:
    told: dict[str, Any] = await (await route.fetch()).json()
    entries = [{**entry, "created_at": "2020-02-03T12:00:00Z"} for entry in told["entries"]]
    await route.fulfill(json={**told, "entries": entries})


@pytest.mark.behaviour("page.verbs")
@pytest.mark.behaviour("page.times")
async def test_a_conversation_is_dated_copied_mended_reset_and_deleted(host: RunningHost) -> None:
    """A problem is read with its code; what failed or was refused is in the box again, with its picture."""
    begun = datetime.now(UTC)
    async with browsed(host.origin, REFUSED) as browser:
        await browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await browser.open("#/writer")
        box, times = page.get_by_label("Message", exact=True), page.locator(".turn").first.locator("time")
        close = page.get_by_role("button", name="Close", exact=True)
        await ask(page, "one **two** three")
        await ended(page)
        await expect(page.locator("#title")).to_have_text("one **two** three")
        shown = await times.all_text_contents()
        exact = [await times.nth(number).get_attribute("datetime") or "" for number in range(2)]
        await page.get_by_role("button", name="Copy", exact=True).click()
        await page.get_by_role("button", name="Copied").wait_for()
        copied = await page.evaluate("navigator.clipboard.readText()")
        await page.route("**/messages?*", of_another_day)
        await page.reload()
        await ended(page)
        old = await times.all_text_contents()
        await page.unroute("**/messages?*")

        await attach(page, "plan.png", "image/png")
        await ask(page, "fail")
        failed = await ended(page, "failed")
        await page.get_by_role("button", name="Reuse message").click()
        await expect(box).to_have_value("fail")
        await page.get_by_label("Remove plan.png").click()
        await attach(page, "a.wav", "audio/wav")
        await ask(page, "go on")
        await page.get_by_role("alert").get_by_text("unsupported_content").wait_for()
        await expect(box).to_have_value("go on")
        await page.get_by_label("Remove a.wav").click()
        await close.click()

        await page.get_by_label("Reset the thread").click()
        await page.keyboard.press("Escape")
        await expect(page.locator(".turn")).to_have_count(2)
        await page.get_by_label("Reset the thread").click()
        await page.get_by_role("button", name="Reset thread").click()
        await page.get_by_text("No messages yet").wait_for()
        await ask(page, "second")
        await ended(page)
        await page.get_by_label("Delete the thread").click()
        await for_everybody(page)
        await page.get_by_role("button", name="Delete thread").click()
        receipt = await page.locator(".receipt").inner_text()
        await close.click()
        await page.get_by_text("Ask writer").wait_for()

    assert [bool(re.fullmatch(r"\d+:\d\d\s[AP]M", text)) for text in shown] == [True, True]
    assert [begun <= datetime.fromisoformat(at.replace("Z", "+00:00")) for at in exact] == [True, True]
    assert [text.partition(", 2020")[0] for text in old] == ["Feb 3", "Feb 3"]
    assert copied == "one **two** three"
    assert ("the writer has no ink" in failed, "run_failed" in failed) == (True, True)
    assert ("SHA-256" in receipt, "@dafx-writer@" in receipt) == (True, True)


@pytest.mark.behaviour("page.incomplete")
async def test_an_answer_that_is_no_whole_one_says_so_under_it_also_after_a_reload(host: RunningHost) -> None:
    """Its timeline says which answer of the model it was."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        note = page.get_by_role("note").filter(has_text="This answer is incomplete")
        await ask(page, "whole")
        await ended(page)
        await expect(note).to_be_hidden()
        await ask(page, "cut half a senten")
        await ended(page, number=2)
        now = await note.text_content()
        await page.reload()
        await ended(page, number=2)
        later = await note.text_content()
        await page.get_by_role("button", name="Timeline").last.click()
        step = await page.locator(".step-row.model_call .what").text_content()

    assert now == later == "This answer is incomplete: the model reached its token limit."
    assert step == "Model answers incomplete: length"


@pytest.mark.behaviour("page.busy")
async def test_a_message_that_is_sent_while_a_run_goes_on_waits_for_it_or_ends_it_as_chosen(host: RunningHost) -> None:
    """By Enter too, and the choice is for that message. Stop ends the run at work, and not the one that waits."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        box, answers = page.get_by_label("Message", exact=True), page.locator(".markdown")
        offered, stop = page.get_by_label("A run is in progress. Your message"), page.get_by_role("button", name="Stop")
        await ask(page, SPEECH)
        await answers.filter(has_text="word3").wait_for()
        await expect(offered).to_be_hidden()
        await box.fill("second")
        await expect(offered).to_have_value("queue")
        await expect(stop).to_have_text("Stop")
        await box.press("Enter")
        await ended(page, number=2)
        kept = await answers.all_text_contents()

        await ask(page, SPEECH.replace("word", "other"))
        await answers.filter(has_text="other3").wait_for()
        await ask(page, SPEECH.replace("word", "third"))
        await page.get_by_text("Waiting for its turn").wait_for()
        await stop.click()
        stopped = await ended(page, "cancelled")
        await answers.filter(has_text="third3").wait_for()
        await box.fill("last")
        await offered.select_option("replaces the run")
        await box.press("Enter")
        await box.fill("not sent")
        replaced = await ended(page, "cancelled", number=2)
        last = await ended(page, number=3)
        await expect(offered).to_be_hidden()
        await expect(offered).to_have_value("queue")
        await page.get_by_role("button", name="Send").wait_for()

    assert kept == [SPEECH, "second"]
    assert ("other3" in stopped, "other59" in stopped) == (True, False)
    assert "Stopped. The agent remembers nothing of this run" in replaced
    assert "last" in last


@pytest.mark.behaviour("page.live")
async def test_a_run_is_seen_from_a_second_tab_after_a_reload_and_from_another_program_s(host: RunningHost) -> None:
    async with browsed(host.origin, REFUSED) as browser:
        first, second = await browser.open("#/writer/shared"), await browser.open("#/writer/shared")
        await ask(first, SPEECH)
        await second.locator(".markdown", has_text="word3").wait_for()
        await first.reload()
        answers = [await answered(first), await answered(second)]
        async with httpx.AsyncClient(base_url=host.origin) as client:
            await client.post("/api/agents/writer/run", json={"message": "from elsewhere", "thread_id": "shared"})
        for page in (first, second):
            await ended(page, number=2)
            assert await page.locator(".request").all_text_contents() == [SPEECH, "from elsewhere"]

    assert answers == [SPEECH, SPEECH]


@pytest.mark.behaviour("page.live")
@pytest.mark.behaviour("page.timeline")
async def test_the_page_goes_on_by_itself_after_the_host_was_killed(tmp_path: Path) -> None:
    """It says that the connection was lost and when the run goes on, and ends with every word once.

    As on several machines, where another process only sees that nothing comes any more.
    """
    folder = copied(tmp_path)
    with RunningHost(folder, environ=LEASE) as host:
        async with browsed(host.origin, LOST, REFUSED) as browser:
            page = await browser.open("#/writer")
            page.set_default_timeout(LEASE_GUARD_MS)
            await ask(page, SPEECH)
            await page.locator(".markdown", has_text="word3").wait_for()
            await page.evaluate(WATCH, SPEECH)
            host.process.kill()
            await page.get_by_text("Connection lost").wait_for()
            for path in folder.rglob("*-processes"):  # by which it would know at once that the process is dead
                path.rename(path.with_name("gone"))
            with RunningHost(folder, "--port", host.origin.rpartition(":")[2], environ=LEASE):
                await page.locator(".turn[data-end=completed]").wait_for()  # longer than other tests wait
                answer = await answered(page)
                odd, states = await page.evaluate("[odd, states]")
                await page.get_by_role("button", name="Timeline").click()
                timeline = page.locator(".timeline")
                voided = await timeline.locator(".voided .what del").text_content() or ""
                steps = await timeline.locator(".what").all_text_contents()

    assert (answer, odd) == (SPEECH, [])
    assert states == [
        "Answering",
        "Connection lost. Reconnecting",
        "Reconnected. If the process of this run was lost, another one continues it within 11 s",
        "Attempt 2: continuing from the saved steps",
        "Answering",
        "",
    ]
    assert SPEECH.startswith(voided)
    assert [step for step in steps if step != voided] == [
        "Accepted",
        "Attempt 1 its process was lost",
        "Attempt 2",
        "Model answers",
        "Answered",
    ]


@pytest.mark.behaviour("page.keys")
async def test_with_keys_the_page_asks_for_one_and_keeps_it_in_its_tab(tmp_path: Path) -> None:
    """In no address, no command and no storage that outlives the tab; a wrong one is asked for again."""
    folder = copied(tmp_path)
    (folder / ".devhost").mkdir()
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS))
    with RunningHost(folder, "--port", "0", "--auth") as host:
        async with browsed(host.origin, REFUSED) as browser:
            page = await browser.open("#/writer")
            why = page.locator("dialog [role=alert]")
            await expect(why).to_have_text("This app needs a key.")
            await page.get_by_label("Function key").fill("wrong")
            await page.get_by_role("button", name="Save").click()
            await expect(why).to_have_text("The key was refused. Check it and enter it again.")
            await page.get_by_label("Function key").fill(str(KEYS["host"]))
            await page.get_by_role("button", name="Save").click()
            await page.get_by_text("Ask writer").wait_for()
            await ask(page, "behind a key")
            await ended(page)
            await page.reload()
            await ended(page)
            kept = await page.evaluate("JSON.stringify([localStorage, document.cookie, location.href])")
            await ask(page, "once more")
            await ended(page, number=2)
            await page.get_by_label("Call it from your code").click()
            commands = await page.locator("dialog").inner_text()
            other = await browser.open("#/writer")
            await other.get_by_label("Function key").wait_for()

    assert str(KEYS["host"]) not in kept + commands
    assert "$KEY" in commands


@pytest.mark.behaviour("page.for-everybody")
async def test_a_screen_reader_hears_each_paragraph_once_and_the_keys_lead_everywhere(host: RunningHost) -> None:
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await page.get_by_text("Ask writer").wait_for()
        await for_everybody(page)
        await expect(page.get_by_label("To the newest message")).to_be_hidden()
        await ask(page, "one one one\n\ntwo two two\n\nthree")
        await ended(page)
        heard = await page.locator("#live p").all_inner_texts()
        focused = await page.evaluate("document.activeElement.id")
        for _ in range(9):  # the clip, Fork, Regenerate, both thumbs, Copy, Timeline and Edit
            await page.keyboard.press("Shift+Tab")
        deleting = await page.evaluate("document.activeElement.ariaLabel")
        await ask(page, "# Title\n\n```js\n" + "x" * 300 + "\n```\n\n| a | b |\n|---|---|\n| `c` | [d](https://e.f) |")
        await ended(page, number=2)
        await for_everybody(page)

    assert heard == ["one one one", "two two two", "three"]
    assert (focused, deleting) == ("message", "Delete the thread")
