"""An engine that takes a signal and whose answer never comes: what was done by then is answered, and nothing refused.

That is what a process sees that was stopped between the two, as a machine is that sleeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.events import Cancelled, Completed
from hosting.core.thread.run import Run
from hosting.errors import EngineUnavailableError
from tests.support.mortal import ORIGIN, World
from tests.support.process import ADDRESS, AGENT, Engine, Process, call

pytestmark = pytest.mark.behaviour("service.late-answers")

GUARD_SECONDS = 5.0
Processes = tuple[Process, Process]


class LateEngine(Engine):
    """Takes signals, and its answer is lost; `meanwhile` is awaited once before that is noticed."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        await super().signal(entity, key, operation, value)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await asyncio.wait_for(meanwhile(), GUARD_SECONDS)
            raise EngineUnavailableError("The durable engine cannot be reached.")


@pytest.fixture
def processes() -> Iterator[Processes]:
    shared, attachments, engine = SharedMemory(), MemoryObjects(), LateEngine()
    stopped = Process(shared, attachments, engine, holding={"poll_seconds": 60})
    both = (stopped, Process(shared, attachments, engine))
    yield both
    for process in both:
        process.loop.close()


def delivered(process: Process) -> Callable[[], Awaitable[object]]:
    async def deliver() -> None:
        assert isinstance(process.engine, Engine)
        _, order = process.engine.signals[-1]
        await process.deliver(str(order["run_id"]))

    return deliver


def late(processes: Processes, meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
    engine = processes[0].engine
    assert isinstance(engine, LateEngine)
    engine.meanwhile = meanwhile or delivered(processes[1])


def answer_of(run: Run) -> str:
    assert isinstance(run.end, Completed)
    return str(run.end.entry["messages"][0]["contents"][0]["text"])


@pytest.mark.parametrize("waits", [False, True])
async def test_a_run_that_ended_on_its_entity_is_answered_and_not_taken_back(
    processes: Processes, *, waits: bool
) -> None:
    """Whether or not the process that was stopped held it."""
    late(processes)

    run = await processes[0].start(call(waits=waits))

    assert answer_of(run) == "echo: hi"
    assert [len(process.agent.turns) for process in processes] == [0, 1]


@pytest.mark.parametrize("what", ["find", "cancel", "key"])
async def test_whoever_asks_for_a_run_that_ended_meanwhile_gets_its_end(processes: Processes, what: str) -> None:
    """By its id or its key, to read it or to cancel it."""
    stopped = processes[0]
    run = await stopped.start(call(waits=False, key="k"))
    late(processes)

    if what == "key":
        found = (await stopped.runs.start(AGENT, call(waits=False, key="k"), stopped.caller)).run
    else:
        found = await getattr(stopped.runs, what)(ADDRESS, run.run_id, stopped.engine)

    assert found.run_id == run.run_id
    assert isinstance(found.end, Cancelled if what == "cancel" else Completed)


async def test_a_signal_of_which_nothing_shows_that_it_was_taken_is_refused(processes: Processes) -> None:
    stopped = processes[0]
    late(processes, lambda: asyncio.sleep(0))

    with pytest.raises(EngineUnavailableError):
        await stopped.start(call(waits=False, key="k"))

    assert (await stopped.kinds())[-1] == "cancelled"


async def test_a_fork_that_stands_is_answered_whether_or_not_its_signal_was_taken() -> None:
    """Whoever is refused one makes another. The sweep has its document stored."""
    world = World()
    process = world.process()
    await process.say("hi")
    process.engine = Away(process.engine)

    forked = await process.fork()
    assert world.engine.signals == []
    world.clock.now += 86_400.0
    await world.process().sweep()
    world.loop.close()

    assert set(world.engine.documents) == {ORIGIN.thread_id, forked.thread_id}


class Away:
    """An engine that takes no signals, and answers what it has."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def read(self, entity: str, key: str) -> str | None:
        return await self._engine.read(entity, key)

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        raise EngineUnavailableError("The durable engine cannot be reached.")
