"""Orchestrations and entities of the SDK 2.x: the Durable Task SDK's own client and replay against the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import grpc
import pytest
from durabletask.client import EntityQuery, OrchestrationQuery, OrchestrationStatus
from durabletask.entities import EntityContext, EntityInstanceId
from durabletask.history import ExecutionStartedEvent
from durabletask.task import OrchestrationContext, RetryPolicy, when_any

from tests.devhost.durable.protobuf_functions import (
    COUNTER,
    ProtobufFunctions,
    add,
    child,
    entity_counter,
    served,
)
from tests.support.engine_clocks import START, FastClock, ManualClock
from tests.support.memory_store import MemoryStore
from tests.support.observed_store import GUARD_SECONDS

pytestmark = pytest.mark.behaviour("engine.protobuf")

Steps = Generator[Any, Any, Any]


def act_double(given: Any) -> Any:
    return 2 * given


def act_fail(given: Any) -> Any:
    raise ValueError("no such number")


def fails(context: OrchestrationContext, given: Any) -> Steps:
    return (yield context.call_activity("act_fail", input=given))


def retries(context: OrchestrationContext, given: Any) -> Steps:
    policy = RetryPolicy(first_retry_interval=timedelta(seconds=1), max_number_of_attempts=3)
    return (yield context.call_activity("act_fail", input=given, retry_policy=policy))


def waits(context: OrchestrationContext, given: Any) -> Steps:
    """Take three events, each in an execution of its own."""
    event = context.wait_for_external_event("go")
    late = context.create_timer(timedelta(days=1))
    winner = yield when_any([event, late])
    taken = [*(given or []), event.get_result() if winner is event else None]
    if len(taken) == 3:
        return taken
    context.continue_as_new(taken, save_events=True)


def entity_starter(context: EntityContext, given: Any) -> None:
    """Start an orchestration, and signal a counter in a minute."""
    context.schedule_new_orchestration("child", input=given, instance_id="begun")
    context.signal_entity(COUNTER, "add", 3, datetime(2026, 1, 1, 0, 1, tzinfo=UTC))


def sends(context: OrchestrationContext, given: Any) -> Steps:
    """Send an event to each of these, and end."""
    for instance_id in given:
        context.send_event(instance_id, "go", data={"from": context.instance_id})
    return (yield context.call_activity("act_double", input=1))


def takes(context: OrchestrationContext, given: Any) -> Steps:
    return (yield context.wait_for_external_event("go"))


FUNCTIONS = (entity_counter, entity_starter, sends, takes, act_double, act_fail, add, child, fails, retries, waits)


def functions() -> ProtobufFunctions:
    return ProtobufFunctions(**{function.__name__: function for function in FUNCTIONS})


async def test_each_kind_of_task_is_carried_out_once() -> None:
    """Activities, timers, children and entities, in the order in which the code asks for them."""
    app = functions()
    async with served(app) as host:
        instance_id = await host.client.schedule_new_orchestration("add", input=4)
        ended = await host.client.wait_for_orchestration_completion(instance_id, timeout=10)
        other = EntityInstanceId("entity_counter", "other")
        await host.store.until(lambda: _is_state(host.client, other, "6"))

    assert ended is not None
    assert ended.runtime_status is OrchestrationStatus.COMPLETED
    assert ended.get_output() == [8, [2, 4], {"got": {"n": 8}, "parent": instance_id}, 5]
    assert ended.get_custom_status() == {"step": "last"}
    assert app.acted == ["act_double"] * 3


async def _is_state(client: Any, entity: EntityInstanceId, text: str) -> bool:
    found = await client.get_entity(entity)
    return found is not None and found.get_state() == text


async def test_what_an_activity_raises_fails_the_orchestration() -> None:
    """The client sees the message; with a retry policy it was tried as often as that says."""
    app = functions()
    async with served(app) as host:
        ids = [await host.client.schedule_new_orchestration(name, input=1) for name in ("fails", "retries")]
        ended = [await host.client.wait_for_orchestration_completion(each, timeout=10) for each in ids]

    assert [state and state.runtime_status for state in ended] == [OrchestrationStatus.FAILED] * 2
    assert all("no such number" in str(state and state.failure_details) for state in ended)
    assert app.acted == ["act_fail"] * 4


async def test_an_execution_continues_as_new_with_its_events() -> None:
    async with served(functions()) as host:
        instance_id = await host.client.schedule_new_orchestration("waits")
        await host.client.suspend_orchestration(instance_id)
        for number in range(3):
            await host.client.raise_orchestration_event(instance_id, "go", data=number)
        await host.store.until(lambda: _is_status(host.client, instance_id, OrchestrationStatus.SUSPENDED))
        await host.client.resume_orchestration(instance_id)  # from here on one execution has all three
        ended = await host.client.wait_for_orchestration_completion(instance_id, timeout=10)

    assert ended is not None
    assert ended.get_output() == [0, 1, 2]


async def test_a_client_stops_restarts_and_forgets_an_instance() -> None:
    """A suspended one takes its events when it is resumed; one that is gone is not found."""
    async with served(functions()) as host:
        client = host.client
        instance_id = await client.schedule_new_orchestration("waits", instance_id="i")
        await client.wait_for_orchestration_start(instance_id, timeout=10)
        await client.suspend_orchestration(instance_id)
        await host.store.until(lambda: _is_status(client, instance_id, OrchestrationStatus.SUSPENDED))
        await client.resume_orchestration(instance_id)
        await host.store.until(lambda: _is_status(client, instance_id, OrchestrationStatus.RUNNING))
        await client.terminate_orchestration(instance_id, output="enough")
        ended = await client.wait_for_orchestration_completion(instance_id, timeout=10)
        history = await client.get_orchestration_history(instance_id)
        again = await client.restart_orchestration(instance_id, restart_with_new_instance_id=True)
        listed = await client.get_all_orchestration_states(OrchestrationQuery())
        purged = await client.purge_orchestration(instance_id)
        gone = await client.get_orchestration_state(instance_id)

    assert ended is not None
    assert (ended.runtime_status, ended.get_output()) == (OrchestrationStatus.TERMINATED, "enough")
    assert "ExecutionTerminatedEvent" in {type(event).__name__ for event in history}
    assert {state.instance_id for state in listed} == {instance_id, again}
    assert (purged.deleted_instance_count, gone) == (1, None)


async def _is_status(client: Any, instance_id: str, status: OrchestrationStatus) -> bool:
    found = await client.get_orchestration_state(instance_id)
    return found is not None and found.runtime_status is status


async def test_a_client_is_refused_by_the_codes_of_grpc() -> None:
    async with served(functions()) as host:
        with pytest.raises(grpc.RpcError) as missing:
            await host.client.raise_orchestration_event("none", "go")
        await host.client.schedule_new_orchestration("waits", instance_id="i")
        with pytest.raises(Exception, match="already exists") as taken:
            await host.client.schedule_new_orchestration("waits", instance_id="i")

    assert missing.value.code() is grpc.StatusCode.NOT_FOUND
    assert taken.type.__name__ in ("OrchestrationAlreadyExistsError", "AioRpcError")


@pytest.mark.parametrize("dies_at", [None, 1, 2])
async def test_an_orchestration_starts_at_its_time(dies_at: int | None) -> None:
    """Until then it is pending and takes in no event; it has them all then. A killed host changes none of it."""
    inner, due = MemoryStore(), START + timedelta(minutes=30)
    async with served(functions(), inner=inner, dies_at=dies_at, clock=ManualClock()) as host:
        calls = asyncio.create_task(_schedule_and_raise(host.client, due))
        await asyncio.wait_for(calls if dies_at is None else host.store.died.wait(), GUARD_SECONDS)
        calls.cancel()
        early = await host.client.get_orchestration_state("i")
    async with served(functions(), inner=inner, clock=FastClock(factor=3600)) as host:
        if dies_at == 1:  # the start was kept, and its client heard of nothing
            await host.client.raise_orchestration_event("i", "go", data="early")
        ended = await host.client.wait_for_orchestration_completion("i", timeout=10)
        history = await host.client.get_orchestration_history("i")

    assert early is not None
    assert early.runtime_status is OrchestrationStatus.PENDING
    assert ended is not None
    assert ended.get_output() == "early"
    assert [event.scheduled_start_timestamp for event in history if isinstance(event, ExecutionStartedEvent)] == [due]
    assert history[0].timestamp >= due


async def _schedule_and_raise(client: Any, due: datetime) -> None:
    await client.schedule_new_orchestration("takes", instance_id="i", start_at=due)
    await client.raise_orchestration_event("i", "go", data="early")


async def test_entities_and_ended_instances_are_listed_page_by_page() -> None:
    """Instances by their ids, by status, and by when they ended; live ones are not among them."""
    entities = [EntityInstanceId("entity_counter", str(number)) for number in range(5)]
    async with served(functions()) as host:
        for entity in entities:
            await host.client.signal_entity(entity, "add", 7)
        for entity in entities:
            await host.store.until(partial(_is_state, host.client, entity, "7"))
        query = EntityQuery(instance_id_starts_with="@entity_counter@", include_state=True, page_size=2)
        listed = await host.client.get_all_entities(query)
        for name, instance_id in (("child", "a"), ("child", "b"), ("fails", "c"), ("waits", "d")):
            await host.client.schedule_new_orchestration(name, instance_id=instance_id, input=1)
        states = [await host.client.wait_for_orchestration_completion(each, timeout=10) for each in "abc"]
        first = await host.client.list_instance_ids(page_size=2)
        second = await host.client.list_instance_ids(page_size=2, continuation_token=first.continuation_token)
        failed = await host.client.list_instance_ids([OrchestrationStatus.FAILED, OrchestrationStatus.RUNNING])
        assert states[1] is not None
        late = await host.client.list_instance_ids(completed_time_from=states[1].last_updated_at + timedelta(days=9))

    assert [(each.id, each.get_state()) for each in listed] == [(entity, "7") for entity in entities]
    assert [page.items for page in (first, second, failed, late)] == [["a", "b"], ["c"], ["c"], []]
    assert second.continuation_token is None


async def test_an_orchestration_sends_events_to_others() -> None:
    """They are there once; one that is for nobody is dropped."""
    async with served(functions()) as host:
        taker = await host.client.schedule_new_orchestration("takes")
        sender = await host.client.schedule_new_orchestration("sends", input=[taker, "nobody"])
        ended = [await host.client.wait_for_orchestration_completion(each, timeout=10) for each in (taker, sender)]

    assert [state and state.get_output() for state in ended] == [{"from": sender}, 2]


@pytest.mark.parametrize("dies_at", [None, 1, 2])
async def test_an_entity_starts_an_orchestration_and_signals_later(dies_at: int | None) -> None:
    """Also where the host is killed when the operation was sent, or was run: the batch is one step."""
    inner = MemoryStore()
    if dies_at is not None:
        async with served(functions(), inner=inner, dies_at=dies_at) as host:
            sent = asyncio.create_task(host.client.signal_entity(EntityInstanceId("entity_starter", "k"), "go", 7))
            await asyncio.wait_for(host.store.died.wait(), GUARD_SECONDS)
            sent.cancel()
    async with served(functions(), inner=inner, clock=FastClock(factor=100)) as host:
        if dies_at is None:
            await host.client.signal_entity(EntityInstanceId("entity_starter", "k"), "go", 7)
        await host.store.until_ended("begun")
        early = await host.client.get_entity(COUNTER)
        await host.store.until(lambda: _is_state(host.client, COUNTER, "3"))
        ended = await host.client.get_orchestration_state("begun")

    assert early is None
    assert ended is not None
    assert ended.get_output() == {"got": 7, "parent": None}
