"""The plan of registration: every agent checked, every collision refused, before a function exists.

And what is printed about it at a start.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from functools import partial
from typing import Any, Literal, Protocol, cast
from urllib.parse import urlsplit

from agent_framework import Agent, SupportsAgentRun
from msgspec import Struct, field
from msgspec.structs import replace

from hosting.client_tools import can_offer, names_of_tools
from hosting.errors import ConfigurationError, UnknownAgentError
from hosting.host_settings import ATTRIBUTE
from hosting.names import check_agent_name, entity_function, http_function, mcp_function, without_blanks
from hosting.options import AS_THE_APP, AgentOptions
from hosting.workflows import HostedWorkflow

QUESTION = "What can you do?"
"""Every agent can say something to it."""

_TYPED_AS_IT_IS = re.compile(r"(?!@)[^\"$`\\!%\r\n]+\Z")
"""Characters that every shell takes between double quotes, and curl as text."""


class ToolPlan(Struct, frozen=True):
    """An agent's MCP tool."""

    name: str
    description: str


Kind = Literal["agent", "workflow"]


class AddressRules(Protocol):
    """Which addresses a request may name for the notification of its run's end."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of an address."""

    def refusal(self, url: str) -> str | None:
        """Return why an address is refused, as a sentence; None if it is accepted."""


class AgentPlan(Struct, frozen=True):
    """One agent with its options; `tool` is None when it is no MCP tool.

    With a `workflow`, that stands for the agent: it has threads, runs and a name beside the agents'. It is one of the
    agents itself if it was given as one. `addresses` are
    the rules of the addresses that a request names to be notified.
    """

    name: str
    agent: SupportsAgentRun
    options: AgentOptions = AS_THE_APP
    tool: ToolPlan | None = None
    workflow: HostedWorkflow | None = None
    addresses: AddressRules | None = None

    @property
    def kind(self) -> Kind:
        """The kind, agent or workflow; its routes begin with the plural."""
        return "agent" if self.workflow is None or self.workflow.agent is not None else "workflow"

    @property
    def description(self) -> str:
        """The agent's own description, or a sentence instead."""
        return getattr(self.agent, "description", None) or f"Send a message to the agent {self.name}."

    @property
    def as_tool(self) -> ToolPlan:
        """The tool that it is for MCP clients: as planned, or by its own name."""
        return self.tool or ToolPlan(without_blanks(self.name), self.description)

    @property
    def own_tools(self) -> Callable[[], Set[str]] | None:
        """What returns the names that no tool of a caller may have; None where the agent takes none."""
        takes_tools = self.options.client_tools and can_offer(self.agent)
        return partial(names_of_tools, self.agent) if takes_tools else None

    @property
    def example(self) -> str:
        """A first message: the agent's own example, or one that every agent can answer."""
        properties: Mapping[str, Any] = getattr(self.agent, "additional_properties", None) or {}
        example = properties.get("example")
        return example if isinstance(example, str) and example.strip() else QUESTION


class WithinPlan(Struct, frozen=True):
    """An agent that a feature hosts within another one, under a name of its own and with exactly these options."""

    name: str
    agent: SupportsAgentRun
    options: AgentOptions


