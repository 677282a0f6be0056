"""What owners use in a day and in a minute: two processes' counts over one store that loses answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from hosting.amounts import Used
from hosting.core.stores.contract import Append, StoredHead
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.errors import LimitExceededError
from hosting.features.metering.days import OwnerDays
from hosting.features.metering.limits import Limit
from hosting.features.metering.minutes import OwnerMinutes
from hosting.names import Address, new_id
from hosting.ports import Clocks
from tests.support.thread_stores import ArmedStore

TEN_AT_NIGHT = 1_767_304_800.0
"""2026-01-01T22:00:00Z."""
HOUR = 3600.0
CALL = Used(40, 5)


class Desk:
    """Two processes' days and minutes over one store; the first one's is armed. The clock of each is moved by hand."""

    def __init__(self, requests: int | None = 4, tokens: int | None = None) -> None:
        limit = Limit(requests_per_minute=requests, tokens_per_minute=tokens)
        shared = MemoryThreadStore("hub")
        self.store = ArmedStore(shared)
        self.now = self.others_now = TEN_AT_NIGHT
        clocks = Clocks(wall=lambda: self.now)
        log = ThreadLog(self.store, MemoryObjects(), "hub", clocks=clocks, patience_seconds=1.0)
        other = ThreadLog(shared, MemoryObjects(), "hub", clocks=Clocks(wall=lambda: self.others_now))
        self.days, self.others = OwnerDays("Joker", log, self.store), OwnerDays("joker", other, shared)
        self.minutes = OwnerMinutes("Joker", log, self.store, limit)
        self.others_minutes = OwnerMinutes("joker", other, shared, limit)


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def taken(minutes: OwnerMinutes, owner: str = "ada") -> bool:
    try:
        await minutes.count(owner)
    except LimitExceededError:
        return False
    return True


@pytest.mark.behaviour("log.owner-days")
async def test_calls_of_all_processes_are_counted_together_and_each_owner_apart(desk: Desk) -> None:
    await asyncio.gather(*(days.add("ada", CALL) for _ in range(20) for days in (desk.days, desk.others)))
    await desk.days.add("bob", CALL)

    assert await desk.days.used("ada") == await desk.others.used("ada") == ("2026-01-02T00:00:00Z", Used(1600, 200))
    assert (await desk.others.used("bob"))[1] == CALL


@pytest.mark.behaviour("log.owner-days")
@pytest.mark.behaviour("log.owner-minutes")
@pytest.mark.parametrize("counts", ["calls", "requests"])
async def test_what_is_counted_is_counted_once_whatever_became_of_the_answer(desk: Desk, counts: str) -> None:
    """Also where another process counted in between, so that the store knows nothing of the append any more."""
    mine: Callable[[], Awaitable[object]] = partial(desk.days.add, "ada", CALL)
    others: Callable[[], Awaitable[object]] = partial(desk.others.add, "ada", CALL)
    if counts == "requests":
        mine, others = partial(desk.minutes.count, "ada"), partial(desk.others_minutes.count, "ada")

    async def first() -> None:
        desk.store.before_append = others  # before it is tried again

    await others()
    desk.store.fails = ["lost", "answer lost"]
    await mine()
    desk.store.fails, desk.store.before_append = ["answer lost"], first
    await mine()

    if counts == "requests":
        assert not await taken(desk.others_minutes)
    else:
        assert (await desk.others.used("ada"))[1] == Used(160, 20)


@pytest.mark.behaviour("log.owner-days")
@pytest.mark.parametrize("days", [5, -5, 1, 40_000], ids=["ahead", "behind", "a day", "a century"])
async def test_a_process_whose_clock_is_wrong_begins_no_day_for_the_others(desk: Desk, days: int) -> None:
    """Whatever it counts, and wherever it dies; a day that it has spent is spent once that day comes."""
    await desk.others.add("ada", CALL)
    desk.now += days * 24 * HOUR
    counting = asyncio.ensure_future(desk.days.add("ada", CALL))
    async with desk.store.holding("append"):
        counting.cancel()  # it dies here, and does not know that its call counts
    of_others = await desk.others.used("ada")
    await desk.others.add("ada", CALL)
    still = await desk.others.used("ada")
    desk.others_now = desk.now

    assert (of_others, still) == (("2026-01-02T00:00:00Z", CALL), ("2026-01-02T00:00:00Z", Used(80, 10)))
    assert (await desk.others.used("ada"))[1] == CALL


@pytest.mark.behaviour("thread.versions")
async def test_what_a_newer_version_added_stays_when_an_older_one_counts(desk: Desk) -> None:
    for address in (Address.of("joker.budget", "day", "ada"), Address.of("joker.limit", "minute", "ada")):
        await desk.store.append(address, None, Append(StoredHead(0, new_id(), b'{"counted": [], "mood": "good"}')))

    await desk.days.add("ada", CALL)
    await desk.minutes.count("ada")

    assert (await desk.others.used("ada"))[1] == CALL
    for log, key in (("budget", "day"), ("limit", "minute")):
        stored = await desk.store.head(Address.of(f"joker.{log}", key, "ada"))
        assert stored is not None
        assert json.loads(stored.payload)["mood"] == "good"


@pytest.mark.behaviour("log.owner-minutes")
@pytest.mark.parametrize("ahead", [600.0, -600.0, 90.0], ids=["ahead", "behind", "a little"])
async def test_a_clock_that_is_wrong_does_not_void_the_limit_of_the_others(ahead: float) -> None:
    desk = Desk(requests=7, tokens=40)
    times: dict[bool, list[float]] = {False: [], True: []}
    for step in range(600):
        desk.now = TEN_AT_NIGHT + step * 0.37
        desk.others_now = desk.now + ahead
        if await taken((desk.minutes, desk.others_minutes)[step % 2]):
            times[step % 2 == 1].append(desk.now)
    await desk.minutes.add("bob", 40)
    for _ in range(5):
        await desk.others_minutes.add("bob", 1)

    busiest = [
        max(sum(begin <= at < begin + 60 for at in taken_at) for begin in taken_at) for taken_at in times.values()
    ]
    assert busiest == [7, 7]
    assert not await taken(desk.minutes, "bob")


@pytest.mark.behaviour("log.owner-tokens")
async def test_tokens_of_all_processes_are_counted_together_and_each_caller_apart() -> None:
    """Also where they come at once; a request is taken while any are left, and counts none itself."""
    desk = Desk(None, tokens=1601)
    adding = [minutes.add("ada", 40) for _ in range(20) for minutes in (desk.minutes, desk.others_minutes)]
    await asyncio.gather(*adding, taken(desk.minutes))
    before = [await taken(desk.minutes), await taken(desk.others_minutes)]
    await desk.others_minutes.add("ada", 1)

    assert before == [True, True]
    assert [await taken(desk.minutes), await taken(desk.others_minutes), await taken(desk.others_minutes, "bob")] == [
        False,
        False,
        True,
    ]
