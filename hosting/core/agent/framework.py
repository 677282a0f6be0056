"""The parts of agent-framework that we use without its promise, in one place.

Its functions keep an agent or an MCP server that is a tool in their closures, a history that is kept with each model
call has a middleware of its own, and a tool's arguments are refused by an error like any other. When a version moves
one of these, `test_framework.py` or `tests/architecture/test_private_doors.py` fails by its name.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeGuard

import agent_framework
from agent_framework import (
    Agent,
    ChatContext,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    HistoryProvider,
    MCPStdioTool,
    MCPStreamableHTTPTool,
    MCPWebsocketTool,
    Message,
    SupportsAgentRun,
)
from agent_framework._sessions import PerServiceCallHistoryPersistingMiddleware, is_local_history_conversation_id
from agent_framework._tools import _FUNCTION_INVOCATION_LIMIT_FALLBACK_TEXT as _GAVE_UP

from hosting.core.agent.recorded import replayed_stream
from hosting.errors import StoreUnavailableError
from hosting.session_data import erase_session_data
from hosting.tools import DESTRUCTIVE, IDEMPOTENT

logger = logging.getLogger(__name__)

FRAMEWORK_VERSION = agent_framework.__version__
McpServer = MCPStdioTool | MCPStreamableHTTPTool | MCPWebsocketTool

MODULES = "agent_framework."
_IS_TOOL, _REMOTE_NAME = "_mcp_is_tool", "_mcp_remote_name"
"""By which the framework knows a tool of an MCP server again."""
CLEARING_SECONDS = 30.0
"""The time in which a context provider may erase its data of a session; it is called again after that."""


def agent_of_tool(tool: Any) -> Agent[Any] | None:
    """Return the agent that the tool runs (`as_tool`), or None for every other tool."""
    return next((held for held in _held_by(tool) if isinstance(held, Agent)), None)


def server_of_tool(tool: Any) -> McpServer | None:
    """Return the MCP server that offers the tool, or None for every other tool."""
    return next((held for held in _held_by(tool) if isinstance(held, McpServer)), None)


def keeps_journal(agent: SupportsAgentRun) -> TypeGuard[Agent[Any]]:
    """Return whether the tool calls of the agent can be recorded: the framework makes them, by its client's layers."""
    return isinstance(agent, Agent) and isinstance(agent.client, FunctionInvocationLayer | ChatMiddlewareLayer)


def agents_within(agent: Any) -> list[Any]:
    """Return the agent, the agents that are its tools, and those that are theirs, each once."""
    agents = [agent]
    for outer in agents:  # grows meanwhile
        for tool in getattr(outer, "default_options", {}).get("tools") or ():
            inner = agent_of_tool(tool)
            if inner is not None and inner not in agents:
                agents.append(inner)
    return agents


def agents_among(named: Iterable[Any]) -> list[Agent[Any]]:
    """Return the agents among values, and in lists and dicts among them, each once."""
    agents: list[Agent[Any]] = []
    for value in named:
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,)
        agents += [item for item in values if isinstance(item, Agent) and item not in agents]
    return agents


def named_in(functions: Iterable[Any]) -> Iterator[Any]:
    """Iterate over the values that functions use: globals, closures, and those of functions in them."""
    waiting, codes = list(functions), set[CodeType]()
    for candidate in waiting:  # grows meanwhile
        function = inspect.unwrap(candidate) if callable(candidate) else None
        if not isinstance(function, FunctionType) or function.__code__ in codes:
            continue
        codes.add(function.__code__)
        names = sorted(_names_of(function.__code__))
        values = list[Any]()
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # a variable that is not set yet
                values.append(cell.cell_contents)
        values += [function.__globals__[name] for name in names if name in function.__globals__]
        for value in values:
            yield value
            if isinstance(value, ModuleType):
                yield from (vars(value)[name] for name in names if name in vars(value))
            elif isinstance(value, FunctionType) and value.__module__ == function.__module__:
                waiting.append(value)


def _names_of(code: CodeType) -> set[str]:
    nested = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names_of, nested))


