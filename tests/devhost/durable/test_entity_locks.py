"""Critical sections: orchestrations that hold the locks of entities, by the Durable Task SDK against the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from durabletask.client import AsyncTaskHubGrpcClient, OrchestrationStatus
from durabletask.entities import EntityContext, EntityInstanceId
from durabletask.task import OrchestrationContext, when_all

from devhost.durable.inspection import describe
from devhost.durable.records import EntityId, Outgoing, Release, Step, entity_target
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.unkind import Armed, Fault
from tests.devhost.durable.protobuf_functions import ProtobufFunctions, Served, served
from tests.support.engine_clocks import START
from tests.support.memory_store import MemoryStore
from tests.support.observed_store import GUARD_SECONDS

pytestmark = pytest.mark.behaviour("engine.locks")

Steps = Generator[Any, Any, Any]
A, B = EntityInstanceId("entity_account", "a"), EntityInstanceId("entity_account", "b")
ACCOUNT = EntityId.parse(str(A))


def entity_account(context: EntityContext, given: Any) -> Any:
    if context.operation != "get":
        context.set_state(given)
    return context.get_state(int, 0)


def transfer(context: OrchestrationContext, amount: int) -> Steps:
    """Read both accounts, wait, and write both: without the locks one of two transfers is lost."""
    with (yield context.lock_entities([B, A])):
        have = yield when_all([context.call_entity(A, "get"), context.call_entity(B, "get")])
        yield context.create_timer(timedelta(seconds=1))
        yield context.call_entity(A, "set", have[0] - amount)
        yield context.call_entity(B, "set", have[1] + amount)
    return (yield context.call_activity("act_note", input=amount))


def holds(context: OrchestrationContext, given: Any) -> Steps:
    """Hold the lock until an event comes, and end as that says."""
    with (yield context.lock_entities([A])):
        context.set_custom_status("holds")
        end = yield context.wait_for_external_event("end")
        if end == "fail":
            raise ValueError("the section failed")
        if end == "again":
            context.continue_as_new(given)
            return None
        yield context.call_entity(A, "set", 7)
    return end


def asks(context: OrchestrationContext, given: Any) -> Steps:
    return (yield context.call_entity(A, "get"))


def act_note(given: Any) -> Any:
    return given


FUNCTIONS = (entity_account, transfer, holds, asks, act_note)


def functions() -> ProtobufFunctions:
    return ProtobufFunctions(**{function.__name__: function for function in FUNCTIONS})


async def balances(client: AsyncTaskHubGrpcClient) -> list[int]:
    found = [await client.get_entity(entity) for entity in (A, B)]
    return [int((entity and entity.get_state()) or 0) for entity in found]


async def until_held(host: Served) -> None:
    """Return once an orchestration has the lock, and knows it."""

    async def is_held() -> bool:
        found = await host.client.get_orchestration_state("holder")
        return found is not None and found.serialized_custom_status == '"holds"'

    await host.client.schedule_new_orchestration("holds", instance_id="holder")
    await host.store.until(is_held)


async def transferred(host: Served, runs: int) -> None:
    """Run so many transfers at once, and see that none was lost."""
    ids = [await host.client.schedule_new_orchestration("transfer", input=1) for _ in range(runs)]
    ended = [await host.ended(each) for each in ids]
    assert [state.runtime_status for state in ended] == [OrchestrationStatus.COMPLETED] * runs
    assert await balances(host.client) == [-runs, runs]


async def test_sections_of_the_same_entities_run_one_after_another(tmp_path: Path) -> None:
    """Whatever the order in which they name them: none loses what another one wrote."""
    async with served(functions(), inner=SqliteStore(tmp_path)) as host:
        await transferred(host, 6)


@pytest.mark.parametrize("commit", [1, 9, 17])
async def test_a_section_goes_on_where_a_killed_host_was(commit: int) -> None:
    """The lock is held once, and is free in the end; the other section comes after it."""
    inner = MemoryStore()

    async def start_two(client: AsyncTaskHubGrpcClient) -> None:
        for name in ("one", "two"):
            await client.schedule_new_orchestration("transfer", input=1, instance_id=name)

    async def are_free() -> bool:
        return all(entity.lock is None for entity in await inner.list_entities("@", "", None))

    async with served(functions(), inner=inner, dies_at=commit) as host:
        starts = asyncio.create_task(start_two(host.client))
        await asyncio.wait_for(host.store.died.wait(), GUARD_SECONDS)
        starts.cancel()
    async with served(functions(), inner=inner) as host:
        for name in ("one", "two"):
            if await host.client.get_orchestration_state(name) is None:
                await host.client.schedule_new_orchestration("transfer", input=1, instance_id=name)
            await host.ended(name)
        await host.store.until(are_free)
        assert await balances(host.client) == [-2, 2]


@pytest.mark.parametrize("fault", [Fault.SENT_NOT_COMMITTED, Fault.MOVED_PARTITION, Fault.DELIVERED_TWICE])
async def test_sections_outlast_what_the_real_host_does_to_messages(fault: Fault) -> None:
    """Requests and releases that come twice, or from an episode that was not written, hold nothing up."""
    unkind = Armed(faster=1000)
    for nth in range(1, 40, 3):
        unkind.arm(fault, nth=nth)
    async with served(functions(), unkind=unkind) as host:
        await transferred(host, 3)

    assert len(unkind.struck) > 3


async def test_others_wait_until_the_holder_is_done() -> None:
    """Their calls and signals are done behind it in their order, also where more wait than a batch may have."""
    settings = DurableSettings(max_entity_operation_batch_size=1)
    async with served(functions(), settings=settings) as host:
        await until_held(host)
        held = await host.client.get_entity(A, include_state=False)
        lines = await describe(host.engine.hub.store, None, START)
        late = Outgoing(entity_target(ACCOUNT), Release("an earlier section"))  # it frees nothing
        await host.store.commit(Step(produced=(late,)))
        for number in (1, 2, 3):
            await host.client.signal_entity(A, "set", number)
        await host.client.schedule_new_orchestration("asks", instance_id="asker")
        await host.client.wait_for_orchestration_start("asker", timeout=10)
        await host.client.raise_orchestration_event("holder", "end", data="done")
        asked, holder = await host.ended("asker"), await host.ended("holder")
        kept = await host.client.get_entity(A)

    assert kept is not None
    assert (kept.get_state(), held) == ("3", None)  # it had no state while it was held
    assert [line for line in lines if "locked by holder" in line]
    assert (asked.get_output(), holder.get_output()) == (3, "done")


async def test_a_lock_whose_orchestration_was_terminated_is_freed_by_a_client() -> None:
    """A live one keeps its lock. An entity without a state stays until its lock is free."""
    async with served(functions()) as host:
        client = host.client
        await until_held(host)
        alive = await client.clean_entity_storage()
        await client.terminate_orchestration("holder")
        await host.ended("holder")
        asker = await client.schedule_new_orchestration("asks")
        cleaned = await client.clean_entity_storage()
        asked = await host.ended(asker)
        entity = await host.store.entity(ACCOUNT)

    assert (alive.orphaned_locks_released, alive.empty_entities_removed) == (0, 0)
    assert (cleaned.orphaned_locks_released, cleaned.empty_entities_removed) == (1, 0)
    assert entity is not None
    assert (asked.get_output(), entity.lock) == (0, None)
