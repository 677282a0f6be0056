"""Calls that wait: for a person, as an interrupt, or for a tool of the client. The next run brings the answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ag_ui import Wired, answer, folded, interrupts, joined, kinds, resume, text_of, wanted
from tests.support.signer import LINK, signer

INTERRUPTS = pytest.mark.behaviour("ag-ui.interrupts")
CLIENT_TOOLS = pytest.mark.behaviour("ag-ui.client-tools")


@INTERRUPTS
async def test_an_approved_call_is_made_and_its_result_has_the_id_of_the_call(wired: Wired) -> None:
    """The call is not shown again; the answer may be sent again, as that run or as another, which finds it.

    So a client does whose stream broke: what it has of that run it forgets first, and has each message once.
    """
    first = wanted("call refund 7")
    asking = await wired.run(first, "Clerk")
    (asked,) = interrupts(asking)
    before = folded(asking, first["messages"])
    sent = resume(answer(asked["id"], approved=True), messages=before)

    events, again = [await wired.run(sent, "Clerk") for _ in range(2)]
    after = folded(events, before)
    other = await wired.run({**sent, "messages": after[:-1], "runId": "r-3"}, "Clerk")
    results = [event for event in events if event["type"].startswith("TOOL_CALL")]

    assert [(event["type"], event["toolCallId"]) for event in results] == [("TOOL_CALL_RESULT", asked["toolCallId"])]
    assert (results[0]["content"], text_of(events)) == ("refunded 7", "told: refunded 7")
    assert events[-1]["outcome"] == {"type": "success"}
    assert joined(again) == joined(events)
    assert other[0]["runId"] == other[-1]["runId"] == "r-3"
    assert other[1] == {"type": "MESSAGES_SNAPSHOT", "messages": before}
    assert folded(other, after[:-1]) == after
    assert len(wired.notes) == 1


@INTERRUPTS
async def test_equal_calls_are_kept_apart_and_nothing_is_said_before_their_answers(wired: Wired) -> None:
    asked = interrupts(await wired.run(wanted("call refund 7, refund 7, look 1"), "Clerk"))
    busy, pending = await wired.refused(wanted("hello", run="r-2"), "Clerk")
    answers = answer(asked[1]["id"], approved=True), answer(asked[0]["id"], approved=False)
    events = await wired.run(resume(*answers), "Clerk")
    results = {one["toolCallId"]: one["content"] for one in events if one["type"] == "TOOL_CALL_RESULT"}

    assert (busy, pending["code"]) == (409, "approvals_pending")
    assert results[asked[1]["toolCallId"]] == "refunded 7"
    assert results[asked[0]["toolCallId"]].startswith("The call was not approved")
    assert sum(note.startswith("refund") for note in wired.notes) == 1


@INTERRUPTS
async def test_answers_with_a_message_or_with_arguments_that_do_not_fit_are_refused(wired: Wired) -> None:
    (asked,) = interrupts(await wired.run(wanted("call refund 7"), "Clerk"))
    said = {"id": "m", "role": "user", "content": "and hurry"}
    both = await wired.refused(resume(answer(asked["id"], approved=True), messages=[said]), "Clerk")
    edited = await wired.refused(resume(answer(asked["id"], approved=True, editedArgs={"n": 8})), "Clerk")

    assert [status for status, _ in (both, edited)] == [400, 400]
    assert "two runs" in both[1]["message"]
    assert "at $.n the rule 'type' is broken" in edited[1]["message"]
    assert wired.notes == []


@INTERRUPTS
async def test_a_question_of_a_tool_is_an_interrupt_that_takes_a_value(wired: Wired) -> None:
    (street,) = interrupts(await wired.run(wanted("call ship 5"), "Asker"))
    (number,) = interrupts(await wired.run(resume(answer(street["id"], value="Elm")), "Asker"))
    events = await wired.run({**resume(answer(number["id"], value=3)), "runId": "r-3"}, "Asker")

    assert (street["reason"], street["message"]) == ("input_required", "Which street?")
    assert number["responseSchema"]["properties"] == {"value": {"type": "integer"}}
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "5 from shelf of 5 to Elm 3" in text_of(events)


@pytest.mark.behaviour("authorizations.answered")
async def test_a_sign_in_is_an_interrupt_with_the_link(wired: Wired) -> None:
    """As words for any client, and as metadata for one that shows a button."""
    wired.adds_tools(signer(wired.notes.append))
    (asked,) = interrupts(await wired.run(wanted("call push 5"), "Clerk"))

    assert (asked["reason"], asked["message"]) == ("input_required", f"push: sign in to GitHub (repo) at {LINK}")
    assert asked["metadata"] == {"authorization": {"service": "GitHub", "url": LINK, "scopes": ["repo"]}}
    assert asked["responseSchema"]["required"] == ["approved"]


WHERE = {
    "name": "where",
    "description": "Where the person is.",
    "parameters": {"type": "object", "properties": {"n": {"type": "string"}}},
}


def result(call_id: str, content: str, **more: str) -> dict[str, Any]:
    """Return the client's message with a result."""
    return {"id": f"result-{call_id}", "role": "tool", "toolCallId": call_id, "content": content, **more}


@CLIENT_TOOLS
async def test_a_call_ends_the_run_and_its_result_goes_on(open_wired: Wired) -> None:
    """The result is not sent back to the client that has it; the same request again gets the same run.

    A tool that failed has an error.
    """
    first = wanted("call where 7, where 8", tools=[WHERE])
    asking = await open_wired.run(first, "Clerk")
    calls = [event["toolCallId"] for event in asking if event["type"] == "TOOL_CALL_START"]
    results = [result(calls[0], "here"), result(calls[1], "", error="no signal")]
    before = [*folded(asking, first["messages"]), *results]
    sent = {**wanted(run="r-2", tools=[WHERE]), "messages": before}

    events, again = [await open_wired.run(sent, "Clerk") for _ in range(2)]
    broken = await open_wired.run({**sent, "messages": folded(events, before)}, "Clerk")

    assert asking[-1]["outcome"] == {"type": "success"}
    assert [event["delta"] for event in asking if event["type"] == "TOOL_CALL_ARGS"] == ['{"n": "7"}', '{"n": "8"}']
    assert (text_of(events), events[-1]["outcome"]) == ("told: here | Error: no signal", {"type": "success"})
    assert not {"TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT"} & {*kinds(events)}
    assert joined(again) == joined(events)
    assert broken[1] == {"type": "MESSAGES_SNAPSHOT", "messages": before}
    assert text_of(broken) == text_of(events)


@CLIENT_TOOLS
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
