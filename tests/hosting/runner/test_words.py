"""What an agent says: heard at once, logged in batches, right by its offset."""

from __future__ import annotations

import asyncio

import pytest
from agent_framework import AgentResponseUpdate, Content

from hosting.address import Address
from hosting.attachments.memory import MemoryAttachments
from hosting.runner.journal import Journal
from hosting.runner.lease import Lease
from hosting.runner.words import Pace, Words
from hosting.stores.memory import MemoryThreadStore
from hosting.stores.thread_log import ThreadLog
from hosting.thread.events import Delta
from hosting.thread.run import run_record
from tests.support.thread_stores import ArmedStore
from tests.support.threads import accept

ADDRESS = Address.of("Helper", "t1")


class Speaker:
    """One attempt that speaks, and what a follower in its process hears."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.store = ArmedStore(MemoryThreadStore("hub"))
        self.log = ThreadLog(self.store, MemoryAttachments(), "hub", patience_seconds=0.01)
        self.heard: list[tuple[int, str]] = []
        self._seconds = seconds

    async def begin(self) -> Speaker:
        """Claim the run."""
        await self.log.ask(ADDRESS, accept("r1", claimed=True), is_new=True)
        record = run_record("r1", await self.log.events(ADDRESS, 0))
        assert record is not None
        self.journal = Journal(self.log, ADDRESS, record, "token-r1", Lease(), told=lambda asked: None)
        pace = Pace(self._seconds, 1000)
        self.words = Words(self.journal, pace, lambda at, text: self.heard.append((at, text)), lambda: None)
        return self

    async def say(self, *texts: str, is_known: bool = False) -> None:
        """Say something, and let what is logged of it be logged."""
        for text in texts:
            self.words.hear(
                AgentResponseUpdate(contents=[Content.from_text(text)], role="assistant"), is_known=is_known
            )
        for _ in range(20):
            await asyncio.sleep(0)

    async def deltas(self) -> list[tuple[int, str]]:
        """Return the words that the log has, with their offsets."""
        return [(e.offset, e.text) for _, e in await self.log.events(ADDRESS, 0) if isinstance(e, Delta)]


@pytest.mark.behaviour("runner.words")
async def test_the_first_words_are_logged_at_once_and_the_next_ones_together() -> None:
    """Each is heard as it comes."""
    speaker = await Speaker().begin()
    await speaker.say("Good ")
    await speaker.say("mor", "ning")

    assert speaker.heard == [(0, "Good "), (5, "mor"), (8, "ning")]
    assert await speaker.deltas() == [(0, "Good ")]
    assert [(one.offset, one.text) for one in await speaker.words.close("Good morning")] == [(5, "morning")]


@pytest.mark.behaviour("runner.words")
async def test_an_answer_that_differs_from_what_was_said_takes_its_place() -> None:
    """From the first character on that is another."""
    speaker = await Speaker().begin()
    await speaker.say("Good morning")

    last = await speaker.words.close("Good evening")

    assert [(one.offset, one.text) for one in last] == [(5, "evening")]
    assert speaker.heard[-1] == (5, "evening")


@pytest.mark.behaviour("runner.words")
async def test_an_answer_that_was_logged_whole_is_not_logged_again() -> None:
    """Nor one that is shorter left longer."""
    speaker = await Speaker().begin()
    await speaker.say("Good")

    assert await speaker.words.close("Good") == ()
    shorter = await Speaker().begin()
    await shorter.say("Good night")
    assert [(one.offset, one.text) for one in await shorter.words.close("Good")] == [(4, "")]


@pytest.mark.behaviour("runner.words")
async def test_words_of_a_recorded_model_answer_are_neither_heard_nor_logged_again() -> None:
    """What follows them stands behind them."""
    speaker = await Speaker().begin()
    await speaker.say("Let me see. ", is_known=True)
    await speaker.say("Rain")

    assert speaker.heard == [(12, "Rain")]
    assert await speaker.deltas() == [(12, "Rain")]


@pytest.mark.behaviour("runner.words")
async def test_half_a_character_waits_for_its_other_half() -> None:
    """Models may cut a text anywhere."""
    speaker = await Speaker().begin()
    await speaker.say("A\ud83d")
    await speaker.say("\ude00!")

    assert speaker.heard == [(0, "A"), (1, "\U0001f600!")]


@pytest.mark.behaviour("runner.words")
async def test_words_of_an_append_that_nobody_knows_of_go_again_with_the_end() -> None:
    """Their offset says where they stand, once or twice."""
    speaker = await Speaker().begin()
    speaker.store.is_away = True
    await speaker.say("Good morning")
    await asyncio.sleep(0.05)
    speaker.store.is_away = False

    last = speaker.journal.unlogged(await speaker.words.close("Good morning"))

    assert [(one.offset, one.text) for one in last] == [(0, "Good morning")]
