"""Conversations that a process remembers: only ever a short cut to what the stored text says."""

import pytest

from hosting.core.conversations import ParsedDocuments
from hosting.names import Address
from state.codec import read, write
from tests.support.bench import Bench

EMPTY = write(read(None))


FIRST, SECOND, THIRD = (Address.of("Joker", name) for name in ("first", "second", "third"))


def test_a_conversation_is_parsed_once_as_long_as_its_text_stays() -> None:
    """The very object comes back for the very text."""
    stored, conversation = ParsedDocuments(), read(EMPTY)

    stored.remember(FIRST, EMPTY, conversation)

    assert stored.read(FIRST, EMPTY) is conversation
    assert stored.read(SECOND, EMPTY) is not conversation
    assert stored.read(FIRST, EMPTY + " ") is stored.read(FIRST, EMPTY + " ") is not conversation


@pytest.mark.behaviour("service.bounded")
def test_the_longest_unused_documents_make_room() -> None:
    """The bound is in bytes, an empty document takes some too, and one that is written again counts once and as new."""
    stored, first, second = ParsedDocuments(most_bytes=3 * 2048), read(EMPTY), read(EMPTY)
    stored.remember(FIRST, EMPTY, first)
    stored.remember(SECOND, EMPTY, second)
    stored.remember(FIRST, EMPTY, first)

    stored.remember(THIRD, EMPTY, read(EMPTY))

    assert stored.read(FIRST, EMPTY) is first
    assert stored.read(SECOND, EMPTY) is not second


async def test_a_document_that_is_behind_its_log_is_noticed_by_its_text() -> None:
    """As one that was restored: the log's tail is applied to it."""
    bench = Bench()
    await bench.run("one")
    earlier = bench.state
    await bench.run("two")
    bench.state = earlier

    await bench.run("three")
    bench.loop.close()

    assert bench.agent.seen[-1] == ["one", "echo: one", "two", "echo: two", "three"]
    assert len(bench.places()) == 3
