"""Tool calls that wait for a person: a run ends with an interrupt, and the next one brings the answers."""

from __future__ import annotations

import pytest

from tests.support.ag_ui import (
    Wired,
    answer,
    folded,
    interrupts,
    joined,
    kinds,
    resume,
    text_of,
    wanted,
)
from tests.support.signer import LINK, signer

pytestmark = pytest.mark.behaviour("ag-ui.interrupts")


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


@pytest.mark.parametrize("reason", ["too much", None])
async def test_a_denied_call_is_not_made(wired: Wired, reason: str | None) -> None:
    (asked,) = interrupts(await wired.run(wanted("call refund 7"), "Clerk"))
    payload = {"approved": False, **({"reason": reason} if reason else {})}
    events = await wired.run(resume(answer(asked["id"], **payload)), "Clerk")
    result = next(one for one in events if one["type"] == "TOOL_CALL_RESULT")

    assert kinds(events)[:2] == ["RUN_STARTED", "TOOL_CALL_RESULT"]
    assert result["toolCallId"] == asked["toolCallId"]
    assert result["content"].startswith("The call was not approved")
    assert result["content"].endswith(reason or "was not made.")
    assert wired.notes == []


async def test_all_interrupts_are_answered_together(wired: Wired) -> None:
    """One alone or a message is refused, and nothing is recorded of it; equal calls are kept apart."""
    asked = interrupts(await wired.run(wanted("call refund 7, refund 7, look 1"), "Clerk"))
    status, error = await wired.refused(resume(answer(asked[0]["id"], approved=True)), "Clerk")
    busy, pending = await wired.refused(wanted("hello", run="r-2"), "Clerk")
    events = await wired.run(
        resume(answer(asked[1]["id"], approved=True), answer(asked[0]["id"], approved=False)), "Clerk"
    )
    results = {one["toolCallId"]: one["content"] for one in events if one["type"] == "TOOL_CALL_RESULT"}

    assert (status, error["code"], busy, pending["code"]) == (400, "not_served", 409, "approvals_pending")
    assert "refund is missing. Send" in error["message"]
    assert results[asked[1]["toolCallId"]] == "refunded 7"
    assert results[asked[0]["toolCallId"]].startswith("The call was not approved")
    assert sum(note.startswith("refund") for note in wired.notes) == 1


async def test_answers_with_a_message_or_with_arguments_that_do_not_fit_are_refused(wired: Wired) -> None:
    (asked,) = interrupts(await wired.run(wanted("call refund 7"), "Clerk"))
    said = {"id": "m", "role": "user", "content": "and hurry"}
    both = await wired.refused(resume(answer(asked["id"], approved=True), messages=[said]), "Clerk")
    edited = await wired.refused(resume(answer(asked["id"], approved=True, editedArgs={"n": 8})), "Clerk")

    assert [status for status, _ in (both, edited)] == [400, 400]
    assert "two runs" in both[1]["message"]
    assert "at $.n the rule 'type' is broken" in edited[1]["message"]
    assert wired.notes == []


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
    wired.app.agents["Clerk"].default_options["tools"] += signer(wired.notes.append).default_options["tools"]  # type: ignore[attr-defined]
    (asked,) = interrupts(await wired.run(wanted("call push 5"), "Clerk"))
    events = await wired.run(resume(answer(asked["id"], approved=True)), "Clerk")

    assert (asked["reason"], asked["message"]) == ("input_required", f"push: sign in to GitHub (repo) at {LINK}")
    assert asked["metadata"] == {"authorization": {"service": "GitHub", "url": LINK, "scopes": ["repo"]}}
    assert asked["responseSchema"]["required"] == ["approved"]
    assert text_of(events) == "told: branch 5 pushed by the app"
