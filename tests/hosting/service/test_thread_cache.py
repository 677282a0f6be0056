"""Conversations that a process remembers: only ever a short cut to what the stored text says."""

import pytest

from hosting.service.document_writer import ThreadCache
from state.codec import read, write
from tests.support.bench import Bench

EMPTY = write(read(None))


def test_a_conversation_is_parsed_once_as_long_as_its_text_stays() -> None:
    """The very object comes back for the very text."""
    cache, conversation = ThreadCache(), read(EMPTY)

    cache.keep("k", EMPTY, conversation)

    assert cache.read("k", EMPTY) is conversation
    assert cache.read("other", EMPTY) is not conversation
    assert cache.read("k", EMPTY + " ") is cache.read("k", EMPTY + " ") is not conversation


@pytest.mark.parametrize("bound", [{"most_characters": 2 * len(EMPTY)}, {"most_threads": 2}])
def test_the_longest_unused_conversations_make_room(bound: dict[str, int]) -> None:
    """The bounds are on characters and on threads, and one that is written again counts once and as new."""
    cache, first, second = ThreadCache(**bound), read(EMPTY), read(EMPTY)
    cache.keep("first", EMPTY, first)
    cache.keep("second", EMPTY, second)
    cache.keep("first", EMPTY, first)

    cache.keep("third", EMPTY, read(EMPTY))

    assert cache.read("first", EMPTY) is first
    assert cache.read("second", EMPTY) is not second


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
