"""Forks over the stores: what they have, what they lend, and what a death in the middle leaves."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.sweeps import OVERLAP_SECONDS
from hosting.core.thread.run_request import RunRequest
from hosting.errors import (
    ArchiveUnavailableError,
    HostingError,
    ThreadExistsError,
)
from hosting.features.forks.forking import MOST_LENDERS, Forked
from hosting.names import Address
from state.attachments import references
from state.codec import read
from state.extension import host_of
from tests.support.cluster.cluster import ADDRESS, AGENT, INSTANCE, AppProcess, Cluster
from tests.support.cluster.engine import instance_of
from tests.support.cluster.life import DiedError, Life
from tests.support.cluster.threads import archiving_cluster, delete, entries, fork, kept, loans, reset, sweep_uploads

pytestmark = pytest.mark.moved_time

FORK = Address.of(AGENT, "fork")
TURNS = 12
PICTURE = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 100).decode()
SEEN = ({"$type": "data", "uri": PICTURE, "mediaType": "image/png"},)
LATER = UNUSED_SECONDS + OVERLAP_SECONDS


@pytest.fixture
async def world() -> AsyncIterator[Cluster]:
    world = archiving_cluster()
    yield world
    await world.close()


def document(world: Cluster, thread_id: str) -> Any:
    """Return what a thread's entity has stored, as it is read."""
    return read(world.engine.documents[instance_of(*Address.of(AGENT, thread_id).entity)])


async def spoken(world: Cluster) -> tuple[AppProcess, list[str]]:
    """Return a process, and the runs of the turns of a thread, a picture among the oldest; most turns are archived."""
    process = world.process()
    runs = [await process.run("see", request=RunRequest(message="see", contents=SEEN))]
    runs += [await process.run(f"{number} ".ljust(300, "x")) for number in range(1, TURNS)]
    archived = host_of(document(world, ADDRESS.thread_id)).archived.entries
    assert 2 < archived < 2 * TURNS
    return process, runs


@pytest.mark.behaviour("fork.at")
@pytest.mark.parametrize("turn", [0, TURNS - 1])
async def test_a_fork_ends_where_it_is_wanted(world: Cluster, turn: int) -> None:
    """With a run or an entry, or before it: in the archive too, whose sums are then those of the fork."""
    process, runs = await spoken(world)
    before = [entry for _, entry in await entries(process, ADDRESS)]
    through = 2 * (turn + 1)

    made = [
        await fork(process, at=runs[turn]),
        await fork(process, at=through),
        await fork(process, at=runs[turn], before=True),
        await fork(process, at=through - 1, before=True),
    ]
    await process.cluster.deliver(process)

    assert [one.entries for one in made] == [through, through, through - 2, through - 2]
    for one in made:
        address = Address.of(AGENT, one.thread_id)
        assert [entry for _, entry in await entries(process, address)] == before[: one.entries]
        stored = document(world, one.thread_id)
        assert len(stored.data.conversation_history) + host_of(stored).archived.entries == one.entries
        assert host_of(stored).archived.messages == host_of(stored).archived.entries
    await process.run("and on", made[0].thread_id)
    assert len(process.agent.turns[-1]) > 1


@pytest.mark.behaviour("fork.once")
@pytest.mark.parametrize("first", [0, 1])
async def test_two_that_fork_to_one_id_at_once_have_one_thread(world: Cluster, first: int) -> None:
    """The same request gets the same fork; another one is refused, and leaves nothing where that fork's things are."""
    process, runs = await spoken(world)
    await fork(process, "other")
    await process.cluster.deliver(process)
    other = Address.of(AGENT, "other")
    wanted: list[dict[str, Any]] = [{"origin": ADDRESS, "at": runs[-1]}, {"origin": other, "at": runs[-2]}]

    same = await asyncio.gather(*(fork(world.process(), "same", at=runs[-1]) for _ in range(3)))
    both = await asyncio.gather(
        *(fork(world.process(), "fork", **wanted[number]) for number in (first, 1 - first)), return_exceptions=True
    )
    await process.cluster.deliver(process)

    assert sorted(one.replayed for one in same) == [False, True, True]
    assert await loans(world, ADDRESS) == 3
    made, refused = both if isinstance(both[0], Forked) else reversed(both)
    assert isinstance(made, Forked)
    assert isinstance(refused, ThreadExistsError)
    for thread_id in ("same", "fork"):
        address = Address.of(AGENT, thread_id)
        archived = host_of(document(world, thread_id)).archived.entries
        assert archived > 0
        texts = await entries(process, address)
        assert texts == (await entries(process, ADDRESS))[: len(texts)]
        assert (await kept(world, address))[:2] == (0, 0)


