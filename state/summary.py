"""A summary that stands for the beginning of a conversation before the model; the entries stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from state.extension import HOST, changed, host_value
from state.models import Conversation

PROPERTY: Final = "summary"

Place = tuple[int, int]
"""A message: the position of its entry in the whole conversation, from 1, and its number in what is replayed of it."""


@dataclass(frozen=True)
class Summary:
    """The text, and the place of the last message that it stands for."""

    through: Place
    text: str


def summary_of(conversation: Conversation) -> Summary | None:
    """Return the summary; another writer's value in its place counts as none."""
    value = host_value(conversation).get(PROPERTY)
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    entry, message = value.get("entry"), value.get("message")
    return Summary((entry, message), value["text"]) if type(entry) is int and type(message) is int else None


def with_summary(conversation: Conversation, summary: Summary) -> Conversation:
    """Return the conversation with this summary in the place of the one before."""
    value = {"entry": summary.through[0], "message": summary.through[1], "text": summary.text}
    host = {**host_value(conversation), PROPERTY: value}
    return changed(conversation, conversation.data.conversation_history, {HOST: host})
