"""Tool calls that are not made: their results for the model, and the ends of runs instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from agent_framework import ChatContext, ChatMiddleware, Content, FunctionInvocationContext, FunctionMiddleware

from hosting.errors import RunDivergedError, RunInterruptedError


class RefusedCalls(ChatMiddleware):
    """Gives the model the reason why a person refused a tool call: agent-framework says only that it was refused.

    `reasons` are by the framework's id of the call. A result is changed in place, so that the conversation keeps
    what the model got.
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self._reasons = reasons

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Put the reasons into the results with which the framework closed the calls, then call the model."""
        for message in context.messages:
            for content in message.contents:
                reason = self._reasons.get(content.id or "") if content.type == "function_result" else None
                if reason is not None:
                    refused = Content.from_function_result(str(content.call_id), result=reason)
                    content.result, content.items = refused.result, refused.items
        await call_next()


class ToolsOff(FunctionMiddleware):
    """Answers each tool call with a refusal that the model reads; the tool is not run.

    The option `tool_choice: none` only asks the model not to call tools.
    """

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Make the refusal the tool's result."""
        context.result = "Tools are switched off for this request. Answer without them."


def interrupted(name: str) -> RunInterruptedError:
    """Return the error of a call that was cut short, and is not made again."""
    return RunInterruptedError(
        f"The process ended while tool {name!r} was running, and this tool is called at most once. It may have done "
        "its work. If it may be called twice, mark it @idempotent."
    )


def diverged(step: str) -> RunDivergedError:
    """Return the error of an attempt that does something else than was recorded."""
    return RunDivergedError(
        f"The previous attempt recorded another step at {step}: the agent's code changed, or is not deterministic. No "
        "step was repeated. Send the message again."
    )
