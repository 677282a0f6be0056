"""Forks over the stores: what they have, what they lend, and what a death in the middle leaves."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.sweeps import OVERLAP_SECONDS
from hosting.errors import (
    ArchiveUnavailableError,
    HostingError,
    InvalidFieldError,
    ThreadExistsError,
    UnknownRunError,
    UnknownThreadError,
)
from hosting.features.forks.forking import MOST_LENDERS, Forked
from hosting.names import Address
from state.attachments import references
from state.codec import read
from state.extension import host_of
from tests.support.mortal import AGENT, ORIGIN, DiedError, Interrupted, Life, MortalProcess, World

FORK = Address.of(AGENT, "fork")
TURNS = 12
PICTURE = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 100).decode()
SEEN = ({"$type": "data", "uri": PICTURE, "mediaType": "image/png"},)
LATER = UNUSED_SECONDS + OVERLAP_SECONDS


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.loop.close()


async def spoken(world: World) -> tuple[MortalProcess, list[str]]:
    """Return a process, and the runs of the turns of a thread, a picture among the oldest; most turns are archived."""
    process = world.process()
    runs = [await process.say("see", contents=SEEN)]
    runs += [await process.say(f"{number} ".ljust(300, "x")) for number in range(1, TURNS)]
    archived = host_of(read(world.engine.documents["origin"])).archived.entries
    assert 2 < archived < 2 * TURNS
    return process, runs


@pytest.mark.behaviour("fork.at")
@pytest.mark.parametrize("turn", [0, 5, TURNS - 1])
async def test_a_fork_ends_where_it_is_wanted(world: World, turn: int) -> None:
    """With a run or an entry, or before it: in the archive too, whose sums are then those of the fork."""
    process, runs = await spoken(world)
    before = [entry for _, entry in await process.entries(ORIGIN)]
    through = 2 * (turn + 1)

    made = [
        await process.fork(at=runs[turn]),
        await process.fork(at=through),
        await process.fork(at=runs[turn], before=True),
        await process.fork(at=through - 1, before=True),
    ]
    await process.deliver_all()

    assert [one.entries for one in made] == [through, through, through - 2, through - 2]
    for one in made:
        address = Address.of(AGENT, one.thread_id)
        assert [entry for _, entry in await process.entries(address)] == before[: one.entries]
        stored = read(world.engine.documents[one.thread_id])
        assert len(stored.data.conversation_history) + host_of(stored).archived.entries == one.entries
        assert host_of(stored).archived.messages == host_of(stored).archived.entries
    await process.say("and on", Address.of(AGENT, made[0].thread_id))
    assert len(process.agent.seen[-1]) > 1


@pytest.mark.behaviour("fork.at")
async def test_a_point_that_the_conversation_does_not_have_is_refused(world: World) -> None:
    process, _ = await spoken(world)
    await process.say("another's", FORK)

    with pytest.raises(InvalidFieldError, match="has 24 entries"):
        await process.fork(at=25)
    with pytest.raises(InvalidFieldError, match="Entries 3 and 4 belong to one turn"):
        await process.fork(at=3)
    with pytest.raises(UnknownRunError):
        await process.fork(at="nothing")
    with pytest.raises(ThreadExistsError):
        await process.fork("fork")
    with pytest.raises(ThreadExistsError):
        await process.fork("origin")
    with pytest.raises(UnknownThreadError):
        await process.fork(origin=Address.of(AGENT, "nowhere"))


@pytest.mark.behaviour("fork.once")
@pytest.mark.parametrize("first", [0, 1])
async def test_two_that_fork_to_one_id_at_once_have_one_thread(world: World, first: int) -> None:
    """The same request gets the same fork; another one is refused, and leaves nothing where that fork's things are."""
    process, runs = await spoken(world)
    await process.fork("other")
    await process.deliver_all()
    other = Address.of(AGENT, "other")
    wanted = [{"origin": ORIGIN, "at": runs[-1]}, {"origin": other, "at": runs[-2]}]

    same = await asyncio.gather(*(world.process().fork("same", at=runs[-1]) for _ in range(3)))
    both = await asyncio.gather(
        *(world.process().fork("fork", **wanted[number]) for number in (first, 1 - first)), return_exceptions=True
    )
    await process.deliver_all()

    assert sorted(one.replayed for one in same) == [False, True, True]
    assert await world.loans(ORIGIN) == 3
    made, refused = both if isinstance(both[0], Forked) else reversed(both)
    assert isinstance(made, Forked)
    assert isinstance(refused, ThreadExistsError)
    for thread_id in ("same", "fork"):
        address = Address.of(AGENT, thread_id)
        archived = host_of(read(world.engine.documents[thread_id])).archived.entries
        assert archived > 0
        assert await process.texts(address) == (await process.texts(ORIGIN))[: len(await process.texts(address))]
        assert (await world.kept(address))[:2] == (0, 0)


