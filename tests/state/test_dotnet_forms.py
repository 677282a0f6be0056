"""Each form that Microsoft's .NET package writes, read here and taken over in the middle of a thread of ours.

`golden/forms/dotnet.tsv` has one document a line: its name, what a model gets of it, and the document as .NET writes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from state.codec import read, write
from state.conversation import (
    append_turn,
    exchanges,
    message_count,
    response_of,
    response_text,
    session_state,
    with_log_mark,
    without_oldest,
)
from state.extension import LogMark, host_of
from state.models import Conversation
from tests.support.dotnet_reader import faults
from tests.support.dotnet_writer import entries_of, rewritten
from tests.support.state_documents import GOLDEN, NOON, a_request, a_response, conversation_of, history_messages

LINES = (GOLDEN / "forms" / "dotnet.tsv").read_text("utf-8").split("\n")[:-1]
FORMS = {name: (json.loads(reads), text) for name, reads, text in (line.split("\t") for line in LINES)}
FEWEST = 63
SESSION = {"notes": {"price": 1.1, "é": ["<b>"]}}

each_form = pytest.mark.parametrize("name", FORMS)


@pytest.mark.behaviour("state.interoperates")
def test_every_form_of_dotnet_is_a_document_by_its_rules() -> None:
    """.NET reads each and writes it again as the same text, letter for letter."""
    assert len(FORMS) == len(LINES) >= FEWEST
    assert [name for name, (_, text) in FORMS.items() if rewritten(text) != text] == []


@pytest.mark.behaviour("state.golden")
@pytest.mark.behaviour("state.interoperates")
@each_form
def test_a_form_of_dotnet_reads_as_it_always_has_and_is_written_back(name: str) -> None:
    """The model gets the same messages as ever, and nothing of the document is lost: no digit, time or order."""
    reads_as, text = FORMS[name]

    conversation = read(text)

    assert as_the_model_gets(conversation) == reads_as
    back = write(conversation)
    assert rewritten(back) == text
    assert write(read(back)) == back


@pytest.mark.behaviour("state.interoperates")
@pytest.mark.behaviour("state.portable")
@each_form
def test_a_thread_goes_on_after_a_form_of_dotnet_and_back(name: str) -> None:
    """Ours, theirs, ours, theirs: their entries stay as they wrote them, and all that is ours is kept."""
    reads_as, text = FORMS[name]
    ours = a_thread_of_ours()
    theirs = entries_of(text)

    first = rewritten(write(ours), *theirs)
    again = append_turn(read(first), a_request("r2", "three"), a_response("r2", "four"))
    second = rewritten(write(again), *a_turn_of_dotnet("n2", "five", "six"))
    last = read(second)

    assert faults(write(again), first) == []
    assert [m.text for m in history_messages(last) if m.text][-4:] == ["three", "four", "five", "six"]
    replayed = as_the_model_gets(last)
    assert replayed[len(as_the_model_gets(ours)) : -4] == reads_as
    kept = entries_of(second)
    assert rewritten('{"schemaVersion":"1.1.0","data":{"conversationHistory":[]}}', *kept[4:-4]) == rewritten(
        '{"schemaVersion":"1.1.0","data":{"conversationHistory":[]}}', *theirs
    )
    ids = [entry["correlationId"] for entry in theirs]
    assert [e.correlation_id for e in exchanges(last)] == ["a1", "a1", "r1", "r1", *ids, "r2", "r2", "n2", "n2"]
    assert ledger(last) == ["a0", "a1", "r1", "r2"]
    assert session_state(last) == SESSION
    assert (host_of(last).archived, host_of(last).log_mark) == (host_of(ours).archived, LogMark(0, 9, 9))
    assert message_count(last) == message_count(ours) + message_count(read(text)) + 4
    answer = response_of(last, "r1")
    assert answer is not None
    assert response_text(answer) == "It is <sunny>."


def a_thread_of_ours() -> Conversation:
    """Return one with an archived turn, a ledger, a session and a place in its log."""
    old = conversation_of(*((a_request(f"a{n}", f"old {n}"), a_response(f"a{n}", f"done {n}")) for n in range(2)))
    turn = (a_request("r1", "Grüße"), a_response("r1", "It is <sunny>."))
    ours = append_turn(without_oldest(old, 2), *turn, session=SESSION)
    return with_log_mark(ours, LogMark(0, 9, 9))


def a_turn_of_dotnet(run_id: str, text: str, answer: str) -> list[dict[str, Any]]:
    """Return the entries of a turn as .NET makes them."""
    entry = {"correlationId": run_id, "createdAt": NOON}
    return [
        {"$type": "request", "responseType": "text", **entry, "messages": [a_message("user", text)]},
        {"$type": "response", **entry, "messages": [a_message("assistant", answer)]},
    ]


def a_message(role: str, text: str) -> dict[str, Any]:
    """Return a message with one text."""
    return {"contents": [{"$type": "text", "text": text}], "role": role}


def as_the_model_gets(conversation: Conversation) -> list[str]:
    """Return the messages that are sent to a model."""
    parts = [
        (m.role, [str(c.text) if c.type == "text" else c.type for c in m.contents])
        for m in history_messages(conversation)
    ]
    return [f"{role}: {' '.join(texts)}" for role, texts in parts]


def ledger(conversation: Conversation) -> list[str]:
    """Return the ids that are applied."""
    return list(json.loads(write(conversation))["data"]["extensionData"]["durableAgentHost"]["applied"])
