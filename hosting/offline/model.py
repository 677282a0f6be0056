"""The model that needs no key and no network: a chat client of agent-framework like any other, answering by rules."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FinishReason,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    UsageDetails,
)
from agent_framework.observability import ChatTelemetryLayer

from hosting.offline.answers import Answer, OfflineTurn, Say, answer
from hosting.offline.values import in_format

CHARACTERS_PER_TOKEN = 4
MOST_STREAM_SECONDS = 1.0
SPOKEN = re.compile(r"\s*\S+")
"""A word of a stream, with the blanks before it."""


class RuleChatClient(BaseChatClient[Any]):
    """One model call: the newest message in, words or function calls out; the layers around it run the functions."""

    OTEL_PROVIDER_NAME = "offline"
    WORD_SECONDS = 0.05  # between two words of a stream, so that a person sees it grow; 0 where time is measured
    MODEL_INPUTS = ("text",)  # read by hosting: pictures and files are refused before they come here
    ONLY_FOR_DEVELOPMENT = (  # read by hosting too: an app in production logs it at its start
        "Choose a model by AZURE_OPENAI_ENDPOINT, OPENAI_BASE_URL or OPENAI_API_KEY: docs/guides/models.md."
    )

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            return self._build_response_stream(stream_updates(messages, options, self.WORD_SECONDS))
        return complete(messages, options)


class OfflineChatClient(
    FunctionInvocationLayer[Any],
    ChatMiddlewareLayer[Any],
    ChatTelemetryLayer[Any],
    RuleChatClient,
):
    """The offline model with the layers of agent-framework's clients: function invocation, middleware, telemetry.

    The same conversation always gets the same answer, well within a millisecond if it is not streamed. It holds nothing
    between calls.
    """


async def complete(messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
    """The whole answer at once."""
    contents = answer_contents(messages, options)
    return ChatResponse(
        messages=Message(role="assistant", contents=contents),
        model="offline",
        finish_reason=_finish_reason(contents),
        usage_details=_usage(messages, contents),
    )


async def stream_updates(
    messages: Sequence[Message], options: Mapping[str, Any], word_seconds: float
) -> AsyncIterator[ChatResponseUpdate]:
    """The same answer word by word, a long one faster; function calls whole, the usage last."""
    contents = answer_contents(messages, options)
    words = _pieces(contents)
    pause = min(word_seconds, MOST_STREAM_SECONDS / max(len(words), 1))
    for number, piece in enumerate(words):
        if number and pause and piece.type == "text":
            await asyncio.sleep(pause)
        yield ChatResponseUpdate(role="assistant", contents=[piece], model="offline")
    usage = Content.from_usage(_usage(messages, contents))
    yield ChatResponseUpdate(
        role="assistant", contents=[usage], model="offline", finish_reason=_finish_reason(contents)
    )


def answer_contents(messages: Sequence[Message], options: Mapping[str, Any]) -> list[Content]:
    """The contents of the answer, never empty; its text is put into the requested format, if any."""
    reply = answer(OfflineTurn(messages, _offered_tools(options)))
    if isinstance(reply, Say):
        reply = Say(in_format(reply.text, options.get("response_format")))
    return _contents_of(reply, call_prefix=f"call_{len(messages)}")


def _offered_tools(options: Mapping[str, Any]) -> Mapping[str, Any]:
    if options.get("tool_choice") == "none":
        return {}
    return {tool.name: tool for tool in options.get("tools") or ()}


def _contents_of(reply: Answer, call_prefix: str) -> list[Content]:
    """`given` as the framework's contents; call ids differ along a conversation by its length in the prefix."""
    if isinstance(reply, Say):
        return [Content.from_text(reply.text)]
    return [
        Content.from_function_call(f"{call_prefix}_{number}", reply.tool, arguments=dict(arguments))
        for number, arguments in enumerate(reply.arguments)
    ]


def _pieces(contents: Sequence[Content]) -> list[Content]:
    if contents[0].type == "function_call":
        return list(contents)
    return [Content.from_text(word) for word in SPOKEN.findall((contents[0].text or "").rstrip())]


def _finish_reason(contents: Sequence[Content]) -> FinishReason:
    return FinishReason("tool_calls" if contents[0].type == "function_call" else "stop")


def _usage(messages: Sequence[Message], contents: Sequence[Content]) -> UsageDetails:
    """A rough count: one token for four characters begun, of the newest message and of the answer.

    Earlier messages are left out, so that a long conversation costs no more to count than a short one.
    """
    input_tokens = _tokens(messages[-1].text if messages else "")
    output_tokens = sum(_tokens(content.text or str(content.arguments or "")) for content in contents)
    return UsageDetails(
        input_token_count=input_tokens, output_token_count=output_tokens, total_token_count=input_tokens + output_tokens
    )


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
