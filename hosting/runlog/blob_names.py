"""How a run is named and begun in the blob container.

`run/<id>` is its log; `thread/<agent>/<thread>/<id>` finds it by its thread, unless the id begins with the thread's
digest; `receipt/<digest>`, `mark/<agent>/<thread>` and `cancel/<id>` hold what their names say.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping

from hosting.events import Accepted, Place, decode, encode
from hosting.identity import place_digest
from hosting.runlog.receipts import receipt_digest

MOST_METADATA_CHARACTERS = 7000
"""Of the 8 KiB of a blob's metadata; a header of more is refused by HTTP clients."""


def run_name(run_id: str) -> str:
    """Return the name of a run's log."""
    return f"run/{run_id}"


def thread_prefix(place: Place) -> str:
    """Return what the index entries of a thread begin with."""
    return f"thread/{place.agent}/{place.thread_id}/"


def mark_name(place: Place) -> str:
    """Return the name of a thread's deletion mark."""
    return f"mark/{place.agent}/{place.thread_id}"


def receipt_name(receipt: str) -> str:
    """Return the name of a receipt, which may hold characters that no name can."""
    return f"receipt/{receipt_digest(receipt)}"


def cancel_name(run_id: str) -> str:
    """Return the name of the wish to cancel a run."""
    return f"cancel/{run_id}"


def is_indexed_by_id(run_id: str, place: Place) -> bool:
    """Tell whether the run's own name leads from the thread to it."""
    return run_id.startswith(place_digest(place))


def pack(accepted: Accepted) -> str | None:
    """Return the event as one metadata value, or None when it is too large for one."""
    text = base64.b64encode(zlib.compress(encode(accepted))).decode()
    return text if len(text) <= MOST_METADATA_CHARACTERS else None


def unpack(text: str) -> Accepted:
    """Return the event that `pack` packed."""
    return unpack_entry(zlib.decompress(base64.b64decode(text)))


def unpack_entry(body: bytes) -> Accepted:
    """Return the event that an index entry holds as its content."""
    event = decode(body)
    if not isinstance(event, Accepted):
        raise ValueError(f"A run's log begins with {event.kind!r}: it must begin with 'accepted'.")
    return event


def may_be_older(metadata: Mapping[str, str], before: float) -> bool:
    """Tell by a log's metadata whether its run may be from before that time: a large request is not in it."""
    if "accepted" in metadata:
        return unpack(metadata["accepted"]).at < before
    return "thread" in metadata
