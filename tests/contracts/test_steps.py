"""What steps are to the stores: how many calls to the storage account they cost, and that they go with their thread."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, Executor, Workflow, WorkflowBuilder, WorkflowContext, handler

from hosting.core.stores.contract import ThreadStore
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.storage_account import table_account
from hosting.core.stores.tables import TablesThreadStore
from hosting.core.thread.commands import DeleteThread
from tests.support.azurite import Azurite
from tests.support.canary import gone, holds
from tests.support.cluster.cluster import HUB, AppProcess, Cluster
from tests.support.made_app import app_of, served
from tests.support.planned import Plan, planned_agent, planned_client
from tests.support.storage_calls import by_kind

GUARD_SECONDS = 5.0
ACCEPT_CLAIM_AND_END = 3
READS = {"read": 3, "list": 1}
"""The head is read before the acceptance, the claim and the answer; events before the claim."""
CANARIES = ("needs tools", "canary-result", "canary-error")


async def run_on(store: ThreadStore, agent: Agent[Any]) -> AppProcess:
    """Take one turn over the store; return the process that took it."""
    process = Cluster(lambda: agent).process()
    process.store.inner = store
    await process.run("go")
    return process


@pytest.fixture
def hub() -> str:
    """A task hub of the test's own."""
    return f"T{uuid.uuid4().hex[:10]}"


@pytest.fixture
async def tables(azurite: Azurite, hub: str) -> AsyncIterator[TablesThreadStore]:
    """The store of the hub, in the account's tables."""
    store = TablesThreadStore(table_account({"AzureWebJobsStorage": azurite.connection_string}, "TEST"), hub)
    yield store
    await store.close()


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
async def test_a_step_costs_one_storage_call(
    azurite: Azurite, tables: TablesThreadStore, plan: Plan, steps: int
) -> None:
    """A model's answer that calls tools is a step, and so is a tool's result; a run without them costs nothing more."""
    await run_on(tables, planned_agent(lambda _: None, ("warm",)))
    position = azurite.position()

    await run_on(tables, planned_agent(lambda _: None, plan))

    assert by_kind(azurite.calls_since(position)) == {"write": ACCEPT_CLAIM_AND_END + steps, **READS}


def indiscreet_agent() -> Agent[Any]:
    """Return an agent whose model, tool and failing tool all say one of the canaries."""

    def tell(n: str) -> str:
        return "canary-result"

    def fail(n: str) -> str:
        raise ValueError("canary-error")

    client = planned_client(lambda _: None, (("tell",), ("fail",), "done"), speaks=True)
    return Agent(client, name="Joker", tools=[tell, fail])


async def delete(process: AppProcess) -> None:
    """Delete the thread, as its entity does."""
    await process.log.execute(process.address(), DeleteThread(process.cluster.wall()))
    await process.operate({"logged": True}, "delete")


@pytest.mark.behaviour("journal.erased")
async def test_what_steps_held_is_in_no_file_once_the_thread_is_deleted(tmp_path: Path) -> None:
    """Neither what the model said to call tools, nor what tools gave, nor why they failed."""
    store = SqliteThreadStore(tmp_path / "log.sqlite", HUB)
    process = await run_on(store, indiscreet_agent())
    assert all(holds(tmp_path, word.encode()) for word in CANARIES)

    await delete(process)

    for word in CANARIES:
        await asyncio.wait_for(gone(tmp_path, word.encode()), GUARD_SECONDS)
    await store.close()


SMALL, LARGE = 10, 100_000
"""Bytes in the state of the workflow: the larger one makes its checkpoint larger than an event in the log may be."""


def counting() -> Workflow:
    """Return a workflow that counts down what comes first in its message, and keeps as many bytes as come second."""

    class Counting(Executor):
        @handler
        async def count(self, left: list[int], ctx: WorkflowContext[list[int], str]) -> None:
            ctx.set_state("kept", f"{left[0]:0{left[1]}}")
            if left[0]:
                await ctx.send_message([left[0] - 1, left[1]])
            else:
                await ctx.yield_output("done")

    executor = Counting("counting")
    builder = WorkflowBuilder(name="Counting", start_executor=executor, max_iterations=100)
    return builder.add_edge(executor, executor).build()


@pytest.mark.slow
@pytest.mark.behaviour("workflows.costs")
@pytest.mark.parametrize(("kept", "writes"), [(SMALL, 1), (LARGE, 2)])
async def test_a_superstep_costs_one_storage_call_and_a_large_one_two(azurite: Azurite, kept: int, writes: int) -> None:
    """An append, and what its checkpoint puts beside the log. What is read depends on the run's time alone."""
    account = {"AzureWebJobsStorage": azurite.connection_string, "AGENT_LOG": "tables", "AGENT_ATTACHMENTS": "blob"}
    made = []
    async with served(app_of(workflow=counting, environ=account)) as (_, http):
        for supersteps in (1, 3, 23):  # the first makes what is made once
            position = azurite.position()
            answer = await http.post("/api/workflows/Counting/run", json={"input": [supersteps, kept]})
            assert answer.json()["response"] == "done", answer.text
            made.append(by_kind(azurite.calls_since(position)))

    assert made[2]["write"] - made[1]["write"] == 20 * writes
    assert made[2]["list"] == made[1]["list"]
