"""The text that an agent streams: passed on at once, logged in batches, right by its offset."""

from __future__ import annotations

import asyncio

import pytest
from agent_framework import AgentResponseUpdate, Content

from hosting.core.agent.deltas import BatchPace, DeltaWriter
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread.events import Delta
from hosting.core.thread_log import ThreadLog
from hosting.names import Address
from tests.support.thread_stores import ArmedStore
from tests.support.threads import accept, held_run

ADDRESS = Address.of("Helper", "t1")


class Streaming:
    """One attempt that streams, and the deltas that a follower in its process gets."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.store = ArmedStore(MemoryThreadStore("hub"))
        self.log = ThreadLog(self.store, MemoryObjects(), "hub", patience_seconds=0.01)
        self.streamed: list[tuple[int, str]] = []
        self._seconds = seconds

    async def begin(self) -> Streaming:
        """Claim the run."""
        await self.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
        self.held = await held_run(self.log, ADDRESS)
        self.pace = BatchPace(self._seconds, 1000)
        self.writer = DeltaWriter(self.held, self.pace, lambda at, text, attempt: self.streamed.append((at, text)))
        return self

    async def write(self, *texts: str, is_known: bool = False) -> None:
        """Stream these, and wait until what is logged of them is logged."""
        for text in texts:
            self.writer.write(
                AgentResponseUpdate(contents=[Content.from_text(text)], role="assistant"), is_known=is_known
            )
        for _ in range(20):
            await asyncio.sleep(0)

    async def deltas(self) -> list[tuple[int, str]]:
        """Return the deltas that the log has, with their offsets."""
        return [(e.offset, e.text) for _, e in await self.log.events(ADDRESS, 0) if isinstance(e, Delta)]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.batched")
async def test_the_first_delta_is_logged_at_once_and_the_next_ones_together() -> None:
    streaming = await Streaming().begin()
    await streaming.write("Good ")
    await streaming.write("mor", "ning")

    assert streaming.streamed == [(0, "Good "), (5, "mor"), (8, "ning")]
    assert await streaming.deltas() == [(0, "Good ")]
    assert [(one.offset, one.text) for one in await streaming.writer.close("Good morning")] == [(5, "morning")]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.mended")
async def test_an_answer_that_differs_from_what_was_streamed_replaces_it() -> None:
    streaming = await Streaming().begin()
    await streaming.write("Good morning")

    last = await streaming.writer.close("Good evening")

    assert [(one.offset, one.text) for one in last] == [(5, "evening")]
    assert streaming.streamed[-1] == (5, "evening")


@pytest.mark.behaviour("runner.words")
async def test_an_answer_that_was_logged_whole_is_not_logged_again() -> None:
    streaming = await Streaming().begin()
    await streaming.write("Good")

    assert await streaming.writer.close("Good") == ()
    shorter = await Streaming().begin()
    await shorter.write("Good night")
    assert [(one.offset, one.text) for one in await shorter.writer.close("Good")] == [(4, "")]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.unicode")
async def test_half_a_character_waits_for_its_other_half() -> None:
    streaming = await Streaming().begin()
    await streaming.write("A\ud83d")
    await streaming.write("\ude00!")

    assert streaming.streamed == [(0, "A"), (1, "\U0001f600!")]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.log-down")
async def test_deltas_of_an_append_that_nobody_knows_of_go_again_with_the_end() -> None:
    """Their offset says where they stand, once or twice."""
    streaming = await Streaming().begin()
    streaming.store.is_away = True
    await streaming.write("Good morning")
    await asyncio.sleep(0.05)
    streaming.store.is_away = False

    last = (*streaming.held.unlogged, *await streaming.writer.close("Good morning"))

    assert [(one.offset, one.text) for one in last] == [(0, "Good morning")]
