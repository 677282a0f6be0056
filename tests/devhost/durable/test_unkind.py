"""What the real engine may do to an app, armed fault by fault, under a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.engine import DurableTask
from devhost.durable.hub import Purged
from devhost.durable.records import EntityId
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.unkind import Armed, Fault, Seeded, read_unkind
from devhost.errors import SettingsError
from tests.devhost.durable.running_engine import running
from tests.devhost.durable.scripted_functions import Journal, ScriptedEntities
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START, ManualClock

pytestmark = pytest.mark.behaviour("engine.unkind")

KEY = EntityId("counter", "k")
MINUTE = DurableSettings(control_queue_visibility_seconds=60.0)


def armed(fault: Fault, target: str = "*", nth: int | None = 1) -> Armed:
    """Return what goes wrong."""
    unkind = Armed()
    unkind.arm(fault, target, nth)
    return unkind


class Called:
    """An app that notes each call of its activity and its entity, and when it was."""

    def __init__(self, clock: ManualClock) -> None:
        self.texts, self.seconds = list[str](), list[float]()
        self._clock, app = clock, df.DFApp()

        @app.activity_trigger(input_name="x")
        async def act(x: str) -> str:
            return self._note(x)

        @app.entity_trigger(context_name="context", entity_name="tally")
        def tally(context: df.DurableEntityContext) -> None:
            context.set_result(self._note(context.get_input()))

        @app.orchestration_trigger(context_name="c")
        def once(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
            return (yield c.call_activity("act", str(c.new_uuid())))

        @app.orchestration_trigger(context_name="c")
        def calls_entity(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
            return (yield c.call_entity(df.EntityId("tally", "k"), "note", str(c.new_uuid())))

        @app.orchestration_trigger(context_name="c")
        def parent(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
            return (yield c.call_sub_orchestrator("once", None, "child"))

        self.functions = SdkFunctions(app)

    def _note(self, text: str) -> str:
        self.texts.append(text)
        self.seconds.append((self._clock.now() - START).total_seconds())
        return text

    async def has_begun(self) -> bool:
        return len(self.texts) == 1


@pytest.mark.parametrize(("name", "answers"), [("once", {0, 1}), ("calls_entity", {1}), ("parent", {0, 1})])
async def test_an_episode_whose_history_is_not_written_is_made_again_at_another_time(
    name: str, answers: set[int]
) -> None:
    """What it had sent is delivered all the same, and the code has new ids: the work is done under two of them.

    An activity's result is known by its number, so either answers. An entity is asked under an id of that time.
    """
    clock = ManualClock()
    app, unkind = Called(clock), armed(Fault.SENT_NOT_COMMITTED, "once" if name == "parent" else name)
    async with running(app.functions, clock=clock, settings=MINUTE, unkind=unkind) as engine:
        await engine.hub.start(name, "i", None)
        await clock.next_alarm()
        await engine.store.until(app.has_begun)
        clock.advance(60)
        status, output = await engine.ended("i")
    assert (app.seconds, len(set(app.texts)), status) == ([0.0, 60.0], 2, "Completed")
    assert output in {app.texts[number] for number in answers}
    requests = [json.loads(payload)["batch"][0]["id"] for kind, payload in app.functions.payloads if kind == "entity"]
    assert len(set(requests)) == len(requests)


async def test_a_purge_under_a_running_entity_has_the_host_take_one_item_in_ten_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its commit fails, others wait until five items succeeded, and its operation makes the entity anew."""
    clock, journal = ManualClock(), Journal()
    unkind = armed(Fault.PURGED_WHILE_RUNNING, "@counter@k")
    async with running(ScriptedEntities(journal.answer), clock=clock, unkind=unkind) as engine:
        await engine.hub.signal(KEY, "first", None)
        await engine.state_is(KEY, '["first"]')
        journal.started.clear()
        journal.may_end.clear()
        await engine.hub.signal(KEY, "second", None)
        await asyncio.wait_for(journal.started.wait(), 5)
        assert await engine.hub.purge_entity(KEY) == Purged(1)
        journal.may_end.set()
        assert await clock.next_alarm() == 3.0  # the entity's operation comes again
        others = [EntityId("counter", name) for name in "abcdef"]
        for other in others:
            await engine.hub.signal(other, "other", None)
        await engine.state_is(others[0], '["other"]')
        ends = []
        for count in range(2, 6):
            clock.advance(9.9)
            assert await engine.store.entity(others[count - 1]) is None
            clock.advance(0.1)
            await engine.store.until(lambda count=count: have_run(journal, count + 2))
            ends.append((clock.now() - START).total_seconds())
        await engine.state_is(KEY, '["second"]')
        clock.advance(10.0)
        for other in others:
            await engine.state_is(other, '["other"]')
    assert ends == [10.0, 20.0, 30.0, 40.0]
    assert (
        "TaskOrchestrationDispatcher: Unhandled exception with work item '@counter@k': "
        "TableTransactionFailedException: The specified resource does not exist. "
        "Backing off for 10 seconds until 5 successful operations."
    ) in caplog.messages


async def have_run(journal: Journal, count: int) -> bool:
    """Return whether so many batches ran."""
    return len(journal.batches) >= count


async def test_a_call_that_an_instance_without_the_entity_takes_fails_its_caller() -> None:
    """The orchestration sees the real host's sentence."""
    app = Called(ManualClock())
    async with running(app.functions, unkind=armed(Fault.LOST_OPERATION)) as engine:
        await engine.hub.start("calls_entity", "i", None)
        status, output = await engine.ended("i")
    assert (status, app.texts) == ("Failed", [])
    assert "The function 'tally' doesn't exist, is disabled, or is not an entity function." in output


