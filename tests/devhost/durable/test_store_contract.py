"""One suite over every store; `reopen` gives the store that the next process would find."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from devhost.durable.events import EventRaised, ExecutionStarted, OrchestratorStarted, Parent, TimerFired
from devhost.durable.records import (
    ActivityTask,
    Entity,
    EntityId,
    EventMessage,
    History,
    Inbox,
    Message,
    Operation,
    Orchestration,
    Outgoing,
    Read,
    Rewind,
    Status,
    Step,
    Superseded,
    activity_target,
    entity_target,
    orchestration_target,
)
from devhost.durable.store.contract import Arrival, Arrivals, InstanceFilter, Store
from devhost.durable.store.sqlite import SqliteStore
from devhost.errors import StaleStepError
from tests.support.engine_clocks import START
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.behaviour("engine.store-contract")
COUNTER = EntityId("counter", "K1")


class Opened:
    """An open store, and the way to open it again."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.store: Store = SqliteStore(folder) if folder else MemoryStore()
        self.store.open()

    async def reopen(self) -> Store:
        await self.store.close()
        if self._folder is not None:
            self.store = SqliteStore(self._folder)
        self.store.open()
        return self.store


@pytest.fixture(params=["memory", "sqlite"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    opened = Opened(tmp_path / "made" if request.param == "sqlite" else None)
    yield opened
    await opened.store.close()


def _instance(instance_id: str = "a", status: Status = Status.RUNNING) -> Orchestration:
    return Orchestration(
        instance_id, "chain", "e1", status, '"in"', START, START, '"out"', "{}", Parent("p", "pi", "pe", 3), True
    )


def _signal(number: int, due: datetime | None = None, key: str = "K1") -> Outgoing:
    return Outgoing(entity_target(EntityId("counter", key)), Operation(f"id-{number}", "add", '"5"'), due)


def _sent(seq: int, outgoing: Outgoing) -> Message:
    return Message(seq, outgoing.target, outgoing.body, outgoing.due)


async def _waiting(store: Store) -> list[Message]:
    return list(await store.messages(None, 100))


async def test_what_a_step_produced_waits_until_a_step_consumes_it(opened: Opened) -> None:
    """The store gives out the seqs, in the order of the commits, and none of them twice. Consumed twice, it refuses."""
    for number in (1, 2, 3):
        await opened.store.commit(Step(produced=(_signal(number),)))
    await opened.store.commit(Step(consumed=(2, 3)))
    store = await opened.reopen()
    await store.commit(Step(produced=(_signal(4),)))
    with pytest.raises(StaleStepError):
        await store.commit(Step(consumed=(1, 2), entity=Entity(COUNTER, True, "1", START)))
    assert await _waiting(store) == [_sent(1, _signal(1)), _sent(4, _signal(4))]
    assert await store.entity(COUNTER) is None


async def test_a_step_that_was_decided_on_an_older_record_is_refused(opened: Opened) -> None:
    """Of instances and entities; also when the record was not there, or is not there any more."""
    target, other = orchestration_target("a"), entity_target(COUNTER)
    first = Step(orchestration=_instance(), entity=Entity(COUNTER, True, "1", START), read=Read(target, None))
    await opened.store.commit(first)
    read, entity = await opened.store.instance("a"), await opened.store.entity(COUNTER)
    assert (Read.of(target, read), Read.of(other, entity)) == (Read(target, first.etag), Read(other, first.etag))
    nobody = entity_target(EntityId("counter", "nobody"))
    for stale in (Read(target, None), Read(target, "another"), Read(other, None), Read(nobody, "1")):
        with pytest.raises(StaleStepError):
            await opened.store.commit(Step(orchestration=_instance(status=Status.FAILED), read=stale))
    await opened.store.commit(Step(orchestration=_instance(status=Status.FAILED), read=Read.of(target, read)))
    with pytest.raises(StaleStepError):
        await opened.store.commit(Step(orchestration=_instance(), read=Read.of(target, read)))
    await opened.store.commit(Step(forgotten=(target,)))
    with pytest.raises(StaleStepError):
        await opened.store.commit(Step(orchestration=_instance(), read=Read(target, first.etag)))
    assert await opened.store.instance("a") is None


async def test_a_step_that_cannot_be_kept_fails_alone(opened: Opened) -> None:
    """The steps before and behind it, of the same transaction, are kept."""
    steps = [Step(produced=(_signal(1),)), Step(consumed=(99,)), Step(produced=(_signal(2),))]
    kept = await asyncio.gather(*(opened.store.commit(step) for step in steps), return_exceptions=True)
    assert [type(outcome) for outcome in kept] == [type(None), StaleStepError, type(None)]
    assert await _waiting(opened.store) == [_sent(1, _signal(1)), _sent(2, _signal(2))]


async def test_an_inbox_is_what_is_due_in_the_order_of_the_times(opened: Opened) -> None:
    """A message counts from when it was sent, one with a time from then; each target has its own."""
    second, later = START + timedelta(seconds=1), START + timedelta(seconds=9)
    sent = (_signal(1, due=second), _signal(2), _signal(3, due=later), _signal(4, key="other"))
    await opened.store.commit(Step(produced=sent, at=START))
    await opened.store.commit(Step(produced=(_signal(5),), at=START + timedelta(seconds=2)))
    target = entity_target(COUNTER)
    inbox = await opened.store.inbox(target, START, 10)
    assert (_seqs(inbox), inbox.is_all, inbox.next_due) == ([2, 5], True, second)
    inbox = await opened.store.inbox(target, START + timedelta(seconds=3), 10)
    assert (_seqs(inbox), inbox.is_all, inbox.next_due) == ([2, 1, 5], True, later)
    assert inbox.record is None
    await opened.store.commit(Step(entity=Entity(COUNTER, True, "1", START), orchestration=_instance("@counter@K1")))
    inbox = await opened.store.inbox(target, START + timedelta(days=1), 2)
    assert inbox.record == Entity(COUNTER, True, "1", START)
    assert (_seqs(inbox), inbox.is_all, inbox.next_due) == ([2, 1], False, None)


def _seqs(inbox: Inbox) -> list[int]:
    return [message.seq for message in inbox.messages]


async def test_arrivals_are_what_came_since_the_last_look(opened: Opened) -> None:
    """Who has something and from when on; what was consumed meanwhile is no arrival."""
    second, key = START + timedelta(seconds=1), entity_target(EntityId("counter", "K1"))
    await opened.store.commit(Step(produced=(_signal(1, due=second),)))
    arrivals = await opened.store.arrivals(0)
    assert arrivals == Arrivals(1, (Arrival(key, second),))
    await opened.store.commit(Step(produced=(_signal(2, key="a"), _signal(3, key="b"))))
    await opened.store.commit(Step(consumed=(2,)))
    assert await opened.store.arrivals(1) == Arrivals(3, (Arrival(entity_target(EntityId("counter", "b")), None),))
    assert await opened.store.arrivals(3) == Arrivals(3)


async def test_a_superseded_execution_takes_its_messages_along(opened: Opened) -> None:
    target = orchestration_target("a")
    fired = TimerFired(timestamp=START, timer_id=1, fire_at=START)
    raised = EventMessage(EventRaised(timestamp=START, name="go", input="1"))
    sent = (Outgoing(target, EventMessage(fired, "old")), Outgoing(target, raised))
    await opened.store.commit(Step(produced=(*sent, Outgoing(orchestration_target("b"), EventMessage(fired, "old")))))
    await opened.store.commit(Step(superseded=Superseded(target, "old"), produced=(_signal(4),)))
    assert [message.seq for message in await _waiting(opened.store)] == [2, 3, 4]


async def test_every_kind_of_message_comes_back_as_it_was(opened: Opened) -> None:
    """Events with their times, operations with their callers, activities, due times."""
    task = ActivityTask("echo", '"1"', 4, "a", "e1")
    due = START + timedelta(days=3, microseconds=5)
    fired = TimerFired(timestamp=START, timer_id=1, fire_at=due)
    start = ExecutionStarted(timestamp=START, instance_id="a", execution_id="e", name="n", input=None, generation=1)
    call = Operation("id", "add", None, "a", "e1")
    sent = (
        Outgoing(activity_target(task), task),
        Outgoing(orchestration_target("a"), EventMessage(fired, "e1"), due),
        Outgoing(orchestration_target("a"), EventMessage(start, "e", (fired,))),
        Outgoing(entity_target(COUNTER), call),
        Outgoing(orchestration_target("a"), Rewind("why")),
    )
    await opened.store.commit(Step(produced=sent))
    store = await opened.reopen()
    assert await _waiting(store) == [_sent(seq, outgoing) for seq, outgoing in enumerate(sent, start=1)]


async def test_history_grows_step_by_step_and_is_replaced_when_new(opened: Opened) -> None:
    """The record is the last step's, the history all of them, until one begins it anew."""
    first, second = (OrchestratorStarted(timestamp=START + timedelta(seconds=n)) for n in range(2))
    raised = EventRaised(timestamp=START, name="go", input='{"é": 1}')
    await opened.store.commit(Step(orchestration=_instance(), history=History((first,))))
    await opened.store.commit(Step(orchestration=_instance(status=Status.FAILED), history=History((second, raised))))
    stored = await (await opened.reopen()).orchestration("a")
    assert stored is not None
    assert (stored.instance, stored.history) == (_instance(status=Status.FAILED), (first, second, raised))
    await opened.store.commit(Step(orchestration=_instance(), history=History((second,), is_new=True)))
    stored = await opened.store.orchestration("a")
    assert stored is not None
    assert stored.history == (second,)


async def test_forgetting_leaves_nothing_but_what_others_wait_for(opened: Opened) -> None:
    """Record, history and messages go together; an orchestration named like an entity is another thing.

    Signals are nobody's any more; a call finds the entity begun anew, and its caller an answer.
    """
    namesake, call = _instance("@counter@K1"), Outgoing(entity_target(COUNTER), Operation("id", "add", None, "a", "e1"))
    await opened.store.commit(Step(orchestration=namesake, history=History((OrchestratorStarted(timestamp=START),))))
    await opened.store.commit(Step(entity=Entity(COUNTER, True, "1", START), produced=(_signal(1), call)))
    await opened.store.commit(Step(forgotten=(entity_target(COUNTER),)))
    assert await opened.store.entity(COUNTER) is None
    assert await _waiting(opened.store) == [_sent(2, call)]
    assert await opened.store.orchestration("@counter@K1") is not None
    await opened.store.commit(Step(forgotten=(orchestration_target("@counter@K1"),)))
    assert await opened.store.orchestration("@counter@K1") is None


@pytest.mark.parametrize("is_purge", [False, True], ids=["ended", "purged"])
async def test_the_start_of_another_execution_outlives_an_instance(opened: Opened, is_purge: bool) -> None:
    """Whoever sent it waits for its end. The instance's own start goes with it."""
    target = orchestration_target("a")

    def start(own: str, given: str | None) -> Outgoing:
        begun = ExecutionStarted(timestamp=START, instance_id="a", execution_id=own, name="chain", input=None)
        return Outgoing(target, EventMessage(begun, given))

    starts = (start("e1", "e1"), start("e2", None), start("e3", "e3"))
    await opened.store.commit(Step(orchestration=_instance(), produced=starts))
    ended = _instance(status=Status.COMPLETED)
    last = Step(forgotten=(target,)) if is_purge else Step(orchestration=ended, silenced=target)
    await opened.store.commit(last)
    assert [message.seq for message in await _waiting(opened.store)] == [2, 3]


async def test_lists_are_ordered_by_id_filtered_and_paged(opened: Opened) -> None:
    for number, name in enumerate(("b", "a", "B", "c_1", "c%1")):
        made = replace(_instance(name), created_at=START + timedelta(seconds=number))
        await opened.store.commit(Step(orchestration=made))
    await opened.store.commit(Step(orchestration=_instance("d", Status.COMPLETED)))

    async def listed(wanted: InstanceFilter, first_id: str = "", limit: int | None = None) -> list[str]:
        return [found.instance_id for found in await opened.store.list_orchestrations(wanted, first_id, limit)]

    assert await listed(InstanceFilter()) == ["B", "a", "b", "c%1", "c_1", "d"]
    assert await listed(InstanceFilter(), "b", 2) == ["b", "c%1"]
    assert await listed(InstanceFilter(prefix="c_")) == ["c_1"]
    assert await listed(InstanceFilter(statuses=frozenset({Status.COMPLETED}))) == ["d"]
    later = START + timedelta(seconds=3)
    assert await listed(InstanceFilter(created_from=later)) == ["c%1", "c_1"]
    assert await listed(InstanceFilter(created_to=START)) == ["b", "d"]
