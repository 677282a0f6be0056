"""A run's request as agent-framework's messages: what the model is sent, and what the conversation keeps."""

from __future__ import annotations

from agent_framework import Content, Message

from hosting.requests import RunRequest, Spoken
from state.convert import content_values_to_framework


def asked_messages(request: RunRequest) -> list[Message]:
    """Return the request's messages, the one that is to be answered last."""
    return [_message(spoken) for spoken in (*request.earlier, request)]


def _message(spoken: Spoken) -> Message:
    text = [Content.from_text(spoken.message)] if spoken.message else []
    return Message(spoken.role, [*text, *content_values_to_framework(spoken.contents)])
