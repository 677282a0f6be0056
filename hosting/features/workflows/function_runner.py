"""One attempt of one run of a functional workflow: the framework's own runtime, made anew for the attempt.

Theory. The framework gives out the events of a function when it has ended, so nothing is decided by them here. What has
to be recorded is recorded as it happens (`FunctionSteps`). The calls of agents are recorded like those of agents that
are tools: known by the step, or the function itself, and their order there.
"""

from __future__ import annotations

from typing import Any

from agent_framework import FunctionalWorkflow

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.connections import tool_servers
from hosting.core.agent.framework import agents_within, keeps_journal
from hosting.core.agent.step_recorder import StepRecorder
from hosting.core.agent.steps import attach_steps
from hosting.features.workflows.answer import WorkflowAnswer
from hosting.features.workflows.function_steps import FunctionSteps
from hosting.features.workflows.functional import decorated, errors_of, idempotent_steps, types_of
from hosting.features.workflows.runner import WorkflowRunner
from hosting.names import Address
from hosting.workflows import HostedWorkflow


class FunctionRunner(WorkflowRunner):
    """Runs a functional workflow on the agent loop."""

    def __init__(self, workflow: HostedWorkflow, loop: AgentLoop, route_prefix: str) -> None:
        function = decorated(workflow.build())
        super().__init__(workflow, loop, route_prefix, types_of(function))
        self._idempotent, self._errors = idempotent_steps(function), errors_of(function)
        self._agents = workflow.agents()

    async def clear(self, address: Address, epoch: int) -> None:
        """Erase nothing: the sessions of its agents are the function's own."""

    def prepared(self, workflow: FunctionalWorkflow, recorder: StepRecorder, answer: WorkflowAnswer) -> FunctionSteps:
        """Have the steps and the calls of agents recorded, and return the storage of the checkpoints."""
        for agent in self._agents:
            if keeps_journal(agent):
                attach_steps(agent)
            for inner in agents_within(agent):
                tool_servers(inner)
        for prepare in self._workflow.prepare:
            prepare(self._agents)
        return FunctionSteps(self._workflow, recorder, self._types, self._idempotent, self._errors)

    async def take_events(
        self, workflow: FunctionalWorkflow, begin: dict[str, Any], checkpoints: FunctionSteps, answer: WorkflowAnswer
    ) -> None:
        """Run the function, unless the newest checkpoint is where it rests with its questions."""
        if checkpoints.is_at_rest:
            return
        checkpoints.watch(workflow)
        async with workflow.run(**begin, stream=True, checkpoint_storage=checkpoints) as events:
            async for event in events:
                answer.add(event)
