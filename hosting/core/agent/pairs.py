"""Calls and results in pairs, as providers require of each list of messages, whatever a conversation has.

A provider refuses a call without its result right behind it, a result without its call, an id that is empty or there
twice, and a message without contents. A conversation has such where an agent only declares a tool, where a person never
answered, where a model's server gave no ids, and where another package wrote it. Sent messages are made whole. Stored
ones stay.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy
from operator import is_

from agent_framework import ChatContext, ChatMiddleware, Content, Message

_MISSING = "This call has no result: it was not made, or its outcome was not recorded."


class WholeCalls(ChatMiddleware):
    """Completes the messages for a model, unless the provider keeps the conversation and gets only new ones."""

    def __init__(self) -> None:
        self._known: list[Message] = []
        self._used: set[str] = set()

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Change the messages where they are not whole.

        Whole messages of the call before are not looked at again: a run may have very many.
        """
        if not (context.options or {}).get("conversation_id"):
            known, messages = self._known, list(context.messages)
            if not (len(known) <= len(messages) and all(map(is_, known, messages))):
                known, self._used = [], set()
            if _is_whole(messages[len(known) :], self._used):
                self._known = messages
            else:
                self._known, self._used = [], set()
                context.messages = _made_whole(messages)
        await call_next()


def whole(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages with each call beside its result; those that are whole are returned as they are."""
    return messages if _is_whole(messages, set()) else _made_whole(messages)


def whole_before_open(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages with those before the newest turn made whole: its calls were decided on, and get results."""
    newest = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    return [*whole(messages[:newest]), *messages[newest:]]


def _is_whole(messages: Sequence[Message], used: set[str]) -> bool:
    """Return whether these messages are whole; `used` has the ids of calls before them, and gets theirs."""
    waiting: set[str] = set()
    for message in messages:
        if len(message.contents) == 1 and message.contents[0].type == "text" and not waiting:
            continue
        results = [content.call_id or "" for content in message.contents if content.type == "function_result"]
        if not message.contents or not waiting.issuperset(results) or len(set(results)) < len(results):
            return False
        waiting.difference_update(results)
        if waiting and len(results) < len(message.contents):
            return False
        calls = [content.call_id or "" for content in message.contents if _is_call(content)]
        if not all(calls) or len(set(calls)) < len(calls) or not used.isdisjoint(calls):
            return False
        used.update(calls)
        waiting.update(calls)
    return not waiting


def _made_whole(messages: Sequence[Message]) -> list[Message]:
    results: dict[str | None, deque[Content]] = defaultdict(deque)
    for content in _contents(messages):
        if content.type == "function_result":
            results[content.call_id or None].append(content)
    whole_messages: list[Message] = []
    used: set[str | None] = {None}
    for number, message in enumerate(messages):
        contents: list[Content] = []
        answers: list[Content] = []
        for content in message.contents:
            if _is_call(content):
                call_id = content.call_id or None
                answer = results[call_id].popleft() if results[call_id] else None
                whole_id = f"call_{number}_{len(contents)}" if call_id in used else call_id
                used.add(whole_id)
                contents.append(_with_call_id(content, whole_id))
                answers.append(_with_call_id(answer or Content.from_function_result("", result=_MISSING), whole_id))
            elif content.type != "function_result":
                contents.append(content)
        if contents:
            whole_message = copy(message)
            whole_message.contents = contents
            whole_messages.append(whole_message)
        if answers:
            whole_messages.append(Message("tool", answers, additional_properties=dict(message.additional_properties)))
    return whole_messages


def _is_call(content: Content) -> bool:
    """Return whether the app is to make the call; others are made by the provider."""
    return content.type == "function_call" and not content.informational_only and not content.hosted


def _with_call_id(content: Content, call_id: str | None) -> Content:
    if content.call_id == call_id:
        return content
    changed = copy(content)
    changed.call_id = call_id
    return changed


def _contents(messages: Iterable[Message]) -> Iterable[Content]:
    return (content for message in messages for content in message.contents)
