"""The words that stand before a question in the inbox: what was asked of the agent, and what it said."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, UNWANTED, browsed
from tests.support.app_folder import make_app
from tests.support.orchestrations_app import HOST
from tests.support.running_host import RunningHost

APP = '''
from collections.abc import AsyncIterator

from agent_framework import (
    Agent, BaseChatClient, ChatMiddlewareLayer, ChatResponseUpdate, Content, FunctionInvocationLayer, tool
)

from hosting.app import AgentFunctionApp


class Model(BaseChatClient):
    """Says what it is asked, and then asks for a refund."""

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        told = self._build_response_stream(self._told(messages[-1]))
        return told if stream else told.get_final_response()

    async def _told(self, last) -> AsyncIterator[ChatResponseUpdate]:
        call = Content.from_function_call(f"call-{len(last.text)}", "refund", arguments={"order": "A-17"})
        contents = [call] if last.text == "silent" else [Content.from_text(f"I looked: {last.text}"), call]
        yield ChatResponseUpdate(role="assistant", contents=contents)


class Client(FunctionInvocationLayer, ChatMiddlewareLayer, Model):
    """The model with what agents need of a client."""


@tool(approval_mode="always_require")
def refund(order: str) -> str:
    """Refund an order."""
    return "refunded"


app = AgentFunctionApp(agents=[Agent(Client(), name="payer", tools=[refund])])
'''
HOSTILE = "<img src=x onerror=hacked()> \u202eno"

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.inbox")]


@pytest.fixture(scope="module")
def payer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An agent that says something and asks for a refund, and then for another one."""
    with RunningHost(make_app(tmp_path_factory.mktemp("payer"), APP, host=HOST)) as running:
        yield running


async def test_the_words_before_a_question_stand_with_it(payer: RunningHost) -> None:
    """What was asked and what was said, as text; the end of a long answer, and the start of a long message."""
    long = f"{'a' * 1990} middle {'z' * 1990}"
    messages = {"of-words": f"Refund it. {HOSTILE}", "silent": "silent", "long": long}
    async with browsed(payer.origin) as browser, httpx.AsyncClient(base_url=f"{payer.origin}/api") as client:
        for thread, message in messages.items():
            (await client.post("/agents/payer/run", json={"message": message, "thread_id": thread})).raise_for_status()
        page = await browser.open("#/?approvals")
        await expect(page.locator(".card.ask")).to_have_count(3)
        items = {name: page.get_by_role("listitem").filter(has_text=name) for name in ("of-words", "silent", "long")}
        shown = {name: await item.locator(".words dd").all_text_contents() for name, item in items.items()}
        names = await items["long"].locator(".words dt").all_text_contents()
        unwanted = await page.evaluate(UNWANTED)
        (place,) = [
            f"/agents/payer/threads/{one['thread_id']}/approvals/{one['id']}"
            for one in (await client.get("/approvals")).json()["approvals"]
            if one["thread_id"] == "of-words"
        ]
        (await client.post(place, json={"approved": False})).raise_for_status()
        again = {one["thread_id"]: one for one in (await client.get("/approvals")).json()["approvals"]}

    written = r"<img src=x onerror=hacked()> \u202eno"
    assert shown["of-words"] == [f"Refund it. {written}", f"I looked: Refund it. {written}"]
    assert shown["silent"] == ["silent"]
    assert [len(text) for text in shown["long"]] == [2000, 2000]
    assert (shown["long"][0][:2], shown["long"][1][-2:], names) == ("aa", "zz", ["Asked", "payer said"])
    assert unwanted == []
    assert again["of-words"]["message"] == ""
