"""Steps between the journal and agent-framework: what is recorded of its values, and how they are given again.

What was said is compared by digests of what the model is shown. What the framework makes anew for each attempt, or
keeps beside a content for the host, is no part of that: a later attempt would never be the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agent_framework import ChatResponse, ChatResponseUpdate, Content, Message, ResponseStream

from hosting.agent.history import SOURCE_ID
from hosting.thread.events import ToolResult

_UNSAID = {"id", "additional_properties"}


class ReplayedToolError(Exception):
    """The error that the tool raised in an earlier attempt, in its own words."""


def calls_tools(response: ChatResponse[Any]) -> bool:
    """Tell whether the model asks for tool calls."""
    return any(content.type == "function_call" for message in response.messages for content in message.contents)


def streamed(response: ChatResponse[Any]) -> ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
    """Return the answer as a stream that ends as itself."""

    async def updates() -> AsyncIterator[ChatResponseUpdate]:
        for update in response.to_updates():
            yield update

    return ResponseStream(updates(), finalizer=lambda _: response)


class SaidSoFar:
    """Digests of what one agent's run said so far; each message is looked at once, when it is first there.

    What the thread said before is left out: it is the same for every attempt.
    """

    def __init__(self) -> None:
        self._digests: dict[int, tuple[Message, str]] = {}

    def digest(self, messages: Sequence[Message]) -> str:
        """Return the digest of the messages."""
        return _digest([self._digest_of(message) for message in messages if not _is_history(message)])

    def _digest_of(self, message: Message) -> str:
        if id(message) not in self._digests:
            self._digests[id(message)] = (message, _digest(_said(message)))  # kept, so that its id stays its own
        return self._digests[id(message)][1]


def _is_history(message: Message) -> bool:
    attribution = message.additional_properties.get("_attribution")
    return isinstance(attribution, dict) and attribution.get("source_id") == SOURCE_ID


def _said(message: Message) -> list[Any]:
    """Return a message's role and contents, without ids of occurrences and the whole answers of MCP servers."""
    return [message.role, [content.to_dict(exclude=_UNSAID, exclude_none=True) for content in message.contents]]


def is_refusal(error: Exception) -> bool:
    """Tell whether agent-framework refused the arguments, which it does before the tool's own code begins."""
    return isinstance(error, TypeError) and type(error).__module__.startswith("agent_framework.")


def digest_of_arguments(arguments: Any) -> str:
    """Return the digest of what a tool is called with."""
    return _digest(dict(arguments) if isinstance(arguments, Mapping) else arguments)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode(errors="surrogatepass")).hexdigest()


def tool_result(run_id: str, at: float, key: str, result: Any) -> ToolResult:
    """Return the record of what a tool gave: contents, or its text, as the framework itself would make of it."""
    if isinstance(result, list) and all(isinstance(item, Content) for item in result):
        return ToolResult(at=at, run_id=run_id, key=key, contents=[plain(item) for item in result])
    return ToolResult(at=at, run_id=run_id, key=key, text=str(result))


def plain(given: ChatResponse[Any] | Content) -> dict[str, Any]:
    """Return the framework's own form as JSON values, so that what is recorded is what is read again."""
    values: dict[str, Any] = json.loads(json.dumps(given.to_dict(exclude_none=True), default=str))
    return values


def given_again(result: ToolResult) -> Any:
    """Return what the tool gave, for a framework that asks now; raises `ReplayedToolError` for what it raised."""
    if result.error is not None:
        raise ReplayedToolError(result.error)
    if result.contents is not None:
        return [Content.from_dict(item) for item in result.contents]
    return result.text
