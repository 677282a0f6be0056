"""Workflows: an agent to all the house but for what happens within an attempt, which is run here."""

from __future__ import annotations

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.hooks import NO_HOOKS, AgentHooks
from hosting.feature import Feature
from hosting.plan import AgentPlan


class WorkflowsFeature(Feature):
    """The runners of one app's workflows, on its agent loop."""

    name = "workflows"

    def __init__(self, loop: AgentLoop, route_prefix: str) -> None:
        self._loop = loop
        self._route_prefix = route_prefix

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return the runner of a workflow; nothing for another agent."""
        if agent.workflow is None:
            return NO_HOOKS
        if agent.workflow.functions:
            from hosting.features.workflows.function_runner import FunctionRunner

            return AgentHooks(runner=FunctionRunner(agent.workflow, self._loop, self._route_prefix))
        from hosting.features.workflows.graph_runner import GraphRunner

        return AgentHooks(runner=GraphRunner(agent.workflow, self._loop, self._route_prefix))
