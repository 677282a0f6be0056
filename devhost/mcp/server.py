"""What the MCP server answers to each method, without its transport (host contract 5.3 to 5.5)."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from devhost.converters import decode_text, encode_result
from devhost.invoke import Invoker
from devhost.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Call, CallError, UnreadableError
from devhost.mcp.results import Result, failed_result, plain_result, schema_result
from devhost.mcp.tools import Tool
from devhost.ports import FunctionFailedError
from devhost.settings import McpServerSettings

logger = logging.getLogger(__name__)
_VERSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18"})
_NEWEST_VERSION = "2025-06-18"
_CAPABILITIES: Mapping[str, object] = {"logging": {}, "prompts": {}, "resources": {}, "tools": {}}


@dataclass(frozen=True)
class Caller:
    """Who calls: the session state that the client sent, None without one, and the headers of its request."""

    session_id: str | None
    headers: Mapping[str, str]


class McpServer:
    """Answers calls from the app's tools."""

    def __init__(self, settings: McpServerSettings, tools: Mapping[str, Tool], invoker: Invoker) -> None:
        self._settings = settings
        self._tools = tools
        self._invoker = invoker
        self._listing = {"tools": [tool.listing for tool in tools.values()]}
        self._methods: Mapping[str, Callable[[Call, Caller], Awaitable[Result]]] = {
            "initialize": self._initialize,
            "ping": _answer_with({}),
            "logging/setLevel": _answer_with({}),
            "resources/subscribe": _answer_with({}),
            "resources/unsubscribe": _answer_with({}),
            "tools/list": _answer_with(self._listing),
            "tools/call": self._call_tool,
            "resources/list": _answer_with({"resources": []}),
            "resources/templates/list": _answer_with({"resourceTemplates": []}),
            "resources/read": _refuse_unknown("resource", "uri"),
            "prompts/list": _answer_with({"prompts": []}),
            "prompts/get": _refuse_unknown("prompt", "name"),
        }

    async def answer(self, call: Call, caller: Caller) -> Result:
        """Return the result; raise `CallError` for an error answer, `UnreadableError` as the extension does."""
        method = self._methods.get(call.method)
        if method is None:
            raise CallError(METHOD_NOT_FOUND, f"Method '{call.method}' is not available.")
        return await method(call, caller)

    async def _initialize(self, call: Call, caller: Caller) -> Result:
        if call.params is not None and "protocolVersion" not in call.params:
            raise UnreadableError
        wanted = (call.params or {}).get("protocolVersion")
        result: dict[str, object] = {
            "protocolVersion": wanted if wanted in _VERSIONS else _NEWEST_VERSION,
            "capabilities": _CAPABILITIES,
            "serverInfo": {"name": self._settings.name, "version": self._settings.version},
        }
        if self._settings.instructions:
            result["instructions"] = self._settings.instructions
        return result

    async def _call_tool(self, call: Call, caller: Caller) -> Result:
        params = call.params
        if params is not None and not isinstance(params.get("name"), str):
            raise CallError(INTERNAL_ERROR, "An error occurred.")
        name = str((params or {}).get("name", ""))
        tool = self._tools.get(name.lower())
        if tool is None:
            raise CallError(INVALID_PARAMS, f"Unknown tool: '{name}'")
        arguments = (params or {}).get("arguments")
        _require(tool, arguments if isinstance(arguments, Mapping) else {})
        return await self._run(tool, _trigger_text(name, arguments, caller))

    async def _run(self, tool: Tool, text: str) -> Result:
        function = tool.function
        try:
            value = decode_text(function.trigger_type, text, "string")
            answered = await self._invoker.call(function, value, str(uuid.uuid4()))
            datum = encode_result(function.trigger_type, answered)
            return schema_result(datum) if tool.has_result_schema else plain_result(datum)
        except FunctionFailedError:
            return failed_result(tool.name)
        except (ValueError, TypeError) as error:
            logger.error("The tool '%s' answered an unusable result envelope: %s", tool.name, error)
            return failed_result(tool.name)


def _answer_with(result: Result) -> Callable[[Call, Caller], Awaitable[Result]]:
    async def answer(call: Call, caller: Caller) -> Result:
        return result

    return answer


def _refuse_unknown(kind: str, key: str) -> Callable[[Call, Caller], Awaitable[Result]]:
    async def refuse(call: Call, caller: Caller) -> Result:
        raise CallError(INVALID_PARAMS, f"Unknown {kind}: '{(call.params or {}).get(key, '')}'")

    return refuse


def _require(tool: Tool, arguments: Mapping[str, object]) -> None:
    missing = [name for name in tool.required if arguments.get(name) is None]
    if missing:
        wanted = f"Please provide: {', '.join(missing)}"
        raise CallError(INVALID_PARAMS, f"One or more required tool properties are missing values. {wanted}")


def _trigger_text(name: str, arguments: object, caller: Caller) -> str:
    """Return the text that the function's trigger receives; members without value are left out."""
    transport: dict[str, object] = {"name": "http-streamable"}
    context: dict[str, object] = {"name": name}
    if arguments is not None:
        context["arguments"] = arguments
    if caller.session_id is not None:
        context["sessionid"] = transport["sessionId"] = caller.session_id
    transport["properties"] = {"headers": caller.headers}
    return json.dumps({**context, "transport": transport}, separators=(",", ":"), ensure_ascii=False)
