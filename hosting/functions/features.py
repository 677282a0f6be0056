"""Registers what features declare: the one place that makes triggers of it."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

import azure.durable_functions as df
import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response

from hosting.core.hooks import ENTITY
from hosting.feature import Activity, Entity, EntityOperation, McpTool, Orchestration, Wire, WireFeature
from hosting.functions.answering import Served, admitted, respond
from hosting.functions.durable import (
    DurableClient,
    EntityId,
    enter_invocation,
    is_over,
    register_entity,
    result_of,
)
from hosting.functions.http_triggers import register
from hosting.http.replies import Reply, Streamed

WIRE_METHODS = ("GET", "POST", "DELETE")

logger = logging.getLogger(__name__)


def register_features(served: Served) -> None:
    """Register what the app's features add; called again, what those add that came with an agent since."""
    for feature in served.features:
        if not feature.is_on:
            continue
        register(served, (bound for bound in feature.routes() if bound.route not in served.routes))
        for function in (*feature.durable(), *feature.tools()):
            if isinstance(function, EntityOperation | Entity):
                _add_operation(served, function)
            elif function.name not in served.functions:
                served.functions.append(function.name)
                _register(served.app, function)
        if isinstance(feature, WireFeature) and feature.wire not in served.wires:
            served.wires[feature.wire] = feature.served()
            _register_wire(served, served.wires[feature.wire])


def doors_of(served: Served) -> Mapping[str, tuple[str, str]]:
    """Return the base path of each wire's clients, by its title: the function, and the rest of the path.

    They come in the order in which the app names them. Where a protocol names the agent in the path, it is the first.
    """
    agent = next((quote(each.name) for each in served.plan.served_of("agent")), None)
    wires = [feature for feature in served.features if isinstance(feature, WireFeature) and feature.is_on]
    ends = {feature: feature.door or agent for feature in sorted(wires, key=lambda wire: wire.wires.index(wire.wire))}
    return {wire.title: (served.wires[wire.wire].function, end) for wire, end in ends.items() if end is not None}


def _add_operation(served: Served, declared: EntityOperation | Entity) -> None:
    """Add an operation to its entity, which the app has with the first operation."""
    if (entity := served.entities.add(declared)) is not None:
        register_entity(served.app, entity, partial(served.entities.handle, entity))


def _register(app: df.DFApp, function: Orchestration | Activity | McpTool) -> None:
    match function:
        case Orchestration(name, run):

            def orchestrate(context: df.DurableOrchestrationContext) -> Generator[Any, Any, None]:
                return (yield from run(_Context(context)))

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


def _register_wire(served: Served, wire: Wire) -> None:
    async def handled(req: Request, client: DurableClient) -> Reply | Streamed:
        path = req.path_params.get("path") or ""
        served.watch()
        request = await admitted(served, req, client, wire.route_of(req.method, path))
        return await wire.reply(request, path)

    async def serve(req: Request, client: Any, context: func.Context) -> Response:
        return await respond(req, handled(req, enter_invocation(client, context)), wire.refusal)

    app = served.app
    trigger = app.route(route=f"{wire.path}/{{*path}}", methods=WIRE_METHODS)
    app.function_name(wire.function)(trigger(app.durable_client_input(client_name="client")(serve)))


class _Context:
    """The calls of an orchestration (`hosting.feature.OrchestrationContext`), by the SDK."""

    def __init__(self, sdk: df.DurableOrchestrationContext) -> None:
        self.get_input, self.create_timer, self.call_activity = sdk.get_input, sdk.create_timer, sdk.call_activity
        self.task_any, self.continue_as_new = sdk.task_any, sdk.continue_as_new
        self.is_over, self.result_of = is_over, result_of
        self._sdk = sdk

    @property
    def current_utc_datetime(self) -> datetime:
        now: datetime = self._sdk.current_utc_datetime
        return now

    def call_entity(self, key: str, operation: str, input_: Any) -> Any:
        return self._sdk.call_entity(EntityId(ENTITY, key), operation, input_)

    def signal_entity(self, key: str, operation: str, input_: Any) -> Any:
        return self._sdk.signal_entity(EntityId(ENTITY, key), operation, input_)
