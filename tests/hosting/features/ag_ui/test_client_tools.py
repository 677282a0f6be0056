"""Tools of the client: a run ends with the calls, and the next one brings their results as messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.ag_ui import Events, Wired, answer, folded, interrupts, joined, kinds, resume, text_of, wanted

pytestmark = pytest.mark.behaviour("ag-ui.client-tools")

WHERE = {
    "name": "where",
    "description": "Where the person is.",
    "parameters": {"type": "object", "properties": {"n": {"type": "string"}}},
}


@pytest.fixture
async def open_wired() -> AsyncIterator[Wired]:
    """One process of the app, whose agents take tools of their clients."""
    wired = Wired(client_tools=True)
    async with wired.http:
        yield wired


def calls_in(events: Events) -> list[str]:
    return [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]


def result(call_id: str, content: str, **more: str) -> dict[str, Any]:
    """Return the client's message with a result."""
    return {"id": f"result-{call_id}", "role": "tool", "toolCallId": call_id, "content": content, **more}


async def test_a_call_ends_the_run_and_its_result_goes_on(open_wired: Wired) -> None:
    """The result is not sent back to the client that has it; the same request again gets the same run."""
    first = wanted("call where 7", tools=[WHERE])
    asking = await open_wired.run(first, "Clerk")
    (call,) = calls_in(asking)
    before = [*folded(asking, first["messages"]), result(call, "here")]
    sent = {**wanted(run="r-2", tools=[WHERE]), "messages": before}

    events, again = [await open_wired.run(sent, "Clerk") for _ in range(2)]
    broken = await open_wired.run({**sent, "messages": folded(events, before)}, "Clerk")

    assert asking[-1]["outcome"] == {"type": "success"}
    assert [event["delta"] for event in asking if event["type"] == "TOOL_CALL_ARGS"] == ['{"n": "7"}']
    assert (text_of(events), events[-1]["outcome"]) == ("told: here", {"type": "success"})
    assert "TOOL_CALL_RESULT" not in kinds(events)
    assert "MESSAGES_SNAPSHOT" not in kinds(events)
    assert joined(again) == joined(events)
    assert broken[1] == {"type": "MESSAGES_SNAPSHOT", "messages": before}
    assert text_of(broken) == "told: here"


async def test_calls_of_all_kinds_are_answered_together(open_wired: Wired) -> None:
    """Approvals by `resume`, results by messages, several at once; the app's own tool is called once."""
    first = wanted("call where 1, look 2, refund 3, where 4", tools=[WHERE])
    asking = await open_wired.run(first, "Clerk")
    one, other, refund = calls_in(asking)
    (asked,) = interrupts(asking)
    before = folded(asking, first["messages"])
    results = [result(one, "here"), result(other, "", error="no signal")]

    status, error = await open_wired.refused({**wanted(run="r-2"), "messages": [*before, results[0]]}, "Clerk")
    sent = resume(answer(asked["id"], approved=True), messages=[*before, *results])
    events = await open_wired.run(sent, "Clerk")

    assert asked["toolCallId"] == refund
    assert (status, error["message"]) == (400, "The answer on refund, where is missing. Send all answers together.")
    assert text_of(events) == "told: here | saw 2 | refunded 3 | Error: no signal"
    assert [note.split()[0] for note in open_wired.notes] == ["look", "refund"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("where", "The field 'tools' is a JSON string."),
        ([5], "tools[0] is a JSON number."),
        ([{**WHERE, "name": "look"}], "tools[0].name is 'look', which is a tool of the agent."),
        ([{**WHERE, "parameters": "none"}], "tools[0].parameters describes no object."),
        (None, "A tool message needs the texts 'toolCallId' and 'content'."),
    ],
)
async def test_wrong_tools_are_refused_with_their_place(open_wired: Wired, tools: Any, said: str) -> None:
    """Also a result of no call."""
    of_no_call: Any = {"messages": [{"id": "t-1", "role": "tool", "content": "here"}]} if tools is None else {}
    status, error = await open_wired.refused(wanted("hello", tools=tools, **of_no_call), "Clerk")

    assert status == 400
    assert said in error["message"]
