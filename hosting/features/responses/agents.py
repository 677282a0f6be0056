"""The app's agents: which one a request means, and each as the protocol's model and as an entity of DevUI.

DevUI is agent-framework's own page. Of an agent it gets what the other routes say; instructions and model are the
app's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hosting.features.responses import names
from hosting.http.openapi import API_VERSION
from hosting.http.route import Route
from hosting.http.wire_openai import find_agent, model_object, models_object
from hosting.names import Address
from hosting.plan import AgentPlan, Plan

_FRAMEWORK = "agent_framework"


def thread_of(plan: Plan, reference: names.IdParts, owner: str) -> Address:
    """Return the owner's thread that an id refers to; raises `UnknownAgentError` if its agent is not served."""
    find_agent(plan, reference.agent)
    return reference.address(owner)


def _meta(plan: Plan) -> dict[str, Any]:
    """Return the settings of the page: it chats, and does not trace, deploy or call OpenAI."""
    offers = dict.fromkeys(("instrumentation", "trace_retrieval", "openai_proxy", "deployment"), False)
    return {
        "ui_mode": "user",
        "version": API_VERSION,
        "framework": _FRAMEWORK,
        "runtime": "python",
        "capabilities": offers,
        "auth_required": plan.sign_in_scheme is not None,
    }


def _entity(agent: AgentPlan) -> dict[str, Any]:
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


READS: Mapping[Route, Callable[[Plan, str], dict[str, Any]]] = {
    names.META: lambda plan, _: _meta(plan),
    names.ENTITIES: lambda plan, _: {"entities": [_entity(agent) for agent in plan.served_of()]},
    names.ENTITY: lambda plan, name: _entity(find_agent(plan, name)),
    names.MODELS: lambda plan, _: models_object(plan),
    names.MODEL: lambda plan, name: model_object(find_agent(plan, name)),
}
"""What each operation on agents answers, of the app's plan and the name in the path."""
