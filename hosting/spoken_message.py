"""What Python code says to an agent, as the fields of a run request: the counterpart of `asked_message`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_framework import Content, Message

from hosting.decisions import read_decision
from hosting.errors import InvalidFieldError, MissingMessageError
from hosting.run_request import check_message
from state.convert import content_value
from state.errors import BadContentError
from state.given import checked_content

_ANSWER = "function_approval_response"
SpokenInput = str | Content | Message | Sequence[str | Content | Message] | None


def spoken_fields(given: SpokenInput) -> dict[str, Any]:
    """Return `message`, `contents` and `role` of the one message that is given, contents in stored form.

    Of the framework's responses to approval requests, which stand alone, return the `decisions` that they hold.

    Raises `HostingError`s of the request for no message, for several, and for contents that no request can hold.
    Sizes, roles and what the model takes are settings, which may change between two replays: the entity checks those.
    """
    if isinstance(given, str):
        return {"message": check_message(given)}
    message = _one_message(given)
    if any(content.type == _ANSWER for content in message.contents):
        return {"decisions": [_decision(content) for content in message.contents]}
    contents = _stored(message.contents)
    if not contents:
        raise MissingMessageError("The message has no contents. Give it a text.")
    spoken = {} if message.role == "user" else {"role": str(message.role)}
    if contents[0]["$type"] == "text":
        spoken["message"] = check_message(contents.pop(0)["text"])
    return {**spoken, "contents": contents} if contents else spoken


def _decision(content: Content) -> dict[str, Any]:
    """Return the decision in a response to an approval request; the reason is a property, for want of a field."""
    if content.type != _ANSWER:
        raise InvalidFieldError("Answers to approvals and a message are two runs. Send the answers first.")
    decision = {"id": content.id, "approved": content.approved, "reason": content.additional_properties.get("reason")}
    return read_decision(decision).model_dump(exclude_none=True)


def _one_message(given: Content | Message | Sequence[str | Content | Message] | None) -> Message:
    if isinstance(given, Message):
        return _checked(given)
    items = [given] if isinstance(given, Content) else list(given or ())
    if all(isinstance(item, str | Content) for item in items):
        return Message("user", [item for item in items if isinstance(item, str | Content)])
    if len(items) == 1 and isinstance(items[0], Message):
        return _checked(items[0])
    raise InvalidFieldError(
        "A run takes one message: a text, contents, or one Message. Earlier ones are in the session; "
        "of another agent's response give its .text."
    )


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
