"""The contract of every store of threads' logs, `hosting.core.stores.contract`, in the order of its sentences."""

import asyncio
import re
from collections.abc import Awaitable, Callable

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
    Unknown,
)
from hosting.errors import LogUnavailableError
from hosting.names import Address
from hosting.ports import MOST_ROWS
from tests.contracts.thread_appends import ADDRESS, ELSEWHERE, behind, texts, whole, write
from tests.contracts.thread_stores import CAN_BE_AWAY, Threads


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


async def clear(store: ThreadStore, verb: str) -> None:
    await (store.trim(ADDRESS, 11, 11) if verb == "trim" else store.erase(ADDRESS, 11))


GUARD_SECONDS = 5
NOBODY_CAME = 30.0


@pytest.mark.behaviour("log.apart")
@pytest.mark.parametrize(
    ("hub", "other"),
    [
        ("hub", ELSEWHERE),
        ("hub", Address("joker", "Thread")),
        ("hub", Address("jokers", "thread")),
        ("hub", Address("joker", "thread", owner="b")),
        ("hub2", ADDRESS),
    ],
    ids=["thread", "letter case", "agent", "owner", "hub"],
)
async def test_two_addresses_share_nothing(threads: Threads, hub: str, other: Address) -> None:
    """What is done to one leaves the other as it was; hubs are apps on one account, file or server."""
    store, theirs = threads.open(), threads.open(hub)
    rows = (Row("run-1", 1, b"r"),)
    kept = await write(store, None, b"kept", rows=rows)
    gone = await write(theirs, None, b"gone", rows=rows, address=other)

    assert await theirs.append(other, kept, behind(kept, b"two")) == Conflict(gone)
    await theirs.erase(other, 1)
    await theirs.trim(other, 1, 1)
    assert await theirs.forget(other, gone)

    assert await whole(store, ["run-1"]) == (kept, [(1, b"kept")], list(rows))
    assert await whole(theirs, ["run-1"], other) == (None, [], [None])


@pytest.mark.behaviour("log.apart")
@pytest.mark.parametrize(
    "thread_id", ["ünïcode/#?\\%'\"", "", "a" * 500, "@joker@thread\n\x00", "\ud800", "..", "-_~."]
)
async def test_a_thread_of_any_id_has_its_log(threads: Threads, thread_id: str) -> None:
    """Ids of other packages' documents may hold any character."""
    address = Address("joker", thread_id)
    head = await write(threads.open(), None, b"one", rows=(Row("run-1", 1, b"r"),), address=address)

    assert await whole(threads.open(), ["run-1"], address) == (head, [(1, b"one")], [Row("run-1", 1, b"r")])
    assert await whole(threads.open()) == (None, [], [])


@pytest.mark.behaviour("log.watch")
async def test_a_watch_returns_at_once_where_there_is_more_and_after_its_seconds_where_there_is_none(
    threads: Threads,
) -> None:
    """Whoever appended it, and however long ago; a store that cannot push does not even look."""
    await write(threads.open(), None, b"one", b"two")

    store = threads.open()
    assert await guarded(store.watch(ADDRESS, 1, NOBODY_CAME)) == threads.backend.pushes
    assert not await guarded(store.watch(ADDRESS, 2, 0.05 if threads.backend.pushes else NOBODY_CAME))


@pytest.mark.behaviour("log.watch")
async def test_many_watches_wake_each_by_its_own_thread(threads: Threads) -> None:
    """An append to one of them is no news to those who wait for others."""
    here, there = threads.open(), threads.open()
    addresses = [Address("joker", f"thread-{n}") for n in range(20)]
    watching = [asyncio.ensure_future(here.watch(address, 0, NOBODY_CAME)) for address in addresses]
    await a_look_of(here)

    await write(there, None, b"more", address=addresses[7])

    assert await guarded(watching[7]) == threads.backend.pushes
    assert [task.done() for task in watching] == [n == 7 or not threads.backend.pushes for n in range(20)]
    for task in watching:
        task.cancel()


@pytest.mark.behaviour("log.close")
async def test_a_store_that_was_closed_is_opened_by_its_next_call(threads: Threads) -> None:
    """What was under way is done first, and nobody watches on; closing twice is once."""
    store = threads.open()
    watching = asyncio.ensure_future(store.watch(ELSEWHERE, 0, NOBODY_CAME))
    await a_look_of(store)
    appending = asyncio.ensure_future(write(store, None, b"one"))
    await asyncio.sleep(0)
    await store.close()
    await store.close()

    head = await appending
    assert not await guarded(watching)
    second = await write(store, head, b"two")

    assert await whole(store) == (second, [(1, b"one"), (2, b"two")], [])


VERBS: dict[str, Callable[[ThreadStore], Awaitable[object]]] = {
    "head": lambda store: store.head(ADDRESS),
    "events": lambda store: store.events(ADDRESS, 0),
    "row": lambda store: store.row(ADDRESS, "run-1"),
    "trim": lambda store: store.trim(ADDRESS, 1, 1),
    "erase": lambda store: store.erase(ADDRESS, 1),
    "forget": lambda store: store.forget(ADDRESS, StoredHead(1, "id", b"", "tag")),
}


