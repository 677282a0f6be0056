"""What one append may hold, whatever store takes it."""

import pytest

from hosting.core.stores.contract import (
    MOST_APPEND_BYTES,
    MOST_EVENTS,
    MOST_HEAD_BYTES,
    MOST_PAYLOAD_BYTES,
    Append,
    Row,
    StoredHead,
)
from hosting.ports import MOST_ROWS

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
        (HEAD, (b"",) * (MOST_EVENTS + 1), ()),
        (HEAD, (), tuple(Row(f"run-{n}", 1, b"") for n in range(MOST_ROWS + 1))),
        (HEAD, (), (Row("run-1", 1, b""),) * 2),
    ],
    ids=["the head", "an event", "a row", "all of it", "events", "rows", "a row twice"],
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


@pytest.mark.behaviour("log.limits")
@pytest.mark.parametrize("name", ["", "a" * 65, "a b", "a/b", "a_b", "ä", "a\n"])
def test_a_row_of_a_name_that_some_store_cannot_keep_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must be 1 to 64 of the characters"):
        Row(name, 1, b"")
