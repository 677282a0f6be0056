"""What the page shows of webhooks and schedules, and to those who operate the app."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Route, expect

from hosting.core.thread.commands import AcceptRun, DeleteThread
from hosting.names import Address
from hosting.principal import Principal
from tests.hosting.http.browsed_page import (
    HOSTILE,
    IN_A_BROWSER,
    REFUSED,
    browsed,
    ended,
    for_everybody,
)
from tests.support.known_callers import ISSUER, app_of_known_callers, left_behind
from tests.support.receiver import Receiver, receiving
from tests.support.running_host import RunningHost
from tests.support.threads import accepted

pytestmark = IN_A_BROWSER
ADA = Principal(ISSUER, "ada").owner
AGO = 1000.0
NAMES = {"Agent", "Joker", "Thread", "Owner", "Run", "Since"}
"""What needs no words beside it; every other column and number has a hint."""


@pytest_asyncio.fixture(loop_scope="session")
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


async def notified(host: RunningHost, thread: str, webhook: str) -> str:
    body = {"message": "hello", "thread_id": thread, "webhook": webhook}
    async with httpx.AsyncClient(base_url=host.origin, timeout=20) as client:
        return str((await client.post("/api/agents/writer/run", json=body)).raise_for_status().json()["run_id"])


@pytest.mark.behaviour("page.webhooks")
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


def hostile(state: str, **last: Any) -> dict[str, Any]:
    """Return a delivery whose every text is hostile, or long."""
    then, long = "2026-01-01T00:00:00.000000+00:00", f"{HOSTILE}{'x' * 200}"
    ids = {"thread_id": long, "session_id": long, "run_id": long, "correlation_id": long}
    shown = {"host": long, "event": long, "owner": state, "receiver": f"push-{state}", "state": state}
    return {**ids, **shown, "next_try_at": then, "tries": [{"at": then, "status": None, "problem": None, **last}]}


@pytest.mark.behaviour("page.webhooks")
async def test_deliveries_are_for_everybody_and_run_nothing(host: RunningHost) -> None:
    page_of_all = {
        "deliveries": [hostile("waiting", problem=HOSTILE), hostile("dead", status=410), hostile("delivered")],
        "next_cursor": "more",
    }
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await page.get_by_text("Ask writer").wait_for()
        await page.route("**/webhooks?*", lambda route: route.fulfill(json=page_of_all))
        await page.route("**/webhooks/*?*", lambda route: route.fulfill(status=202, json={}))
        await page.goto(f"{host.origin}/api/ui/#/writer?webhooks")
        await page.get_by_text("There are more.").wait_for()
        await expect(page.locator(".cards > li")).to_have_count(3)
        await page.get_by_role("button", name="Send now").click()
        await expect(page.get_by_role("status").filter(has_text="It is being sent.")).to_have_count(1)
        await for_everybody(page)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An app that knows its callers, of whom `root` administers it."""
    return app_of_known_callers(tmp_path_factory.mktemp("operated"))


@pytest.fixture(scope="module")
def operated(folder: Path) -> Iterator[RunningHost]:
    with RunningHost(folder, environ={"AGENT_ADMIN_ROLE": "operators"}) as host:
        yield host


@pytest.mark.behaviour("page.operations")
async def test_an_administrator_sees_what_is_stuck_and_asks_for_it_again_by_keys(
    folder: Path, operated: RunningHost
) -> None:
    """A run and a deletion that a dead process left of somebody else's threads; both end."""
    run, ended = "r" * 32, "/api/agents/Joker/threads/asked/runs/"
    asked, deleted = (Address.of("Joker", thread_id, ADA) for thread_id in ("asked", "deleted"))
    event = accepted(run, at=time.time() - AGO).model_copy(update={"agent": "Joker", "thread_id": "asked"})
    async with (
        httpx.AsyncClient(base_url=operated.origin, headers={"x-user": "ada"}, timeout=20) as client,
        browsed(operated.origin) as browser,
    ):
        for thread_id in ("asked", "deleted"):
            body = {"message": "hi", "thread_id": thread_id}
            (await client.post("/api/agents/Joker/run", json=body)).raise_for_status()
        await left_behind(folder, asked, AcceptRun(event, 32))
        await left_behind(folder, deleted, DeleteThread(time.time() - AGO))
        await browser.context.set_extra_http_headers({"x-user": "root"})
        page = await browser.open("#/Joker")
        await page.get_by_role("link", name="Operations").press("Enter")
        stuck = page.locator(".cards > li")
        await expect(stuck).to_have_count(2)
        unexplained = await page.locator(".operations :is(th, dt):not([title])").all_text_contents()
        row = await page.locator(".operations tbody tr").first.locator("th, td").all_text_contents()
        of_run, of_deletion = stuck.filter(has_text="asked"), stuck.filter(has_text="Deletion stopped")
        reason = await of_run.locator("p").first.text_content()
        shown = await of_run.locator("dd").all_text_contents()
        await of_run.get_by_role("button", name="Retry").press("Enter")
        await of_deletion.get_by_role("button", name="Delete again").press("Enter")
        await page.get_by_text("Nothing is stuck.").wait_for()
        answer = await client.get(f"{ended}{run}")
        gone = await client.get("/api/agents/Joker/threads/deleted")

    assert row[:2] == ["Joker", "1"]
    assert set(unexplained) == NAMES
    assert str(reason).startswith("The run is first in its thread's queue, and no process has claimed it.")
    assert shown[:4] == ["Joker", "asked", ADA, run]
    assert answer.json()["response"] == f"echo: Hello from {run}"
    assert gone.status_code == 404


