"""Callers that leave: a run that nobody watches any more is handed on behind its next step."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from hosting.core.agent.held_run import HeldRun
from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.run import Run
from tests.support.planned import planned_agent
from tests.support.process import Engine, Process, call

LOOKED = ["accepted", "claimed", "model_result", "tool_started", "tool_result"]


class Looking:
    """A process whose agent looks at something, once it is let go on, and then answers."""

    def __init__(self) -> None:
        self.gate, self.looks = threading.Event(), threading.Event()
        agent = planned_agent(self._note, (("look",), "done"))
        self.process = Process(SharedMemory(), MemoryObjects(), Engine(), run=agent)

    def _note(self, text: str) -> None:
        if text.startswith("look"):
            self.looks.set()
            self.gate.wait(5.0)

    async def left(self) -> tuple[Run, HeldRun]:
        run = await self.process.start(call())
        held = self.process.holders.held.get(run.run_id)
        assert held is not None
        while (await self.process.kinds())[-1] != "tool_started":
            await self.process.runs.wait(run, self.process.engine, 0.02)
        return run, held

    async def ended(self, held: HeldRun) -> list[str]:
        self.gate.set()
        await asyncio.wait_for(held.is_over.wait(), 5.0)
        return await self.process.kinds()


@pytest.fixture
def looking() -> Iterator[Looking]:
    looking = Looking()
    yield looking
    looking.gate.set()
    looking.process.loop.close()


@pytest.mark.behaviour("service.callers-leave")
async def test_a_run_whose_last_caller_has_left_is_handed_on_behind_its_next_step(looking: Looking) -> None:
    """What its tool gave is recorded, and the entity goes on from there."""
    run, held = await looking.left()

    assert await looking.ended(held) == [*LOOKED, "released"]
    await looking.process.deliver(run.run_id)
    assert await looking.process.kinds() == [*LOOKED, "released", "claimed", "completed"]


@pytest.mark.behaviour("service.callers-leave")
async def test_a_run_that_its_entity_holds_is_not_handed_on_when_a_caller_leaves(looking: Looking) -> None:
    """Its operation is the invocation that keeps the instance alive."""
    run = await looking.process.start(call(waits=False))
    delivery = asyncio.ensure_future(looking.process.deliver(run.run_id))
    await asyncio.to_thread(looking.looks.wait, 5.0)
    await looking.process.runs.wait(run, looking.process.engine, 0.02)
    looking.gate.set()
    await asyncio.wait_for(delivery, 5.0)

    assert await looking.process.kinds() == [*LOOKED, "completed"]
