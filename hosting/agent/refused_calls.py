"""Why a person refused a tool call, told to the model: agent-framework says only that it was refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from agent_framework import ChatContext, ChatMiddleware, Content


class RefusedCalls(ChatMiddleware):
    """Puts the reasons, by the framework's id of the call, into the results with which the framework closed the calls.

    A result is changed in its place, so that the conversation keeps what the model was told.
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self._reasons = reasons

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Change the results, then have the model asked."""
        for message in context.messages:
            for content in message.contents:
                reason = self._reasons.get(content.id or "") if content.type == "function_result" else None
                if reason is not None:
                    said = Content.from_function_result(str(content.call_id), result=reason)
                    content.result, content.items = said.result, said.items
        await call_next()