class Plan(Struct):
    """The app's agents by name; names are compared without case, as entity names are.

    Where threads have owners (`has_owners`), their names leave room for one. `requires_key` says whether requests need
    a function key, and `sign_in_scheme` by which scheme of the header Authorization callers sign in; None where that
    is not known. `addresses` are the rules of addresses for all.
    """

    agents: dict[str, AgentPlan] = field(default_factory=dict)
    has_owners: bool = False
    requires_key: bool = True
    sign_in_scheme: str | None = None
    addresses: AddressRules | None = None

    def add(
        self,
        agent: SupportsAgentRun | HostedWorkflow,
        own: AgentOptions,
        name: str | None = None,
        *,
        app: AgentOptions = AS_THE_APP,
    ) -> AgentPlan:
        """Return the plan of another agent, under its own name or this one: with its own options over those of the app.

        A workflow has none of the app's options of models, for its executors have models of their own. Raises
        `ConfigurationError` if it cannot be hosted next to the others.
        """
        name = check_agent_name(name or getattr(agent, "name", None), has_owners=self.has_owners)
        workflow = agent if isinstance(agent, HostedWorkflow) else None
        if workflow is None:
            _check_is_agent(name, agent)
        options = own.over(app) if workflow is None else own.over(replace(app, model_options=None))
        shown = agent if workflow is None or workflow.agent is None else workflow.agent
        planned = AgentPlan(name, cast(SupportsAgentRun, shown), options, None, workflow, self.addresses)
        self._check_is_free(name, planned.kind)
        options.check(name)
        if workflow is not None and options.reasoning == "drop":
            raise ConfigurationError(
                f"reasoning of workflow {name!r} is 'drop', and its executors keep their agents' thoughts while it is "
                "at work. Use 'keep' or 'show'."
            )
        if workflow is not None and options.model_options:
            raise ConfigurationError(
                f"options of workflow {name!r} would reach no model: its executors have their own. Leave them out."
            )
        if options.mcp:
            planned = replace(planned, tool=self._tool(planned))
        self.agents[name.lower()] = planned
        return planned

    def _check_is_free(self, name: str, kind: Kind) -> None:
        """Raise `ConfigurationError` where a function of an agent that is there has the name."""
        function = http_function(name).lower()
        met = next((each for each in self.agents.values() if http_function(each.name).lower() == function), None)
        if met is not None:
            raise ConfigurationError(
                f"Two {_those(met.kind, kind)} are named {met.name!r} and {name!r}; names are compared without case, "
                "a blank like '_'. Rename one."
            )

    def find(self, name: str) -> AgentPlan | None:
        """Return the agent of that name in any case."""
        return self.agents.get(name.lower())

    def served(self, name: str, kind: Kind | None = None, *, of_thread: bool = False) -> AgentPlan:
        """Return the agent of that name; raises `UnknownAgentError` when it has no HTTP endpoint, or not this kind.

        One within another agent is found only where its threads are: `of_thread`.
        """
        planned = self.find(name)
        is_hidden = planned is None or not planned.options.http or (planned.options.within and not of_thread)
        if planned is None or is_hidden or kind not in (None, planned.kind):
            known = ", ".join(each.name for each in self.served_of(kind)) or "none"
            word = kind or "agent"
            raise UnknownAgentError(f"There is no {word} {name[:80]!r} here. {word.title()}s: {known}.")
        return planned

    def served_of(self, kind: Kind | None = None) -> list[AgentPlan]:
        """Return those with an HTTP endpoint, of that kind if one is given."""
        return [agent for agent in self.listed if agent.options.http and kind in (None, agent.kind)]

    @property
    def listed(self) -> list[AgentPlan]:
        """Those that are not within another one."""
        return [agent for agent in self.agents.values() if not agent.options.within]

    def known(self, name: str) -> AgentPlan:
        """Return the agent of that name; raises `UnknownAgentError`.

        Check it before each call: on the real host a call to a missing entity never ends.
        """
        planned = self.find(name)
        if planned is None:
            known = ", ".join(repr(agent.name) for agent in self.agents.values()) or "none"
            raise UnknownAgentError(f"No agent {str(name)[:80]!r} is registered with this app. Registered: {known}.")
        return planned

    def named(self, name: str) -> tuple[str, str]:
        """Return an agent's name and description, or only the name if another instance may have the agent.

        Raises `UnknownAgentError` for what is no agent's name.
        """
        planned = self.find(name)
        if planned is not None:
            return planned.name, planned.description
        with suppress(ConfigurationError):
            return check_agent_name(name, has_owners=self.has_owners), ""
        return self.known(name).name, ""

    @property
    def names(self) -> dict[str, str]:
        """The agents' names as they are written, by those in lower case."""
        return {name: planned.name for name, planned in self.agents.items()}

    def by_name(self) -> dict[str, SupportsAgentRun]:
        """Return the agents by their names as given."""
        return {planned.name: planned.agent for planned in self.agents.values()}

    def _tool(self, planned: AgentPlan) -> ToolPlan:
        name, options = planned.name, planned.options
        tool = ToolPlan(options.tool_name or without_blanks(name), options.tool_description or planned.description)
        for other in self.agents.values():
            if other.tool is not None and other.tool.name.lower() == tool.name.lower():
                raise ConfigurationError(
                    f"The agents {other.name!r} and {name!r} would both be the MCP tool {tool.name!r}; names are "
                    "compared without case. Give one of them another mcp_tool_name."
                )
        return tool


