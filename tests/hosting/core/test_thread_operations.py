"""The entity of a thread: it stores the conversation, and finishes what others began."""

from __future__ import annotations

import asyncio
import math

import pytest

from hosting.core.stores.contract import Processes as StoreProcesses
from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.commands import Change, DeleteThread, FinishDelete, ResetThread, TrimThread, Unchanged
from hosting.core.thread.events import Accepted, Completed
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread_operations import Forget, GoOn, Keep, OutdatedDocumentError, ThreadOperations
from hosting.names import Address
from state.codec import read, write
from state.conversation import reset, with_log_mark
from state.extension import LogMark, host_of
from tests.support.process import ADDRESS, AGENT, Engine, Process, call
from tests.support.state_documents import history_messages

Processes = tuple[Process, Process]


async def until_looked(process: Process) -> None:
    while not process.store.calls["head"]:  # noqa: ASYNC110 - nothing says so
        await asyncio.sleep(0.001)


async def until_asked(process: Process) -> None:
    while not process.agent.turns:  # noqa: ASYNC110 - it runs in a thread of its own
        await asyncio.sleep(0.001)


def output(process: Process) -> list[str]:
    return [message.text for message in history_messages(read(process.engine.documents.get("t1")))]


@pytest.mark.behaviour("service.thread-operations")
async def test_a_run_that_nobody_waits_for_is_executed_by_its_entity(processes: Processes) -> None:
    """And stands in the stored conversation, which names its position."""
    caller, durable = processes
    run = await caller.start(call(waits=False))

    await durable.deliver(run.run_id)

    assert isinstance(await durable.end_of(run.run_id), Completed)
    assert output(durable) == ["hi", "echo: hi"]
    assert host_of(read(durable.engine.documents["t1"])).log_mark == LogMark(epoch=0, position=3, since=3)


@pytest.mark.behaviour("service.thread-operations")
async def test_a_run_that_its_caller_holds_is_watched_and_then_stored(processes: Processes) -> None:
    caller, durable = processes
    caller.agent.gate.clear()
    run = await caller.start(call())
    delivery = asyncio.ensure_future(durable.deliver(run.run_id))
    await until_looked(durable)
    caller.agent.gate.set()

    await delivery

    assert (len(caller.agent.turns), durable.agent.turns) == (1, [])
    assert output(durable) == ["hi", "echo: hi"]


@pytest.mark.behaviour("service.temporary")
async def test_the_thread_of_a_temporary_run_goes_once_nobody_can_be_at_its_answer_any_more(
    processes: Processes,
) -> None:
    """The operation deletes it after a lease, unless whoever answered has; of a thread like any other nothing goes."""
    caller, durable = processes
    run = await caller.start(call(temporary=True))
    await caller.runs.wait(run, caller.engine, 5.0)

    watched = await durable.operations.run(ADDRESS, None, run.run_id)
    before = await durable.kinds()
    is_deleted = await durable.deletion.forget(ADDRESS, None)

    assert (watched, before, is_deleted) == (Forget(), ["accepted", "claimed", "completed"], True)
    assert await durable.kinds() == ["deleted"]
    await caller.start(call(waits=False))
    assert await durable.deletion.forget(ADDRESS, None) is False


@pytest.mark.behaviour("service.temporary")
async def test_a_thread_that_is_not_to_be_stored_is_stored_by_no_operation(process: Process) -> None:
    run = await process.start(call(temporary=True))
    await process.runs.wait(run, process.engine, 5.0)
    await process.threads.describe(ADDRESS, {"for": "a test"}, process.engine)

    assert await process.operations.store(ADDRESS, None) == Keep()


@pytest.mark.behaviour("service.temporary")
async def test_an_operation_whose_process_ends_leaves_the_deletion_to_the_next_one(processes: Processes) -> None:
    caller, durable = processes
    run = await caller.start(call(temporary=True))
    await caller.runs.wait(run, caller.engine, 5.0)
    await durable.holders.drain(1.0)

    watched = await durable.operations.run(ADDRESS, None, run.run_id)

    assert watched == GoOn(Keep(), 0.0, is_spent=True)


@pytest.mark.behaviour("service.lost-processes")
async def test_a_run_whose_process_died_is_taken_over_when_its_lease_is_out(processes: Processes) -> None:
    """By the watchman's own clock, without anybody asking."""
    caller, durable = processes
    caller.agent.gate.clear()
    run = await caller.start(call())
    await until_asked(caller)
    caller.die()

    await durable.deliver(run.run_id)

    assert isinstance(await durable.end_of(run.run_id), Completed)
    assert (await durable.kinds())[:3] == ["accepted", "claimed", "claimed"]
    assert output(durable) == ["hi", "echo: hi"]


