"""Delivery to entities: order, one at a time, again after a failure, in time, and to an end."""

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
from devhost.durable.records import EntityId, Inbox, Operation, Outgoing, Step, Target, TargetKind, entity_target
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.texts import format_utc
from devhost.isolation import run_apart
from devhost.ports import DurableFunctions, DurableKind, FunctionFailedError
from tests.devhost.durable.running_engine import running
from tests.devhost.durable.scripted_functions import Journal, ScriptedEntities, entity_answer
from tests.support.engine_clocks import START, ManualClock
from tests.support.memory_store import MemoryStore

KEY = EntityId("counter", "k")
ONE_BY_ONE = DurableSettings(max_entity_operation_batch_size=1)
DAY = 86_400.0


def held_journal() -> Journal:
    """Return a journal whose first operation is held."""
    journal = Journal()
    journal.may_end.clear()
    return journal


async def names_waiting(store: MemoryStore) -> list[str]:
    return [message.body.name for message in await store.messages(None, 9)]  # type: ignore[union-attr]


@pytest.mark.behaviour("engine.one-batch-at-a-time")
async def test_the_batch_size_of_host_json_parts_what_waits() -> None:
    journal = held_journal()
    async with running(ScriptedEntities(journal.answer), settings=ONE_BY_ONE) as engine:
        for name in ("a", "b", "c"):
            await engine.hub.signal(KEY, name, None)
        journal.may_end.set()
        await engine.state_is(KEY, '["a", "b", "c"]')
    assert journal.batches == [["a"], ["b"], ["c"]]


UNREADABLE = ["not json", "[]", '{"entityExists": true}', '{"results": [{"result": "1"}]}', entity_answer(1, 2)]


@pytest.mark.behaviour("engine.failed-batch-again")
async def test_a_batch_whose_invocation_failed_is_delivered_again_later_and_later() -> None:
    """3 s, 6 s, 12 s, ...; then the operation is done once. An answer that cannot be read is a failed invocation."""
    clock, calls = ManualClock(), []
    answers = [*UNREADABLE, None, entity_answer("done")]

    async def answer_in_turn(payload: dict[str, Any]) -> str:
        calls.append(payload["batch"][0]["id"])
        answer = answers.pop(0)
        if answer is None:
            raise FunctionFailedError("TypeError: Object of type set is not JSON serializable")
        return answer

    async with running(ScriptedEntities(answer_in_turn), clock=clock) as engine:
        await engine.hub.signal(KEY, "add", None)
        delays = []
        for _ in range(len(UNREADABLE) + 1):
            delays.append(await clock.next_alarm())
            clock.advance(delays[-1])
        await engine.state_is(KEY, '"done"')
    assert (delays[:4], len(set(calls))) == ([3.0, 6.0, 12.0, 24.0], 1)


async def test_operations_for_an_entity_that_left_the_app_wait_until_it_is_back() -> None:
    """A renamed function loses no signal: the next start with it runs them, in the order of sending."""
    inner, journal = MemoryStore(), Journal()
    for name in ("first", "second"):
        async with running(ScriptedEntities(journal.answer, "other"), inner=inner) as engine:
            await engine.hub.signal(KEY, name, None)
    async with running(ScriptedEntities(journal.answer), inner=inner) as engine:
        await engine.state_is(KEY, '["first", "second"]')


async def started(functions: DurableFunctions, inner: MemoryStore, began: asyncio.Event) -> DurableTask:
    """Return an engine that is inside of an operation."""
    engine = DurableTask(functions, inner, DurableSettings())
    await engine.start()
    await engine.hub.signal(KEY, "running", None)
    await asyncio.wait_for(began.wait(), 5)
    return engine


@pytest.mark.behaviour("engine.drains")
async def test_a_stopping_engine_lets_running_work_end_and_leaves_the_rest() -> None:
    """The running batch is kept; the signal behind it is there at the next start."""
    inner, journal = MemoryStore(), held_journal()
    engine = await started(ScriptedEntities(journal.answer), inner, journal.started)
    await engine.hub.signal(KEY, "waiting", None)
    stopping = asyncio.create_task(engine.stop(5))
    await asyncio.sleep(0)
    journal.may_end.set()
    await stopping
    assert (journal.batches, await names_waiting(inner)) == ([["running"]], ["waiting"])


@pytest.mark.behaviour("engine.drains")
async def test_work_that_outlives_the_grace_is_delivered_again() -> None:
    inner, journal = MemoryStore(), held_journal()
    engine = await started(ScriptedEntities(journal.answer), inner, journal.started)
    await engine.stop(0)
    journal.may_end.set()
    async with running(ScriptedEntities(journal.answer), inner=inner) as second:
        await second.state_is(KEY, '["running"]')
    assert journal.batches == [["running"], ["running"]]


