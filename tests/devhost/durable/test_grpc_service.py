"""Orchestrations and entities of the SDK 2.x: the Durable Task SDK's own client and replay against the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
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
        ended = await host.run("add", 4, instance_id="i")
        await host.until_state(EntityInstanceId("entity_counter", "other"), "6")

    assert ended.runtime_status is OrchestrationStatus.COMPLETED
    assert ended.get_output() == [8, [2, 4], {"got": {"n": 8}, "parent": "i"}, 5]
    assert (ended.get_custom_status(), app.acted) == ({"step": "last"}, ["act_double"] * 3)


async def test_what_an_activity_raises_fails_the_orchestration() -> None:
    """The client sees the message; with a retry policy it was tried as often as that says."""
    app = functions()
    async with served(app) as host:
        ended = [await host.run(name, 1) for name in ("fails", "retries")]

    assert [state.runtime_status for state in ended] == [OrchestrationStatus.FAILED] * 2
    assert all("no such number" in str(state.failure_details) for state in ended)
    assert app.acted == ["act_fail"] * 4


async def test_an_execution_continues_as_new_with_its_events() -> None:
    async with served(functions()) as host:
        await host.client.schedule_new_orchestration("waits", instance_id="i")
        await host.client.suspend_orchestration("i")
        for number in range(3):
            await host.client.raise_orchestration_event("i", "go", data=number)
        await host.until_status("i", OrchestrationStatus.SUSPENDED)
        await host.client.resume_orchestration("i")  # from here on one execution has all three
        assert (await host.ended("i")).get_output() == [0, 1, 2]


async def test_a_client_stops_restarts_and_forgets_an_instance_and_is_refused_by_the_codes_of_grpc() -> None:
    """A suspended one takes its events when it is resumed; one that is gone is not found."""
    async with served(functions()) as host:
        client = host.client
        await client.schedule_new_orchestration("waits", instance_id="i")
        with pytest.raises(Exception, match="already exists") as taken:
            await client.schedule_new_orchestration("waits", instance_id="i")
        await client.wait_for_orchestration_start("i", timeout=10)
        await client.suspend_orchestration("i")
        await host.until_status("i", OrchestrationStatus.SUSPENDED)
        await client.resume_orchestration("i")
        await host.until_status("i", OrchestrationStatus.RUNNING)
        await client.terminate_orchestration("i", output="enough")
        ended, history = await host.ended("i"), await client.get_orchestration_history("i")
        again = await client.restart_orchestration("i", restart_with_new_instance_id=True)
        listed = await client.get_all_orchestration_states(OrchestrationQuery())
        purged, gone = await client.purge_orchestration("i"), await client.get_orchestration_state("i")
        with pytest.raises(grpc.RpcError) as missing:
            await client.raise_orchestration_event("i", "go")

    assert (ended.runtime_status, ended.get_output()) == (OrchestrationStatus.TERMINATED, "enough")
    assert "ExecutionTerminatedEvent" in {type(event).__name__ for event in history}
    assert {state.instance_id for state in listed} == {"i", again}
    assert (purged.deleted_instance_count, gone) == (1, None)
    assert missing.value.code() is grpc.StatusCode.NOT_FOUND
    assert taken.type.__name__ in ("OrchestrationAlreadyExistsError", "AioRpcError")


@pytest.mark.parametrize("dies_at", [None, 1, 2])
async def test_an_orchestration_starts_at_its_time(dies_at: int | None) -> None:
    """Until then it is pending and takes in no event; it has them all then. A killed host changes none of it."""
    inner, due = MemoryStore(), START + timedelta(minutes=30)

    async def schedule_and_raise(client: Any) -> None:
        await client.schedule_new_orchestration("takes", instance_id="i", start_at=due)
        await client.raise_orchestration_event("i", "go", data="early")

    async with served(functions(), inner=inner, dies_at=dies_at, clock=ManualClock()) as host:
        calls = asyncio.create_task(schedule_and_raise(host.client))
        await asyncio.wait_for(calls if dies_at is None else host.store.died.wait(), GUARD_SECONDS)
        calls.cancel()
        early = await host.client.get_orchestration_state("i")
    async with served(functions(), inner=inner, clock=FastClock(factor=3600)) as host:
        if dies_at == 1:  # the start was kept, and its client heard of nothing
            await host.client.raise_orchestration_event("i", "go", data="early")
        ended, history = await host.ended("i"), await host.client.get_orchestration_history("i")

    assert early is not None
    assert (early.runtime_status, ended.get_output()) == (OrchestrationStatus.PENDING, "early")
    assert [event.scheduled_start_timestamp for event in history if isinstance(event, ExecutionStartedEvent)] == [due]
    assert history[0].timestamp >= due


async def test_entities_and_ended_instances_are_listed_page_by_page() -> None:
    """Instances by their ids, by status, and by when they ended; live ones are not among them."""
    entities = [EntityInstanceId("entity_counter", str(number)) for number in range(5)]
    async with served(functions()) as host:
        client = host.client
        for entity in entities:
            await client.signal_entity(entity, "add", 7)
        for entity in entities:
            await host.until_state(entity, "7")
        query = EntityQuery(instance_id_starts_with="@entity_counter@", include_state=True, page_size=2)
        listed = await client.get_all_entities(query)
        await client.schedule_new_orchestration("waits", instance_id="d", input=1)
        for name, instance_id in (("fails", "c"), ("child", "a"), ("child", "b")):
            last = await host.run(name, 1, instance_id=instance_id)
        first = await client.list_instance_ids(page_size=2)
        second = await client.list_instance_ids(page_size=2, continuation_token=first.continuation_token)
        failed = await client.list_instance_ids([OrchestrationStatus.FAILED, OrchestrationStatus.RUNNING])
        late = await client.list_instance_ids(completed_time_from=last.last_updated_at + timedelta(days=9))

    assert [(each.id, each.get_state()) for each in listed] == [(entity, "7") for entity in entities]
    assert [page.items for page in (first, second, failed, late)] == [["a", "b"], ["c"], ["c"], []]
    assert second.continuation_token is None


async def test_an_orchestration_sends_events_to_others() -> None:
    """They are there once; one that is for nobody is dropped."""
    async with served(functions()) as host:
        await host.client.schedule_new_orchestration("takes", instance_id="taker")
        sender = await host.run("sends", ["taker", "nobody"], instance_id="sender")
        assert ((await host.ended("taker")).get_output(), sender.get_output()) == ({"from": "sender"}, 2)


@pytest.mark.parametrize("dies_at", [None, 1, 2])
async def test_an_entity_starts_an_orchestration_and_signals_later(dies_at: int | None) -> None:
    """Also where the host is killed when the operation was sent, or was run: the batch is one step."""
    inner, starter = MemoryStore(), EntityInstanceId("entity_starter", "k")
    if dies_at is not None:
        async with served(functions(), inner=inner, dies_at=dies_at) as host:
            sent = asyncio.create_task(host.client.signal_entity(starter, "go", 7))
            await asyncio.wait_for(host.store.died.wait(), GUARD_SECONDS)
            sent.cancel()
    async with served(functions(), inner=inner, clock=FastClock(factor=100)) as host:
        if dies_at is None:
            await host.client.signal_entity(starter, "go", 7)
        await host.store.until_ended("begun")
        early = await host.client.get_entity(COUNTER)
        await host.until_state(COUNTER, "3")
        ended = await host.ended("begun")

    assert (early, ended.get_output()) == (None, {"got": 7, "parent": None})
