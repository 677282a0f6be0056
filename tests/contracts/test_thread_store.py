"""The contract of every store of threads' logs, `hosting.core.stores.contract`, in the order of its sentences."""

import asyncio

import pytest

from hosting.core.stores.contract import (
    MOST_APPEND_BYTES,
    MOST_EVENTS,
    MOST_HEAD_BYTES,
    MOST_PAYLOAD_BYTES,
    Append,
    Appended,
    AppendOutcome,
    Conflict,
    Row,
    StoredEvent,
    StoredHead,
    ThreadStore,
)
from hosting.ports import MOST_ROWS
from tests.contracts.thread_appends import ADDRESS, ELSEWHERE, behind, texts, whole, write
from tests.contracts.thread_stores import Threads


@pytest.mark.behaviour("log.compare-and-append")
async def test_an_append_behind_another_head_than_the_threads_is_refused(threads: Threads) -> None:
    """An older one, none, or one that never was; the answer has the head as it stands, and nothing is written."""
    store = threads.open()
    elsewhere = await write(store, None, b"one", address=ELSEWHERE)
    assert await store.append(ADDRESS, elsewhere, row_and_event(elsewhere)) == Conflict(None)
    first = await write(store, None, b"one")
    second = await write(store, first, b"two")

    refused = [await store.append(ADDRESS, known, row_and_event(known)) for known in (None, first)]

    assert refused == [Conflict(second), Conflict(second)]
    assert await whole(store, ["run-9"]) == (second, [(1, b"one"), (2, b"two")], [None])


@pytest.mark.behaviour("log.compare-and-append")
async def test_of_many_appends_at_once_one_wins(threads: Threads) -> None:
    """Over as many views as there are processes; all the others are told the winner's head."""
    stores = [threads.open() for _ in range(4)]
    known = None

    outcomes = await asyncio.gather(*(store.append(ADDRESS, known, behind(known, b"e")) for store in stores * 4))

    head = await stores[0].head(ADDRESS)
    assert head is not None
    assert outcomes.count(Appended(head)) == 1
    assert outcomes.count(Conflict(head)) == 15
    assert await texts(stores[0]) == [(1, b"e")]


@pytest.mark.behaviour("log.compare-and-append")
async def test_a_head_that_does_not_follow_the_known_one_is_a_mistake(threads: Threads) -> None:
    """It would make a gap, or write over an event: no store is asked for it."""
    store = threads.open()
    head = await write(store, None, b"one")

    for position in (1, 3):
        with pytest.raises(ValueError, match="does not follow"):
            await store.append(ADDRESS, head, Append(StoredHead(position, "id", b""), (b"two",)))
    assert await whole(store) == (head, [(1, b"one")], [])


@pytest.mark.behaviour("log.gapless")
async def test_events_stand_behind_each_other_in_their_order(threads: Threads) -> None:
    """Of one append and of several, without a gap, from and to wherever they are read."""
    store = threads.open()
    head = await write(store, None, b"a", b"b", b"c")
    head = await write(store, head, b"d")
    await write(store, head, b"e", b"f")

    expected = [StoredEvent(position, bytes([96 + position])) for position in range(1, 7)]
    for after in range(8):
        assert await threads.open().events(ADDRESS, after) == expected[after:]
        for through in range(9):
            assert await store.events(ADDRESS, after, through) == expected[after:through], (after, through)


