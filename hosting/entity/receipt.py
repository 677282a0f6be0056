"""The receipt of a deletion: what was deleted where, in counts and hashes, and what became of its durable instances.

It is written by the entity with the deletion itself, holds no word of the conversation, and outlives the thread.
Instances are found by the entity and purged by whoever holds a durable client, so each begins as pending.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Reason = Literal["asked", "expired"]
Outcome = Literal["pending", "deleted", "running", "missing"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Instance(_Record):
    """A durable instance that carried messages of the thread.

    `running`: it has not ended and was left alone. `missing`: this task hub does not have it, because it was purged
    before or belongs to somebody else.
    """

    id: str
    outcome: Outcome = "pending"


class Receipt(_Record):
    """What one deletion removed. `deleted_at` is in seconds since 1970, `sha256` of the stored document's UTF-8.

    `attachments` are their hashes.
    """

    deleted_at: float
    reason: Reason
    document_bytes: int
    sha256: str
    runs: int
    archived_entries: int
    attachments: tuple[str, ...] = ()
    instances: tuple[Instance, ...] = ()


def encode(receipt: Receipt) -> str:
    """Return the receipt as JSON text."""
    return receipt.model_dump_json()


def decode(text: str) -> Receipt:
    """Return the receipt that `encode` wrote."""
    return Receipt.model_validate_json(text)
