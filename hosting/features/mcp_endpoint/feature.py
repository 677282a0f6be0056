"""MCP, by which editors and other agents use the app's agents as tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from hosting.core.care import Care
from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.errors import ConfigurationError
from hosting.feature import Wire, WireFeature
from hosting.http.verbs import NewestThreads
from hosting.http.wire import WireVerbs
from hosting.plan import AgentPlan


@dataclass(frozen=True, eq=False)
class McpEndpointFeature(WireFeature):
    """The MCP wire of one app: a tool for each agent and each workflow."""

    name = "mcp_endpoint"
    wire = "mcp"
    title = "MCP"
    door = "v1"
    links: ClassVar = {"mcp_url": "/mcp/v1"}
    page = Path(__file__).with_name("ui")

    verbs: WireVerbs
    care: Care
    newest_threads: NewestThreads
    threads: Threads
    reads: LargeReads
    by_tool: dict[str, AgentPlan] = field(default_factory=dict, init=False)

    def has(self, agent: AgentPlan) -> bool:
        """Return whether an agent or a workflow is a tool."""
        return any(tool.name == agent.name for tool in self.by_tool.values())

    def add(self, agent: AgentPlan) -> None:
        """Take up an agent as a tool; raises `ConfigurationError` for one that has the tool's name of another."""
        if not self.is_on or not agent.options.http or agent.options.within:
            return
        tool = agent.as_tool
        if (other := self.by_tool.get(tool.name.lower())) is not None:
            raise ConfigurationError(
                f"The agents {other.name!r} and {agent.name!r} would both be the MCP tool {tool.name!r}; names are "
                "compared without case. Rename one."
            )
        self.by_tool[tool.name.lower()] = agent

    def served(self) -> Wire:
        """Return the protocol."""
        from hosting.features.mcp_endpoint import names
        from hosting.features.mcp_endpoint.calls import Calls
        from hosting.features.mcp_endpoint.requests import MCP_DOCUMENT
        from hosting.features.mcp_endpoint.resources import Resources
        from hosting.features.mcp_endpoint.subscriptions import Subscriptions
        from hosting.features.mcp_endpoint.verbs import McpVerbs
        from hosting.http.wire_requests import operation_of

        calls = Calls(self.verbs, self.care, self.newest_threads)
        resources = Resources(self.verbs, self.threads, self.newest_threads, self.reads, self.by_tool)
        subscriptions = Subscriptions(resources, self.care, self.verbs.log, self.verbs.following)
        reply = McpVerbs(self.verbs, calls, subscriptions).reply
        route_of = partial(operation_of, names.OPERATIONS, "docs/reference/mcp-endpoint.md")
        return Wire(names.CALL.function, names.PATH, MCP_DOCUMENT, route_of, reply, names.mcp_refusal)
