"""Events that are too large for the log: their references in it, and the names of their attachments.

They lie in the store of attachments, in the epoch of their append (`thread_log.epoch_store_key`), each under the
SHA-256 of its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ValidationError

from hosting.core.stores.contract import StoredEvent

MOST_INLINE_BYTES = 64 * 1024
"""An event above this stands in the log by reference."""


class Reference(BaseModel):
    """A reference in the log to an event in the store of attachments."""

    elsewhere: str
    epoch: int
    bytes: int


def reference_in(payload: bytes) -> Reference | None:
    """Return the reference that stands there in place of an event, or None."""
    if not payload.startswith(b'{"elsewhere":'):
        return None
    try:
        return Reference.model_validate_json(payload)
    except ValidationError:
        return None


def names_by_epoch(stored: Iterable[StoredEvent]) -> dict[int, set[str]]:
    """Return under which names those of these events that stand there by reference lie, by the epoch of the append."""
    names: dict[int, set[str]] = {}
    for one in stored:
        if (reference := reference_in(one.payload)) is not None:
            names.setdefault(reference.epoch, set()).add(reference.elsewhere)
    return names
