"""What the page shows of an agent's schedules: they are made, listed, paused, resumed and deleted there."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from playwright.async_api import Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, LOST, REFUSED, browsed, ended, for_everybody
from tests.support.running_host import RunningHost

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.schedules")]


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