@pytest.mark.moved_time
@pytest.mark.behaviour("engine.drains")
async def test_code_that_ignores_its_cancellation_is_left_to_the_next_start() -> None:
    """It does not stall the stop; the store is closed, and another worker may begin."""
    inner, began, may_end = MemoryStore(), asyncio.Event(), asyncio.Event()

    async def go_on() -> None:
        began.set()
        while not may_end.is_set():
            with suppress(asyncio.CancelledError):
                await may_end.wait()

    async def run_by_the_host(_payload: dict[str, Any]) -> str:
        await run_apart(go_on)
        return entity_answer("never")

    engine = await started(ScriptedEntities(run_by_the_host), inner, began)
    await asyncio.wait_for(engine.stop(0), 10)
    may_end.set()
    assert await names_waiting(inner) == ["running"]


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
    store, seen = SqliteStore(tmp_path), list[tuple[list[str], str]]()
    stands, may_go_on = asyncio.Event(), asyncio.Event()
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

    async def is_done() -> bool:
        return not await store.messages(None, 1)

    await send("own")
    async with running(ScriptedEntities(note), inner=SqliteStore(tmp_path), settings=ONE_BY_ONE) as slow:
        await asyncio.wait_for(stands.wait(), 5)
        if name != "own":
            await send(name, EARLIER)
        async with running(ScriptedEntities(do_one), inner=SqliteStore(tmp_path), settings=ONE_BY_ONE) as quick:
            await quick.state_is(KEY, json.dumps([name]))
        may_go_on.set()
        await slow.store.until(is_done)
    entity = await store.entity(KEY)
    await store.close()

    assert seen == handed
    assert entity is not None
    assert json.loads(entity.state or "") == state


class DelayedSignal:
    """An orchestrator that signals the entity with a time, which Python's SDK cannot ask for, and that entity."""

    def __init__(self) -> None:
        self.journal = Journal()

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        return {"orchestrator": {"later": "later"}, "entity": {"counter": "counter"}}.get(kind, {})

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        if kind == "entity":
            return await self.journal.answer(json.loads(payload))
        signal = {"actionType": 10, "instanceId": "@counter@k", "operation": "late", "input": "1"}
        due = format_utc(START + timedelta(days=2))
        return json.dumps({"isDone": True, "schemaVersion": 2, "actions": [[{**signal, "fireAt": due}]]})


@pytest.mark.behaviour("engine.delayed-signals")
async def test_a_delayed_signal_arrives_at_its_time_and_behind_what_came_before_it() -> None:
    """Its sender may have ended; a restart on the way changes nothing."""
    clock, inner, functions = ManualClock(), MemoryStore(), DelayedSignal()
    async with running(functions, clock=clock, inner=inner) as engine:
        await engine.hub.start("later", "l", None)
        await engine.store.until_ended("l")
        clock.advance(DAY)
    async with running(functions, clock=clock, inner=inner) as engine:
        await engine.hub.signal(KEY, "early", None)
        await engine.state_is(KEY, '["early"]')
        clock.advance(DAY)
        await engine.state_is(KEY, '["early", "late"]')


class LateReads(MemoryStore):
    """Hands out one inbox only when the test says so; what came meanwhile is not in it."""

    def __init__(self) -> None:
        super().__init__()
        self.has_read, self.may_answer = asyncio.Event(), asyncio.Event()

    async def inbox(self, target: Target, now: datetime, limit: int) -> Inbox:
        found = await super().inbox(target, now, limit)
        if target.kind is TargetKind.ENTITY and not self.has_read.is_set():
            self.has_read.set()
            await self.may_answer.wait()
        return found


@pytest.mark.behaviour("engine.delayed-signals")
async def test_a_delayed_signal_that_is_sent_while_the_entity_is_read_is_not_forgotten() -> None:
    """The reader has not seen it, and must not conclude that nothing is to come."""
    clock, inner = ManualClock(), LateReads()
    async with running(DelayedSignal(), clock=clock, inner=inner) as engine:
        await engine.hub.signal(KEY, "early", None)
        await asyncio.wait_for(inner.has_read.wait(), 5)
        await engine.hub.start("later", "l", None)
        await engine.store.until_ended("l")
        inner.may_answer.set()
        await engine.state_is(KEY, '["early"]')
        clock.advance(2 * DAY)
        await engine.state_is(KEY, '["early", "late"]')
