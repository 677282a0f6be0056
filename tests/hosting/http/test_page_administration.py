"""What the page shows of webhooks and schedules, and to those who operate the app."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import expect

from hosting.core.thread.commands import AcceptRun, DeleteThread
from hosting.names import Address
from hosting.principal import Principal
from tests.hosting.http.browsed_page import (
    IN_A_BROWSER,
    REFUSED,
    browsed,
    ended,
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
