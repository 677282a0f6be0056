"""What the page shows of schedules and webhooks, and to those who operate the app."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Route, expect

from hosting.core.thread.commands import AcceptRun, DeleteThread
from hosting.names import Address
from hosting.principal import Principal
from tests.hosting.http.browsed_page import IN_A_BROWSER, LOST, REFUSED, browsed, ended, for_everybody
from tests.support.known_callers import ISSUER, app_of_known_callers, left_behind
from tests.support.receiver import Receiver, receiving
from tests.support.running_host import RunningHost
from tests.support.threads import accepted

pytestmark = IN_A_BROWSER


@pytest.mark.behaviour("page.schedules")
async def test_an_agents_schedules_are_listed_paused_resumed_and_deleted(host: RunningHost) -> None:
    """With their next and their last run; what another program changes is seen without a reload."""
    daily = {"cron": "0 9 * * 1-5", "time_zone": "Europe/Berlin", "message": "Write the report", "thread_id": "reports"}
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/writer/schedules") as client:
        first_report = {"message": "the first report", "thread_id": "reports"}
        (await client.post(f"{host.origin}/api/agents/writer/run", json=first_report)).raise_for_status()
        places = [(await client.post("", json=daily)).headers["location"]]
        soon = datetime.now(UTC) + timedelta(seconds=2)  # ahead yet when a slow machine reads it
        once = {"at": soon.isoformat(), "message": "once"}
        places.append((await client.post("", json=once)).headers["location"])
        while (await client.get(places[1])).json()["last_run"] is None:  # noqa: ASYNC110 - the host begins it
            await asyncio.sleep(0.05)
        async with browsed(host.origin) as browser:
            page = await browser.open("#/writer/reports")
            await ended(page)
            await page.clock.install()
            await page.get_by_role("button", name="Schedules").click()
            first, second = page.locator(".cards > li").nth(0), page.locator(".cards > li").nth(1)
            await first.get_by_role("button", name="Pause").click()
            await expect(first.get_by_role("button", name="Resume")).to_be_focused()
            paused = (await client.get(places[0])).json()["status"]
            shown = [await each.locator("dd").all_text_contents() for each in (first, second)]
            titles = await page.locator(".cards h2").all_text_contents()
            (await client.post(f"{places[0]}/resume")).raise_for_status()
            await page.clock.fast_forward(10_000)
            await expect(first.get_by_role("button", name="Pause")).to_be_focused()
            await second.get_by_role("button", name="Delete").click()
            await page.get_by_role("button", name="Delete schedule").click()
            await expect(page.locator(".cards > li")).to_have_count(1)
            await page.get_by_role("button", name="Schedules").click()
            await ended(page)
        left = (await client.get("")).json()["schedules"]

    assert paused == "paused"
    assert titles == ["Write the report", "once"]
    assert shown[0] == [
        "At 09:00, Monday to Friday · 0 9 * * 1-5 in Europe/Berlin",
        "reports",
        "none (paused)",
        "none yet",
    ]
    on = f"{soon:%a, %b} {soon.day}, {soon.year}, {soon:%I:%M %p}"
    assert shown[1][:3] == [f"Once, on {on} in UTC", "a new thread for each run", "none (ended)"]
    assert (shown[1][3].split(" · ")[0], shown[1][3].split(" · ")[2]) == (on, "its thread")
    assert [(one["cron"], one["status"]) for one in left] == [(daily["cron"], "active")]


@pytest.mark.behaviour("page.schedules")
async def test_a_schedule_is_made_by_keys_and_what_is_refused_stands_with_its_field(host: RunningHost) -> None:
    """By a cron expression in a time zone on the thread from which one came, and once on new threads."""
    place = f"{host.origin}/api/agents/assistant/schedules"
    async with browsed(host.origin, REFUSED) as browser, httpx.AsyncClient() as client:
        page = await browser.open("#/assistant/planned?schedules")
        opens, cards = page.get_by_role("button", name="New schedule"), page.locator(".cards > li")
        await opens.press("Enter")
        often, cron = page.get_by_label("How often"), page.get_by_label("Cron expression")
        await expect(often).to_be_focused()
        await expect(page.get_by_label("At", exact=True)).to_be_hidden()
        await cron.fill("61 * * * *")
        await page.get_by_label("Time zone").select_option("Europe/Berlin")
        await page.get_by_label("Message of each run").fill("Write the report")
        await page.get_by_label("Thread", exact=True).select_option("One thread for all runs")
        thread = await page.get_by_label("Thread id").input_value()
        await page.get_by_label("Thread id").press("Enter")
        refusal = page.locator(".planning").get_by_role("alert")
        await expect(refusal).to_contain_text("The field 'cron' is '61 * * * *', which cannot be read")
        await expect(cron).to_be_focused()
        await expect(cron).to_have_attribute("aria-invalid", "true")
        await for_everybody(page)
        await cron.fill("0 9 * * 1-5")
        await cron.press("Enter")
        await expect(cards.get_by_role("button", name="Pause")).to_be_focused()
        await expect(refusal).to_be_hidden()
        await opens.press("Enter")
        await often.select_option("Once")
        await page.get_by_label("At", exact=True).fill("2031-02-03T04:05")
        await page.get_by_label("Thread", exact=True).select_option("A new thread for each run")
        await page.get_by_role("button", name="Create").press("Enter")
        await expect(page.get_by_label("Message of each run")).to_be_focused()
        await expect(refusal).to_contain_text("message")
        await page.keyboard.type("Wish them well")
        await page.get_by_role("button", name="Create").press("Enter")
        await expect(cards).to_have_count(2)
        await expect(cards.nth(1).get_by_role("button", name="Pause")).to_be_focused()
        await opens.press("Enter")
        await page.keyboard.press("Escape")
        await expect(opens).to_be_focused()
        made = (await client.get(place)).json()["schedules"]

    kept = ("cron", "at", "time_zone", "missed", "thread_id", "request")
    assert thread == "planned"
    assert [[one[name] for name in kept] for one in made] == [
        ["0 9 * * 1-5", None, "Europe/Berlin", "run_once", "planned", {"message": "Write the report"}],
        [None, "2031-02-03T03:05:00.000000+00:00", "Europe/Berlin", "run_once", None, {"message": "Wish them well"}],
    ]


@pytest.mark.behaviour("page.schedules")
async def test_a_schedule_whose_answer_was_lost_is_made_once_and_one_like_it_again(host: RunningHost) -> None:
    """What was typed stays until it is known to be taken."""
    tries = list[str]()

    async def lose_the_first(route: Route) -> None:
        answer = await route.fetch()
        is_post = route.request.method == "POST"
        if is_post:
            tries.append(route.request.headers["idempotency-key"])
        await (route.abort() if is_post and len(tries) == 1 else route.fulfill(response=answer))

    async with browsed(host.origin, LOST) as browser:
        page = await browser.open("#/support?schedules")
        await page.route("**/support/schedules", lose_the_first)
        for number in (1, 2):
            await page.get_by_role("button", name="New schedule").click()
            await page.get_by_label("Cron expression").fill("0 9 * * *")
            await page.get_by_label("Message of each run").fill("Where is A-17?")
            await page.get_by_role("button", name="Create").click()
            if number == 1:
                await page.locator(".planning").get_by_text("The app does not answer.").wait_for()
                await page.get_by_role("button", name="Create").click()
            await expect(page.get_by_label("Cron expression")).to_be_hidden()
            await expect(page.locator(".cards > li")).to_have_count(number)

    assert [tries.index(key) for key in tries] == [0, 0, 2]


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