@pytest.mark.behaviour("log.gapless")
@pytest.mark.parametrize(
    "payload",
    [b"", b"\n", b"\x00", b"\r\n{}\x00\xff\xfe", bytes(range(256)) * (MOST_PAYLOAD_BYTES // 256), bytes(70_000)],
    ids=["empty", "newline", "NUL", "no text", "the largest", "zeros"],
)
async def test_whatever_bytes_are_written_are_read(threads: Threads, payload: bytes) -> None:
    """In an event, between others, in a row, and in a head as far as they fit there."""
    row = Row("run-1", 1, payload)
    head = await write(threads.open(), None, b"1", payload, b"3", rows=(row,), payload=payload[:MOST_HEAD_BYTES])

    assert await whole(threads.open(), ["run-1"]) == (head, [(1, b"1"), (2, payload), (3, b"3")], [row])
    assert head.payload == payload[:MOST_HEAD_BYTES]


LARGEST = b"l" * MOST_PAYLOAD_BYTES
LIMITS: dict[str, tuple[tuple[bytes, ...], tuple[Row, ...]]] = {
    "large events": ((LARGEST,) * (MOST_APPEND_BYTES // MOST_PAYLOAD_BYTES), ()),
    "many events": ((b"e" * (MOST_APPEND_BYTES // MOST_EVENTS),) * MOST_EVENTS, ()),
    "empty events": ((b"",) * MOST_EVENTS, ()),
    "large rows": ((), tuple(Row(f"key-{number}", 0, LARGEST) for number in range(8))),
    "many rows": (
        (b"e" * (MOST_APPEND_BYTES - MOST_ROWS * 40_000),),
        tuple(Row(f"key-{number}", 1, b"r" * 40_000) for number in range(MOST_ROWS)),
    ),
}


@pytest.mark.behaviour("log.gapless")
@pytest.mark.behaviour("log.limits")
@pytest.mark.parametrize("name", LIMITS)
async def test_an_append_at_the_limits_is_written_whole(threads: Threads, name: str) -> None:
    """To tables by a proxy that refuses what Azure does: 1 MiB an entity, 4 MiB and 100 entities a batch."""
    events, rows = LIMITS[name]
    store = threads.open()

    head = await write(store, None, *events, rows=rows, payload=b"h" * MOST_HEAD_BYTES)
    newest = await write(store, head, b"behind")

    stands = (newest, list(enumerate((*events, b"behind"), start=1)), list(rows))
    assert await whole(threads.open(), [row.name for row in rows]) == stands


@pytest.mark.behaviour("log.repeated-append")
async def test_an_append_that_is_given_twice_at_once_counts_once(threads: Threads) -> None:
    append = behind(None, b"one", rows=(Row("run-1", 1, b"r"),))

    outcomes = await asyncio.gather(*(threads.open().append(ADDRESS, None, append) for _ in range(4)))

    assert [type(outcome) for outcome in outcomes] == [Appended] * 4
    assert await texts(threads.open()) == [(1, b"one")]


@pytest.mark.behaviour("log.repeated-append")
async def test_a_repeated_append_is_done_although_another_came_behind_it(threads: Threads) -> None:
    """Its events say so, its row is new by itself; its head is the thread's no more, which the next append is told."""
    store = threads.open()
    first = await write(store, None, b"one")
    append = behind(first, b"two", b"three", rows=(Row("key-1", 2, b"r"),))
    done = await store.append(ADDRESS, first, append)
    assert isinstance(done, Appended)
    newest = await write(threads.open(), done.head, b"other's")
    stands = await whole(store)

    again = await store.append(ADDRESS, first, append)

    assert isinstance(again, Appended)
    assert (again.head.position, again.head.append_id) == (done.head.position, done.head.append_id)
    assert await store.append(ADDRESS, again.head, behind(again.head, b"four")) == Conflict(newest)
    assert await whole(store) == stands


@pytest.mark.behaviour("log.stale-never-writes")
async def test_a_stale_append_is_refused_whatever_went(threads: Threads) -> None:
    """Its events were trimmed, or erased with its life: their positions are free, and nothing is written there."""
    store = threads.open()
    known = [None, await write(store, None, b"one")]
    known.append(await write(store, known[-1], b"two"))
    third = await write(store, known[-1], b"three")

    async def refused(heads: list[StoredHead | None]) -> list[AppendOutcome]:
        return [await threads.open().append(ADDRESS, head, row_and_event(head)) for head in heads]

    await store.trim(ADDRESS, 2, 2)
    assert await refused(known) == [Conflict(third)] * 3
    assert await whole(store, ["run-9"]) == (third, [(3, b"three")], [None])
    tombstone = await write(store, third, b"deleted", payload=b"tombstone")
    await store.erase(ADDRESS, tombstone.position)
    assert await refused([*known, third]) == [Conflict(tombstone)] * 4
    assert await whole(store, ["run-9"]) == (tombstone, [], [None])
    alive = await write(store, tombstone, b"new life", payload=b"epoch 2")
    assert await refused([*known, third, tombstone]) == [Conflict(alive)] * 5
    assert await whole(store, ["run-9"]) == (alive, [(5, b"new life")], [None])


@pytest.mark.behaviour("log.rows")
async def test_a_new_row_that_is_there_refuses_its_append(threads: Threads) -> None:
    """Nothing of the append is written, although it knew the head: that is in the answer."""
    store = threads.open()
    head = await write(store, None, b"one", rows=(Row("key-1", 1, b"first"),))
    rows = (Row("run-1", 2, b"beside"), Row("key-1", 2, b"second"))

    assert await store.append(ADDRESS, head, behind(head, b"two", rows=rows)) == Conflict(head)
    stands = (head, [(1, b"one")], [Row("key-1", 1, b"first"), None])
    assert await whole(store, ["key-1", "run-1"]) == stands
    await store.erase(ADDRESS, 1)  # a key that was used is known as one
    assert await store.append(ADDRESS, head, behind(head, b"two", rows=rows)) == Conflict(head)


@pytest.mark.behaviour("log.rows")
async def test_another_row_is_written_whether_it_is_there_or_not(threads: Threads) -> None:
    """With its position: it counts from then on as one of that event."""
    store = threads.open()
    head = await write(store, None, b"one", rows=(Row("run-1", 1, b"began", is_new=False),))

    await write(store, head, b"two", rows=(Row("run-1", 2, b"ended", is_new=False),))

    assert await store.row(ADDRESS, "run-1") == Row("run-1", 2, b"ended")
    await store.trim(ADDRESS, 0, 1)
    assert await store.row(ADDRESS, "run-1") == Row("run-1", 2, b"ended")


@pytest.mark.behaviour("log.trim")
async def test_trimmed_events_and_rows_are_gone(threads: Threads) -> None:
    """Up to a position each; the head and the rest stay, trimming again changes nothing, and positions run on."""
    store = threads.open()
    head = await write(store, None, b"one", rows=(Row("run-1", 1, b"r"),))
    for number, payload in enumerate([b"two", b"three"], start=2):
        head = await write(store, head, payload, rows=(Row(f"run-{number}", number, b"r"),))

    for _ in range(2):
        await threads.open().trim(ADDRESS, 2, 1)

        rows = [None, Row("run-2", 2, b"r"), Row("run-3", 3, b"r")]
        assert await whole(store, ["run-1", "run-2", "run-3"]) == (head, [(3, b"three")], rows)
    await store.trim(ADDRESS, 3, 3)
    newest = await write(threads.open(), head, b"four")
    assert await whole(store) == (newest, [(4, b"four")], [])


@pytest.mark.behaviour("log.erase")
async def test_of_an_erased_thread_its_head_and_the_names_of_its_rows_stay(threads: Threads) -> None:
    """Events are gone and rows have no payload, for every view; erasing again changes nothing."""
    store = threads.open()
    head = await write(store, None, b"one", rows=(Row("key-1", 1, b"r"), Row("run-1", 1, b"r")))
    tombstone = await write(store, head, b"deleted", rows=(Row("key-2", 2, b""),), payload=b"tombstone")

    for _ in range(2):
        await threads.open().erase(ADDRESS, tombstone.position)

        rows = [Row("key-1", 1, b""), Row("run-1", 1, b""), Row("key-2", 2, b"")]
        assert await whole(store, ["key-1", "run-1", "key-2"]) == (tombstone, [], rows)


@pytest.mark.behaviour("log.broken-off")
@pytest.mark.parametrize("steps", [1, 9])
@pytest.mark.parametrize("verb", ["trim", "erase"])
async def test_what_was_broken_off_is_finished_by_the_next_call(threads: Threads, verb: str, steps: int) -> None:
    writer, head = threads.open(), None
    for number in range(1, 13):
        head = await write(writer, head, b"e", rows=(Row(f"run-{number}", number, b"r"),))
    store = threads.open()
    task = asyncio.ensure_future(clear(store, verb))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    await clear(threads.open(), verb)

    row = None if verb == "trim" else Row("run-11", 11, b"")
    assert await whole(store, ["run-11", "run-12"]) == (head, [(12, b"e")], [row, Row("run-12", 12, b"r")])


@pytest.mark.behaviour("log.forget")
async def test_a_forgotten_thread_is_as_if_it_had_never_been(threads: Threads) -> None:
    """It begins again at position 1, and its keys are free; one that lives on is not forgotten."""
    store = threads.open()
    tombstone = await write(store, None, b"deleted", rows=(Row("key-1", 1, b"r"),))
    head = await write(threads.open(), tombstone, b"new life")
    assert not await store.forget(ADDRESS, tombstone)
    assert not await store.forget(ELSEWHERE, tombstone)
    assert await texts(store) == [(1, b"deleted"), (2, b"new life")]
    await store.erase(ADDRESS, 2)

    assert await threads.open().forget(ADDRESS, head)

    assert await whole(store, ["key-1"]) == (None, [], [None])
    again = await write(store, None, b"anew", rows=(Row("key-1", 1, b"s"),))
    assert await whole(store, ["key-1"]) == (again, [(1, b"anew")], [Row("key-1", 1, b"s")])


async def clear(store: ThreadStore, verb: str) -> None:
    """Trim or erase the first 11 events."""
    await (store.trim(ADDRESS, 11, 11) if verb == "trim" else store.erase(ADDRESS, 11))


def row_and_event(known: StoredHead | None) -> Append:
    """Return an append that would write an event and a row besides."""
    return behind(known, b"stale", rows=(Row("run-9", 9, b"stale"),), payload=b"stale")
