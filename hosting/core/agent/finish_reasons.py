"""Why each model call ended: the provider's reason, and `broken_off` if a provider that always gives one did not.

Theory. A stream that ends early raises nothing if its connection was closed in order: by a proxy, a gateway, a server
that is stopped. What came until then would look like a whole answer. OpenAI's two APIs and Anthropic's end each stream
with a reason, so theirs are known by what they sent, whichever class of client read it. Of all other clients an answer
without a reason says nothing: many never give one. A stream without anything in it is no client's whole answer.

The word is put where the framework has its own, so that whatever reads the answer finds it: middleware, the journal, a
run's end. This stands inside the journal: an answer that is replayed has its word already.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ChatResponseUpdate,
    FinishReason,
    Message,
    ResponseInvalidatedException,
    ResponseStream,
)
from agent_framework.exceptions import ChatClientException

from hosting.core.agent.framework import is_refusal, is_surrender
from hosting.core.thread.finish import BROKEN_OFF, REFUSAL, TOOL_LIMIT, is_cut

_CHUNK = "chat.completion.chunk"
_BEGINNINGS = ("response.created", "response.in_progress", "message_start")
"""The first events of OpenAI's Responses, and of Anthropic's Messages."""

_ENDINGS = ("response.completed", "response.incomplete", "response.failed")
_NAMED = ("max_output_tokens", "content_filter")
"""The reasons of an incomplete response for which the framework has words."""


class FinishReasons(ChatMiddleware):
    """Stands around each model call, and sees to it that its answer has the reason for which it ended."""

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model.

        Raises `ChatClientException` for an answer that its provider itself calls failed, and for an answer that was cut
        in the arguments of a tool call.
        """
        await call_next()
        if isinstance(context.result, ResponseStream):
            context.result = _to_its_end(context.result)
        elif isinstance(context.result, ChatResponse):
            hidden = _hidden_reason(context.result.raw_representation)
            context.result.finish_reason = hidden or context.result.finish_reason
            _check_calls(context.result)


def _to_its_end(
    stream: ResponseStream[ChatResponseUpdate, ChatResponse[Any]],
) -> ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
    """Return the stream, with another update if it was broken off."""
    reason: FinishReason | None = None

    async def updates() -> AsyncIterator[ChatResponseUpdate]:
        nonlocal reason
        gives_reasons, is_empty = False, True
        async for update in stream:
            is_empty = False
            raw: Any = update.raw_representation
            kind = getattr(raw, "type", None)
            if getattr(raw, "object", None) == _CHUNK or kind in _BEGINNINGS:
                gives_reasons = True
            if hidden := _hidden_reason(raw.response if kind in _ENDINGS else getattr(raw, "delta", None)):
                update.finish_reason = hidden
            reason = _word(update) or reason
            yield update
        if reason is None and (gives_reasons or is_empty):
            reason = FinishReason(BROKEN_OFF)
            yield ChatResponseUpdate(contents=[], role="assistant", finish_reason=reason)

    async def response(_: object) -> ChatResponse[Any]:
        whole: ChatResponse[Any] = await stream.get_final_response()
        whole.finish_reason = reason or whole.finish_reason
        _check_calls(whole)
        return whole

    return ResponseStream(updates(), finalizer=response)


def reason_of_no_answer(messages: Sequence[Message]) -> FinishReason | None:
    """Return why one of these messages stands in place of an answer; None if none does."""
    if any(map(is_surrender, messages)):
        return FinishReason(TOOL_LIMIT)
    is_refused = any(is_refusal(content) for message in messages for content in message.contents)
    return FinishReason(REFUSAL) if is_refused else None


def _check_calls(answer: ChatResponse[Any]) -> None:
    """Raise for a call with cut arguments: the framework would make it without any, if its tool needs none.

    The framework's client for Anthropic does the same.
    """
    if not is_cut(answer.finish_reason):
        return
    for content in (content for message in answer.messages for content in message.contents):
        is_ours = content.type == "function_call" and not content.informational_only and not content.hosted
        if is_ours and not _are_whole(content.arguments):
            raise ResponseInvalidatedException(f"The answer broke off in a call of {content.name!r}. It is not made.")


def _are_whole(arguments: object) -> bool:
    try:
        return isinstance(json.loads(arguments) if isinstance(arguments, str) else arguments, Mapping)
    except ValueError:
        return False


def _word(update: ChatResponseUpdate) -> FinishReason | None:
    return FinishReason(update.finish_reason) if update.finish_reason else None


def _hidden_reason(raw: Any) -> FinishReason | None:
    """Return a provider's reason that the framework's clients leave out, or report as a complete answer.

    Anthropic pauses a long turn, which is no end. OpenAI's Responses have more statuses than the framework has words.
    """
    if getattr(raw, "stop_reason", None) == "pause_turn":
        return FinishReason("pause_turn")
    status = getattr(raw, "status", None) if getattr(raw, "object", None) == "response" else None
    if status == "failed":
        error = getattr(raw, "error", None)
        raise ChatClientException(f"The model's provider failed: {getattr(error, 'message', None) or status}")
    details = getattr(getattr(raw, "incomplete_details", None), "reason", None)
    return FinishReason(details or status) if status not in (None, "completed") and details not in _NAMED else None
