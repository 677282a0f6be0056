"""An agent as a tool with a conversation: the call of the trigger `mcptool-<agent>`, and its result."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.runs import Runs
from hosting.errors import BodyTooLargeError, HostingError, InternalError
from hosting.feature import McpTool
from hosting.http.mcp_tool import ARGUMENTS, CallResult, options_argument, output_schema, parse_call, result_of_call
from hosting.model_options import OPTIONS
from hosting.names import mcp_function
from hosting.plan import AgentPlan, ToolPlan
from hosting.ports import ClockClient
from hosting.principal import Caller, PrincipalRequest, PrincipalResolver, owner_of, resolve
from hosting.settings import SettingsPart
from hosting.strict_json.parsing import parse_text
from hosting.strict_json.slow_reads import read_aside

_ESCAPED_BYTES = 6
_HEADERS_BYTES = 65_536


class McpSettings(SettingsPart):
    """The settings of MCP tools."""

    mcp_thread_in_text: bool = False
    """Whether the text of an MCP tool's result ends with the thread's id, for clients that read nothing else."""


class AgentTool(Struct, frozen=True):
    """An agent as an MCP tool, which takes calls of `most_bytes`.

    With a `resolver`, which identifies the caller, threads are the caller's.
    """

    plan: AgentPlan
    runs: Runs
    settings: McpSettings
    most_bytes: int
    resolver: PrincipalResolver | None = None

    def declared(self, tool: ToolPlan) -> McpTool:
        """Return the tool with the function that answers its calls."""
        detail = "The app failed on this call. Its log has the cause."
        return McpTool(
            mcp_function(self.plan.name),
            tool.name,
            tool.description,
            properties=json.dumps(_properties(self.plan)),
            output_schema=json.dumps(output_schema(self.plan)),
            run=self.call,
            failure=_envelope(CallResult.of_error(InternalError(detail))),
        )

    async def call(self, context: str, client: ClockClient) -> str:
        """Return the tool result for the trigger's text, a tool error for a refused call or a run that failed."""
        try:
            return await self._answer(context, client)
        except HostingError as error:
            return _envelope(CallResult.of_error(error))

    async def _answer(self, context: str, client: ClockClient) -> str:
        most = self.most_bytes
        # JSON escapes a byte to six at most: a longer text holds too much, and is not even parsed.
        _check_size(len(context), _ESCAPED_BYTES * most + _HEADERS_BYTES)
        given = await read_aside(len(context), lambda: parse_text(context))
        principal = None
        if self.resolver is not None:
            request = PrincipalRequest(_headers(given), f"MCP {self.plan.name}", self.plan.name, is_mcp=True)
            principal = await resolve(self.resolver, request)
        owner = owner_of(principal)
        arguments, options = given.get("arguments") or {}, self.plan.options.model_options
        call = await read_aside(len(context), lambda: parse_call(arguments, self.plan.name, owner, options))
        _check_size(len(call.request.message.encode()), most)
        call = replace(call, busy=self.plan.options.busy)
        started = await self.runs.start(self.plan.name, call, Caller.of(client, principal))
        run = await self.runs.wait_as(call.wait, started.run, client)
        waited, shows_thread = self.runs.wait_seconds(call.wait), self.settings.mcp_thread_in_text
        return _envelope(result_of_call(run, self.plan, waited, thread_in_text=shows_thread))


def _properties(plan: AgentPlan) -> list[dict[str, Any]]:
    """Return the tool's arguments as the MCP extension takes them: of an object it knows no members."""
    arguments = [(name, "string", description, is_required) for name, description, is_required in ARGUMENTS]
    if (options := options_argument(plan)) is not None:
        bounds = json.dumps(options["properties"], ensure_ascii=False)
        arguments.append((OPTIONS, "object", f"{options['description']} JSON Schema of each: {bounds}", False))
    names = ("propertyName", "propertyType", "description", "isRequired")
    return [dict(zip(names, argument, strict=True)) for argument in arguments]


def _headers(context: dict[str, Any]) -> dict[str, str]:
    """Return the headers of the client's transport by name in lower case; repeated ones joined."""
    found: dict[str, str] = {}
    headers = ((context.get("transport") or {}).get("properties") or {}).get("headers") or {}
    for name, value in headers.items():
        lower = str(name).lower()
        found[lower] = f"{found[lower]},{value}" if lower in found else str(value)
    return found


def _check_size(size_bytes: int, most_bytes: int) -> None:
    """Refuse a call of more bytes than a request may have: the extension lets much more through."""
    if size_bytes > most_bytes:
        raise BodyTooLargeError(f"The tool call has {size_bytes} bytes; the limit is {most_bytes}. Send less.")


def _envelope(result: CallResult) -> str:
    """Return the form that the MCP extension takes as a whole CallToolResult (recordings: "Tried besides")."""
    content = json.dumps(result.as_object(), ensure_ascii=False)
    return json.dumps({"type": "call_tool_result", "content": content}, ensure_ascii=False)
