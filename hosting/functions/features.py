"""Registers what features declare: the one place that makes triggers of it."""

from __future__ import annotations

import logging
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import azure.functions as func

from hosting.feature import Activity, McpTool, Orchestration
from hosting.functions.answering import Served, register_bound
from hosting.functions.durable import enter_invocation

logger = logging.getLogger(__name__)


def register_features(served: Served) -> None:
    """Register what the app's features add; called again, what those add that came with an agent since."""
    for feature in served.features:
        if not feature.is_on:
            continue
        register_bound(served, (bound for bound in feature.routes() if bound.route not in served.routes))
        for function in (*feature.durable(), *feature.tools()):
            if function.name not in served.functions:
                served.functions.append(function.name)
                _register(served.app, function)


def _register(app: df.DFApp, function: Orchestration | Activity | McpTool) -> None:
    match function:
        case Orchestration(name, run):

            def orchestrate(context: df.DurableOrchestrationContext) -> Generator[Any, Any, None]:
                return (yield from run(context))

            app.function_name(name)(app.orchestration_trigger(context_name="context")(orchestrate))
        case Activity(name, act):

            async def activity(value: str, client: Any, context: func.Context) -> str:
                return await act(value, enter_invocation(client, context))

            trigger = app.activity_trigger(input_name="value")
            app.function_name(name)(trigger(app.durable_client_input(client_name="client")(activity)))
        case McpTool():
            _register_tool(app, function)


def _register_tool(app: df.DFApp, tool: McpTool) -> None:
    async def answer(call: str, client: Any, context: func.Context) -> str:
        try:
            return await tool.run(call, enter_invocation(client, context))
        except Exception:  # in Development the real host shows the caller what a tool's function raises
            logger.exception("The MCP tool %s failed.", tool.tool)
            return tool.failure

    trigger = app.mcp_tool_trigger(
        arg_name="call",
        tool_name=tool.tool,
        description=tool.description,
        tool_properties=tool.properties,
        use_result_schema=True,
        output_schema=tool.output_schema,
    )
    app.function_name(tool.name)(trigger(app.durable_client_input(client_name="client")(answer)))
