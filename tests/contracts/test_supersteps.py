"""What a superstep of a workflow is to the stores: how many calls to the storage account it costs."""

from __future__ import annotations

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler

from tests.support.azurite import Azurite
from tests.support.made_app import app_of, served
from tests.support.storage_calls import by_kind

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
