"""What may stay in memory: the most recently used, up to a weight; locks that somebody wants; timers to come."""

from __future__ import annotations

import asyncio
import gc
from datetime import timedelta
from pathlib import Path

import pytest

from devhost.durable.cache import RecentlyUsed
from devhost.durable.events import Event
from devhost.durable.gates import Gates
from devhost.durable.records import EntityId, Message, Operation, Orchestration, entity_target
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.timers import Timers
from tests.devhost.durable.clocks import START, ManualClock
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.sdk_functions import SdkFunctions

pytestmark = pytest.mark.behaviour("engine.memory")


def test_the_least_recently_used_goes_first_when_all_weigh_too_much() -> None:
    """Reading counts as use; replacing a value replaces its weight."""
    held: RecentlyUsed[str, str] = RecentlyUsed(10)
    for key in "abc":
        held.put(key, key, 3)
    assert held.get("a") == "a"
    held.put("d", "d", 3)
    assert [held.get(key) for key in "abcd"] == ["a", None, "c", "d"]
    held.put("d", "D", 4)
    assert [held.get(key) for key in "acd"] == ["a", "c", "D"]


def test_what_is_heavier_than_everything_is_not_held() -> None:
    """It would push all others out for nothing."""
    held: RecentlyUsed[str, str] = RecentlyUsed(10)
    held.put("a", "1", 11)
    assert (held.get("a"), len(held)) == (None, 0)


async def test_a_gate_lets_one_in_at_a_time_and_is_gone_afterwards() -> None:
    """Newcomers wait behind those who wait already."""
    gates, inside, most = Gates(), 0, 0

    async def visit() -> None:
        nonlocal inside, most
        async with gates.pass_through("a"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(visit() for _ in range(5)))
    assert (most, len(gates)) == (1, 0)


async def test_a_hundred_more_ended_orchestrations_leave_no_events_in_memory(tmp_path: Path) -> None:
    """Records and histories are in the file alone; waiting ones are held up to the cache's weight."""
    async with running(SdkFunctions(build_app()), inner=SqliteStore(tmp_path)) as engine:
        counts = []
        for batch in range(3):
            for number in range(50):
                await engine.hub.start("parent", f"p{batch}-{number}", None)
            for number in range(50):
                await engine.store.until_ended(f"p{batch}-{number}")
            await engine.store.until(lambda: _is_idle(engine))
            counts.append(_held())
    # Some of the last step's are still in the hands of threads; fifty instances have thousands.
    assert max(counts) - min(counts) < 50
    assert (len(engine.engine._ledger._orchestrations), len(engine.hub._gates)) == (0, 0)


async def _is_idle(engine: RunningEngine) -> bool:
    return not await engine.store.messages(None, 1)


def _held() -> int:
    gc.collect()
    return sum(isinstance(thing, Event | Message | Orchestration) for thing in gc.get_objects())


def _message(seq: int, key: str = "k") -> Message:
    return Message(seq, entity_target(EntityId("counter", key)), Operation(str(seq), "x", None))


def test_messages_are_handed_over_in_the_order_of_their_times() -> None:
    """None early; one alarm for all."""
    clock, delivered = ManualClock(), []
    timers = Timers(clock, lambda message: delivered.append(message.seq))
    for seq, seconds in ((1, 20), (2, 10), (3, 20), (4, 90000)):
        timers.add(_message(seq), START + timedelta(seconds=seconds))
    clock.advance(9.999)
    assert (delivered, len(clock.alarms)) == ([], 1)
    clock.advance(0.001)
    assert delivered == [2]
    clock.advance(10)
    assert delivered == [2, 1, 3]
    clock.advance(90000)
    assert (delivered, len(timers)) == ([2, 1, 3, 4], 0)


def test_dropped_timers_ring_nobody() -> None:
    """The target ended; others keep theirs."""
    clock, delivered = ManualClock(), []
    timers = Timers(clock, lambda message: delivered.append(message.seq))
    for seq in range(300):
        timers.add(_message(seq, "gone"), START + timedelta(seconds=10))
    timers.add(_message(1000, "stays"), START + timedelta(seconds=10))
    timers.drop(_message(0, "gone").target)
    assert len(timers) == 1
    clock.advance(10)
    assert delivered == [1000]
