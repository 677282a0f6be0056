"""What one append may hold, whatever store takes it."""

import pytest

from hosting.stores.contract import (
    MOST_APPEND_BYTES,
    MOST_HEAD_BYTES,
    MOST_PAYLOAD_BYTES,
    MOST_ROWS,
    Append,
    Row,
    StoredHead,
)

HEAD = StoredHead(1, "a", b"{}")
LARGE = bytes(MOST_PAYLOAD_BYTES)


@pytest.mark.behaviour("log.limits")
@pytest.mark.parametrize(
    ("head", "events", "rows"),
    [
        (StoredHead(1, "a", bytes(MOST_HEAD_BYTES + 1)), (), ()),
        (HEAD, (LARGE + b"1",), ()),
        (HEAD, (), (Row("run-1", 1, LARGE + b"1"),)),
        (HEAD, (LARGE,) * (MOST_APPEND_BYTES // MOST_PAYLOAD_BYTES), (Row("run-1", 1, b"1"),)),
        (HEAD, (), (Row("run-1", 1, b""),) * (MOST_ROWS + 1)),
    ],
    ids=["the head", "an event", "a row", "all of it", "rows"],
)
def test_an_append_over_a_limit_is_refused_before_a_store_sees_it(
    head: StoredHead, events: tuple[bytes, ...], rows: tuple[Row, ...]
) -> None:
    """The limits are those that the smallest of the stores can take in one transaction."""
    with pytest.raises(ValueError):
        Append(head, events, rows)


@pytest.mark.behaviour("log.limits")
def test_an_append_at_its_limits_is_taken() -> None:
    """Each limit is what may be there, not what may not."""
    events = (LARGE,) * (MOST_APPEND_BYTES // MOST_PAYLOAD_BYTES)

    assert Append(StoredHead(8, "a", bytes(MOST_HEAD_BYTES)), events, ()).events == events
