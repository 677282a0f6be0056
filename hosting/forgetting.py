"""The entity's operation `reset`: it empties a conversation and keeps its thread.

It is a signal, so it may be delivered twice: a reset leaves its id in the document's ledger, where the second delivery
finds it and whoever asked sees that it is done. Source: turn.md, Records 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hosting.errors import InvalidFieldError
from hosting.identity import is_id
from state.codec import write
from state.conversation import applied, forget
from state.models import Conversation


@dataclass(frozen=True)
class Emptied:
    """What a reset made of a conversation."""

    text: str
    conversation: Conversation


def reset(conversation: Conversation, order: Any) -> Emptied | None:
    """Return the emptied conversation, or None when this reset has been done. `order` is `{"id": ...}`."""
    reset_id = order_id(order, "reset")
    if applied(conversation, reset_id):
        return None
    emptied = forget(conversation, reset_id)
    return Emptied(write(emptied), emptied)


def order_id(order: Any, operation: str) -> str:
    """Return the id in an operation's input, `{"id": ...}`; raises `InvalidFieldError` for any other input."""
    given = order.get("id") if isinstance(order, dict) else None
    if not isinstance(given, str) or not is_id(given):
        raise InvalidFieldError(f"The operation {operation!r} takes an object with an 'id'.")
    return given
