"""The entity's operation `reset`: it empties a conversation and keeps its thread.

It is a signal, so it may be delivered twice: a reset leaves its id in the document's ledger, where the second delivery
finds it and whoever asked sees that it is done. Source: turn.md, Records 6.
"""

from __future__ import annotations

from typing import Any

from hosting.entity.archiving import Document, document_of
from hosting.errors import InvalidFieldError
from hosting.identity import is_id
from state.conversation import applied, forget
from state.models import Conversation


def reset(conversation: Conversation, order: Any) -> Document | None:
    """Return the emptied conversation, or None when this reset has been done. `order` is `{"id": ...}`."""
    reset_id = order_id(order, "reset")
    if applied(conversation, reset_id):
        return None
    return document_of(forget(conversation, reset_id))


def order_id(order: Any, operation: str) -> str:
    """Return the id in an operation's input, `{"id": ...}`; raises `InvalidFieldError` for any other input."""
    given = order.get("id") if isinstance(order, dict) else None
    if not isinstance(given, str) or not is_id(given):
        raise InvalidFieldError(f"The operation {operation!r} takes an object with an 'id'.")
    return given