@pytest.mark.slow
@pytest.mark.behaviour("fork.once")
@pytest.mark.parametrize(("given", "key"), [("fork", None), (None, "k")], ids=["an id", "a key"])
async def test_whenever_another_process_makes_the_same_fork_there_is_one(
    world: Cluster, given: str | None, key: str | None
) -> None:
    """Between any two calls of the first: both are answered with it, and what the other attempt put is gone."""
    await spoken(world)
    replayed: set[tuple[bool, bool]] = set()
    for at in itertools.count(1):
        again, others = world.again(), list[Forked]()

        async def meanwhile(process: AppProcess, others: list[Forked]) -> None:
            others.append(await fork(process, given, key=key))

        life = Life(turn_at=at, meanwhile=partial(meanwhile, again.process(), others))
        mine = await fork(again.process(life), given, key=key)
        if at > life.calls:
            break
        process, other = again.process(), others[0]
        await process.cluster.deliver(process)
        replayed.add((mine.replayed, other.replayed))
        assert (mine.thread_id, mine.entries) == (other.thread_id, other.entries)
        assert sorted(again.engine.documents) == sorted(
            [instance_of(*Address.of(AGENT, mine.thread_id).entity), INSTANCE]
        )
        address = Address.of(AGENT, mine.thread_id)
        assert await entries(process, address) == await entries(process, ADDRESS)
        assert ((await kept(again, address))[:2], await loans(again, ADDRESS)) == ((0, 0), 1)

    assert at > 10
    assert replayed == {(True, False), (False, True)}


@pytest.mark.behaviour("fork.killed")
@pytest.mark.parametrize("is_done", [False, True], ids=["before a call", "after it"])
async def test_whatever_call_a_process_dies_at_a_fork_is_whole_or_there_is_none(
    world: Cluster, *, is_done: bool
) -> None:
    process, runs = await spoken(world)
    ends, made, seen = 0, 0, set[str]()
    while True:
        ends += 1
        thread_id, address = f"fork-{ends}", Address.of(AGENT, f"fork-{ends}")
        life = Life(ends, is_done=is_done)
        try:
            await fork(world.process(life), thread_id, at=runs[-2])
        except DiedError:
            pass
        else:
            break
        if ends % 2:
            assert (await fork(world.process(), thread_id, at=runs[-2])).entries == 2 * TURNS - 2
        elif (await kept(world, address))[1]:  # the mark goes only once a signal was taken, which no death takes back
            world.engine.signals.clear()
        world.wall_ahead += LATER
        await sweep_uploads(world.process())
        archived, beside, position = await kept(world, address)
        if position:
            seen.add("whole")
            assert len(await entries(process, address)) == 2 * TURNS - 2
            assert instance_of(*address.entity) in world.engine.documents
            made += 1
        else:
            seen.add("none")
        assert (archived, beside, await loans(world, ADDRESS)) == (0, 0, made)

    assert ends > 10
    assert seen == {"whole", "none"}


@pytest.mark.behaviour("fork.killed")
async def test_an_archive_that_is_away_refuses_a_fork_and_leaves_nothing(world: Cluster) -> None:
    process, _ = await spoken(world)

    async def away(*_: object) -> None:
        raise ArchiveUnavailableError

    archive = process.services.stores.archive
    lend, archive.lend = archive.lend, away  # type: ignore[method-assign, assignment]
    with pytest.raises(ArchiveUnavailableError):
        await fork(process, "fork")
    left = await kept(world, FORK)
    archive.lend = lend  # type: ignore[method-assign]

    assert left == (0, 0, 0)
    assert (await fork(process, "fork")).entries == 2 * TURNS


FORK, AGAIN = Address.of(AGENT, "fork"), Address.of(AGENT, "again")


NOTHING = (0, 0)

Act = Callable[[AppProcess], Awaitable[None]]
Entries = list[Any]


async def spoken_of(world: Cluster, turns: int = 8) -> tuple[AppProcess, Entries]:
    """Return a process, and the entries of a thread, a picture among the oldest; most turns are archived."""
    process = world.process()
    await process.run("see", request=RunRequest(message="see", contents=SEEN))
    await speak(process, ADDRESS, turns - 1)
    assert host_of(document(world, ADDRESS.thread_id)).archived.entries > 2
    return process, await entries(process, ADDRESS)


async def speak(process: AppProcess, address: Address, turns: int) -> None:
    for number in range(turns):
        await process.run(f"{number} ".ljust(300, "x"), address.thread_id)


async def forked(world: Cluster) -> tuple[AppProcess, Entries]:
    process, before = await spoken_of(world)
    await fork(process, "fork")
    await process.cluster.deliver(process)
    return process, before


async def delete_origin(process: AppProcess) -> None:
    await delete(process, ADDRESS)


async def reset_origin(process: AppProcess) -> None:
    await reset(process, ADDRESS)


async def delete_fork(process: AppProcess) -> None:
    await delete(process, FORK)


