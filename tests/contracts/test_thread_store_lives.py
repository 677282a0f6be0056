"""Every store of threads' logs answers random lives of threads as a simple model does."""

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings

from hosting.core.stores.contract import Append, Appended, Conflict, Row, StoredHead, ThreadStore
from hosting.names import Address
from tests.contracts.thread_appends import ADDRESS, behind, texts, whole
from tests.contracts.thread_model import NAMES, STEPS, Clear, ModelThread, Repeat, Step, Write
from tests.contracts.thread_stores import SHARED, Threads
from tests.support.warm_python import Process, start_python

THREADS = (Address("joker", "one"), Address("joker", "two"))


@pytest.mark.behaviour("log.compare-and-append")
@pytest.mark.behaviour("log.stale-never-writes")
@pytest.mark.behaviour("log.repeated-append")
@pytest.mark.behaviour("log.rows")
@pytest.mark.behaviour("log.trim")
@pytest.mark.behaviour("log.erase")
@pytest.mark.behaviour("log.forget")
def test_a_store_does_what_the_model_does(threads: Threads) -> None:
    """Appends that are new, stale or repeated, between trims, erasures and new lives, of two threads in two views."""

    @settings(deadline=None, max_examples=threads.backend.examples)
    @given(STEPS)
    @example([Write(0, 0, 2, ()), Clear(0, "erase", 1), Write(0, 0, 0, ()), Repeat(0, 1)])
    def answer_as_the_model(steps: list[Step]) -> None:
        asyncio.run(compare(threads, steps))

    answer_as_the_model()


async def compare(threads: Threads, steps: list[Step]) -> None:
    """Take the steps in a hub of their own; after each, what the store holds is what the model holds."""
    hub = f"h{uuid.uuid4().hex}"
    views = [threads.backend.open(threads.place, hub) for _ in range(2)]
    models = [ModelThread() for _ in THREADS]
    for number, step in enumerate(steps):
        model, store = models[step.thread], views[number % 2]
        if isinstance(step, Clear):
            await clear(store, model, step)
        else:
            await append(store, model, step)
        for address, expected in zip(THREADS, models, strict=True):
            head, events, rows = await whole(views[0], NAMES, address)
            assert (head, rows) == (expected.head, [expected.rows.get(name) for name in NAMES])
            assert expected.shows(events)
    for store in views:
        await store.close()


async def append(store: ThreadStore, model: ModelThread, step: Write | Repeat) -> None:
    """Give an append, or one that was given before, and compare what became of it."""
    if isinstance(step, Repeat):
        if not model.given:
            return
        known, given = model.given[-1 - step.back % len(model.given)]
    else:
        known = model.heads[-1 - step.stale % len(model.heads)]
        given = made(known, step)
        model.given.append((known, given))
    outcome = await store.append(THREADS[step.thread], known, given)
    if model.takes(known, given) and not (isinstance(outcome, Conflict) and model.may_deny(given)):
        assert isinstance(outcome, Appended)
        assert outcome.head.append_id == given.head.append_id
    else:
        assert outcome == Conflict(model.head)
    model.apply(known, given, outcome)


def made(known: StoredHead | None, step: Write) -> Append:
    """Return the step's append behind that head."""
    position = (known.position if known is not None else 0) + step.events
    rows = tuple(Row(name, max(position, 1), b"row", is_new) for name, is_new in step.rows)
    return behind(known, *(f"event {n}".encode() for n in range(step.events)), rows=rows)


async def clear(store: ThreadStore, model: ModelThread, step: Clear) -> None:
    """Trim, erase, or forget what is erased."""
    address, head = THREADS[step.thread], model.head
    through = max((head.position if head is not None else 0) - step.back, 0)
    if step.verb == "trim":
        await store.trim(address, through, through - 1)
        model.trim(through, through - 1)
    elif step.verb == "erase":
        await store.erase(address, through)
        model.erase(through)
    elif head is not None:
        await store.erase(address, head.position)
        assert await store.forget(address, head)
        model.forget()


