"""An agent that searches its files as it is told, and cites what it found."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

NOTHING = "I found nothing."


class _Searcher(BaseChatClient[Any]):
    """`search QUERY` and `search in NAME: QUERY` call the tool, and tell what it gave; other words are said again."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        answer = self._answer(messages)
        return self._build_response_stream(_streamed(answer)) if stream else answer

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            return ChatResponse(messages=Message("assistant", [told_of(str(newest.contents[0].result))]))
        word, _, rest = newest.text.partition(" ")
        if word != "search":
            return ChatResponse(messages=Message("assistant", [f"You said {newest.text}"]))
        arguments: dict[str, Any] = {"query": rest}
        if rest.startswith("in "):
            name, _, query = rest.removeprefix("in ").partition(": ")
            arguments = {"query": query, "files": [name]}
        call = Content.from_function_call("call-1", "file_search", arguments=arguments)
        return ChatResponse(messages=Message("assistant", [call]))


class SearchersClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _Searcher):
    """The model with function invocation and middleware."""


def searcher(*providers: Any, name: str = "Librarian") -> Agent[Any]:
    """Return the agent with these context providers."""
    return Agent(SearchersClient(), "Answer from the files.", name=name, context_providers=providers)


def told_of(result: str) -> str:
    """Return what the model says to a result of the tool: each passage's words with its mark, or the note."""
    findings = json.loads(result)
    said = [f"{passage['text']} {passage['cite']}" for passage in findings["passages"]]
    return "\n\n".join(said) or f"{NOTHING} {findings['note']}"


async def _streamed(answer: Awaitable[ChatResponse[Any]]) -> AsyncIterator[ChatResponseUpdate]:
    for message in (await answer).messages:
        for content in message.contents:
            for part in _parts(content):
                yield ChatResponseUpdate(role="assistant", contents=[part], message_id="m")


def _parts(content: Content) -> list[Content]:
    """Return a text in small parts, so that marks are cut in two; another content as it is."""
    text = content.text
    if content.type != "text" or not text:
        return [content]
    return [Content.from_text(text[start : start + 7]) for start in range(0, len(text), 7)]
