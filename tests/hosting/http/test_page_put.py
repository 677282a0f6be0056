"""Messages that were put into a thread, on the page: as what they are, between the turns."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, UNWANTED, WIDER, browsed, faults_of
from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.orchestrations_app import HOST
from tests.support.running_host import RunningHost

SOURCE = """
from hosting.app import AgentFunctionApp, Principal
from tests.support.app.scripted import scripted_agent

NAME = "Ada <b>"


def signed_in(request):
    return Principal("https://login.example", "ada", name=NAME)


app = AgentFunctionApp(agents=[scripted_agent("Joker")], principal=signed_in)
"""
SHOWN = "Put in by Ada <b>, without a run"
TALK = [{"message": "my name is Ada"}, {"role": "assistant", "message": "**Hello**, Ada."}]

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.put")]


@pytest.fixture(scope="module")
def signed_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """One process of an app that knows its one user."""
    with RunningHost(make_app(tmp_path_factory.mktemp("signed"), SOURCE, host=HOST)) as running:
        yield running


async def put(http: httpx.AsyncClient, thread: str, *messages: dict[str, str]) -> None:
    """Put messages into the thread."""
    (await http.post(f"threads/{thread}/messages", json={"messages": [*messages]})).raise_for_status()


async def talk(origin: str, thread: str) -> None:
    """Have a thread of messages that were put in three times, and of a run between them."""
    async with httpx.AsyncClient(base_url=f"{origin}/api/agents/Joker", timeout=GUARD_SECONDS) as http:
        await put(http, thread, *TALK)
        (await http.post("run", json={"message": "one", "thread_id": thread})).raise_for_status()
        await put(http, thread, {"message": "I like trains"})
        await put(http, thread, {"role": "assistant", "message": "Noted."})


@ON_EACH_SCREEN
async def test_messages_that_were_put_in_say_so_and_by_whom(
    signed_host: RunningHost, is_phone: bool, theme: str
) -> None:
    """They are no turn of the agent: nothing of a run is offered for them. The page keeps to axe's rules."""
    thread = f"put-{is_phone}-{theme}"
    await talk(signed_host.origin, thread)
    async with browsed(signed_host.origin, is_phone=is_phone, theme=theme) as browser:
        page = await browser.open(f"#/Joker/{thread}")
        turns = page.locator(".turn")
        await expect(turns).to_have_count(4)
        headings = await turns.locator("h2").all_text_contents()
        put = turns.nth(0)
        await expect(put.locator("h2")).to_be_visible()
        await expect(put.locator(".request")).to_have_text("my name is Ada")
        await expect(put.locator(".markdown strong")).to_have_text("Hello")
        await expect(turns.nth(3).locator(".markdown")).to_have_text("Noted.")
        offered = [await turns.nth(number).get_by_role("button").all_inner_texts() for number in range(2)]
        ratings = await put.get_by_role("button", name="Good answer").count()
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        time = turns.nth(2).locator("time")
        cut = await time.evaluate(
            "one => one.getBoundingClientRect().bottom - one.closest('.turn').getBoundingClientRect().bottom"
        )
        faults, wider, unwanted = await faults_of(page), await page.evaluate(WIDER), await page.evaluate(UNWANTED)

    assert headings == [SHOWN, "A turn of Joker", SHOWN, SHOWN]
    assert ("Regenerate" in offered[0], "Regenerate" in offered[1], ratings) == (False, True, 0)
    assert cut <= 0
    assert (faults, wider, unwanted) == ([], 0, [])


async def test_an_open_page_shows_what_another_puts_in(signed_host: RunningHost) -> None:
    """Without being loaded again, in the order of the thread; also in one that a put begins, and between runs."""
    async with (
        browsed(signed_host.origin, "404 (Not Found)") as browser,
        httpx.AsyncClient(base_url=f"{signed_host.origin}/api/agents/Joker", timeout=GUARD_SECONDS) as http,
    ):
        page = await browser.open("#/Joker/put-meanwhile")
        turns = page.locator(".turn")
        await expect(page.locator("#message")).to_be_editable()
        await put(http, "put-meanwhile", *TALK)
        await expect(turns).to_have_count(1)
        await put(http, "put-meanwhile", {"message": "I like trains"})
        await expect(turns).to_have_count(2)
        (await http.post("run", json={"message": "one", "thread_id": "put-meanwhile"})).raise_for_status()
        await put(http, "put-meanwhile", {"role": "assistant", "message": "Noted."})
        await expect(turns).to_have_count(4)
        headings = await turns.locator("h2").all_text_contents()

    assert headings == [SHOWN, SHOWN, "A turn of Joker", SHOWN]