GUARD_SECONDS = 20
RACES = [1, pytest.param(50, marks=[pytest.mark.explore, pytest.mark.timeout(3600)])]
"""So many times the appends that two processes race for on a backend."""
KILLS = [3, pytest.param(20, marks=pytest.mark.explore)]
NO_LIMIT = 10**9


@pytest.mark.slow
@pytest.mark.parametrize("threads", SHARED, indirect=True)
@pytest.mark.behaviour("log.processes")
@pytest.mark.parametrize("races", RACES)
async def test_two_processes_that_race_for_one_thread_lose_nothing_and_double_nothing(
    threads: Threads, races: int
) -> None:
    """Every append of each stands there once, whole and in its process's order; some were given twice."""
    each = races * threads.backend.raced // 2

    with appending(threads, "a", 1, each, 2) as one, appending(threads, "b", 1, each, 2) as other:
        printed = await asyncio.gather(*(asyncio.to_thread(process.communicate) for process in (one, other)))

    assert [output.split() for output, _ in printed] == [[str(n + 1) for n in range(each)]] * 2
    found = await appends_of(threads.open())
    assert Counter(found) == Counter(f"{mark}-{n + 1}" for mark in "ab" for n in range(each))
    for mark in "ab":
        assert [name for name in found if name.startswith(mark)] == [f"{mark}-{n + 1}" for n in range(each)]


@pytest.mark.slow
@pytest.mark.parametrize("threads", SHARED, indirect=True)
@pytest.mark.behaviour("log.killed-writers")
@pytest.mark.parametrize("kills", KILLS)
async def test_a_process_that_is_killed_leaves_whole_appends_only(threads: Threads, kills: int) -> None:
    """Killed in the middle of appends, again and again: what it was told as done is there, the next goes on behind."""
    received = 0
    for kill in range(kills):
        received = await told_until_killed(threads, received + 1, received + 3 + 7 * kill)

        store = threads.open()
        found = await appends_of(store)
        assert found[:received] == [f"k-{n + 1}" for n in range(received)]
        assert len(found) <= received + 1
        head = await store.head(ADDRESS)
        assert head is not None
        assert (head.position, head.payload.decode()) == (2 * len(found), found[-1])
        received = len(found)


@pytest.mark.slow
@pytest.mark.parametrize("threads", SHARED, indirect=True)
@pytest.mark.behaviour("log.watch")
async def test_a_watch_wakes_when_another_process_appends(threads: Threads) -> None:
    """Where the store can push; where it cannot its caller looks."""
    store = threads.open()
    watching = asyncio.ensure_future(store.watch(ADDRESS, 0, GUARD_SECONDS))
    await store.head(ADDRESS)

    with appending(threads, "w", 1, 1) as process:
        await asyncio.to_thread(process.wait)

    assert await watching == threads.backend.pushes


async def appends_of(store: ThreadStore) -> list[str]:
    """Return the names of the thread's appends, each of which must be whole: both events, one behind the other."""
    events = await texts(store)
    assert [position for position, _ in events] == list(range(1, len(events) + 1))
    names = [payload.decode().split() for _, payload in events]
    assert [part for _, part in names] == ["first", "second"] * (len(events) // 2)
    assert [name for name, _ in names[::2]] == [name for name, _ in names[1::2]]
    return [name for name, _ in names[::2]]


async def told_until_killed(threads: Threads, first: int, enough: int) -> int:
    """Let a process append from number `first` on, kill it once `enough` is told as done, and return the last told."""
    with appending(threads, "k", first, NO_LIMIT) as process:
        assert process.stdout is not None
        last = first - 1
        while last < enough:
            last = int(await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), GUARD_SECONDS))
        process.kill()
        rest, _ = await asyncio.to_thread(process.communicate)
    whole_lines = rest.split("\n")[:-1]
    return int(whole_lines[-1]) if whole_lines else last


@contextlib.contextmanager
def appending(threads: Threads, mark: str, first: int, last: int, together: int = 1) -> Iterator[Process]:
    """Run a process that appends so many to this test's thread, one of so many together; none is left behind."""
    numbers = map(str, (first, last, together))
    process = start_python("tests.contracts.thread_appending_process", threads.name, threads.place, mark, *numbers)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