@pytest.mark.slow
@pytest.mark.behaviour("fork.once")
@pytest.mark.parametrize(("given", "key"), [("fork", None), (None, "k")], ids=["an id", "a key"])
async def test_whenever_another_process_makes_the_same_fork_there_is_one(
    world: World, given: str | None, key: str | None
) -> None:
    """Between any two calls of the first: both are answered with it, and what the other attempt put is gone."""
    await spoken(world)
    replayed: set[tuple[bool, bool]] = set()
    for at in itertools.count(1):
        again, others = world.again(), list[Forked]()

        async def meanwhile(process: MortalProcess, others: list[Forked]) -> None:
            others.append(await process.fork(given, key=key))

        life = Interrupted(at, partial(meanwhile, again.process(), others))
        mine = await again.process(life).fork(given, key=key)
        if at > life.calls:
            break
        process, other = again.process(), others[0]
        await process.deliver_all()
        replayed.add((mine.replayed, other.replayed))
        assert (mine.thread_id, mine.entries) == (other.thread_id, other.entries)
        assert sorted(again.engine.documents) == sorted([mine.thread_id, "origin"])
        address = Address.of(AGENT, mine.thread_id)
        assert await process.entries(address) == await process.entries(ORIGIN)
        assert ((await again.kept(address))[:2], await again.loans(ORIGIN)) == ((0, 0), 1)

    assert at > 10
    assert replayed == {(True, False), (False, True)}


@pytest.mark.behaviour("fork.killed")
@pytest.mark.parametrize("is_done", [False, True], ids=["before a call", "after it"])
async def test_whatever_call_a_process_dies_at_a_fork_is_whole_or_there_is_none(world: World, *, is_done: bool) -> None:
    process, runs = await spoken(world)
    ends, made, seen = 0, 0, set[str]()
    while True:
        ends += 1
        thread_id, address = f"fork-{ends}", Address.of(AGENT, f"fork-{ends}")
        life = Life(ends, is_done=is_done)
        try:
            await world.process(life).fork(thread_id, at=runs[-2])
        except DiedError:
            pass
        else:
            break
        if ends % 2:
            assert (await world.process().fork(thread_id, at=runs[-2])).entries == 2 * TURNS - 2
        elif (await world.kept(address))[1]:  # the mark goes only once a signal was taken, which no death takes back
            world.engine.signals.clear()
        world.clock.now += LATER
        await world.process().sweep()
        archived, beside, position = await world.kept(address)
        if position:
            seen.add("whole")
            assert len(await process.entries(address)) == 2 * TURNS - 2
            assert thread_id in world.engine.documents
            made += 1
        else:
            seen.add("none")
        assert (archived, beside, await world.loans(ORIGIN)) == (0, 0, made)

    assert ends > 10
    assert seen == {"whole", "none"}


@pytest.mark.behaviour("fork.killed")
async def test_an_archive_that_is_away_refuses_a_fork_and_leaves_nothing(world: World) -> None:
    process, _ = await spoken(world)

    async def away(*_: object) -> None:
        raise ArchiveUnavailableError

    archive = process.services.stores.archive
    lend, archive.lend = archive.lend, away  # type: ignore[method-assign, assignment]
    with pytest.raises(ArchiveUnavailableError):
        await process.fork("fork")
    left = await world.kept(FORK)
    archive.lend = lend  # type: ignore[method-assign]

    assert left == (0, 0, 0)
    assert (await process.fork("fork")).entries == 2 * TURNS


FORK, AGAIN = Address.of(AGENT, "fork"), Address.of(AGENT, "again")


NOTHING = (0, 0)

Act = Callable[[MortalProcess], Awaitable[None]]
Entries = list[Any]


async def spoken_of(world: World, turns: int = 8) -> tuple[MortalProcess, Entries]:
    """Return a process, and the entries of a thread, a picture among the oldest; most turns are archived."""
    process = world.process()
    await process.say("see", contents=SEEN)
    await speak(process, ORIGIN, turns - 1)
    assert host_of(read(world.engine.documents["origin"])).archived.entries > 2
    return process, await process.entries(ORIGIN)


async def speak(process: MortalProcess, address: Address, turns: int) -> None:
    for number in range(turns):
        await process.say(f"{number} ".ljust(300, "x"), address)


async def forked(world: World) -> tuple[MortalProcess, Entries]:
    process, before = await spoken_of(world)
    await process.fork("fork")
    await process.deliver_all()
    return process, before


async def delete_origin(process: MortalProcess) -> None:
    await process.delete(ORIGIN)


async def reset_origin(process: MortalProcess) -> None:
    await process.reset(ORIGIN)


async def delete_fork(process: MortalProcess) -> None:
    await process.delete(FORK)


async def assert_whole(process: MortalProcess, address: Address, before: Entries) -> None:
    assert await process.entries(address) == before
    export = await process.services.threads.export(address, process.engine)
    kept = {name for name in export.attachments.names if await export.attachments.read(name)}
    assert kept == references(before[0][1])


