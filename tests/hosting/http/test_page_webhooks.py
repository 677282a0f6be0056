"""What the page shows of webhooks: who was notified of the ends of runs, what came of it, and what is sent again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, UNWANTED, WIDER, browsed, ended, faults_of
from tests.support.receiver import Receiver, receiving
from tests.support.running_host import RunningHost

REFUSED = "Failed to load resource: the server responded"
HOSTILE = "<img src=x onerror=hacked()>"

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.webhooks")]


@pytest_asyncio.fixture(loop_scope="session")
async def receiver() -> AsyncIterator[Receiver]:
    """Who takes the webhooks."""
    async with receiving() as opened:
        yield opened


async def notified(host: RunningHost, thread: str, webhook: str) -> str:
    """Have the writer's run end, and return its id."""
    body = {"message": "hello", "thread_id": thread, "webhook": webhook}
    async with httpx.AsyncClient(base_url=host.origin, timeout=20) as client:
        return str((await client.post("/api/agents/writer/run", json=body)).raise_for_status().json()["run_id"])


async def test_a_runs_deliveries_stand_in_its_timeline_and_its_thread_and_are_sent_again_by_keys(
    host: RunningHost, receiver: Receiver
) -> None:
    """With the tries, the last answer and the next try; of the address the host alone."""
    receiver.statuses = [503, 410]
    waiting = await notified(host, "told", f"{receiver.url}/hook?token=secret")
    first = await receiver.next()
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/told")
        await ended(page)
        await page.get_by_role("button", name="Timeline").press("Enter")
        card = page.locator(".timeline .card")
        await card.wait_for()
        of_run = await card.locator("dd").all_text_contents()
        title = await card.locator("h2").text_content()
        await page.get_by_role("button", name="Webhooks").press("Enter")
        cards = page.locator("#conversation > .view > .cards > li")
        await expect(cards).to_have_count(1)
        of_thread = await cards.locator("dd").all_text_contents()
        again = cards.get_by_role("button")
        await expect(again).to_have_text("Send now")
        await again.press("Enter")
        second = await receiver.next()
        await expect(cards.get_by_role("heading")).to_have_text("Given up: run.completed")
        await expect(again).to_be_focused()
        given_up = await cards.locator("dd").all_text_contents()
        await page.get_by_role("link", name="Undelivered notifications of all threads").press("Enter")
        await cards.get_by_role("link", name="told").wait_for()
        await again.press("Enter")
        third = await receiver.next()
        await page.get_by_text("Everything was delivered").wait_for()
        await page.get_by_role("button", name="Webhooks").press("Enter")
        await page.get_by_text("Ask writer").wait_for()
        text = await page.content()

    host_and_port = receiver.url.removeprefix("http://")
    told = [f"{host_and_port}, the request's webhook", "1, the last just now: 503", "in a moment"]
    assert (title, of_run) == ("Waiting for the next try: run.completed", told)
    assert of_thread == [told[0], waiting, *told[1:]]
    assert given_up == [told[0], waiting, "2, the last just now: 410", "none"]
    assert first.id == second.id == third.id
    assert "secret" not in text


async def test_a_run_without_a_webhook_has_nothing_read_of_it(host: RunningHost) -> None:
    """And an agent of an app that sends none has no such view."""
    asked = list[str]()
    async with httpx.AsyncClient(base_url=host.origin, timeout=20) as client:
        (await client.post("/api/agents/writer/run", json={"message": "hi", "thread_id": "plain"})).raise_for_status()
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer/plain")
        page.on("request", lambda request: asked.append(request.url))
        await ended(page)
        await page.get_by_role("button", name="Timeline").click()
        await page.locator(".timeline .ended").wait_for()
        await expect(page.locator(".timeline .view")).to_have_count(0)
        await page.route("**/api/agents", lambda route: without(route, "webhooks_url"))
        await page.reload()
        await ended(page)
        await expect(page.get_by_role("button", name="Webhooks")).to_be_hidden()

    assert [url for url in asked if "/webhooks" in url] == []


async def without(route: Route, name: str) -> None:
    """Answer as the app does, with one null in it."""
    answer = await route.fetch()
    told = await answer.json()
    listed = {**told, **({name: None} if name in told else {})}
    listed["agents"] = [{**agent, **({name: None} if name in agent else {})} for agent in told["agents"]]
    await route.fulfill(json=listed)


async def test_who_is_no_administrator_sees_a_threads_deliveries_and_sends_none_again(
    host: RunningHost, receiver: Receiver
) -> None:
    """And is told why there is no list of all threads; nobody asks for it."""
    await notified(host, "seen", receiver.url)
    await receiver.next()
    async with browsed(host.origin) as browser:
        page = await browser.context.new_page()
        await page.route("**/api/agents", lambda route: without(route, "operations_url"))
        await page.goto(f"{host.origin}/api/ui/#/writer/seen?webhooks")
        await expect(page.locator(".cards > li h2")).to_have_text("Delivered: run.completed")
        await expect(page.locator(".cards > li button")).to_have_count(0)
        await page.goto(f"{host.origin}/api/ui/#/writer?webhooks")
        await page.get_by_text("Open a thread first").wait_for()


def hostile(state: str, **last: Any) -> dict[str, Any]:
    """Return a delivery whose every text is hostile, or long."""
    then, long = "2026-01-01T00:00:00.000000+00:00", f"{HOSTILE}{'x' * 200}"
    ids = {"thread_id": long, "session_id": long, "run_id": long, "correlation_id": long}
    shown = {"host": long, "event": long, "owner": state, "receiver": f"push-{state}", "state": state}
    return {**ids, **shown, "next_try_at": then, "tries": [{"at": then, "status": None, "problem": None, **last}]}


@ON_EACH_SCREEN
async def test_deliveries_are_for_everybody_and_run_nothing(host: RunningHost, theme: str, is_phone: bool) -> None:
    """By axe-core's rules, and nothing is wider than the screen; what is being sent and that there are more is said."""
    page_of_all = {
        "deliveries": [hostile("waiting", problem=HOSTILE), hostile("dead", status=410), hostile("delivered")],
        "next_cursor": "more",
    }
    async with browsed(host.origin, is_phone=is_phone, theme=theme) as browser:
        page = await browser.open("#/writer")
        await page.get_by_text("Ask writer").wait_for()
        await page.route("**/webhooks?*", lambda route: route.fulfill(json=page_of_all))
        await page.route("**/webhooks/*?*", lambda route: route.fulfill(status=202, json={}))
        await page.goto(f"{host.origin}/api/ui/#/writer?webhooks")
        await page.get_by_text("There are more.").wait_for()
        await expect(page.locator(".cards > li")).to_have_count(3)
        await page.get_by_role("button", name="Send now").click()
        await expect(page.get_by_role("status").filter(has_text="It is being sent.")).to_have_count(1)
        found, wider, unwanted = await faults_of(page), await page.evaluate(WIDER), await page.evaluate(UNWANTED)

    assert found == []
    assert (max(wider, 0), unwanted) == (0, [])