def _check_is_agent(name: str, agent: object) -> None:
    if not callable(getattr(agent, "run", None)) or inspect.isclass(agent):
        raise ConfigurationError(
            f"{name!r} ({type(agent).__name__}) is not an agent: it has no run(). Give an agent-framework Agent."
        )
    if is_of_workflow(agent):
        raise ConfigurationError(
            f"Agent {name!r} is a workflow (as_agent()), which a console host does not run. Give it to "
            "AgentFunctionApp(agents=[...])."
        )


def is_of_workflow(agent: object) -> bool:
    """Return whether an agent stands for a workflow of the framework (`as_agent()`)."""
    if isinstance(agent, Agent):
        return False
    from agent_framework import FunctionalWorkflowAgent, WorkflowAgent  # with them come workflows, which few apps have

    return isinstance(agent, WorkflowAgent | FunctionalWorkflowAgent)


def _those(one: Kind, other: Kind) -> str:
    return f"{one}s" if one == other else "agents or workflows"


def introduction_of(plan: Plan, shared: Iterable[str]) -> Mapping[str, Any]:
    """Return the app's description for a local host at its start, as a plain mapping.

    `lines` are about models, `details` the functions that nobody calls first (`shared` and each agent's), `request` is
    the function to try and what to ask it.
    """
    planned = plan.agents.values()
    details = {name(agent.name) for agent in planned for name in (entity_function, mcp_function)}
    takes_words = (plan for plan in planned if plan.workflow is None or plan.workflow.input.takes_words)
    first = next((agent for agent in takes_words if agent.options.http), None)
    return {
        "lines": _models(plan.by_name()),
        "details": sorted(details.union(shared)),
        "request": first and (http_function(first.name), _typed(first.example)),
    }


def _typed(example: str) -> str:
    """Return the message in a form for a command line, else one that every agent can answer."""
    return example if _TYPED_AS_IT_IS.match(example) else QUESTION


def _models(agents: Mapping[str, SupportsAgentRun]) -> list[str]:
    """Return a line for each model, with its agents' names where there are several."""
    agents_of: dict[str, list[str]] = {}
    for name, agent in agents.items():
        if (client := getattr(agent, "client", None)) is not None:
            agents_of.setdefault(_model(client), []).append(name)
    several = len(agents_of) > 1
    return [
        f"Model of {', '.join(names)}: {model}" if several else f"Model: {model}" for model, names in agents_of.items()
    ]


def _model(client: object) -> str:
    """Return the model's name and place; for a development model, also the settings for another one."""
    provider = getattr(client, "OTEL_PROVIDER_NAME", type(client).__name__)
    if advice := getattr(client, ATTRIBUTE, None):
        return f"{provider}, for development only. {advice}"
    name, where = getattr(client, "model", None) or provider, getattr(client, "service_url", str)()
    parts = urlsplit(str(where))
    # Without what stands before the server's name or after the path: there may be a key.
    return f"{name} at {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts.netloc else str(name)