async def swept(world: World) -> None:
    """Sweep over uploads when they are old, twice: what one sweep has a thread upload, the next finds."""
    for _ in range(2):
        world.clock.now += LATER
        await world.process().sweep()


@pytest.mark.slow
@pytest.mark.behaviour("fork.alone")
@pytest.mark.parametrize("is_done", [False, True], ids=["before a call", "after it"])
@pytest.mark.parametrize("act", [delete_origin, reset_origin])
async def test_whatever_call_a_process_dies_at_that_erases_an_origin_its_fork_is_whole(
    world: World, act: Act, *, is_done: bool
) -> None:
    """Then, and when another process has finished it; nothing of the origin is left."""
    _, before = await forked(world)
    for ends in itertools.count(1):
        again = world.again()
        process = again.process()
        try:
            await act(again.process(Life(ends, is_done=is_done)))
        except DiedError:
            await assert_whole(process, FORK, before)
            await act(process)
        else:
            break
        await assert_whole(process, FORK, before)
        assert (await again.kept(ORIGIN))[:2] == NOTHING
        await process.delete(FORK)
        await swept(again)
        assert (await again.kept(FORK))[:2] == NOTHING

    assert ends > 15


@pytest.mark.slow
@pytest.mark.behaviour("fork.killed")
@pytest.mark.parametrize("act", [delete_origin, reset_origin, delete_fork])
async def test_whenever_another_process_erases_a_thread_a_fork_of_it_is_whole_or_there_is_none(
    world: World, act: Act
) -> None:
    outcomes: set[str] = set()
    _, before = await spoken_of(world)
    for at in itertools.count(1):
        again = world.again()
        process = again.process()
        life = Interrupted(at, lambda: act(process))  # noqa: B023 - it is called in this round
        try:
            await again.process(life).fork("fork")
        except HostingError as error:
            outcomes.add(type(error).__name__)
        await process.deliver_all()
        await swept(again)
        position = (await again.kept(FORK))[2]
        if position and FORK.thread_id in again.engine.documents and act is not delete_fork:
            outcomes.add("whole")
            found = await process.entries(FORK)
            assert found in (before, [])  # it may have been reset before it was read
            outcomes.add("empty" if not found else "full")
        elif not position:
            assert (await again.kept(FORK))[:2] == NOTHING
            assert await again.loans(ORIGIN) == 0
        if act is not delete_fork and at <= life.calls:
            assert (await again.kept(ORIGIN))[:2] == NOTHING
        await process.delete(FORK) if position else None
        await swept(again)
        assert (await again.kept(FORK))[:2] == NOTHING
        if at > life.calls:
            break

    assert at > 10
    if act is not delete_fork:
        assert "full" in outcomes


@pytest.mark.behaviour("fork.alone")
@pytest.mark.parametrize("order", [(ORIGIN, FORK, AGAIN), (FORK, AGAIN, ORIGIN), (AGAIN, ORIGIN, FORK)])
async def test_a_fork_of_a_fork_keeps_all_whichever_of_them_goes_first(
    world: World, order: tuple[Address, ...]
) -> None:
    process, _ = await forked(world)
    await speak(process, FORK, 8)
    await process.fork("again", FORK)
    await process.deliver_all()
    await speak(process, AGAIN, 8)
    has = {address: await process.entries(address) for address in order}
    assert len(host_of(read(world.engine.documents["again"])).lenders) == 2

    for address in order:
        await process.delete(address)
        assert (await world.kept(address))[:2] == NOTHING
        del has[address]
        for other, before in has.items():
            await assert_whole(process, other, before)


@pytest.mark.slow
@pytest.mark.behaviour("fork.whole")
async def test_a_long_row_of_forks_is_whole_at_each_of_them(world: World) -> None:
    process, _ = await forked(world)
    last, most = FORK, 0
    for number in range(MOST_LENDERS + 3):
        await speak(process, last, 6)
        before = await process.entries(last)
        await process.fork(f"f{number}", last)
        await process.deliver_all()
        last = Address.of(AGENT, f"f{number}")
        await assert_whole(process, last, before)
        most = max(most, len(host_of(read(world.engine.documents[last.thread_id])).lenders))

    assert most == MOST_LENDERS


@pytest.mark.behaviour("fork.alone")
async def test_a_fork_of_one_that_has_copies_by_now_borrows_of_that_alone(world: World) -> None:
    """And of one whose origin is on its way out it has copies."""
    process, before = await forked(world)
    await process.services.threads.delete(ORIGIN, process.engine, 0.0)  # whose entity has not done it yet
    copied = await process.fork("copied", FORK)
    await process.deliver_all()
    await process.fork("again", FORK)
    await process.deliver_all()

    lenders = [host_of(read(world.engine.documents[one])).lenders for one in ("copied", "again")]

    assert copied.entries == len(before)
    assert [[one.thread_id for one in of] for of in lenders] == [[], ["fork"]]
    await process.delete(FORK)
    for address in (Address.of(AGENT, "copied"), AGAIN):
        await assert_whole(process, address, before)
