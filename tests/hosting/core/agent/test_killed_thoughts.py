"""A run whose process is killed between its model's thoughts and its text, at every append and on both sides of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hosting.core.broadcast import LoggedEvent
from hosting.core.thread.events import Completed, RunEvent, decode
from hosting.features.responses.fold import ResponseFold
from hosting.options import Reasoning
from tests.support.bench import ADDRESS, Bench
from tests.support.halted_runs import GUARD_SECONDS, HaltingStore
from tests.support.run_events import run_of
from tests.support.thinker import SEALED, Thinker, thinker, thoughts_sent

MOST_APPENDS = 20


class Killed:
    """A streamed run of an agent that thinks, and what its model was sent."""

    def __init__(self, reasoning: Reasoning) -> None:
        self.model = Thinker()
        self.bench = Bench(thinker(self.model), {"AGENT_STREAM_BATCH_SECONDS": "0"}, reasoning=reasoning)
        self.bench.store = self.store = HaltingStore()
        self.bench.restart()

    async def at(self, number: int, when: str, message: str) -> bool:
        """Kill the run at that append, and have another process end it; return False if it has fewer appends."""
        self.store.halts_at = (number, when)
        run_id = await self.bench.open(message, streamed=True)
        delivery = asyncio.create_task(self.bench.signal(run_id))
        halted = asyncio.create_task(self.store.halted.wait())
        await asyncio.wait((delivery, halted), timeout=GUARD_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        is_killed = not delivery.done()
        for task in (delivery, halted):
            task.cancel()
        await asyncio.gather(delivery, halted, return_exceptions=True)
        if is_killed:
            self.store.halts_at = None
            self.bench.restart()
            await asyncio.wait_for(self.bench.signal(run_id), GUARD_SECONDS)
        await asyncio.to_thread(self.bench.loop.close)
        return is_killed

    async def output(self) -> list[Any]:
        """Return the thoughts and the texts of the run, as they are read of its log."""
        events = [(stored.position, decode(stored.payload)) for stored in await self.store.events(ADDRESS, 0)]
        updates = [LoggedEvent(position, event) for position, event in events if isinstance(event, RunEvent)]
        assert isinstance(updates[-1].event, Completed), updates[-1].event
        fold = ResponseFold("Joker", run_of(updates))
        for update in updates:
            fold.next(update)
        parts = {"reasoning": "summary", "message": "content"}
        return [item[parts[item["type"]]][0]["text"] for item in fold.output() if item["type"] in parts]


async def killed_everywhere(reasoning: Reasoning, *, message: str = "look") -> list[Killed]:
    """Return the run as it ended, killed at every append."""
    killed = []
    for when in ("before", "after"):
        for number in range(1, MOST_APPENDS):
            run = Killed(reasoning)
            if not await run.at(number, when, message):
                break
            killed.append(run)
    assert len(killed) > 4
    return killed


@pytest.mark.behaviour("reasoning.killed")
async def test_wherever_its_process_is_killed_each_thought_is_shown_once() -> None:
    """Where it stood, before what follows it; and the model gets it back with what its provider sealed."""
    for run in await killed_everywhere("show"):
        assert await run.output() == ["Let me look.", "It is a door.", "A door."]
        assert thoughts_sent(run.model.sent[-1]) == [("Let me look.", SEALED)]


@pytest.mark.behaviour("reasoning.dropped")
async def test_a_run_that_drops_its_thoughts_goes_on_without_them_in_another_process() -> None:
    """Its records are found again, though they lack what the model thought."""
    for run in await killed_everywhere("drop", message="look again"):
        stored = b"".join(stored.payload for stored in await run.store.events(ADDRESS, 0))
        assert await run.output() == ["A door."]
        assert not any(text in stored for text in (b"Let me", b"It is a", SEALED.encode()))
