"""Feedback on the page: thumbs under an answer, a comment, taken back, by keys, with whatever was written."""

from __future__ import annotations

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, UNWANTED, WIDER, browsed, ended, faults_of
from tests.support.running_host import RunningHost

HOSTILE = "</textarea><img src=x onerror=hacked()> \u202e"

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("feedback.page")]


async def answered(host: RunningHost, thread: str) -> str:
    """Have the writer answer, and return where feedback on that is."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=20) as client:
        body = {"message": "hello", "thread_id": thread}
        run_id = (await client.post("/api/agents/writer/run", json=body)).raise_for_status().json()["run_id"]
    return f"{host.origin}/api/agents/writer/threads/{thread}/runs/{run_id}/feedback"


async def kept(path: str) -> list[tuple[float, str | None]]:
    """Return score and comment of what the app has."""
    async with httpx.AsyncClient() as client:
        return [(one["score"], one["comment"]) for one in (await client.get(path)).json()["feedback"]]


@ON_EACH_SCREEN
async def test_a_person_rates_an_answer_by_keys_and_takes_it_back(
    host: RunningHost, is_phone: bool, theme: str
) -> None:
    """What was given is shown when the thread is opened again, and may be changed; the page keeps to axe's rules."""
    path = await answered(host, f"rated-{is_phone}-{theme}")
    async with browsed(host.origin, is_phone=is_phone, theme=theme) as browser:
        page = await browser.open(f"#/writer/rated-{is_phone}-{theme}")
        await ended(page)
        good, bad = (page.get_by_role("button", name=f"{word} answer") for word in ("Good", "Bad"))
        await expect(good).to_have_attribute("aria-pressed", "false")
        await bad.press("Enter")
        await page.get_by_role("dialog", name="Bad answer").wait_for()
        await page.get_by_label("Comment (optional)").fill(HOSTILE)
        faults = await faults_of(page)
        await page.get_by_role("button", name="Send", exact=True).last.press("Enter")
        await expect(bad).to_have_attribute("aria-pressed", "true")
        await expect(bad).to_be_focused()
        given = await kept(path)
        await page.reload()
        await ended(page)
        await expect(bad).to_have_attribute("aria-pressed", "true")
        await good.press("Enter")
        comment = await page.get_by_label("Comment (optional)").input_value()
        await page.get_by_label("Comment (optional)").fill("")
        await page.get_by_role("button", name="Send", exact=True).last.press("Enter")
        await expect(good).to_have_attribute("aria-pressed", "true")
        changed = await kept(path)
        await good.press("Enter")
        await page.keyboard.press("Escape")
        await expect(good).to_be_focused()
        cancelled = await kept(path)
        await good.press("Enter")
        await page.get_by_role("button", name="Take back").press("Enter")
        await expect(good).to_have_attribute("aria-pressed", "false")
        faults += await faults_of(page)
        wider, unwanted = await page.evaluate(WIDER), await page.evaluate(UNWANTED)

    assert (given, comment) == ([(0, HOSTILE)], HOSTILE)
    assert (changed, cancelled, await kept(path)) == ([(1, None)], [(1, None)], [])
    assert (faults, wider, unwanted) == ([], 0, [])


async def test_the_figures_show_how_much_feedback_there_is(host: RunningHost) -> None:
    """With the mean of its scores."""
    path = await answered(host, "counted")
    async with httpx.AsyncClient() as client:
        (await client.post(path, json={"score": 0.75})).raise_for_status()
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await page.get_by_role("button", name="Figures").press("Enter")
        await page.get_by_text("Feedback, mean").wait_for()
        faults = await faults_of(page)

    assert faults == []