class KnownProcesses(StoreProcesses):
    """A machine's processes by name; those that are `gone` are dead."""

    gone: frozenset[str] = frozenset()

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def is_gone(self, name: str) -> bool:
        return name in self.gone


@pytest.mark.behaviour("service.dead-processes")
@pytest.mark.parametrize("gone", [{"caller"}, {"another", ""}])
async def test_a_run_whose_process_is_known_to_be_dead_is_taken_over_at_once(
    processes: Processes, gone: set[str]
) -> None:
    """The watchman's clock stands still, so no lease ever ends; of any other process it says nothing."""
    caller, durable = processes
    caller.log.processes, durable.log.processes = KnownProcesses("caller"), KnownProcesses("durable")
    durable.log.processes.gone = frozenset(gone)
    caller.agent.gate.clear()
    run = await caller.start(call())
    await until_asked(caller)
    caller.die()
    standing = ThreadOperations(
        durable.log,
        durable.conversations,
        durable.holders,
        durable.care,
        watched_seconds=0.05,
        margin_seconds=math.inf,
    )

    outcome = await standing.run(ADDRESS, None, run.run_id)

    is_taken_over = gone == {"caller"}
    assert isinstance(outcome, GoOn) is not is_taken_over
    assert (await durable.kinds()).count("claimed") == 1 + is_taken_over


@pytest.mark.behaviour("service.thread-operations")
async def test_the_same_operation_delivered_again_changes_nothing(processes: Processes) -> None:
    caller, durable = processes
    run = await caller.start(call(waits=False))
    await durable.deliver(run.run_id)
    before = durable.engine.documents["t1"]

    await durable.deliver(run.run_id)

    assert durable.engine.documents["t1"] == before
    assert len(durable.agent.turns) == 1


@pytest.mark.behaviour("service.thread-operations")
async def test_runs_that_ended_elsewhere_are_stored_in_their_order(processes: Processes) -> None:
    caller, durable = processes
    for number in range(3):
        run = await caller.start(call(f"m{number}"))
        await caller.runs.wait(run, caller.engine, 5.0)

    await durable.deliver(run.run_id)

    assert output(durable) == ["m0", "echo: m0", "m1", "echo: m1", "m2", "echo: m2"]


@pytest.mark.slow
@pytest.mark.behaviour("service.thread-operations")
async def test_an_operation_that_watched_for_long_enough_sends_itself_on(processes: Processes) -> None:
    caller, durable = processes
    caller.agent.gate.clear()
    first = await caller.start(call("first"))

    watched = await durable.deliver(first.run_id)
    caller.agent.gate.set()

    assert isinstance(watched, GoOn)
    assert await durable.end_of(first.run_id) is None


@pytest.mark.behaviour("service.carried")
async def test_a_request_that_an_operation_carries_is_accepted_once(process: Process) -> None:
    request = RunRequest(message="hi")
    accepted = Accepted(at=1.0, run_id="r1", agent=AGENT, thread_id="t1", request=request, fingerprint="f")
    first = await process.operations.accept(ADDRESS, accepted)
    again = await process.operations.accept(ADDRESS, accepted)

    await process.deliver("r1")

    assert isinstance(first, Change)
    assert again == Change(again.head, again.events, (), "r1", signal=True)  # type: ignore[union-attr]
    assert await process.operations.accept(ADDRESS, accepted) == Unchanged("r1")
    assert len(process.agent.turns) == 1


@pytest.mark.behaviour("service.reset")
async def test_a_reset_empties_the_document_and_what_began_before_it_leaves_nothing(processes: Processes) -> None:
    """Delivered again it empties nothing that came behind it."""
    caller, durable = processes
    run = await caller.start(call("before"))
    await caller.runs.wait(run, caller.engine, 5.0)
    decided = await caller.log.execute(ADDRESS, ResetThread(1.0))
    after = await caller.start(call("after"))
    await caller.runs.wait(after, caller.engine, 5.0)

    watched = await durable.operations.reset(ADDRESS, None, decided.head.reset_at)

    durable.engine.documents["t1"] = "{}"
    assert [message.text for message in history_messages(watched.snapshot.conversation)] == ["after", "echo: after"]
    assert caller.agent.turns[-1] == ["after"]


