"""The lists of the app's agents and workflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast
from urllib.parse import quote

from hosting.http.access import Access
from hosting.http.bodies import (
    AgentList,
    ListedAgent,
    ListedWorkflow,
    WorkflowList,
)
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.routes import agents_route, workflows_route
from hosting.plan import AgentPlan

Links = Callable[[AgentPlan], Mapping[str, str | None]]
"""The members of an agent for URLs that features add: each path below the agent, None where it has none."""


class ListHandlers:
    """The handlers of the lists of agents and, where the app has any, of workflows."""

    def __init__(self, access: Access, names: Sequence[str], links: Links, *, has_workflows: bool) -> None:
        """The `names` are those of all `links`."""
        self._access, self._names, self._links = access, names, links
        self._has_workflows = has_workflows

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        workflows = Bound(workflows_route(self._names), self._workflows)
        return (Bound(agents_route(self._names), self._agents), *((workflows,) if self._has_workflows else ()))

    async def _agents(self, request: HttpRequest) -> Reply:
        principal = request.caller.principal
        administers, plans = self._access.administers(principal), list(request.plan.agents.values())
        is_signed_in = principal is not None
        return agents_reply(plans, request.base_url, self._links, administers=administers, is_signed_in=is_signed_in)

    async def _workflows(self, request: HttpRequest) -> Reply:
        return workflows_reply(list(request.plan.agents.values()), request.base_url, self._links)


def agents_reply(
    plans: Sequence[AgentPlan], base_url: str, links: Links, *, administers: bool, is_signed_in: bool
) -> Reply:
    """Return the agents among these, and where the workflows are.

    `administers`: the caller may know what the agents are at.
    """
    agents = [_listed_agent(plan, base_url, links) for plan in plans if plan.workflow is None]
    body: AgentList = {
        "agents": agents,
        "workflows_url": f"{base_url}/workflows" if len(agents) < len(plans) else None,
        "operations_url": f"{base_url}/operations" if administers else None,
        "me_url": f"{base_url}/owners/me" if is_signed_in else None,
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