@pytest.mark.behaviour("log.away")
@pytest.mark.parametrize("threads", CAN_BE_AWAY, indirect=True)
async def test_a_store_that_is_away_says_so_of_each_call_and_goes_on_when_it_is_back(threads: Threads) -> None:
    """Of an append it does not say whether it counted: given again, it has its answer, and is written once."""
    store = threads.open()
    head = await write(store, None, b"one", rows=(Row("run-1", 1, b"r"),))
    append = behind(head, b"two")

    async with threads.away():
        assert isinstance(await store.append(ADDRESS, head, append), Unknown)
        for ask in VERBS.values():
            with pytest.raises(LogUnavailableError, match=re.escape("The log cannot be reached.")):
                await ask(store)

    assert isinstance(await until_known(store, head, append), Appended)
    assert await texts(store) == [(1, b"one"), (2, b"two")]


async def until_known(store: ThreadStore, known: StoredHead | None, append: Append) -> AppendOutcome:
    """Give the same append until the store says what became of it, as a client may take a moment to be back."""
    end = asyncio.get_running_loop().time() + GUARD_SECONDS
    while isinstance(outcome := await store.append(ADDRESS, known, append), Unknown):
        assert asyncio.get_running_loop().time() < end
    return outcome


async def a_look_of(store: ThreadStore) -> None:
    """Return when what was begun on the store has had the time to look whether there is more."""
    for _ in range(3):
        await asyncio.sleep(0)
        await store.head(ADDRESS)


async def guarded(watching: Awaitable[bool]) -> bool:
    """Return what the watch returned, which it must before long."""
    return await asyncio.wait_for(watching, GUARD_SECONDS)


@pytest.mark.behaviour("owners.lists")
async def test_an_owners_threads_are_listed_with_their_heads(threads: Threads) -> None:
    """Behind an id, in the order of the characters, at most so many; of no other owner, agent or hub."""
    store, owner, names = threads.open(), "abcdefghij234567", ["b", "a~z", "a", "Z", "a.b", "a-b", "_", "~"]
    heads = {name: await write(store, None, b"one", address=Address("joker", name, owner)) for name in names}
    for other in (
        Address("joker", "a"),
        Address("joker", "b", "abcdefghij234566"),
        Address("joker", "b", "abcdefghij23456"),
        Address("joker2", "b", owner),
    ):
        await write(store, None, b"one", address=other)
    listed = sorted(names)

    assert await store.heads("joker", owner, "", 100) == [(name, heads[name]) for name in listed]
    assert [name for name, _ in await store.heads("joker", owner, listed[2], 3)] == listed[3:6]
    assert await store.heads("joker", "zzzzzzzzzzzzzzzz", "", 100) == []
    assert await store.heads("joke", owner, "", 100) == []


@pytest.mark.behaviour("erasure.stored")
async def test_the_agents_of_which_anything_is_stored_are_named(threads: Threads) -> None:
    """Whoever's it is, also what is kept of owners beside their threads, and with names that begin alike."""
    store, owner = threads.open(), "abcdefghij234567"
    nothing = await store.agents()
    for agent in ("joker", "joker2", "joker-b", "joker b", "jo", "a.memory", "z_", "joker.schedules"):
        for other in (owner, "zzzzzzzzzzzzzzzz"):
            await write(store, None, payload=b"{}", address=Address(agent, "t", other))
    await write(store, None, b"one", address=Address("only app", "t"))
    await store.head(Address("asked", "t", owner))

    assert nothing == []
    assert await store.agents() == ["a", "jo", "joker", "joker b", "joker-b", "joker2", "only app", "z_"]
    assert await threads.open("Elsewhere").agents() == []


@pytest.mark.behaviour("owners.lists")
@pytest.mark.behaviour("log.compare-and-append")
async def test_a_head_alone_is_changed_listed_and_forgotten(threads: Threads) -> None:
    """Without an event ever: of two that begin it one does, each append knows the head before, and then it is gone."""
    store, owner = threads.open(), "nobody"
    address = Address("joker.schedules", "one", owner)
    first = await write(store, None, payload=b"first", address=address)
    second = await write(store, first, payload=b"second", address=address)

    refused = [await store.append(address, known, behind(known, payload=b"stale")) for known in (None, first)]
    listed = await store.heads("joker.schedules", owner, "", 100)
    forgotten = [await store.forget(address, head) for head in (first, second)]

    assert refused == [Conflict(second), Conflict(second)]
    assert (listed, forgotten) == ([("one", second)], [False, True])
    assert await store.heads("joker.schedules", owner, "", 100) == []
    assert await whole(store, address=address) == (None, [], [])
    assert await store.append(address, second, behind(second, payload=b"late")) == Conflict(None)
