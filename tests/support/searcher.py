"""An agent that searches its files as it is told, and cites what it found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    ChatResponse,
    Content,
    Message,
)

from tests.support.answering import AnsweringClient, calls, says

NOTHING = "I found nothing."
_HANDS_OVER = "hand over to "


class SearchersClient(AnsweringClient):
    """`search QUERY` and `search in NAME: QUERY` call the tool, and tell what it gave.

    `search QUERY then QUERY` tells what the first one gave before it makes the second call.
    `ask TOOL WORDS` asks an agent that is a tool, and tells its answer. `hand over to AGENT: WORDS` hands over, and
    that agent takes the words as its own. Other words are said again.
    """

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            told = told_of(str(newest.contents[0].result))
            asked = next(message.text for message in reversed(messages) if message.role == "user")
            _, _, second = asked.partition(" then ")
            if second and newest.contents[0].call_id == "call-1":
                return says(told, calls("file_search", "call-2", query=second))
            return says(told)
        text = newest.text.partition(" then ")[0]
        if text.startswith(_HANDS_OVER):
            name, _, task = text.removeprefix(_HANDS_OVER).partition(": ")
            if (tool := f"handoff_to_{name}") in {each.name for each in options.get("tools") or ()}:
                return says(calls(tool))
            text = task
        word, _, rest = text.partition(" ")
        if word == "ask":
            name, _, task = rest.partition(" ")
            return says(calls(name, task=task))
        if word != "search":
            return says(f"You said {text}")
        if rest.startswith("in "):
            name, _, query = rest.removeprefix("in ").partition(": ")
            return says(calls("file_search", query=query, files=[name]))
        return says(calls("file_search", query=rest))

    def pieces(self, content: Content) -> list[Content]:
        """Return a text in small parts, so that marks are cut in two; another content as it is."""
        text = content.text
        if content.type != "text" or not text:
            return [content]
        return [Content.from_text(text[start : start + 7]) for start in range(0, len(text), 7)]


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