async def assert_whole(process: AppProcess, address: Address, before: Entries) -> None:
    assert await entries(process, address) == before
    export = await process.services.threads.export(address, process.engine)
    kept = {name for name in export.attachments.names if await export.attachments.read(name)}
    assert kept == references(before[0][1])


async def swept(world: Cluster) -> None:
    """Sweep over uploads when they are old, twice: what one sweep has a thread upload, the next finds."""
    for _ in range(2):
        world.wall_ahead += LATER
        await sweep_uploads(world.process())


@pytest.mark.slow
@pytest.mark.behaviour("fork.alone")
@pytest.mark.parametrize("is_done", [False, True], ids=["before a call", "after it"])
@pytest.mark.parametrize("act", [delete_origin, reset_origin])
async def test_whatever_call_a_process_dies_at_that_erases_an_origin_its_fork_is_whole(
    world: Cluster, act: Act, *, is_done: bool
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
        assert (await kept(again, ADDRESS))[:2] == NOTHING
        await delete(process, FORK)
        await swept(again)
        assert (await kept(again, FORK))[:2] == NOTHING

    assert ends > 15


@pytest.mark.slow
@pytest.mark.behaviour("fork.killed")
@pytest.mark.parametrize("act", [delete_origin, reset_origin, delete_fork])
async def test_whenever_another_process_erases_a_thread_a_fork_of_it_is_whole_or_there_is_none(
    world: Cluster, act: Act
) -> None:
    outcomes: set[str] = set()
    _, before = await spoken_of(world)
    for at in itertools.count(1):
        again = world.again()
        process = again.process()
        life = Life(turn_at=at, meanwhile=lambda: act(process))  # noqa: B023 - it is called in this round
        try:
            await fork(again.process(life), "fork")
        except HostingError as error:
            outcomes.add(type(error).__name__)
        await process.cluster.deliver(process)
        await swept(again)
        position = (await kept(again, FORK))[2]
        if position and instance_of(*FORK.entity) in again.engine.documents and act is not delete_fork:
            outcomes.add("whole")
            found = await entries(process, FORK)
            assert found in (before, [])  # it may have been reset before it was read
            outcomes.add("empty" if not found else "full")
        elif not position:
            assert (await kept(again, FORK))[:2] == NOTHING
            assert await loans(again, ADDRESS) == 0
        if act is not delete_fork and at <= life.calls:
            assert (await kept(again, ADDRESS))[:2] == NOTHING
        await delete(process, FORK) if position else None
        await swept(again)
        assert (await kept(again, FORK))[:2] == NOTHING
        if at > life.calls:
            break

    assert at > 10
    if act is not delete_fork:
        assert "full" in outcomes


@pytest.mark.behaviour("fork.alone")
@pytest.mark.parametrize("order", [(ADDRESS, FORK, AGAIN), (FORK, AGAIN, ADDRESS)])
async def test_a_fork_of_a_fork_keeps_all_whichever_of_them_goes_first(
    world: Cluster, order: tuple[Address, ...]
) -> None:
    process, _ = await forked(world)
    await speak(process, FORK, 8)
    await fork(process, "again", FORK)
    await process.cluster.deliver(process)
    await speak(process, AGAIN, 8)
    has = {address: await entries(process, address) for address in order}
    assert len(host_of(document(world, "again")).lenders) == 2

    for address in order:
        await delete(process, address)
        assert (await kept(world, address))[:2] == NOTHING
        del has[address]
        for other, before in has.items():
            await assert_whole(process, other, before)


@pytest.mark.slow
@pytest.mark.behaviour("fork.whole")
async def test_a_long_row_of_forks_is_whole_at_each_of_them(world: Cluster) -> None:
    process, _ = await forked(world)
    last, most = FORK, 0
    for number in range(MOST_LENDERS + 3):
        await speak(process, last, 6)
        before = await entries(process, last)
        await fork(process, f"f{number}", last)
        await process.cluster.deliver(process)
        last = Address.of(AGENT, f"f{number}")
        await assert_whole(process, last, before)
        most = max(most, len(host_of(document(world, last.thread_id)).lenders))

    assert most == MOST_LENDERS


@pytest.mark.behaviour("fork.alone")
async def test_a_fork_of_one_that_has_copies_by_now_borrows_of_that_alone(world: Cluster) -> None:
    """And of one whose origin is on its way out it has copies."""
    process, before = await forked(world)
    await process.services.threads.delete(ADDRESS, process.engine, 0.0)  # whose entity has not done it yet
    copied = await fork(process, "copied", FORK)
    await process.cluster.deliver(process)
    await fork(process, "again", FORK)
    await process.cluster.deliver(process)

    lenders = [host_of(document(world, one)).lenders for one in ("copied", "again")]

    assert copied.entries == len(before)
    assert [[one.thread_id for one in of] for of in lenders] == [[], ["fork"]]
    await delete(process, FORK)
    for address in (Address.of(AGENT, "copied"), AGAIN):
        await assert_whole(process, address, before)
