"""Replies that list: the app's agents and workflows, also in its health, and an agent's threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast
from urllib.parse import quote

from hosting.http.bodies import (
    AgentList,
    HealthyAgent,
    ListedAgent,
    ListedWorkflow,
    WorkflowList,
)
from hosting.http.replies import Reply, json_reply
from hosting.plan import AgentPlan

Links = Callable[[AgentPlan], Mapping[str, str | None]]
"""The members of an agent for URLs that features add: each path below the agent, None where it has none."""


def agents_reply(plans: Sequence[AgentPlan], base_url: str, links: Links, *, administers: bool) -> Reply:
    """Return the agents among these, and where the workflows are.

    `administers`: the caller may know what the agents are at.
    """
    agents = [_listed_agent(plan, base_url, links) for plan in plans if plan.workflow is None]
    body: AgentList = {
        "agents": agents,
        "workflows_url": f"{base_url}/workflows" if len(agents) < len(plans) else None,
        "operations_url": f"{base_url}/operations" if administers else None,
    }
    return json_reply(200, body)


def _listed_agent(agent: AgentPlan, base_url: str, links: Links) -> ListedAgent:
    """Return an agent, or a workflow, as a list has it."""
    url = f"{base_url}/{agent.kind}s/{quote(agent.name)}"
    added = {name: None if path is None else f"{url}/{path}" for name, path in links(agent).items()}
    fields: ListedAgent = {
        "name": agent.name,
        "description": agent.description,
        "example": agent.example,
        "run_url": f"{url}/run" if agent.options.http else None,
        "threads_url": f"{url}/threads" if agent.options.http else None,
        "mcp_tool": agent.tool.name if agent.tool else None,
    }
    return cast(ListedAgent, {**fields, **added})


def workflows_reply(plans: Sequence[AgentPlan], base_url: str, links: Links) -> Reply:
    """Return these workflows and their inputs; see `agents_reply`."""
    workflows: list[ListedWorkflow] = [
        {
            **_listed_agent(plan, base_url, links),
            "input_schema": dict(plan.workflow.input.schema),
            "graph": plan.workflow.shape,
        }
        for plan in plans
        if plan.workflow is not None
    ]
    body: WorkflowList = {"workflows": workflows}
    return json_reply(200, body)


def health_reply(agents: Iterable[AgentPlan] | None) -> Reply:
    """Return that the app runs, and its agents where they are given."""
    if agents is None:
        return json_reply(200, {"status": "healthy"})
    listed = [
        HealthyAgent(
            name=each.name,
            type=type(each.agent).__name__,
            http_endpoint_enabled=bool(each.options.http),
            mcp_tool_enabled=each.tool is not None,
        )
        for each in agents
    ]
    return json_reply(200, {"status": "healthy", "agents": listed, "agent_count": len(listed)})