@pytest.mark.behaviour("service.reset")
async def test_a_reset_begins_anew_with_a_document_that_is_ahead_of_its_log(process: Process) -> None:
    """One of the two was restored: what the document held does not come back once the log has its position."""
    ahead = read(None)
    process.engine.documents["t1"] = write(with_log_mark(ahead, LogMark(epoch=0, position=9, since=9)))
    await process.threads.reset(Address.of(AGENT, "t1"), process.engine)

    watched = await process.operations.reset(ADDRESS, process.engine.documents["t1"], 1)

    assert watched.snapshot.document(watched.head.epoch) == with_log_mark(
        reset(ahead, "reset-1"), LogMark(epoch=0, position=1, since=1)
    )


@pytest.mark.behaviour("service.thread-operations")
async def test_a_document_that_was_handed_out_too_early_is_asked_for_again(processes: Processes) -> None:
    """A newer one was stored, and the log trimmed behind it."""
    caller, durable = processes
    run = await caller.start(call("one"))
    await caller.runs.wait(run, caller.engine, 5.0)
    await durable.deliver(run.run_id)
    old = durable.engine.documents["t1"]
    run = await caller.start(call("two"))
    await caller.runs.wait(run, caller.engine, 5.0)
    await durable.deliver(run.run_id)
    await durable.log.execute(ADDRESS, TrimThread(1.0, 6))

    with pytest.raises(OutdatedDocumentError):
        await durable.operations.run(ADDRESS, old, run.run_id)


@pytest.mark.behaviour("service.thread-operations")
async def test_a_run_that_no_longer_fits_into_the_operation_is_left_to_the_next_one(process: Process) -> None:
    run = await process.start(call(waits=False))

    watched = await process.operations.run(ADDRESS, None, run.run_id, most_seconds=0.05)

    assert isinstance(watched, GoOn)
    assert await process.kinds() == ["accepted"]


@pytest.mark.behaviour("service.thread-operations")
async def test_an_operation_that_sees_its_thread_deleted_is_delivered_again(processes: Processes) -> None:
    """By another execution: what it was handed belongs to the life before."""
    caller, durable = processes
    caller.agent.gate.clear()
    run = await caller.start(call())
    delivery = asyncio.ensure_future(durable.deliver(run.run_id))
    await until_looked(durable)
    await caller.log.execute(ADDRESS, DeleteThread(1.0))
    await caller.log.execute(ADDRESS, FinishDelete(2.0, {}))
    caller.agent.gate.set()

    with pytest.raises(OutdatedDocumentError):
        await delivery


@pytest.mark.behaviour("hosting.refuses-while-blocked")
async def test_a_process_that_can_take_no_run_leaves_it_until_it_can() -> None:
    """Its entity looks again and again, and claims nothing meanwhile, so that another process may."""
    asked: list[bool] = []

    def takes_runs() -> bool:
        asked.append(len(asked) >= 3)
        return asked[-1]

    process = Process(SharedMemory(), MemoryObjects(), Engine(), holding={"takes_runs": takes_runs})
    run = await process.start(call(waits=False))
    kinds = await process.kinds()
    await process.deliver(run.run_id)
    process.loop.close()

    assert (kinds, asked[:4]) == (["accepted"], [False, False, False, True])
    assert await process.kinds() == ["accepted", "claimed", "completed"]


@pytest.mark.behaviour("service.thread-operations")
@pytest.mark.parametrize("claims_slowly", [False, True])
async def test_two_workers_with_one_operation_ask_the_agent_once(processes: Processes, *, claims_slowly: bool) -> None:
    """For a while both of an instance's workers may have the entity: the second waits for the run of the first."""
    caller, durable = processes
    run = await caller.start(call(waits=False))
    durable.agent.gate.clear()
    first = asyncio.ensure_future(durable.operations.run(ADDRESS, None, run.run_id))
    if claims_slowly:
        while "claimed" not in await durable.kinds():  # noqa: ASYNC110 - nothing says so
            await asyncio.sleep(0)
    else:
        await until_asked(durable)
    second = asyncio.ensure_future(durable.operations.run(ADDRESS, None, run.run_id))
    await until_looked(durable)
    durable.agent.gate.set()
    outcomes = [await first, await second]

    assert [[end.kind for end in outcome.ended] for outcome in outcomes] == [["completed"]] * 2
    assert await durable.kinds() == ["accepted", "claimed", "completed"]
    assert len(durable.agent.turns) == 1