@pytest.mark.behaviour("page.operations")
async def test_who_is_no_administrator_has_no_view_of_operations(operated: RunningHost) -> None:
    """No link leads there, and by its address one comes to an agent."""
    async with browsed(operated.origin) as browser:
        await browser.context.set_extra_http_headers({"x-user": "eve"})
        page = await browser.open("#/?operations")
        await page.get_by_text("Ask Joker").wait_for()
        await expect(page.get_by_role("link", name="Approvals")).to_be_visible()
        await expect(page.get_by_role("link", name="Operations")).to_be_hidden()


def silent(seen: str) -> dict[str, Any]:
    """Return what the app tells of a run that says nothing, with the last text seen of it, and of much besides."""
    then = "2026-01-01T00:00:00Z"
    run = {"agent": "Joker", "kind": "agent", "owner": "<i>o", "thread_id": f"{HOSTILE}{'x' * 100}", "run_id": "r" * 32}
    usage = {"input_token_count": 10**7, "output_token_count": 10**6, "total_token_count": 11 * 10**6}
    ends = {"failures": {"run_failed": 12, "run_timed_out": 3}, "cancelled": 1234}
    today = {"runs": 12345, **ends, "usage": usage, "cost": "123.4567"}
    calls = {"read": 10**6, "append": 10**6, "failed": 1}
    counts = {"queued": 3, "oldest_queued_at": then, "running": 2, "attempts": 3, "taken_over": 1, "today": today}
    counts["store_calls_here"] = calls
    return {
        "as_of": then,
        "looked_at": 500,
        "complete": False,
        "store_calls_here": calls,
        "agents": [{"agent": name, "kind": "agent", **counts} for name in ("Joker", "x" * 64)],
        "stuck": [{**run, "code": "silent", "since": then, "seen": seen, "reason": "A process took it."}],
    }


@pytest.mark.behaviour("page.operations")
async def test_a_silent_run_is_asked_for_only_after_it_showed_no_sign_of_life(
    operated: RunningHost,
) -> None:
    looks, asked = [silent("a"), silent("b"), silent("b")], list[str]()

    async def tell(route: Route) -> None:
        asked.append(route.request.url.rpartition("?")[2])
        await route.fulfill(json=looks[min(len(asked), len(looks)) - 1])

    async with browsed(operated.origin) as browser:
        await browser.context.set_extra_http_headers({"x-user": "root"})
        page = await browser.open("#/Joker")
        await page.get_by_text("Ask Joker").wait_for()
        await page.route("**/operations?*", tell)
        await page.clock.install()
        await page.goto(f"{operated.origin}/api/ui/#/?operations")
        again = page.get_by_role("button", name="Retry")
        calls = page.locator(".operations tbody tr").first.locator('[data-name="Store calls"]')
        await expect(calls).to_have_text("2,000,001")
        await page.get_by_text("Waiting half a minute").wait_for()
        await page.get_by_text("There are more").wait_for()
        async with page.expect_response("**/operations?*"):
            await page.clock.fast_forward(30_000)
        await expect(again).to_have_count(0)
        await page.clock.fast_forward(30_000)
        await expect(again).to_be_visible()
        await for_everybody(page)
        async with page.expect_response("**/operations?*"):
            await page.get_by_label("Threads changed in the last").select_option("30 days")

    assert asked == ["hours=1"] * 3 + ["hours=720"]
