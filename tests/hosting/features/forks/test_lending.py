"""What a fork has without copies: whoever else is deleted or reset, and whenever, it keeps that, and leaves nothing."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.sweeps import OVERLAP_SECONDS
from hosting.errors import HostingError
from hosting.features.forks.forking import MOST_LENDERS
from hosting.names import Address
from state.attachments import references
from state.codec import read
from state.extension import host_of
from tests.support.mortal import AGENT, ORIGIN, DiedError, Interrupted, Life, MortalProcess, World

FORK, AGAIN = Address.of(AGENT, "fork"), Address.of(AGENT, "again")
PICTURE = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 100).decode()
SEEN = ({"$type": "data", "uri": PICTURE, "mediaType": "image/png"},)
LATER = UNUSED_SECONDS + OVERLAP_SECONDS
NOTHING = (0, 0)

Act = Callable[[MortalProcess], Awaitable[None]]
Entries = list[Any]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.loop.close()


async def spoken(world: World, turns: int = 8) -> tuple[MortalProcess, Entries]:
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
    process, before = await spoken(world)
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


@pytest.mark.behaviour("fork.alone")
@pytest.mark.parametrize("act", [delete_origin, reset_origin])
async def test_a_fork_keeps_what_its_origin_loses(world: World, act: Act) -> None:
    """Entries and their picture: it has its own copies from then on, and goes on."""
    process, before = await forked(world)

    await act(process)

    assert (await world.kept(ORIGIN))[:2] == NOTHING
    await assert_whole(process, FORK, before)
    assert (await world.kept(FORK))[1] == 1
    await speak(process, FORK, 8)
    assert (await process.entries(FORK))[: len(before)] == before
    await process.delete(FORK)
    assert (await world.kept(FORK))[:2] == NOTHING


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
    _, before = await spoken(world)
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


@pytest.mark.behaviour("fork.whole")
@pytest.mark.parametrize("act", [delete_origin, reset_origin])
async def test_a_fork_is_read_whole_while_its_origin_gives_it_copies(world: World, act: Act) -> None:
    _, before = await forked(world)
    for at in itertools.count(1):
        again = world.again()
        process = again.process()
        life = Interrupted(at, lambda: act(process))  # noqa: B023 - it is called in this round
        await assert_whole(again.process(life), FORK, before)
        if at > life.calls:
            break

    assert at > 10


@pytest.mark.behaviour("fork.alone")
@pytest.mark.parametrize("order", [*itertools.permutations((ORIGIN, FORK, AGAIN))])
@pytest.mark.parametrize("ended", ["deleted", "reset"])
async def test_a_fork_of_a_fork_keeps_all_whichever_of_them_goes_first(
    world: World, order: tuple[Address, ...], ended: str
) -> None:
    process, _ = await forked(world)
    await speak(process, FORK, 8)
    await process.fork("again", FORK)
    await process.deliver_all()
    await speak(process, AGAIN, 8)
    has = {address: await process.entries(address) for address in order}
    assert len(host_of(read(world.engine.documents["again"])).lenders) == 2

    for address in order:
        await (process.delete(address) if ended == "deleted" else process.reset(address))
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
