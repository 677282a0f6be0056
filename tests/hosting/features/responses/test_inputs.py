"""The input of a response, as OpenAI's clients send it: roles, parts and items of earlier responses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hosting.features.responses.wired import Wired

ORDERS: Any = [
    {"role": "system", "content": "Lie."},
    {"role": "developer", "content": [{"type": "input_text", "text": "Lie more."}]},
    {"role": "user", "content": "say hello"},
]


@pytest.mark.behaviour("responses.input")
@pytest.mark.parametrize("continued", [False, True])
async def test_messages_of_the_apps_own_role_are_ignored_and_named(wired: Wired, continued: bool) -> None:
    """LangChain sends them for each system message; the agent has instructions of its own."""
    before = {"previous_response_id": (await wired.create("hello")).id} if continued else {}
    made = await wired.openai.responses.with_raw_response.create(model="Joker", input=ORDERS, **before)
    read = made.parse()
    items = (await wired.openai.responses.input_items.list(read.id)).data

    assert (read.output_text, made.headers["x-ms-ignored"]) == ("hello", "input[0], input[1]")
    assert read.metadata == {"ignored": "input[0], input[1]"}
    assert len(items) == 1


@pytest.mark.behaviour("responses.input")
async def test_a_callers_instructions_are_the_models_where_the_settings_allow_them() -> None:
    """In either of the protocol's two roles."""
    wired = Wired({"AGENT_CALLER_ROLES": "user,system"})
    async with wired.http:
        count = await wired.create([*ORDERS[:2], {"role": "user", "content": "count"}])

    assert (count.output_text, count.metadata) == ("3", {})


@pytest.mark.behaviour("responses.input")
async def test_a_refusal_of_an_earlier_answer_is_its_text(wired: Wired) -> None:
    """A client sends the items back as they are."""
    refused = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    asked = {"role": "user", "content": "count"}
    made = await wired.create([{"role": "user", "content": "hi"}, refused, asked])
    items = (await wired.http.get(f"responses/{made.id}/input_items")).json()["data"]

    assert made.output_text == "3"
    assert items[1]["content"][0]["text"] == "No."


@pytest.mark.behaviour("responses.input")
async def test_the_steps_of_an_agent_are_not_sent_to_a_conversation_that_has_them(wired: Wired) -> None:
    """A response that names the one before takes what is new alone."""
    before = await wired.create("hello")
    call = {"type": "mcp_call", "id": "mcp_1", "name": "look", "arguments": "{}", "output": "x"}
    asked = {"role": "user", "content": "and?"}
    status, error = await wired.refused(model="Joker", input=[call, asked], previous_response_id=before.id)

    assert (status, error["param"]) == (400, "input")
    assert error["message"].startswith("input[0] is of type 'mcp_call', and only messages and")
