"""A workflow that goes round as often as it is told, with as many bytes in its state."""

from __future__ import annotations

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler

MOST_ROUNDS = 2000


class Round(Executor):
    """Counts down."""

    @handler
    async def count(self, left: list[int], ctx: WorkflowContext[list[int], str]) -> None:
        """Take the rounds that are left, and the bytes that the state is to have."""
        ctx.set_state("kept", "x" * left[1])
        if left[0]:
            await ctx.send_message([left[0] - 1, left[1]])
        else:
            await ctx.yield_output("done")


def counting_workflow() -> Workflow:
    """Return the workflow `counting`: one executor with an edge to itself."""
    executor = Round("round")
    builder = WorkflowBuilder(name="counting", start_executor=executor, max_iterations=MOST_ROUNDS)
    return builder.add_edge(executor, executor).build()
