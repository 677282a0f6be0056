"""The rows next to a thread's events, each found by its name in one call: idempotency keys, runs, approvals.

A row is written in the append that it belongs to and outlives the events it is about. It bears the thread's epoch: a
row of an older epoch than the head, or an emptied row, is of a thread that was deleted. Names are digests, so that they
reveal nothing once the thread is gone.
"""

from __future__ import annotations

import hashlib
from typing import ClassVar, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from hosting.core.thread.head import Head
from hosting.core.thread.run_request import Decision
from hosting.core.thread.versions import VERSION, read_versioned

_DIGEST_LENGTH = 40


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    kind: ClassVar[str]

    v: int = VERSION
    epoch: int

    @classmethod
    def name_of(cls, value: str) -> str:
        """Return the name of the row of this idempotency key, run id or approval id."""
        digest = hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
        return f"{cls.kind}-{digest[:_DIGEST_LENGTH]}"


class KeyRow(_Row):
    """An idempotency key: the run that its first request began, None once a failed signal freed the key."""

    kind = "key"
    run_id: str | None
    fingerprint: str


class RunRow(_Row):
    """A run: the positions of its first event and, once it has ended, of its last."""

    kind = "run"
    first: int
    last: int | None = None


class ApprovalRow(_Row):
    """An approval: the run that requested it, its decision once there is one, and the run that continues from there."""

    kind = "approval"
    asked_by: str
    decision: Decision | None = None
    resumed_by: str | None = None


class DeletedRow(_Row):
    """The rest of a row of a deleted thread."""


class RowChange(Struct, frozen=True):
    """A row to be written with an append, about the event at `position`; an `is_new` one must not be there yet."""

    name: str
    position: int
    row: KeyRow | RunRow | ApprovalRow
    is_new: bool = True


RowT = TypeVar("RowT", bound=_Row)


def encode(row: _Row) -> bytes:
    """Return the row as one JSON object in UTF-8."""
    return row.model_dump_json().encode()


def decode(kind: type[RowT], payload: bytes, head: Head) -> RowT | DeletedRow:
    """Return a stored row, or the rest of one of a deleted thread; raises as `events.decode` does."""
    if not payload:
        return DeletedRow(epoch=-1)
    row = read_versioned(payload, kind.model_validate_json)
    return row if row.epoch == head.epoch else DeletedRow(epoch=row.epoch)