@pytest.mark.parametrize(
    ("fault", "times"), [(Fault.DIED_BEFORE_ACTIVITY, [300.0]), (Fault.DIED_AFTER_ACTIVITY, [0.0, 300.0])]
)
async def test_an_activity_whose_host_died_comes_again_after_the_visibility_timeout(
    fault: Fault, times: list[float]
) -> None:
    """Five minutes by default, whether or not the function had done its work."""
    clock = ManualClock()
    app = Called(clock)
    async with running(app.functions, clock=clock, unkind=armed(fault, "act")) as engine:
        await engine.hub.start("once", "i", None)
        await clock.next_alarm()
        clock.advance(299.9)
        await asyncio.sleep(0)
        clock.advance(0.1)
        status, _ = await engine.ended("i")
    assert (status, app.seconds, len(set(app.texts))) == ("Completed", times, 1)


async def test_a_message_that_is_late_is_overtaken_and_a_clients_signal_may_come_twice() -> None:
    """Up to a second late, as a queue is polled."""
    clock, journal = ManualClock(), Journal()
    journal.may_end.clear()
    unkind = armed(Fault.DELIVERED_LATE, nth=2)
    async with running(ScriptedEntities(journal.answer), clock=clock, unkind=unkind) as engine:
        await engine.hub.signal(KEY, "first", None)
        await asyncio.wait_for(journal.started.wait(), 5)
        await engine.hub.signal(KEY, "late", None)
        await engine.hub.signal(KEY, "next", None)
        journal.may_end.set()
        await engine.state_is(KEY, '["first", "next"]')
        clock.advance(1)
        await engine.state_is(KEY, '["first", "next", "late"]')
        unkind.arm(Fault.DELIVERED_TWICE, "*", 1)
        await engine.hub.signal(KEY, "a", None)
        await engine.state_is(KEY, '["first", "next", "late", "a"]')
        clock.advance(1)
        await engine.state_is(KEY, '["first", "next", "late", "a", "a"]')


@pytest.mark.parametrize("nth", [None, 9])
async def test_what_a_dead_process_had_taken_is_hidden_from_the_next(tmp_path: Path, nth: int | None) -> None:
    """Until the visibility timeout is over; where that was not asked for, it is seen at once."""
    clock, journal = ManualClock(), Journal()
    journal.may_end.clear()

    def engine() -> DurableTask:
        unkind = armed(Fault.HIDDEN_AFTER_DEATH, nth=nth)
        functions = ScriptedEntities(journal.answer)
        return DurableTask(functions, SqliteStore(tmp_path), MINUTE, clock, folder=tmp_path, unkind=unkind)

    first = engine()
    await first.start()
    await first.hub.signal(KEY, "a", None)
    await asyncio.wait_for(journal.started.wait(), 5)
    await first.stop(0)
    journal.started.clear()
    second = engine()
    await second.start()
    if nth is None:
        assert await clock.next_alarm() > 0
        assert not journal.started.is_set()
        clock.advance(60)
    await asyncio.wait_for(journal.started.wait(), 5)
    journal.may_end.set()
    await second.stop(5)
    assert journal.batches == [["a"], ["a"]]


def test_the_variable_arms_faults_for_targets_or_gives_a_seed_and_shorter_times() -> None:
    """A pattern, the passing, or each of them; several parted by semicolons."""
    unkind = read_unkind("lost-operation @dafx-new@* 2; sent-not-committed; died-after-activity * each")
    lost = [unkind.strikes(Fault.LOST_OPERATION, key) for key in ("@dafx-new@a", "@dafx-old@a", "@dafx-new@b")]
    assert lost == [False, False, True]
    assert [unkind.strikes(Fault.SENT_NOT_COMMITTED, "a") for _ in range(2)] == [True, False]
    assert [unkind.strikes(Fault.DIED_AFTER_ACTIVITY, "a") for _ in range(2)] == [True, True]

    seeded = read_unkind("7; faster 60; lost-operation @a@b")
    assert isinstance(seeded, Seeded)
    assert seeded.lasts(300) == 5.0
    assert [seeded.strikes(Fault.LOST_OPERATION, key) for key in ("@a@c", "@a@b")] == [False, True]


NO_FAULT = "has '.*'; give FAULT, FAULT TARGET or FAULT TARGET N"
NO_PACE = "is '.*'; give at most one seed and one 'faster N', N fr"


@pytest.mark.behaviour("engine.unkind-seeds")
def test_a_variable_that_nobody_can_repeat_is_refused_and_the_same_seed_has_the_same_faults(seed: int) -> None:
    """A misspelt fault would make a test that shows nothing; a run that failed can be had again."""
    for reason, texts in {
        NO_FAULT: ("purge", "lost-operation * x", "lost-operation a 1 more"),
        NO_PACE: ("7; 8", "faster 0", "faster x", "7; faster 2; faster 3"),
    }.items():
        for text in texts:
            with pytest.raises(SettingsError, match=f"DEVHOST_UNKIND {reason}"):
                read_unkind(text)
    seeded = [Seeded(number) for number in (seed, seed, seed + 1)]
    struck = [[unkind.strikes(Fault.DELIVERED_LATE, "i") for _ in range(200)] for unkind in seeded]
    assert struck[0] == struck[1] != struck[2]
