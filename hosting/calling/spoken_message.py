"""What Python code says to an agent, as the fields of a run request: the counterpart of `thread.messages`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from agent_framework import Content, Message

from hosting.errors import InvalidFieldError, MissingMessageError
from hosting.request.decisions import read_decision
from hosting.request.run_request import check_message
from state.convert import content_value
from state.errors import BadContentError
from state.given import checked_content

_ANSWER = "function_approval_response"
SpokenInput = str | Content | Message | Sequence[str | Content | Message] | None


def spoken_fields(given: SpokenInput) -> dict[str, Any]:
    """Return `message`, `contents` and `role` of the last message that is given, and those before it as `earlier`.

    Texts and contents that stand beside each other are one message of the user. Of the framework's responses to
    approval requests, which stand alone, return the `decisions` that they hold.

    Raises `HostingError`s of the request for no message, and for contents that no request can hold. Sizes, roles and
    what the model takes are settings, which may change between two replays: the entity checks those.
    """
    if isinstance(given, str):
        return {"message": check_message(given)}
    messages = _messages(given) or [Message("user", [])]
    contents = [content for message in messages for content in message.contents]
    if any(content.type == _ANSWER for content in contents):
        return {"decisions": [_decision(content) for content in contents]}
    *earlier, last = [_fields(message) for message in messages]
    return {**last, "earlier": earlier} if earlier else last


def _decision(content: Content) -> dict[str, Any]:
    """Return the decision in a response to an approval request; the reason is a property, for want of a field."""
    if content.type != _ANSWER:
        raise InvalidFieldError("Answers to approvals and a message are two runs. Send the answers first.")
    decision = {"id": content.id, "approved": content.approved, "reason": content.additional_properties.get("reason")}
    return read_decision(decision).model_dump(exclude_none=True)


def _messages(given: Content | Message | Sequence[str | Content | Message] | None) -> list[Message]:
    items = [given] if isinstance(given, Content | Message) else list(given or ())
    for item in items:
        if not isinstance(item, str | Content | Message):
            raise InvalidFieldError(f"A message is a {type(item).__name__}. Give a text, a Content or a Message.")
    return [message for is_whole, run in groupby(items, _is_whole) for message in _said(is_whole, run)]


def _is_whole(item: str | Content | Message) -> bool:
    return isinstance(item, Message)


def _said(are_whole: bool, items: Iterable[Any]) -> list[Message]:
    return [_checked(item) for item in items] if are_whole else [Message("user", list(items))]


def _fields(message: Message) -> dict[str, Any]:
    contents = _stored(message.contents)
    if not contents:
        raise MissingMessageError("The message has no contents. Give it a text.")
    spoken = {} if message.role == "user" else {"role": str(message.role)}
    if contents[0]["$type"] == "text":
        spoken["message"] = check_message(contents.pop(0)["text"])
    return {**spoken, "contents": contents} if contents else spoken


def _checked(message: Message) -> Message:
    if message.author_name is not None:
        raise InvalidFieldError(
            f"The message has the author {message.author_name!r:.80}, which is not served. Say it in the text."
        )
    return message


def _stored(contents: Sequence[Content]) -> list[dict[str, Any]]:
    try:
        return [checked_content(index, content_value(content)) for index, content in enumerate(contents)]
    except BadContentError as error:
        raise InvalidFieldError(f"The message cannot be sent: {error}") from None