def is_surrender(message: Message) -> bool:
    """Return whether the framework's loop put the message in place of an answer, at its limit of tool calls."""
    return message.text == _GAVE_UP


def is_refusal(content: Content) -> bool:
    """Return whether the model says by this text that it does not answer: clients of OpenAI's APIs mark it so."""
    return content.type == "text" and content.additional_properties.get("model_output_kind") == "refusal"


def is_idempotent(tool: Any) -> bool:
    """Return whether a tool, the function in it, or the MCP server after it was declared so (`hosting.tools`)."""
    return _is_declared(tool, IDEMPOTENT)


def is_destructive(tool: Any) -> bool:
    """Return whether it was declared that a call of the tool cannot be taken back, as `is_idempotent` does."""
    return _is_declared(tool, DESTRUCTIVE)


def _is_declared(tool: Any, mark: str) -> bool:
    return any(getattr(part, mark, False) for part in (tool, getattr(tool, "func", None), server_of_tool(tool)))


async def answer_from_record(agent: Agent[Any], context: ChatContext, response: ChatResponse[Any]) -> None:
    """Answer a model call by a recorded response, as if the model had given it.

    An agent that keeps its history with each call does so behind all other middleware: here it keeps this one, too.
    """

    async def answer() -> None:
        context.result = replayed_stream(response) if context.stream else response

    providers = [
        provider
        for provider in agent.context_providers
        if isinstance(provider, HistoryProvider) and provider.load_messages
    ]
    if not agent.require_per_service_call_history_persistence or context.session is None or not providers:
        await answer()
        return
    is_local = response.conversation_id is None or is_local_history_conversation_id(response.conversation_id)
    keeping = PerServiceCallHistoryPersistingMiddleware(
        agent=agent, session=context.session, providers=providers, service_stores_history=not is_local
    )
    await keeping.process(context, answer)


def refuses_arguments(error: Exception) -> bool:
    """Return whether the framework refused a tool's arguments, before the tool's code began."""
    return isinstance(error, TypeError) and type(error).__module__.startswith(MODULES)


def _held_by(tool: Any) -> Iterator[object]:
    """Iterate over the framework's values in the closure of the tool's function.

    Functions of others may hold agents and servers for purposes of their own, so only the framework's are searched.
    """
    function = getattr(tool, "func", None)
    if str(getattr(function, "__module__", "")).startswith(MODULES):
        for cell in getattr(function, "__closure__", None) or ():
            yield cell.cell_contents


def opens_more_than_servers(agent: Any) -> bool:
    """Return whether an agent, once entered, holds more than the servers of its tools, as far as visible."""
    is_plain = isinstance(agent, Agent) and type(agent).__aenter__ is Agent.__aenter__
    return not is_plain or isinstance(agent.client, AbstractAsyncContextManager)


def relist_tools(server: McpServer) -> None:
    """Have the next listing of a server's tools describe all of them anew.

    The framework keeps its description of each tool by the tool's name, also of a server in another version. Until the
    listing has come the old ones stay, for runs that begin meanwhile.
    """
    for function in server.functions:
        properties = function.additional_properties or {}
        if properties.get(_IS_TOOL):
            properties[_REMOTE_NAME] = ""


async def clear_session(agents: Iterable[Any], session_id: str) -> None:
    """Have the providers of these agents, and of those that are their tools, erase their data of a session.

    Call it on the agents' loop, as often as you like. Raises `StoreUnavailableError` where one raises or takes too
    long: then not all of it is gone.
    """
    within = [inner for agent in agents for inner in agents_within(agent)]
    providers = [provider for agent in within for provider in getattr(agent, "context_providers", None) or ()]
    for provider in {id(provider): provider for provider in providers}.values():
        await _cleared(provider, session_id)


async def _cleared(provider: Any, session_id: str) -> None:
    try:
        await asyncio.wait_for(erase_session_data(provider, session_id), CLEARING_SECONDS)
    except Exception as error:
        source = getattr(provider, "source_id", type(provider).__name__)
        logger.exception("The context provider %r did not erase its data of a thread.", source)
        raise StoreUnavailableError(f"The context provider {source!r} has not erased its data of a thread.") from error
