"""A thread that goes on from before a run, over the stores: what is left of it, and what is too far back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hosting.core.thread.commands import AcceptRun, Change, Continuation
from hosting.core.thread.events import Accepted
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread.thread_events import Rewound
from hosting.errors import RunNotNewestError
from hosting.http.rewinding import Rewinding
from state.codec import read
from state.extension import host_of
from tests.support.mortal import AGENT, ORIGIN, MortalProcess, World

pytestmark = pytest.mark.behaviour("thread.rewound")

TURNS = 10


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.loop.close()


async def spoken(world: World) -> tuple[list[str], list[str]]:
    """Return the runs of a thread's turns, and the document that stood after each; older turns are archived."""
    process, runs, documents = world.process(), list[str](), list[str]()
    for number in range(TURNS):
        runs.append(await process.say(f"{number} ".ljust(60, "x")))
        documents.append(world.engine.documents["origin"])
    assert 2 < host_of(read(documents[-1])).archived.entries < 2 * TURNS
    return runs, documents


async def state_before(process: MortalProcess, run_id: str, answered: list[str]) -> Rewound:
    """Return the state of the thread before that run, as the process finds it."""
    view = await process.services.threads.view(ORIGIN, process.engine)
    return Rewinding(process.services.archiver).before(view, run_id, answered, 1.0)


async def rewound(process: MortalProcess, runs: list[str]) -> Rewound | None:
    """Return how the thread goes on from before the first of these runs; None where it cannot."""
    try:
        return await state_before(process, runs[0], runs)
    except RunNotNewestError:
        return None


async def goes_on(process: MortalProcess, event: Rewound) -> None:
    """Have a run go on from there, and the entity store what comes of it."""
    log = process.services.log
    accepted = Accepted(
        at=1.0, run_id="new", agent=AGENT, thread_id="origin", fingerprint="f", request=RunRequest(message="again")
    )
    continues = Continuation.of(await log.head(ORIGIN), event)
    decided = await log.execute(ORIGIN, AcceptRun(accepted, 10, continues=continues))
    assert isinstance(decided.outcome, Change), decided.outcome
    await process.deliver("origin", "run", {"run_id": "new", "logged": True})


@pytest.mark.parametrize("turn", [0, TURNS - 4, TURNS - 1])
async def test_what_is_left_is_the_same_whatever_document_was_read(world: World, turn: int) -> None:
    """Also where the entity stored a newer one meanwhile, and moved more to the archive, which is refused before."""
    runs, documents = await spoken(world)
    before = await world.process().entries(ORIGIN)
    archived = host_of(read(documents[-1])).archived.entries
    refused = []
    for document in documents:
        world.engine.documents["origin"] = document
        event = await rewound(world.process(), runs[turn:])
        refused.append(event is None)
        if event is not None:
            other = world.again()
            other.engine.documents["origin"] = documents[-1]
            process = other.process()
            await goes_on(process, event)
            after = await process.entries(ORIGIN)
            assert after[: 2 * turn] == before[: 2 * turn]
            assert [entry.correlation_id for _, entry in after[2 * turn :]] == ["new", "new"]

    assert all(refused) == refused[-1] == (2 * turn < archived)


async def test_a_run_that_is_not_there_is_not_gone_back_to(world: World) -> None:
    await spoken(world)

    with pytest.raises(RunNotNewestError, match="no longer exists"):
        await state_before(world.process(), "nobody", [])
