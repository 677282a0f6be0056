"""What an engine holds: it explains itself as text, also beside it from the file, and keeps little in memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from devhost.durable import events
from devhost.durable.inspection import MOST_LINES, describe_folder, open_work
from devhost.durable.intake import new_orchestration
from devhost.durable.ledger import Ledger
from devhost.durable.records import EntityId, History, Status, Step
from devhost.durable.store import tables
from devhost.durable.store.sqlite import SqliteStore
from devhost.errors import StoreUnreachableError, StoreVersionError
from tests.devhost.durable.running_engine import running
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.scripted_functions import Journal, ScriptedEntities
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START, ManualClock
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.behaviour("engine.explains-itself")
NOW = "2026-01-01T00:00:00Z"


async def test_a_waiting_instance_says_what_it_waits_for_also_from_the_file(tmp_path: Path) -> None:
    """`approval` waits for a timer and an event; only the timer leaves a line. The file is read beside its host."""
    clock = ManualClock()
    async with running(SdkFunctions(build_app()), clock=clock, inner=SqliteStore(tmp_path)) as engine:
        await engine.hub.start("approval", "a", '"secret"')
        await clock.next_alarm()
        everything, one = await engine.engine.describe(), await engine.engine.describe("a")
        assert await describe_folder(tmp_path, None, START) == everything
    assert await describe_folder(tmp_path, None, START) == everything
    assert await describe_folder(tmp_path, "b", START) == ["There is no instance or entity b."]
    with pytest.raises(StoreUnreachableError, match="There is no durable state in"):
        await describe_folder(tmp_path / "another", None, START)

    waits = "waits for timer until 2026-01-01T00:05:00Z (id 0)"
    assert everything == [
        "Orchestrations:",
        f"  a  approval  Running  {NOW}  {waits}",
        "Entities: none",
        "Messages to be handled: none",
        "Timers:",
        "  #2 to orchestration a: TimerFired timer_id=0 fire_at=2026-01-01T00:05:00Z due 2026-01-01T00:05:00Z",
    ]
    assert one[:2] == [f"a  approval  Running  {NOW}", waits]
    assert one[4:6] == everything[3:4] + everything[4:5]
    execution = one[2].split()[1].rstrip(",")
    start = f"ExecutionStarted instance_id=a execution_id={execution} name=approval input=8 characters"
    assert [" ".join(line.split()) for line in one[-4:]] == [
        f"0 {NOW} OrchestratorStarted",
        f"1 {NOW} {start}",
        f"2 {NOW} TimerCreated fire_at=2026-01-01T00:05:00Z id=0",
        f"3 {NOW} OrchestratorCompleted",
    ]
    assert "secret" not in "\n".join(everything + one)


@pytest.mark.behaviour("engine.versioned-file")
async def test_a_file_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """By who would work on it, and by who only looks: an older file is not upgraded by looking at it."""
    with contextlib.closing(sqlite3.connect(tmp_path / "durable.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = (tmp_path / "durable.db").read_bytes()
    with pytest.raises(StoreVersionError, match=f"version 99, and this local host reads version {tables.VERSION}"):
        await describe_folder(tmp_path, None, START)
    with pytest.raises(StoreVersionError):
        SqliteStore(tmp_path).open()
    assert (tmp_path / "durable.db").read_bytes() == before


async def test_each_step_is_logged_by_its_ids_and_none_by_its_texts(caplog: pytest.LogCaptureFixture) -> None:
    """What `--verbose` shows, line by line: who, what was taken, what was sent."""
    with caplog.at_level(logging.DEBUG, "devhost.durable.inspection"):
        async with running(SdkFunctions(build_app())) as engine:
            await engine.hub.start("child", "c", json.dumps('"secret"'))
            await engine.store.until_ended("c")
            await engine.engine.stop(5)
    received = [record.message for record in caplog.records if record.name == "devhost.durable.inspection"]
    execution = received[3].split()[1].removesuffix(":0")
    assert [line for line in received if " took " not in line] == [
        "orchestration c is Running",
        f"  sent to activity {execution}:0: run echo for c (id 0)",
        f"activity {execution}:0",
        "  sent to orchestration c: TaskCompleted task_id=0 result=8 characters",
        "orchestration c is Completed",
    ]
    assert received[1].startswith("  took #1 to orchestration c: ExecutionStarted")
    assert "secret" not in "".join(received)


async def test_a_long_list_is_cut_and_says_so() -> None:
    """A hub of ten thousand instances must not fill the screen."""
    async with running(ScriptedEntities(Journal().answer, "other"), clock=ManualClock()) as engine:
        for number in range(MOST_LINES + 1):
            await engine.hub.signal(EntityId("counter", f"k{number}"), "add", None)
        lines = await engine.engine.describe()
    assert len(lines) == len(("Orchestrations", "Entities", "Messages", "Timers")) + MOST_LINES + 1
    assert lines[-2] == "  ... and more"


def test_open_work_is_what_was_asked_for_and_has_not_ended() -> None:
    """Each kind of request, open and ended. Signals and events for others are no request; the locks of entities are."""
    lock = json.dumps({"lockset": [{"name": "a", "key": "1"}, {"name": "b", "key": "2"}], "id": "s"})
    inputs = ['{"op": "get", "id": "r"}', '{"op": "x", "signal": true}', lock, '{"id": "s"}', '{"from": 1}', "7"]
    places = [*(["@a@1", "op"] for _ in range(3)), ["@a@1", "release"], ["other", "go"], ["other", "go"]]
    sent = [
        events.EventSent(timestamp=START, event_id=3 + number, instance_id=place, name=name, input=text)
        for number, ((place, name), text) in enumerate(zip(places, inputs, strict=True))
    ]
    requested = [
        events.TaskScheduled(timestamp=START, event_id=0, name="pack"),
        events.ChildCreated(timestamp=START, event_id=1, name="leg", instance_id="l"),
        events.TimerCreated(timestamp=START, event_id=2, fire_at=START),
        *sent,
    ]
    ended = [
        events.TaskCompleted(timestamp=START, task_id=0, result=None),
        events.ChildFailed(timestamp=START, task_id=1, reason="bad", details=None),
        events.TimerFired(timestamp=START, timer_id=2, fire_at=START),
        events.EventRaised(timestamp=START, name="r", input=None),
        events.EventRaised(timestamp=START, name="s", input="{}"),
        events.EventRaised(timestamp=START, name="go", input=None),
    ]
    assert open_work(requested) == [
        "activity pack (id 0)",
        "sub-orchestration leg l (id 1)",
        f"timer until {NOW} (id 2)",
        "operation get of @a@1 (id 3)",
        "the locks of @a@1, @b@2 (id 5)",
    ]
    assert open_work([*requested, *ended]) == []
    assert [len(open_work([*requested, one])) for one in ended] == [4, 4, 4, 4, 4, 5]


@pytest.mark.behaviour("engine.memory")
async def test_histories_in_memory_are_bounded_in_bytes_not_in_number() -> None:
    """Three executions with 25 MB of results each: the one used longest ago is read from the store again."""
    ledger = Ledger(MemoryStore(), ManualClock(), lambda target, due: None)
    result = events.TaskCompleted(timestamp=START, task_id=0, result="x" * 25_000_000)
    for name in "abc":
        begun = events.ExecutionStarted(timestamp=START, instance_id=name, execution_id="e", name="n", input=None)
        instance = replace(new_orchestration(begun), status=Status.RUNNING)
        await ledger.commit(Step(orchestration=instance, history=History((result,))))
    held = [name for name in "abc" if ledger._histories.get(name) is not None]
    read = [await ledger.with_history(instance) for name in "abc" if (instance := await ledger.store.instance(name))]

    assert held == ["b", "c"]
    assert [stored.history for stored in read] == [(result,)] * 3


@pytest.mark.behaviour("engine.memory")
async def test_finished_and_idle_work_leaves_nothing_with_the_worker() -> None:
    """Orchestrations that ended, cancelled a timer, or wait for an event: no mailbox, no task, no timer, no message."""
    async with running(SdkFunctions(build_app()), clock=ManualClock()) as engine:
        for number in range(10):
            for name in ("two_events", "chain", "approval"):
                await engine.hub.start(name, f"{name}-{number}", None)
            await engine.hub.raise_event(f"approval-{number}", "go", "1")
        for number in range(10):
            for name in ("chain", "approval"):
                await engine.store.until_ended(f"{name}-{number}")
        worker = engine.engine._worker
        while worker._pumps:
            await asyncio.wait(list(worker._pumps.values()), timeout=5)
        assert (worker._hinted, worker._pumps, len(worker._timers)) == (set(), {}, 0)
        assert await engine.store.messages(None, 1) == []
        assert len(engine.hub._ledger._histories) <= 10
