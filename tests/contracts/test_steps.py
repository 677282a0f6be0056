"""What steps are to the stores: how many calls to the storage account they cost, and that they go with their thread."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent

from hosting.events import Place
from hosting.identity import new_run_id
from hosting.ports import Deletion, RunLogStore
from hosting.runlog.sqlite import SqliteStore
from tests.contracts.blob_process import everything, store_at
from tests.support.azurite import Azurite
from tests.support.bench import Bench
from tests.support.canary import gone, holds
from tests.support.planned import Plan, planned_agent, planned_client

PLACE = Place("joker", "t")
GUARD_SECONDS = 5.0
OPEN_CLAIM_AND_END = 3
DELETION = Deletion("d", "digest")
CANARIES = ("needs tools", "canary-result", "canary-error")


async def run_on(store: RunLogStore, agent: Agent[Any]) -> None:
    """Take one turn over the store."""
    bench: Any = Bench(agent)
    bench.store = store
    bench.restart()
    await bench.signal(await bench.open("go", new_run_id(PLACE)))
    await asyncio.to_thread(bench.loop.close)


@pytest.mark.slow
@pytest.mark.behaviour("journal.storage-calls")
@pytest.mark.parametrize(
    ("plan", "steps"),
    [
        (("done",), 0),
        ((("add",), "done"), 2),
        ((("add",),) * 5 + ("done",), 10),
        ((("add", "look", "slow"), "done"), 4),
    ],
)
async def test_a_step_costs_one_storage_call(azurite: Azurite, plan: Plan, steps: int) -> None:
    """A model's answer that calls tools is a step, and so is a tool call; a run without them costs nothing more."""
    store = store_at(azurite.connection_string, f"test-{uuid.uuid4().hex}")
    await store.read("warm")
    position = azurite.position()

    await run_on(store, planned_agent(lambda _: None, plan))

    assert len(azurite.calls_since(position)) == OPEN_CLAIM_AND_END + steps
    await store.close()


def indiscreet_agent() -> Agent[Any]:
    """Return an agent whose model, tool and failing tool all say one of the canaries."""

    def tell(n: str) -> str:
        return "canary-result"

    def fail(n: str) -> str:
        raise ValueError("canary-error")

    client = planned_client(lambda _: None, (("tell",), ("fail",), "done"), speaks=True)
    return Agent(client, name="Joker", tools=[tell, fail])


@pytest.mark.behaviour("journal.erased")
async def test_what_steps_held_is_in_no_file_once_the_thread_is_deleted(tmp_path: Path) -> None:
    """Neither what the model said to call tools, nor what tools gave, nor why they failed."""
    store = SqliteStore(tmp_path / "runs.sqlite")
    await run_on(store, indiscreet_agent())
    assert all(holds(tmp_path, word.encode()) for word in CANARIES)

    await store.mark_deleting(PLACE, DELETION.id)
    await store.erase(PLACE, DELETION)

    for word in CANARIES:
        await asyncio.wait_for(gone(tmp_path, word.encode()), GUARD_SECONDS)
    await store.close()


@pytest.mark.slow
@pytest.mark.behaviour("journal.erased")
async def test_what_steps_held_is_in_no_blob_once_the_thread_is_deleted(azurite: Azurite) -> None:
    """The blob of a run is emptied, not only hidden."""
    container = f"test-{uuid.uuid4().hex}"
    store = store_at(azurite.connection_string, container)
    await run_on(store, indiscreet_agent())
    before = str(await everything(azurite, container))
    assert all(word in before for word in CANARIES)

    await store.mark_deleting(PLACE, DELETION.id)
    await store.erase(PLACE, DELETION)

    after = str(await everything(azurite, container))
    assert not any(word in after for word in CANARIES)
    await store.close()
