"""What will be registered: every agent checked, every collision refused, before a function exists."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

from agent_framework import SupportsAgentRun

from hosting.errors import ConfigurationError, UnknownAgentError
from hosting.names import check_agent_name

_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
"""What every MCP client and model takes as a tool's name."""


@dataclass(frozen=True)
class ToolPlan:
    """The MCP tool of one agent."""

    name: str
    description: str


@dataclass(frozen=True)
class AgentPlan:
    """One agent and the surfaces it gets; `tool` is None when it is no MCP tool."""

    name: str
    agent: SupportsAgentRun
    http: bool
    tool: ToolPlan | None

    @property
    def description(self) -> str:
        """What the agent says of itself, for lists."""
        return _description(self.agent, self.name)


@dataclass
class Plan:
    """The app's agents by name; names are compared without case, as entity names are."""

    agents: dict[str, AgentPlan] = field(default_factory=dict)

    def add(
        self,
        agent: SupportsAgentRun,
        *,
        http: bool,
        mcp: bool,
        tool_name: str | None = None,
        tool_description: str | None = None,
    ) -> AgentPlan:
        """Return the plan of one more agent; raise `ConfigurationError` when it cannot be hosted beside the others."""
        name = check_agent_name(getattr(agent, "name", None))
        if not callable(getattr(agent, "run", None)) or inspect.isclass(agent):
            raise ConfigurationError(
                f"{name!r} ({type(agent).__name__}) is not an agent: it has no run(). Give an agent-framework Agent."
            )
        met = self.find(name)
        if met is not None:
            raise ConfigurationError(
                f"Two agents are named {met.name!r} and {name!r}; names are compared without case. Rename one."
            )
        tool = _plan_tool(agent, name, tool_name, tool_description) if mcp else None
        if tool is None:
            _refuse_unused(name, tool_name, tool_description)
        else:
            self._refuse_taken(tool, name)
        planned = AgentPlan(name=name, agent=agent, http=http, tool=tool)
        self.agents[name.lower()] = planned
        return planned

    def find(self, name: str) -> AgentPlan | None:
        """Return the agent of that name in any case."""
        return self.agents.get(name.lower())

    def known(self, name: str) -> AgentPlan:
        """Return the agent of that name; raises `UnknownAgentError`.

        To be asked before a call: on the real host a call to a missing entity never ends (host contract 0.5, 21).
        """
        planned = self.find(name)
        if planned is None:
            known = ", ".join(repr(agent.name) for agent in self.agents.values()) or "none"
            raise UnknownAgentError(f"No agent {str(name)[:80]!r} is registered with this app. Registered: {known}.")
        return planned

    def by_name(self) -> dict[str, SupportsAgentRun]:
        """Return the agents by their names as given."""
        return {planned.name: planned.agent for planned in self.agents.values()}

    def _refuse_taken(self, tool: ToolPlan, name: str) -> None:
        for other in self.agents.values():
            if other.tool is not None and other.tool.name.lower() == tool.name.lower():
                raise ConfigurationError(
                    f"The agents {other.name!r} and {name!r} would both be the MCP tool {tool.name!r}; names are "
                    "compared without case. Give one of them another mcp_tool_name."
                )


def _plan_tool(agent: SupportsAgentRun, name: str, tool_name: str | None, description: str | None) -> ToolPlan:
    if tool_name is not None and not _TOOL_NAME.match(tool_name):
        raise ConfigurationError(
            f"mcp_tool_name {tool_name!r} of agent {name!r} cannot be a tool's name. "
            "Begin with a letter and use 1 to 64 letters, digits, '_' and '-'."
        )
    if description is not None and not description.strip():
        raise ConfigurationError(
            f"mcp_tool_description of agent {name!r} is blank. Say what the tool is for, or leave it out."
        )
    return ToolPlan(tool_name or name, description or _description(agent, name))


def _refuse_unused(name: str, tool_name: str | None, description: str | None) -> None:
    for option, value in (("mcp_tool_name", tool_name), ("mcp_tool_description", description)):
        if value is not None:
            raise ConfigurationError(
                f"{option} is given for agent {name!r}, which is no MCP tool. Add enable_mcp_tool_trigger=True."
            )


def _description(agent: SupportsAgentRun, name: str) -> str:
    return getattr(agent, "description", None) or f"Asks the agent {name}."
