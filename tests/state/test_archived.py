"""What a document says of the entries that were moved out of it."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from state.codec import read, write
from state.conversation import (
    append_turn,
    message_count,
    reset,
    with_generation,
    with_lenders,
    without_oldest,
)
from state.extension import Lender, host_of, with_extension
from state.models import Conversation
from tests.support.state_documents import OWN_SCHEMA, a_request, a_response


def talk(turns: int) -> Conversation:
    conversation = read(None)
    for number in range(turns):
        conversation = append_turn(conversation, a_request(f"r{number}"), a_response(f"r{number}", "hi"))
    return conversation


@pytest.mark.behaviour("archive.counts-all")
def test_what_moves_is_counted_where_it_was() -> None:
    """Twice in a row, and after the document was read again."""
    conversation = talk(4)
    since = json.loads(write(conversation))["data"]["conversationHistory"][0]["createdAt"]

    once = read(write(without_oldest(conversation, 2)))
    twice = without_oldest(once, 2)

    assert (host_of(once).archived.entries, host_of(once).archived.messages) == (2, 2)
    archived = host_of(twice).archived
    assert (archived.entries, archived.messages, archived.since) == (4, 4, since)
    assert message_count(twice) == message_count(conversation) == 8
    assert len(twice.data.conversation_history) == 4


LENDER = Lender("origin", "joker.app~origin/0", reset_at=0, generation=3, through=4)


@pytest.mark.behaviour("fork.whole")
def test_a_document_says_who_lends_its_archived_entries_until_it_is_reset() -> None:
    """Also where an older version of the app resets it, which keeps what it does not know. It is one that we write."""
    lent = read(write(with_lenders(with_generation(without_oldest(talk(3), 4), 7), [LENDER])))
    kept = host_of(lent).members["lenders"]

    Draft202012Validator(OWN_SCHEMA).validate(json.loads(write(lent)))
    assert host_of(lent).lenders == (LENDER,)
    forgotten = reset(lent, "reset-1")
    assert "lenders" not in host_of(forgotten).members
    by_older = {**host_of(forgotten).members, "lenders": kept}
    assert host_of(with_extension(forgotten, {"durableAgentHost": by_older})).lenders == ()
