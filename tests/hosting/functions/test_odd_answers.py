"""What a model or a tool gives that no store takes: half of a character, values nested too deep, errors in a circle."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

from tests.support.event_stream import parse
from tests.support.made_app import app_of, ask, served

HALF = "\ud83d"
WHOLE = "\ufffd"
DEEP = json.loads("[" * 250 + "]" * 250)
DEEPER = json.loads("[" * 700 + "]" * 700)


class OddModel(BaseChatClient[Any]):
    """Answers a message by these contents, and tells what its tools gave."""

    contents: Sequence[Content] = ()

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        return self._build_response_stream(self._updates(messages)) if stream else self._answer(messages)

    async def _updates(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        for message in (await self._answer(messages)).messages:
            yield ChatResponseUpdate(contents=message.contents, role=message.role)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            return ChatResponse(messages=Message("assistant", [f"told: {newest.contents[0].result}"]))
        if newest.text == "hi":
            return ChatResponse(messages=Message("assistant", ["hello"]))
        return ChatResponse(messages=Message("assistant", list(self.contents)))


class OddClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], OddModel):
    """The odd model with function invocation and middleware."""


@tool
def look(n: object = None) -> str:
    """See something."""
    return f"saw {n if isinstance(n, str) else ''}"


@tool
def dig(n: object = None) -> list[Content]:
    """Find something deep."""
    return [Content.from_text("found", additional_properties={"deep": DEEPER})]


@tool(approval_mode="always_require")
def pay(n: str = "") -> str:
    """Spend something."""
    return f"paid {n}"


def odd_agent(*contents: Content) -> Agent[Any]:
    """Return an agent whose model answers so."""
    client = OddClient()
    client.contents = contents
    return Agent(client, name="Joker", tools=[look, dig, pay])


def calling(name: str, arguments: Any, call_id: str = "c") -> Content:
    """Return a model's call of a tool."""
    return Content.from_function_call(call_id=call_id, name=name, arguments=arguments)


ODD = {
    "a text": (Content.from_text(f"a{HALF}"), f"a{WHOLE}"),
    "an argument": (calling("look", {"n": HALF}), f"told: saw {WHOLE}"),
    "an argument as text": (calling("look", '{"n": "\\ud83d"}'), f"told: saw {WHOLE}"),
    "an argument's name": (calling("look", {HALF: 1}), "told: saw "),
    "a call's id": (calling("look", {"n": "it"}, call_id=f"c{HALF}"), "told: saw it"),
    "a tool's name": (calling(f"look{HALF}", {}), f'told: Error: Requested function "look{WHOLE}" not found.'),
}


@pytest.mark.behaviour("hosting.halves-replaced")
@pytest.mark.parametrize(("given", "told"), ODD.values(), ids=list(ODD))
async def test_half_of_a_character_is_its_replacement_in_what_is_stored_and_sent(given: Content, told: str) -> None:
    """Wherever a model or a tool puts it: the run goes on, and its thread is read."""
    body = {"message": "do", "thread_id": "t"}
    async with served(app_of(odd_agent(given))) as (_, http):
        answer = await http.post("/api/agents/Joker/run", json=body, headers={"accept": "text/event-stream"})
        ended = parse(answer.text)[-1].fields
        kept = await http.get("/api/agents/Joker/threads/t/export")

    assert (ended.get("response"), kept.status_code) == (told, 200)


@pytest.mark.behaviour("service.unstorable")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        (calling("look", {"n": DEEP}), "unstorable_answer"),
        # From Python 3.12 on agent-framework itself gives up on a call that is nested so deep.
        (calling("look", {"n": DEEPER}), "unstorable_answer" if sys.version_info < (3, 12) else "run_failed"),
        (calling("dig", {}), "unstorable_answer"),
    ],
    ids=["deep", "deeper", "a result"],
)
async def test_a_step_that_cannot_be_written_ends_its_run_by_that_name_and_the_process_goes_on(
    given: Content, code: str
) -> None:
    gc.collect()  # what other tests left is not to be told of where the stack has no room for it
    async with served(app_of(odd_agent(given))) as (_, http):
        answer = await ask(http, "do")
        after = await ask(http, "hi")

    assert (answer.status_code, answer.json()["code"]) == (500, code)
    assert (after.status_code, after.json()["response"]) == (200, "hello")
