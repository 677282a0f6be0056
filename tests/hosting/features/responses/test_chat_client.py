"""agent-framework's own client of the protocol: an agent elsewhere whose model is an agent here."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agent_framework import Agent, Content, Message, tool
from agent_framework.exceptions import ChatClientException
from agent_framework_openai import OpenAIChatClient
from pydantic import BaseModel

from tests.hosting.features.responses.wired import Wired
from tests.support.openai_wires import DECLARED_BY_EACH, Wires

pytestmark = pytest.mark.behaviour("responses.chat-client")


@pytest.mark.timeout(20)
async def test_it_chats_streams_and_waits_in_the_background(wired: Wired) -> None:
    """One thread here for a session there. It is asked to run none of the calls that were made here."""
    client = OpenAIChatClient(model="Joker", async_client=wired.openai)
    agent = Agent(client, name="remote")
    session = agent.create_session()
    first = await agent.run("my name is Ada", session=session)
    second = await agent.run("recall", session=session)
    options: Any = {"stream_options": {"include_obfuscation": False}}
    stream = agent.run("tool thread_name", stream=True, options=options)
    kinds = {content.type async for update in stream for content in update.contents}
    begun = ended = await client.get_response([Message("user", ["say hello"])], options={"background": True})
    while (token := ended.continuation_token) is not None:
        await asyncio.sleep(0)  # without a socket nothing else lets the run go on
        ended = await client.get_response([Message("user", ["say hello"])], options={"continuation_token": token})

    assert (first.text, second.text) == ("echo: my name is Ada", "my name is Ada | recall")
    assert (second.usage_details or {}).get("total_token_count") == 7
    assert {"mcp_server_tool_call", "mcp_server_tool_result", "text"} <= kinds
    assert (begun.continuation_token is not None, ended.text) == (True, "hello")


async def test_it_approves_a_tool_call(wired: Wired) -> None:
    client = OpenAIChatClient(model="Clerk", async_client=wired.openai)
    waits = await client.get_response([Message("user", ["call refund 7"])])
    request = next(one for one in waits.messages[0].contents if one.type == "function_approval_request")
    assert request.function_call is not None
    answer = Content.from_function_approval_response(True, str(request.id), request.function_call)
    made = await client.get_response([Message("user", [answer])], options={"conversation_id": waits.conversation_id})

    assert made.text == "told: refunded 7"
    assert len(wired.notes) == 1


async def test_it_raises_its_own_error_for_what_is_refused(wired: Wired) -> None:
    """With our sentence; a run that failed is an answer."""
    client = OpenAIChatClient(model="Joker", async_client=wired.openai)

    with pytest.raises(ChatClientException, match=r"Probabilities of tokens are not supported\."):
        await client.get_response([Message("user", ["hello"])], options={"top_logprobs": 1})
    assert (await client.get_response([Message("user", ["fail"])])).text == ""


class Said(BaseModel):
    """What an agent is to answer."""

    n: int


@pytest.mark.parametrize("store", [None, False])
async def test_its_agent_runs_local_tools_over_several_turns(store: bool | None) -> None:
    """Whether the conversation is here, or with the agent alone."""
    places: list[str] = []

    @tool
    def where(n: str) -> str:
        """Where the person is."""
        places.append(n)
        return f"at {n}"

    wired = Wired(client_tools=True)
    async with wired.http, wired.openai:
        client = OpenAIChatClient(model="Clerk", async_client=wired.openai)
        options: Any = {} if store is None else {"store": store}
        agent = Agent(client, name="Local", tools=[where], default_options=options)
        session = agent.create_session()
        answers = [(await agent.run(text, session=session)).text for text in ("call where 1, where 2", "thanks")]
        words = [update.text async for update in agent.run("call where 3", stream=True)]

    assert answers[0].endswith("told: at 1 | at 2")
    assert answers[1] == "echo: thanks"
    assert "".join(words).endswith("told: at 3")
    assert places == ["1", "2", "3"]


async def test_it_sends_a_picture_and_parses_a_format_into_its_type(wired: Wired) -> None:
    """And has the metadata of the request again."""
    client = OpenAIChatClient(model="Joker", async_client=wired.openai)
    picture = Content.from_uri("data:image/png;base64,iVBORw0KGgo=", media_type="image/png")
    seen = await client.get_response([Message("user", [Content.from_text("see"), picture])])
    options: Any = {"response_format": Said, "metadata": {"mine": "x"}}
    parsed: Any = await client.get_response([Message("user", ['say {"n": 9}'])], options=options)

    assert seen.text == "user text:see data:data:image/png;base64,iVBORw0KGgo="
    assert parsed.value == Said(n=9)
    assert parsed.additional_properties["mine"] == "x"


async def test_its_options_are_the_models() -> None:
    """By agent-framework's names, as far as the agent lets callers choose."""
    wires = Wires(DECLARED_BY_EACH, client_tools=True)

    @tool
    def where(n: str) -> str:
        """Where the person is."""
        return f"at {n}"

    async with wires.http:
        client = OpenAIChatClient(model="Joker", async_client=wires.openai)
        options: Any = {
            "temperature": 0.5,
            "top_p": 0.5,
            "max_tokens": 5,
            "verbosity": "low",
            "reasoning": {"effort": "low"},
            "instructions": "Be brief.",
            "tools": [where],
            "tool_choice": "required",
            "allow_multiple_tool_calls": False,
        }
        answer = await client.get_response([Message("user", ["hello"])], options=options)

    assert json.loads(answer.text) == {
        "allow_multiple_tool_calls": False,
        "instructions": "Be brief.",
        "max_tokens": 5,
        "reasoning_effort": "low",
        "temperature": 0.5,
        "tool_choice": "required",
        "top_p": 0.5,
        "verbosity": "low",
    }
