"""The model calls of an agent that can be counted: of which agents, by which prices, and which code asks unseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatMiddlewareLayer

from hosting.core.agent.framework import agent_of_tool, agents_among, agents_within, keeps_journal, named_in
from hosting.core.agent.framework_graphs import agents_of_executor, code_of, executors_within
from hosting.errors import ConfigurationError
from hosting.features.metering.budgets import Budget
from hosting.plan import AgentPlan
from hosting.workflows import HostedWorkflow


def check_counted(agent: AgentPlan, what: str) -> None:
    """Raise `ConfigurationError` if the model calls of an agent cannot be counted for `what` it has."""
    given = agent.agent
    if agent.workflow is None and not (isinstance(given, Agent) and isinstance(given.client, ChatMiddlewareLayer)):
        raise ConfigurationError(
            f"Agent {agent.name!r} has {what}, and its model calls cannot be counted: it is not an "
            "agent-framework Agent, or its client has no chat middleware. Leave it out."
        )


def check_prices(agent: AgentPlan, budget: Budget) -> None:
    """Raise `ConfigurationError` if the model of one of its agents, or of one that is their tool, has no price.

    Which model others ask is known when it answers.
    """
    if not budget.prices:
        return
    for asking in _asking(agent):
        chosen = (getattr(asking, "default_options", None) or {}).get("model")
        model = chosen or getattr(getattr(asking, "client", None), "model", None)
        if isinstance(model, str) and budget.price(model) is None:
            raise ConfigurationError(
                f"The budget of agent {agent.name!r} has no price of its model {model[:80]!r}. Add it to prices: "
                f"{{{model[:80]!r}: Price(input=..., output=...)}}."
            )


def uncounted(agent: AgentPlan) -> dict[str, list[str]]:
    """Return the tools and executors whose code may call a model uncounted, with the names that it uses for that."""
    found = {name: _uncounted_in([code]) for one in _asking(agent) for name, code in _tools_with_code(one)}
    for name, code, agents in () if agent.workflow is None else _code_of(agent.workflow):
        found[name] = _uncounted_in(code, [one for one in agents if keeps_journal(one)])
    return found


def _asking(agent: AgentPlan) -> list[Any]:
    """Return the agent, or those of the workflow, and the agents that are their tools."""
    agents = [agent.agent]
    if agent.workflow is not None:
        agents = [each for _, _, named in _code_of(agent.workflow) for each in named]
    return [inner for one in agents for inner in agents_within(one)]


def _code_of(workflow: HostedWorkflow) -> Iterator[tuple[str, Sequence[Any], list[Agent[Any]]]]:
    """Iterate over a workflow's executors, or its function and steps: name, code, and the agents that it calls."""
    if workflow.functions:
        for function in workflow.functions:
            yield function.__name__, [function], agents_among(named_in([function]))
        return
    for executor in executors_within(workflow.build()):
        yield executor.id, code_of(executor), agents_of_executor(executor)


def _uncounted_in(functions: Iterable[Any], counted: Sequence[object] = ()) -> list[str]:
    """Return the names by which code reaches a model uncounted: a client, or a factory of agents.

    Agents that are `counted` are seen. What the code gets elsewhere, as from a function of a library, is not found.
    """
    found = dict[str, None]()
    for value in named_in(functions):
        makes = isinstance(value, type) and issubclass(value, Agent | BaseChatClient)
        asks = isinstance(value, BaseChatClient) or (isinstance(value, Agent) and value not in counted)
        if makes or asks:
            found[str(getattr(value, "name", None) or getattr(value, "__name__", type(value).__name__))] = None
    return list(found)


def _tools_with_code(agent: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the tools of an agent that are functions of its author's: each one's name, and the function."""
    for tool in getattr(agent, "default_options", {}).get("tools") or ():
        function = getattr(tool, "func", tool)
        if agent_of_tool(tool) is None and isinstance(function, FunctionType):
            yield str(getattr(tool, "name", function.__name__)), function
