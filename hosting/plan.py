"""What will be registered: every agent checked, every collision refused, before a function exists."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field

from agent_framework import SupportsAgentRun

from hosting.errors import ConfigurationError
from hosting.names import check_agent_name


@dataclass(frozen=True)
class AgentPlan:
    """One agent and the surfaces it gets."""

    name: str
    agent: SupportsAgentRun
    http: bool
    mcp: bool

    @property
    def description(self) -> str:
        """What the agent says of itself, for the MCP tool and lists."""
        return getattr(self.agent, "description", None) or f"Asks the agent {self.name}."


@dataclass
class Plan:
    """The app's agents by name; names are compared without case, as entity names are."""

    agents: dict[str, AgentPlan] = field(default_factory=dict)

    def add(self, agent: SupportsAgentRun, *, http: bool, mcp: bool) -> AgentPlan:
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
        planned = AgentPlan(name=name, agent=agent, http=http, mcp=mcp)
        self.agents[name.lower()] = planned
        return planned

    def find(self, name: str) -> AgentPlan | None:
        """Return the agent of that name in any case."""
        return self.agents.get(name.lower())
