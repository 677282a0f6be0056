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
_FIRST = "call-1"
_HANDS_OVER = "hand over to "


class _Searcher(BaseChatClient[Any]):
    """`search QUERY` and `search in NAME: QUERY` call the tool, and tell what it gave.

    `search QUERY then QUERY` tells what the first one gave before it makes the second call.
    `ask TOOL WORDS` asks an agent that is a tool, and tells its answer. `hand over to AGENT: WORDS` hands over, and
    that agent takes the words as its own. Other words are said again.
    """

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        answer = self._answer(messages, options)
        return self._build_response_stream(_streamed(answer)) if stream else answer

    async def _answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            told = told_of(str(newest.contents[0].result))
            asked = next(message.text for message in reversed(messages) if message.role == "user")
            _, _, second = asked.partition(" then ")
            if second and newest.contents[0].call_id == _FIRST:
                call = Content.from_function_call("call-2", "file_search", arguments={"query": second})
                return ChatResponse(messages=Message("assistant", [Content.from_text(told), call]))
            return ChatResponse(messages=Message("assistant", [told]))
        text = newest.text.partition(" then ")[0]
        if text.startswith(_HANDS_OVER):
            name, _, task = text.removeprefix(_HANDS_OVER).partition(": ")
            if (tool := f"handoff_to_{name}") in {each.name for each in options.get("tools") or ()}:
                return ChatResponse(messages=Message("assistant", [Content.from_function_call(_FIRST, tool)]))
            text = task
        word, _, rest = text.partition(" ")
        if word == "ask":
            name, _, task = rest.partition(" ")
            asked = Content.from_function_call(_FIRST, name, arguments={"task": task})
            return ChatResponse(messages=Message("assistant", [asked]))
        if word != "search":
            return ChatResponse(messages=Message("assistant", [f"You said {text}"]))
        arguments: dict[str, Any] = {"query": rest}
        if rest.startswith("in "):
            name, _, query = rest.removeprefix("in ").partition(": ")
            arguments = {"query": query, "files": [name]}
        call = Content.from_function_call(_FIRST, "file_search", arguments=arguments)
        return ChatResponse(messages=Message("assistant", [call]))


class SearchersClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _Searcher):
    """The model with function invocation and middleware."""


def searcher(*providers: Any, name: str = "Librarian", tools: Sequence[Any] = (), **options: Any) -> Agent[Any]:
    """Return the agent with these context providers, tools and options."""
    how = "Answer from the files."
    return Agent(SearchersClient(), how, name=name, context_providers=providers, tools=[*tools], **options)


def told_of(result: str) -> str:
    """Return what the model says to a result of the tool: each passage's words with its mark, or the note.

    What another tool says is said again.
    """
    if not result.startswith("{"):
        return result
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
