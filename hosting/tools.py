"""What a tool may know of its run and say of itself: for the code in `agents/`.

from hosting.tools import current, idempotent

@idempotent
def get_weather(city: str) -> str: ...

def charge(amount: int) -> str:
    return payments.charge(amount, idempotency_key=current().call_key)

An MCP server gets the call's key in the request's `_meta`, as `durable-agents/call-key`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from hosting.agent.made_tools import server_behind
from hosting.calling.orchestrations import Orchestrations, orchestrations_for

MCP_CALL_KEY = "durable-agents/call-key"
_RULE = "__durable_idempotent__"
T = TypeVar("T", bound=Callable[..., Any] | Any)


@dataclass(frozen=True)
class ToolCall:
    """The call that runs now. `call_key` is the same on every attempt of the run, and no other call has it."""

    agent: str
    thread_id: str
    run_id: str
    call_key: str

    @property
    def orchestrations(self) -> Orchestrations:
        """The app's orchestrations, for this call; raises `LookupError` where the host has none."""
        return orchestrations_for(self.call_key)


_CURRENT: ContextVar[ToolCall] = ContextVar("hosting_tool_call")


def current() -> ToolCall:
    """Return the tool call that runs now; raises `LookupError` outside of one."""
    try:
        return _CURRENT.get()
    except LookupError:
        raise LookupError("hosting.tools.current() is for tools while an agent of this app calls them.") from None


def enter(call: ToolCall) -> None:
    """Make `call` the one that `current` returns, in this task and the threads that it starts."""
    _CURRENT.set(call)


def idempotent(tool: T) -> T:
    """Declare that calling the tool again does no harm, so a call that a crash cut short is made again.

    Takes a function, or a tool of agent-framework; an MCP tool (`MCPStdioTool` and its like) stands for all tools of
    its server. Every other tool is called at most once.
    """
    setattr(tool, _RULE, True)
    return tool


def is_idempotent(tool: Any) -> bool:
    """Tell whether a tool of agent-framework, the function in it, or the MCP server that it is of was declared so."""
    declared = (tool, getattr(tool, "func", None), server_behind(tool))
    return any(getattr(one, _RULE, False) for one in declared)
