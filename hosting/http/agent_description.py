"""The description of one agent or workflow: its instructions, model, tools and rules.

Theory. Only what is named here is shown. An agent's objects may hold keys, headers and addresses with credentials, so
no object is shown whole: a client is a model's name, an MCP server is its name, and a schema has no default values.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from hosting.amounts import BudgetState
from hosting.core.agent.framework import agent_of_tool, is_destructive, is_idempotent, server_of_tool
from hosting.host_settings import ATTRIBUTE
from hosting.http.bodies import ListedAgent, ListedWorkflow
from hosting.names import Busy
from hosting.plan import AgentPlan
from hosting.schemas import without_values
from hosting.settings import Settings

_OPTIONS = (
    *("temperature", "top_p", "max_tokens", "seed", "stop", "frequency_penalty", "presence_penalty", "tool_choice"),
    *("allow_multiple_tool_calls", "store", "reasoning_effort", "verbosity"),
)
"""The options of model calls that are shown; others may hold headers, users or keys of a provider."""
_VALUES_OF_OPTIONS = (str, int, float, list)

Rules = Callable[[AgentPlan], Mapping[str, Any]]
"""The rules of an agent that features add."""


class DescribedModel(TypedDict):
    """The model that answers; `offline`: it is the built-in one, for development only."""

    name: str
    offline: bool


class DescribedTool(TypedDict):
    """A tool. `parameters` is its JSON Schema without default values, null where the provider runs the tool.

    `approval` says whether a person is asked before each call. An `idempotent` tool is called again after a crash.
    A call of a `destructive` one cannot be taken back.
    `server` is the MCP server that offers it, and `agent` the agent that it runs.
    """

    name: str
    description: str
    parameters: dict[str, Any] | None
    approval: Literal["always", "never"]
    idempotent: bool
    destructive: bool
    server: NotRequired[str]
    agent: NotRequired[DescribedParts]


class DescribedServer(TypedDict):
    """An MCP server. Its tools are known once it `is_connected`: at the first run that may call them."""

    name: str
    is_connected: bool
    idempotent: bool


class DescribedParts(TypedDict):
    """An agent that another one or a workflow calls. `instructions` are null without any, or if hidden from you."""

    name: str
    description: str
    instructions: str | None
    model: DescribedModel | None
    options: dict[str, Any]
    tools: list[DescribedTool]
    mcp_servers: list[DescribedServer]
    context_providers: list[str]
    response_format: dict[str, Any] | None


class DescribedLimit(TypedDict):
    """The limits of an agent: those of each caller in a minute, and of runs at once in each process."""

    requests_per_minute: NotRequired[int]
    tokens_per_minute: NotRequired[int]
    runs_at_once: NotRequired[int]


class DescribedRetry(TypedDict):
    """How failed runs are tried again."""

    attempts: int
    first_pause_seconds: float
    backoff: float
    longest_pause_seconds: float


class DescribedRules(TypedDict):
    """The settings that hold for runs. `ttl_seconds` and `approval_seconds` are null for ever.

    `standing_approvals`: whoever approves a tool's call may approve later ones too.
    """

    busy: Busy
    queue_limit: int
    run_timeout_seconds: float
    ttl_seconds: float | None
    approval_seconds: float | None
    interrupted_tools: Literal["fail", "tell"]
    retry: DescribedRetry | None
    budget: BudgetState | None
    limit: DescribedLimit | None
    standing_approvals: bool


class _Described(TypedDict):
    kind: Literal["agent", "workflow"]
    instructions_hidden: bool
    rules: DescribedRules


class AgentDescription(ListedAgent, DescribedParts, _Described):
    """One agent with its instructions, model, tools and rules.

    `instructions_hidden`: they are for administrators.
    """


class WorkflowDescription(ListedWorkflow, _Described):
    """One workflow with its graph, rules, and the agents that it calls.

    `instructions_hidden`: they are for administrators.
    """

    agents: list[DescribedParts]


async def described(
    plan: AgentPlan,
    listed: ListedAgent | ListedWorkflow,
    settings: Settings,
    rules: Mapping[str, Any],
    *,
    shows_instructions: bool,
) -> AgentDescription | WorkflowDescription:
    """Return the description of an agent or a workflow; `listed` is the same as the lists have it."""
    fields = {
        **listed,
        "kind": plan.kind,
        "instructions_hidden": not shows_instructions,
        "rules": {**_rules(plan, settings), **rules},
    }
    if plan.workflow is None or plan.kind == "agent":
        parts = _parts(plan.agent, shows_instructions=shows_instructions)
        return cast(AgentDescription, {**parts, **fields})
    from hosting.core.agent.framework_graphs import agents_of_workflow  # an app without workflows does not need it

    workflow = await asyncio.to_thread(plan.workflow.build)
    agents = {id(agent): agent for agent in agents_of_workflow(workflow)}.values()
    fields["agents"] = [_parts(agent, shows_instructions=shows_instructions) for agent in agents]
    return cast(WorkflowDescription, fields)


def _rules(plan: AgentPlan, settings: Settings) -> DescribedRules:
    options = plan.options
    timeout, ttl = options.run_timeout_seconds, options.ttl_seconds
    return {
        "busy": options.busy,
        "queue_limit": settings.queue_limit,
        "run_timeout_seconds": settings.run_timeout_seconds if timeout is None else timeout,
        "ttl_seconds": (settings.thread_ttl_seconds if ttl is None else ttl) or None,
        "approval_seconds": settings.approval_seconds or None,
        "interrupted_tools": cast(Literal["fail", "tell"], settings.interrupted_tools),
        "retry": None if options.retry is None else cast(DescribedRetry, options.retry.fields()),
        "budget": None,
        "limit": None,
        "standing_approvals": False,
    }


def _parts(agent: Any, *, shows_instructions: bool, outer: Sequence[Any] = ()) -> DescribedParts:
    """Return an agent's parts; `outer` are the agents whose tool it is, so that a circle ends."""
    options: Mapping[str, Any] = getattr(agent, "default_options", None) or {}
    instructions = options.get("instructions")
    agents = (*outer, agent)
    return {
        "name": str(getattr(agent, "name", None) or ""),
        "description": str(getattr(agent, "description", None) or ""),
        "instructions": instructions if shows_instructions and isinstance(instructions, str) else None,
        "model": _model(getattr(agent, "client", None), options),
        "options": {name: options[name] for name in _OPTIONS if isinstance(options.get(name), _VALUES_OF_OPTIONS)},
        "tools": [
            _tool(tool, shows_instructions=shows_instructions, agents=agents)
            for tool in (*(options.get("tools") or ()), *_tools_of_servers(agent))
        ],
        "mcp_servers": [
            {
                "name": str(server.name),
                "is_connected": bool(getattr(server, "is_connected", False)),
                "idempotent": is_idempotent(server),
            }
            for server in _servers(agent)
        ],
        "context_providers": [
            str(getattr(provider, "source_id", None) or type(provider).__name__)
            for provider in getattr(agent, "context_providers", None) or ()
        ],
        "response_format": _format(options.get("response_format")),
    }


