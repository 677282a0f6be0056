"""The lists of the app's agents and workflows, and the description of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast
from urllib.parse import quote

from hosting.http.access import Access
from hosting.http.agent_description import Rules, described
from hosting.http.bodies import (
    AgentList,
    ListedAgent,
    ListedWorkflow,
)
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.routes import agents_route, description_route, workflows_route
from hosting.model_options import bounds_schemas
from hosting.plan import AgentPlan
from hosting.settings import Settings

Links = Callable[[AgentPlan], Mapping[str, str | None]]
"""The members of an agent for URLs that features add: each path, None where it has none. It is below the agent, and
below the app if it begins with a slash."""


class ListHandlers:
    """The handlers of the lists of agents and, where the app has any, of workflows, and of each one's description."""

    def __init__(
        self,
        access: Access,
        names: Sequence[str],
        links: Links,
        rules: Rules,
        settings: Settings,
        *,
        has_workflows: bool,
    ) -> None:
        """The `names` are those of all `links`."""
        self._access, self._names, self._links, self._rules, self._settings = access, names, links, rules, settings
        self._has_workflows = has_workflows

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        workflows = Bound(workflows_route(self._names), self._workflows)
        return (
            Bound(agents_route(self._names), self._agents),
            *((workflows,) if self._has_workflows else ()),
            Bound(description_route(self._names), self._describe),
        )

    async def _agents(self, request: HttpRequest) -> Reply:
        principal = request.caller.principal
        administers, plans = self._access.administers(principal), request.plan.listed
        is_signed_in = principal is not None
        return agents_reply(plans, request.base_url, self._links, administers=administers, is_signed_in=is_signed_in)

    async def _workflows(self, request: HttpRequest) -> Reply:
        return workflows_reply(list(request.plan.agents.values()), request.base_url, self._links)

    async def _describe(self, request: HttpRequest) -> Reply:
        plan, settings = request.agent, self._settings
        listed = _listed(plan, request.base_url, self._links)
        is_open = settings.instructions_for == "callers" or self._access.administers(request.caller.principal)
        return json_reply(200, await described(plan, listed, settings, self._rules(plan), shows_instructions=is_open))


def agents_reply(
    plans: Sequence[AgentPlan], base_url: str, links: Links, *, administers: bool, is_signed_in: bool
) -> Reply:
    """Return the agents among these, and where the workflows are.

    `administers`: the caller may know what the agents are at.
    """
    agents = [_listed_agent(plan, base_url, links) for plan in plans if plan.kind == "agent"]
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
    added = {
        name: path and (f"{base_url}{path}" if path.startswith("/") else f"{url}/{path}")
        for name, path in links(agent).items()
    }
    fields: ListedAgent = {
        "name": agent.name,
        "description": agent.description,
        "example": agent.example,
        "run_url": f"{url}/run" if agent.options.http else None,
        "threads_url": f"{url}/threads" if agent.options.http else None,
        "mcp_tool": agent.tool.name if agent.tool else None,
        "caller_options": bounds_schemas(agent.options.model_options or {}),
    }
    return cast(ListedAgent, {**fields, **added})


def workflows_reply(plans: Sequence[AgentPlan], base_url: str, links: Links) -> Reply:
    """Return these workflows and their inputs; see `agents_reply`."""
    workflows = [_listed(plan, base_url, links) for plan in plans if plan.kind == "workflow"]
    return json_reply(200, {"workflows": workflows})


def _listed(plan: AgentPlan, base_url: str, links: Links) -> ListedAgent | ListedWorkflow:
    """Return an agent as the list of agents has it, or a workflow as that of workflows has it."""
    listed = _listed_agent(plan, base_url, links)
    if (workflow := plan.workflow) is None or plan.kind == "agent":
        return listed
    shown: ListedWorkflow = {**listed, "input_schema": dict(workflow.input.schema), "graph": workflow.shape}
    return shown
