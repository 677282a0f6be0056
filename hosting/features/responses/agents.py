"""The app's agents: which one a request means, and each as the protocol's model and as an entity of DevUI.

DevUI is agent-framework's own page. Of an agent it gets what the other routes say; instructions and model are the
app's own.
"""

from __future__ import annotations

from typing import Any

from hosting.errors import UnknownAgentError
from hosting.plan import AgentPlan, Plan

_FRAMEWORK = "agent_framework"


def served_agents(plan: Plan) -> list[AgentPlan]:
    """Return the agents that have an HTTP endpoint."""
    return [agent for agent in plan.agents.values() if agent.options.http]


def find_agent(plan: Plan, name: str | None, place: str = "'model'") -> AgentPlan:
    """Return the agent of that name, which has its place in the request, or the only one.

    Raises `UnknownAgentError`.
    """
    if name is not None:
        return plan.served(name)
    agents = served_agents(plan)
    if len(agents) != 1:
        known = ", ".join(agent.name for agent in agents) or "none"
        raise UnknownAgentError(f"Name the agent as {place}. Agents: {known}.")
    return agents[0]


def model_object(agent: AgentPlan) -> dict[str, Any]:
    """Return an agent as the protocol's model; its creation time is unknown."""
    return {"id": agent.name, "object": "model", "created": 0, "owned_by": "app"}


def meta_object(plan: Plan, version: str) -> dict[str, Any]:
    """Return the settings of the page: it chats, and does not trace, deploy or call OpenAI."""
    offers = dict.fromkeys(("instrumentation", "trace_retrieval", "openai_proxy", "deployment"), False)
    return {
        "ui_mode": "user",
        "version": version,
        "framework": _FRAMEWORK,
        "runtime": "python",
        "capabilities": offers,
        "auth_required": plan.sign_in_scheme is not None,
    }


def entity_object(agent: AgentPlan) -> dict[str, Any]:
    """Return an agent as the page's entity."""
    return {
        "id": agent.name,
        "type": "agent",
        "name": agent.name,
        "description": agent.description,
        "framework": _FRAMEWORK,
        "source": "in_memory",
        "tools": [],
        "metadata": {},
        "deployment_supported": False,
    }