def _servers(agent: Any) -> Sequence[Any]:
    return getattr(agent, "mcp_tools", None) or ()


def _tools_of_servers(agent: Any) -> list[Any]:
    return [tool for server in _servers(agent) for tool in getattr(server, "functions", ())]


def _model(client: object, options: Mapping[str, Any]) -> DescribedModel | None:
    if client is None:
        return None
    provider = str(getattr(client, "OTEL_PROVIDER_NAME", type(client).__name__))
    is_offline = getattr(client, ATTRIBUTE, None) is not None
    name = options.get("model") or getattr(client, "model", None) or provider
    return {"name": provider if is_offline else str(name), "offline": is_offline}


def _tool(tool: Any, *, shows_instructions: bool, agents: Sequence[Any]) -> DescribedTool:
    if not callable(parameters := getattr(tool, "parameters", None)):
        return _tool_of_provider(tool)
    described: DescribedTool = {
        "name": str(tool.name),
        "description": str(getattr(tool, "description", None) or ""),
        "parameters": without_values(parameters()),
        "approval": "always" if getattr(tool, "approval_mode", None) == "always_require" else "never",
        "idempotent": is_idempotent(tool),
        "destructive": is_destructive(tool),
    }
    if (server := server_of_tool(tool)) is not None:
        described["server"] = str(server.name)
    if (inner := agent_of_tool(tool)) is not None and inner not in agents:
        described["agent"] = _parts(inner, shows_instructions=shows_instructions, outer=agents)
    return described


def _tool_of_provider(tool: Any) -> DescribedTool:
    """Return a tool that the provider of the model runs, by its type alone: the rest may hold headers and addresses."""
    kind = tool.get("type") if isinstance(tool, Mapping) else type(tool).__name__
    return {
        "name": str(kind),
        "description": "",
        "parameters": None,
        "approval": "never",
        "idempotent": False,
        "destructive": False,
    }


def _format(given: Any) -> dict[str, Any] | None:
    """Return the response format: a JSON Schema, or the provider's own form of one."""
    if isinstance(given, Mapping):
        return cast(dict[str, Any], without_values(given))
    schema = getattr(given, "model_json_schema", None)
    return cast(dict[str, Any], without_values(schema())) if callable(schema) else None
