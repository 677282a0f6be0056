"""What callers send and use in a minute: counts of two processes over one store that loses answers, as time goes by."""

from __future__ import annotations

import asyncio

import pytest

from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.errors import LimitExceededError, LogUnavailableError
from hosting.features.metering.limits import Limit
from hosting.features.metering.minutes import OwnerMinutes
from hosting.ports import Clocks
from tests.support.thread_stores import ArmedStore

NOON = 1_767_268_800.0


class Desk:
    """Two processes' minutes over one store, with this limit; the first one's is armed. Time is moved by hand."""

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        limit = Limit(requests_per_minute=requests, tokens_per_minute=tokens)
        shared = MemoryThreadStore("hub")
        self.store = ArmedStore(shared)
        self.now = NOON
        self.ahead = 0.0
        log = ThreadLog(self.store, MemoryObjects(), "hub", clocks=Clocks(wall=lambda: self.now), patience_seconds=1.0)
        other = ThreadLog(shared, MemoryObjects(), "hub", clocks=Clocks(wall=lambda: self.now + self.ahead))
        self.minutes = OwnerMinutes("Joker", log, self.store, limit)
        self.others = OwnerMinutes("joker", other, shared, limit)


async def taken(minutes: OwnerMinutes, owner: str = "ada") -> bool:
    try:
        await minutes.count(owner)
    except LimitExceededError:
        return False
    return True


@pytest.mark.behaviour("log.owner-minutes")
async def test_requests_to_all_processes_are_counted_together_and_each_caller_apart() -> None:
    """Also where they come at once: no more are taken than the limit says."""
    desk = Desk(25)
    answers = await asyncio.gather(*(taken(minutes) for _ in range(20) for minutes in (desk.minutes, desk.others)))

    assert sum(answers) == 25
    assert await taken(desk.others, "bob")


@pytest.mark.behaviour("log.owner-minutes")
async def test_no_minute_has_more_whenever_it_begins() -> None:
    desk, times = Desk(7), list[float]()
    for step in range(2000):
        desk.now = NOON + step * 0.37
        if await taken((desk.minutes, desk.others)[step % 2]):
            times.append(desk.now)

    busiest = max(sum(begin <= at < begin + 60 for at in times) for begin in times)
    assert (busiest, len(times) >= 7 * 12) == (7, True)


@pytest.mark.behaviour("log.owner-minutes")
async def test_a_refusal_says_when_the_next_is_taken_and_asks_no_store() -> None:
    desk = Desk(2)
    desk.now = NOON + 0.9
    assert await taken(desk.minutes)
    desk.now = NOON + 30
    assert await taken(desk.minutes)
    desk.store.calls.clear()
    with pytest.raises(LimitExceededError) as refused:
        await desk.minutes.count("ada")
    seconds = refused.value.retry_after_seconds
    assert (seconds, dict(desk.store.calls)) == (31, {})

    desk.now = NOON + 30 + seconds - 1
    before = await taken(desk.minutes)
    desk.now = NOON + 30 + seconds
    assert (before, await taken(desk.minutes), await taken(desk.minutes)) == (False, True, False)


@pytest.mark.behaviour("log.owner-minutes")
async def test_a_request_is_counted_once_whatever_became_of_the_answer() -> None:
    """Also where another process counted in between, so that the store knows nothing of the append any more."""
    desk = Desk(4)

    async def first() -> None:
        desk.store.before_append = lambda: desk.others.count("ada")  # before it is tried again

    await desk.others.count("ada")
    desk.store.fails = ["lost", "answer lost"]
    await desk.minutes.count("ada")
    desk.store.fails, desk.store.before_append = ["answer lost"], first
    await desk.minutes.count("ada")

    assert not await taken(desk.others)


@pytest.mark.behaviour("log.owner-minutes")
async def test_a_request_costs_one_append_and_none_is_taken_that_cannot_be_counted() -> None:
    desk = Desk(5)
    await desk.minutes.count("ada")
    desk.store.calls.clear()
    await desk.minutes.count("ada")
    assert desk.store.calls == {"append": 1}

    desk.store.is_away = True
    with pytest.raises(LogUnavailableError):
        await desk.minutes.count("ada")


@pytest.mark.behaviour("log.owner-minutes")
@pytest.mark.parametrize("ahead", [600.0, -600.0, 90.0], ids=["ahead", "behind", "a little"])
async def test_a_clock_that_is_wrong_does_not_void_the_limit_of_the_others(ahead: float) -> None:
    desk = Desk(requests=7, tokens=40)
    desk.ahead = ahead
    times: dict[bool, list[float]] = {False: [], True: []}
    for step in range(600):
        desk.now = NOON + step * 0.37
        if await taken((desk.minutes, desk.others)[step % 2]):
            times[step % 2 == 1].append(desk.now)
    await desk.minutes.add("bob", 40)
    for _ in range(5):
        await desk.others.add("bob", 1)

    busiest = [
        max(sum(begin <= at < begin + 60 for at in taken_at) for begin in taken_at) for taken_at in times.values()
    ]
    assert busiest == [7, 7]
    assert not await taken(desk.minutes, "bob")


@pytest.mark.behaviour("log.owner-tokens")
async def test_tokens_of_all_processes_are_counted_together_and_each_caller_apart() -> None:
    """Also where they come at once; a request is taken while any are left, and counts none itself."""
    desk = Desk(tokens=1601)
    adding = [minutes.add("ada", 40) for _ in range(20) for minutes in (desk.minutes, desk.others)]
    await asyncio.gather(*adding, taken(desk.minutes))
    before = [await taken(desk.minutes), await taken(desk.others)]
    await desk.others.add("ada", 1)

    assert before == [True, True]
    assert [await taken(desk.minutes), await taken(desk.others), await taken(desk.others, "bob")] == [
        False,
        False,
        True,
    ]


@pytest.mark.behaviour("log.owner-tokens")
async def test_a_refusal_for_tokens_says_when_some_are_left_and_asks_no_store_again() -> None:
    """Enough of them have left the minute then; what a call used beyond the limit counts with it."""
    desk = Desk(tokens=100)
    await desk.others.add("ada", 30)
    desk.now += 20
    await desk.others.add("ada", 90)
    with pytest.raises(LimitExceededError) as refused:
        await desk.minutes.count("ada")
    desk.store.calls.clear()
    assert not await taken(desk.minutes)

    assert (refused.value.retry_after_seconds, dict(desk.store.calls)) == (41, {})
    assert refused.value.limit == {"of": "tokens", "per": "owner/minute", "most": 100, "left": 0}
    assert refused.value.detail == (
        "You may use 100 tokens of the model in a minute, and have used 120. Try again in 41 s."
    )
    desk.now += 40
    before = await taken(desk.minutes)
    desk.now += 1
    assert (before, await taken(desk.minutes)) == (False, True)
