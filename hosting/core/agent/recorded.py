"""The recorded form of a step: a model's or a tool's answer as JSON values, its replay, and digests.

A later attempt must find the same digests, so they cover only what the model is shown: not the ids that the framework
makes anew for each attempt, and not what it keeps next to a content for the host. Nor do they cover a model's thoughts:
where an agent drops them, no later attempt has them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

from agent_framework import ChatResponse, ChatResponseUpdate, Content, Message, ResponseStream

from hosting.core.thread.events import ToolResult
from state.json_values import portable_value
from state.portable import portable_text

_THOUGHT = "text_reasoning"


class ReplayedToolError(Exception):
    """The error that the tool raised in an earlier attempt, in its own words."""


def plain(recorded: ChatResponse[Any] | Content) -> dict[str, Any]:
    """Return the framework's own form as JSON values, so that records and replays agree."""
    return cast(dict[str, Any], _json_value(recorded.to_dict(exclude_none=True)))


def _json_value(value: Any) -> Any:
    return portable_value(json.loads(json.dumps(value, default=str)))


def recorded_answer(answer: ChatResponse[Any], *, drops_thoughts: bool) -> dict[str, Any]:
    """Return the record of a model's answer, perhaps without its thoughts."""
    values = plain(answer)
    for message in values.get("messages", ()) if drops_thoughts else ():
        message["contents"] = [content for content in message["contents"] if content["type"] != _THOUGHT]
    return values


def drop_thoughts(messages: Iterable[Message]) -> None:
    """Take the model's thoughts out of these messages."""
    for message in messages:
        message.contents = [content for content in message.contents if content.type != _THOUGHT]


def replayed_stream(response: ChatResponse[Any]) -> ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
    """Return the answer as a stream that ends as itself."""

    async def updates() -> AsyncIterator[ChatResponseUpdate]:
        for update in response.to_updates():
            yield update

    return ResponseStream(updates(), finalizer=lambda _: response)


def tool_result(run_id: str, moment: float, key: str, result: Any, session: dict[str, Any] | None) -> ToolResult:
    """Return the record of a tool's result: its contents, or its text as the framework would write it."""
    if isinstance(result, list) and all(isinstance(item, Content) for item in result):
        return ToolResult(at=moment, run_id=run_id, key=key, contents=list(map(plain, result)), session=session)
    return ToolResult(at=moment, run_id=run_id, key=key, text=portable_text(str(result)), session=session)


def result_of_cut_call(run_id: str, moment: float, key: str) -> ToolResult:
    """Return the record of a call that began in an earlier attempt, and is not made again.

    The conversation keeps the mark `interrupted` with the text that the model gets.
    """
    text = "The process ended while this tool was running. It may have done its work, and is not called again."
    contents = [{"type": "text", "text": text, "additional_properties": {"interrupted": True}}]
    return ToolResult(at=moment, run_id=run_id, key=key, contents=contents, interrupted=True)


def replayed_result(result: ToolResult) -> Any:
    """Return the result that a tool had in an earlier attempt; raises `ReplayedToolError` for an error of the tool."""
    if result.error is not None:
        raise ReplayedToolError(result.error)
    if result.contents is not None:
        return [Content.from_dict(item) for item in result.contents]
    return result.text


def digest_of_message(message: Message) -> str:
    """Return the digest of a message's role and contents, without the ids and the whole answers of MCP servers."""
    unshown = {"id", "additional_properties"}
    shown = (content for content in message.contents if content.type != _THOUGHT)
    return digest([message.role, [content.to_dict(exclude=unshown, exclude_none=True) for content in shown]])


def text_of_arguments(arguments: Any) -> str:
    """Return the arguments with which a tool is called, as JSON text."""
    return json.dumps(_json_value(dict(arguments)), ensure_ascii=False)


def digest(value: Any) -> str:
    """Return the digest of a value as JSON; half a character counts as its replacement."""
    text = json.dumps(portable_value(value), sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class RunningDigest:
    """The digest of a list of digests, which grows: `digest` of all of them, without a look at those before."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._between = b"["

    def add(self, item: str) -> None:
        """Add the next of them."""
        self._hash.update(b'%b"%b"' % (self._between, item.encode()))
        self._between = b", "

    def value(self) -> str:
        """Return the digest until now."""
        whole = self._hash.copy()
        whole.update(b"[]" if self._between == b"[" else b"]")
        return whole.hexdigest()
