"""The MCP tools of an app: one for each agent and workflow that is to be one (docs/reference/mcp.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hosting.core.runs import Runs
from hosting.feature import Feature, McpTool
from hosting.features.mcp.tool import AgentTool, McpSettings
from hosting.plan import AgentPlan
from hosting.principal import PrincipalResolver


class McpFeature(Feature):
    """The MCP tools of one app. With a `resolver`, which identifies the caller, threads are the caller's."""

    name = "mcp"
    settings = McpSettings
    page = Path(__file__).with_name("ui")

    def __init__(self, runs: Runs, settings: McpSettings, most_bytes: int, resolver: PrincipalResolver | None) -> None:
        """A call of a tool has at most so many bytes."""
        self._runs = runs
        self._settings = settings
        self._most_bytes = most_bytes
        self._resolver = resolver
        self._tools: list[McpTool] = []

    def add(self, agent: AgentPlan) -> None:
        """Take up an agent, if it is planned as a tool."""
        if agent.tool is not None:
            tool = AgentTool(agent, self._runs, self._settings, self._most_bytes, self._resolver)
            self._tools.append(tool.declared(agent.tool))

    def tools(self) -> Sequence[McpTool]:
        """Return the tools of the app's agents and workflows."""
        return self._tools
