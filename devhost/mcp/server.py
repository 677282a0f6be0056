"""What the MCP server answers to each method, without its transport."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from azure.functions.meta import Datum

from devhost.converters import decode_text, encode_result
from devhost.index import Function
from devhost.invoke import Invoker
from devhost.mcp.catalog import Catalog, Offer
from devhost.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Call, CallError, UnreadableError
from devhost.mcp.results import Result, call_result, failed_call, prompt_result, read_result
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
    """Answers calls from the app's tools, resources and prompts."""

    def __init__(self, settings: McpServerSettings, catalog: Catalog, invoker: Invoker) -> None:
        self._settings = settings
        self._catalog = catalog
        self._invoker = invoker
        resources = [resource.listing for resource in catalog.resources if not resource.is_template]
        templates = [resource.listing for resource in catalog.resources if resource.is_template]
        self._methods: Mapping[str, Callable[[Call, Caller], Awaitable[Result]]] = {
            "initialize": self._initialize,
            "ping": _answer_with({}),
            "logging/setLevel": _answer_with({}),
            "resources/subscribe": _answer_with({}),
            "resources/unsubscribe": _answer_with({}),
            "tools/list": _answer_with({"tools": [tool.listing for tool in catalog.tools.values()]}),
            "tools/call": self._call_tool,
            "resources/list": _answer_with({"resources": resources}),
            "resources/templates/list": _answer_with({"resourceTemplates": templates}),
            "resources/read": self._read_resource,
            "prompts/list": _answer_with({"prompts": [prompt.listing for prompt in catalog.prompts.values()]}),
            "prompts/get": self._get_prompt,
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
        tool, members = _named(call, "tool", self._catalog.tools, "tool properties")
        try:
            return call_result(tool, await self._invoke(tool.function, members, caller))
        except FunctionFailedError:
            return failed_call(tool.name)
        except (ValueError, TypeError) as error:
            logger.error("The tool '%s' answered an unusable result envelope: %s", tool.name, error)
            return failed_call(tool.name)

    async def _read_resource(self, call: Call, caller: Caller) -> Result:
        uri = _text_parameter(call, "uri")
        resource = self._catalog.resource_at(uri)
        if resource is None:
            raise CallError(INVALID_PARAMS, f"Unknown resource: '{uri}'")
        try:
            return read_result(resource, uri, await self._invoke(resource.function, {"uri": uri}, caller))
        except (FunctionFailedError, ValueError, TypeError) as error:
            raise _failed("resource", resource.name, error) from error

    async def _get_prompt(self, call: Call, caller: Caller) -> Result:
        prompt, members = _named(call, "prompt", self._catalog.prompts, "prompt arguments")
        try:
            return prompt_result(prompt, await self._invoke(prompt.function, members, caller))
        except (FunctionFailedError, ValueError, TypeError) as error:
            raise _failed("prompt", prompt.name, error) from error

    async def _invoke(self, function: Function, members: Mapping[str, object], caller: Caller) -> Datum:
        """Call the function with the members and the caller as its trigger's text; raise `FunctionFailedError`."""
        value = decode_text(function.trigger_type, _trigger_text(members, caller), "string")
        answered = await self._invoker.call(function, value, str(uuid.uuid4()))
        return encode_result(function.trigger_type, answered)


def _trigger_text(members: Mapping[str, object], caller: Caller) -> str:
    """Return the text that the function's trigger receives; members without value are left out."""
    transport: dict[str, object] = {"name": "http-streamable"}
    context = {name: value for name, value in members.items() if value is not None}
    if caller.session_id is not None:
        context["sessionid"] = transport["sessionId"] = caller.session_id
    transport["properties"] = {"headers": caller.headers}
    return json.dumps({**context, "transport": transport}, separators=(",", ":"), ensure_ascii=False)


def _failed(kind: str, name: str, error: Exception) -> CallError:
    """Return what the client gets; the function's own failure was logged where it was called."""
    if not isinstance(error, FunctionFailedError):
        logger.error("The %s '%s' answered an unusable result envelope: %s", kind, name, error)
    return CallError(INTERNAL_ERROR, "An error occurred.")


def _answer_with(result: Result) -> Callable[[Call, Caller], Awaitable[Result]]:
    async def answer(call: Call, caller: Caller) -> Result:
        return result

    return answer


def _text_parameter(call: Call, key: str) -> str:
    """Return the parameter; without any parameters the extension goes on with an empty one."""
    value = "" if call.params is None else call.params.get(key)
    if not isinstance(value, str):
        raise CallError(INTERNAL_ERROR, "An error occurred.")
    return value


def _named(
    call: Call, kind: str, offers: Mapping[str, Offer], required_kind: str
) -> tuple[Offer, Mapping[str, object]]:
    """Return the tool or prompt that the call names, and its trigger's members; refuse what is missing."""
    name = _text_parameter(call, "name")
    offer = offers.get(name.lower())
    if offer is None:
        raise CallError(INVALID_PARAMS, f"Unknown {kind}: '{name}'")
    arguments = (call.params or {}).get("arguments")
    given = arguments if isinstance(arguments, Mapping) else {}
    missing = [required for required in offer.required if given.get(required) is None]
    if missing:
        wanted = f"Please provide: {', '.join(missing)}"
        raise CallError(INVALID_PARAMS, f"One or more required {required_kind} are missing values. {wanted}")
    return offer, {"name": name, "arguments": arguments}
