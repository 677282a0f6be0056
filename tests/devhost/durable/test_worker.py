"""Delivery: order, one at a time, again after a failure, in time, and to an end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from devhost.durable.engine import DurableTask
from devhost.durable.records import EntityId, Operation, Outgoing, Step, entity_target
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.isolation import run_apart
from devhost.ports import DurableKind, FunctionFailedError
from tests.devhost.durable.running_engine import running
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.scripted_functions import Journal, ScriptedEntities, entity_answer
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START, ManualClock
from tests.support.memory_store import MemoryStore

KEY = EntityId("counter", "k")
ONE_BY_ONE = DurableSettings(max_entity_operation_batch_size=1)


@pytest.mark.behaviour("engine.one-batch-at-a-time")
async def test_the_batch_size_of_host_json_parts_what_waits() -> None:
    journal = Journal()
    journal.may_end.clear()
    async with running(ScriptedEntities(journal.answer), settings=ONE_BY_ONE) as engine:
        for name in ("a", "b", "c"):
            await engine.hub.signal(KEY, name, None)
        journal.may_end.set()
        await engine.state_is(KEY, '["a", "b", "c"]')
    assert journal.batches == [["a"], ["b"], ["c"]]


@pytest.mark.behaviour("engine.failed-batch-again")
async def test_a_batch_whose_invocation_failed_is_delivered_again_later_and_later() -> None:
    """3 s, 6 s, 12 s; then the operation is done once, and nothing waits any more."""
    clock, calls = ManualClock(), []

    async def fail_three_times(payload: dict[str, Any]) -> str:
        calls.append(payload["batch"][0]["id"])
        if len(calls) <= 3:
            raise FunctionFailedError("TypeError: Object of type set is not JSON serializable")
        return entity_answer("done")

    async with running(ScriptedEntities(fail_three_times), clock=clock) as engine:
        await engine.hub.signal(KEY, "add", None)
        delays = []
        for _ in range(3):
            delays.append(await clock.next_alarm())
            clock.advance(delays[-1])
        await engine.state_is(KEY, '"done"')
    assert delays == [3.0, 6.0, 12.0]
    assert len(set(calls)) == 1


@pytest.mark.parametrize("answer", ["not json", "[]", '{"entityExists": true}', entity_answer(1, 2)])
async def test_an_answer_that_cannot_be_read_is_a_failed_invocation(answer: str) -> None:
    """No JSON, no object, no state, too many results: nothing of it is kept."""
    clock, answers = ManualClock(), [answer, entity_answer("good")]

    async def answer_in_turn(_payload: dict[str, Any]) -> str:
        return answers.pop(0)

    async with running(ScriptedEntities(answer_in_turn), clock=clock) as engine:
        await engine.hub.signal(KEY, "add", None)
        clock.advance(await clock.next_alarm())
        await engine.state_is(KEY, '"good"')


async def _has_nothing_pending(store: Any) -> bool:
    return not await store.messages(None, 1)


async def test_operations_for_an_entity_that_left_the_app_wait_until_it_is_back() -> None:
    """A renamed function loses no signal: the next start with it runs them, in the order of sending."""
    inner, journal = MemoryStore(), Journal()
    async with running(ScriptedEntities(journal.answer, "other"), inner=inner) as engine:
        await engine.hub.signal(KEY, "first", None)
    async with running(ScriptedEntities(journal.answer, "other"), inner=inner) as engine:
        await engine.hub.signal(KEY, "second", None)
    async with running(ScriptedEntities(journal.answer), inner=inner) as engine:
        await engine.state_is(KEY, '["first", "second"]')


@pytest.mark.behaviour("engine.drains")
async def test_a_stopping_engine_lets_running_work_end_and_leaves_the_rest() -> None:
    """The running batch is kept; the signal behind it is there at the next start."""
    inner, journal = MemoryStore(), Journal()
    journal.may_end.clear()
    engine = DurableTask(ScriptedEntities(journal.answer), inner, DurableSettings())
    await engine.start()
    await engine.hub.signal(KEY, "running", None)
    await asyncio.wait_for(journal.started.wait(), 5)
    await engine.hub.signal(KEY, "waiting", None)
    stopping = asyncio.create_task(engine.stop(5))
    await asyncio.sleep(0)
    journal.may_end.set()
    await stopping
    assert journal.batches == [["running"]]
    assert [message.body.name for message in await inner.messages(None, 9)] == ["waiting"]  # type: ignore[union-attr]


@pytest.mark.behaviour("engine.drains")
async def test_work_that_outlives_the_grace_is_delivered_again() -> None:
    inner, journal = MemoryStore(), Journal()
    journal.may_end.clear()
    engine = DurableTask(ScriptedEntities(journal.answer), inner, DurableSettings())
    await engine.start()
    await engine.hub.signal(KEY, "cut off", None)
    await asyncio.wait_for(journal.started.wait(), 5)
    await engine.stop(0)
    journal.may_end.set()
    async with running(ScriptedEntities(journal.answer), inner=inner) as second:
        await second.state_is(KEY, '["cut off"]')
    assert journal.batches == [["cut off"], ["cut off"]]


@pytest.mark.moved_time
@pytest.mark.behaviour("engine.drains")
async def test_code_that_ignores_its_cancellation_is_left_to_the_next_start() -> None:
    """It does not stall the stop; the store is closed, and another worker may begin."""
    inner, started, may_end = MemoryStore(), asyncio.Event(), asyncio.Event()

    async def go_on() -> None:
        started.set()
        while not may_end.is_set():
            with suppress(asyncio.CancelledError):
                await may_end.wait()

    async def run_by_the_host(_payload: dict[str, Any]) -> str:
        await run_apart(go_on)
        return entity_answer("never")

    engine = DurableTask(ScriptedEntities(run_by_the_host), inner, DurableSettings())
    await engine.start()
    await engine.hub.signal(KEY, "endless", None)
    await started.wait()
    await asyncio.wait_for(engine.stop(0), 10)
    may_end.set()
    assert [message.body.name for message in await inner.messages(None, 9)] == ["endless"]  # type: ignore[union-attr]


@pytest.mark.behaviour("engine.terminated")
async def test_a_termination_does_not_wait_until_a_failing_orchestrator_is_tried_again() -> None:
    """It times out each time; a termination ends it at once, although the next try is seconds away."""
    clock = ManualClock()
    async with running(_TimesOut(SdkFunctions(build_app()), times=99), clock=clock) as engine:
        await engine.hub.start("chain", "a", None)
        assert await clock.next_alarm() == 3.0
        await engine.hub.terminate("a", "enough")
        ended = await engine.store.until_ended("a")
    assert (ended.status.value, ended.output) == ("Terminated", '"enough"')


class _TimesOut:
    """An app whose first calls, so many of them, time out."""

    def __init__(self, inner: SdkFunctions, times: int = 1) -> None:
        self._inner = inner
        self._left = times

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        return self._inner.names(kind)

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        if self._left:
            self._left -= 1
            raise FunctionFailedError("FunctionTimeoutException: Timeout value of 00:00:05 was exceeded by function: f")
        return await self._inner.call(kind, name, payload)


EARLIER = START - timedelta(days=1)


@pytest.mark.behaviour("engine.overtaken-execution")
@pytest.mark.parametrize(
    ("name", "handed", "state"),
    [
        pytest.param("before", [([], "own"), (["before"], "own")], ["before", "own, late"], id="its entity changed"),
        pytest.param("own", [([], "own")], ["own"], id="its operation was done"),
    ],
)
async def test_an_execution_that_another_process_overtook_is_refused(
    tmp_path: Path, name: str, handed: list[tuple[list[str], str]], state: list[str]
) -> None:
    """It stood still inside an operation: what is still to do is handed out again with the state of now.

    Neither takes a lock, like one whose folder is on a share that has none. The other one dies when it has committed.
    """
    store, seen, stands, may_go_on = (
        SqliteStore(tmp_path),
        list[tuple[list[str], str]](),
        asyncio.Event(),
        asyncio.Event(),
    )
    store.open()

    async def note(payload: dict[str, Any]) -> str:
        seen.append((json.loads(payload["state"] or "[]"), payload["batch"][0]["name"]))
        stands.set()
        await may_go_on.wait()
        return entity_answer([*seen[-1][0], f"{seen[-1][1]}, late"])

    async def do_one(payload: dict[str, Any]) -> str:
        if payload["batch"][0]["name"] != name:
            await asyncio.Event().wait()
        return entity_answer([name])

    async def send(operation: str, at: datetime | None = None) -> None:
        body = Operation(operation, operation, None)
        await store.commit(Step(produced=(Outgoing(entity_target(KEY), body, at),), at=START))

    await send("own")
    async with running(ScriptedEntities(note), inner=SqliteStore(tmp_path), settings=ONE_BY_ONE) as slow:
        await asyncio.wait_for(stands.wait(), 5)
        if name != "own":
            await send(name, EARLIER)
        async with running(ScriptedEntities(do_one), inner=SqliteStore(tmp_path), settings=ONE_BY_ONE) as quick:
            await quick.state_is(KEY, json.dumps([name]))
        may_go_on.set()
        await slow.store.until(lambda: _has_nothing_pending(slow.store))
    entity = await store.entity(KEY)
    await store.close()

    assert seen == handed
    assert entity is not None
    assert json.loads(entity.state or "") == state
