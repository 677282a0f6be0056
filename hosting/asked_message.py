"""A run's request as agent-framework's message: what the model is sent, and what the conversation keeps."""

from __future__ import annotations

from agent_framework import Content, Message

from hosting.events import RunRequest
from state.convert import content_values_to_framework


def asked_message(request: RunRequest) -> Message:
    """Return the request's message: its text first, then its contents."""
    text = [Content.from_text(request.message)] if request.message else []
    return Message(request.role, [*text, *content_values_to_framework(request.contents)])
