"""What the page shows to those who operate the app, and to nobody else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Route, expect

from hosting.core.thread.commands import AcceptRun, DeleteThread
from hosting.names import Address
from hosting.principal import Principal
from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, UNWANTED, WIDER, browsed, faults_of
from tests.support.known_callers import ISSUER, app_of_known_callers, left_behind
from tests.support.running_host import RunningHost
from tests.support.threads import accepted

ADA = Principal(ISSUER, "ada").owner
AGO = 1000.0
NAMES = {"Agent", "Joker", "Thread", "Owner", "Run", "Since"}
"""What needs no words beside it; every other column and number has a hint."""
HOSTILE = "<img src=x onerror=hacked()>"

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An app that knows its callers, of whom `root` administers it."""
    return app_of_known_callers(tmp_path_factory.mktemp("operated"))


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[RunningHost]:
    """One local host for all of them."""
    with RunningHost(folder, environ={"AGENT_ADMIN_ROLE": "operators"}) as host:
        yield host


@pytest.mark.behaviour("page.operations")
async def test_an_administrator_sees_what_is_stuck_and_asks_for_it_again_by_keys(
    folder: Path, host: RunningHost
) -> None:
    """A run and a deletion that a dead process left of somebody else's threads; both end."""
    run, ended = "r" * 32, "/api/agents/Joker/threads/asked/runs/"
    asked, deleted = (Address.of("Joker", thread_id, ADA) for thread_id in ("asked", "deleted"))
    event = accepted(run, at=time.time() - AGO).model_copy(update={"agent": "Joker", "thread_id": "asked"})
    async with (
        httpx.AsyncClient(base_url=host.origin, headers={"x-user": "ada"}, timeout=20) as client,
        browsed(host.origin) as browser,
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
async def test_who_is_no_administrator_has_no_view_of_operations(host: RunningHost) -> None:
    """No link leads there, and by its address one comes to an agent."""
    async with browsed(host.origin) as browser:
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
@pytest.mark.behaviour("page.for-everybody")
@ON_EACH_SCREEN
async def test_a_silent_run_is_asked_for_only_after_it_showed_no_sign_of_life(
    host: RunningHost, theme: str, is_phone: bool
) -> None:
    """For half a minute. What was not looked at is said. By axe-core's rules, and nothing is wider than the screen."""
    looks, asked = [silent("a"), silent("b"), silent("b")], list[str]()

    async def tell(route: Route) -> None:
        asked.append(route.request.url.rpartition("?")[2])
        await route.fulfill(json=looks[min(len(asked), len(looks)) - 1])

    async with browsed(host.origin, is_phone=is_phone, theme=theme) as browser:
        await browser.context.set_extra_http_headers({"x-user": "root"})
        page = await browser.open("#/Joker")
        await page.get_by_text("Ask Joker").wait_for()
        await page.route("**/operations?*", tell)
        await page.clock.install()
        await page.goto(f"{host.origin}/api/ui/#/?operations")
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
        found, wider, unwanted = await faults_of(page), await page.evaluate(WIDER), await page.evaluate(UNWANTED)
        async with page.expect_response("**/operations?*"):
            await page.get_by_label("Threads changed in the last").select_option("30 days")

    assert asked == ["hours=1"] * 3 + ["hours=720"]
    assert found == []
    assert (max(wider, 0), unwanted) == (0, [])
