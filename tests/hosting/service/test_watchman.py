"""The entity of a thread: it stores the conversation, and finishes what others began."""

from __future__ import annotations

import asyncio

import pytest

from hosting.errors import UnreadableStateError
from hosting.requests import RunRequest
from hosting.service.watchman import OutdatedDocumentError
from hosting.thread.commands import Bury, Change, Delete, Forget, Trim, Unchanged
from hosting.thread.events import Accepted, Completed
from state.codec import read
from state.conversation import LogMark, log_mark
from state.convert import history_messages
from tests.hosting.service.process import ADDRESS, AGENT, Process, call

Processes = tuple[Process, Process]


def said(process: Process) -> list[str]:
    """Return the texts of the stored conversation that a model sees."""
    return [message.text for message in history_messages(read(process.engine.documents.get("t1")))]


@pytest.mark.behaviour("service.watchman")
async def test_a_run_that_nobody_waits_for_is_executed_by_its_entity(processes: Processes) -> None:
    """And stands in the stored conversation, which names its position."""
    caller, durable = processes
    run = await caller.runs.start(AGENT, call(waits=False), caller.engine)

    watched = await durable.deliver(run.run_id)

    assert watched.run is not None
    assert isinstance(watched.run.terminal, Completed)
    assert said(durable) == ["hi", "echo: hi"]
    assert log_mark(read(durable.engine.documents["t1"])) == LogMark(epoch=0, position=3, since=3)


@pytest.mark.behaviour("service.watchman")
async def test_a_run_that_its_caller_holds_is_watched_and_then_stored(processes: Processes) -> None:
    """Its agent is not run again."""
    caller, durable = processes
    caller.agent.gate.clear()
    run = await caller.runs.start(AGENT, call(), caller.engine)
    delivery = asyncio.ensure_future(durable.deliver(run.run_id))
    await asyncio.sleep(0.05)
    caller.agent.gate.set()

    await delivery

    assert (len(caller.agent.turns), durable.agent.turns) == (1, [])
    assert said(durable) == ["hi", "echo: hi"]


@pytest.mark.behaviour("service.lost-processes")
async def test_a_run_whose_process_died_is_taken_over_when_its_lease_is_out(processes: Processes) -> None:
    """By the watchman's own clock, without anybody asking."""
    caller, durable = processes
    caller.agent.gate.clear()
    run = await caller.runs.start(AGENT, call(), caller.engine)
    await asyncio.sleep(0.02)
    caller.die()

    watched = await durable.deliver(run.run_id)

    assert watched.run is not None
    assert isinstance(watched.run.terminal, Completed)
    assert (await durable.kinds())[:3] == ["accepted", "claimed", "claimed"]
    assert said(durable) == ["hi", "echo: hi"]


@pytest.mark.behaviour("service.lost-processes")
async def test_a_live_holder_is_not_taken_over_however_long_its_agent_takes(processes: Processes) -> None:
    """It renews its lease while nothing else is appended."""
    caller, durable = processes
    caller.agent.gate.clear()
    run = await caller.runs.start(AGENT, call(), caller.engine)
    delivery = asyncio.ensure_future(durable.deliver(run.run_id))
    await asyncio.sleep(1.0)  # three leases
    caller.agent.gate.set()

    await delivery

    assert await durable.kinds() == ["accepted", "claimed", "completed"]


@pytest.mark.behaviour("service.watchman")
async def test_the_same_operation_delivered_again_changes_nothing(processes: Processes) -> None:
    """It finds its run ended, and in the document."""
    caller, durable = processes
    run = await caller.runs.start(AGENT, call(waits=False), caller.engine)
    await durable.deliver(run.run_id)
    before = durable.engine.documents["t1"]

    await durable.deliver(run.run_id)

    assert durable.engine.documents["t1"] == before
    assert len(durable.agent.turns) == 1


@pytest.mark.behaviour("service.watchman")
async def test_runs_that_ended_elsewhere_are_stored_in_their_order(processes: Processes) -> None:
    """However many there are behind the document."""
    caller, durable = processes
    for number in range(3):
        run = await caller.runs.start(AGENT, call(f"m{number}"), caller.engine)
        await caller.runs.wait(run, caller.engine, 5.0)

    await durable.deliver(run.run_id)

    assert said(durable) == ["m0", "echo: m0", "m1", "echo: m1", "m2", "echo: m2"]


@pytest.mark.behaviour("service.watchman")
async def test_two_executions_of_one_operation_end_a_run_once(processes: Processes) -> None:
    """The engine can lose its lease; the later one takes the claim over, and the earlier one drops what it did."""
    one, other = processes
    run = await one.runs.start(AGENT, call(waits=False), one.engine)
    one.agent.gate.clear()
    first = asyncio.ensure_future(one.watchman.run(ADDRESS, None, run.run_id))
    await asyncio.sleep(0.05)

    await other.deliver(run.run_id)
    one.agent.gate.set()
    late = await first

    assert await other.kinds() == ["accepted", "claimed", "claimed", "completed"]
    assert late.run is not None
    assert late.run.claim is not None
    assert late.run.claim.attempt == 2


@pytest.mark.behaviour("service.watchman")
async def test_an_operation_that_watched_for_long_enough_sends_itself_on(processes: Processes) -> None:
    """With what ended meanwhile stored."""
    caller, durable = processes
    caller.agent.gate.clear()
    first = await caller.runs.start(AGENT, call("first"), caller.engine)

    watched = await durable.deliver(first.run_id)
    caller.agent.gate.set()

    assert watched.goes_on
    assert watched.run is not None
    assert watched.run.terminal is None


@pytest.mark.behaviour("service.carried")
async def test_a_request_that_an_operation_carries_is_accepted_once(process: Process) -> None:
    """Delivered again it finds its run."""
    request = RunRequest(message="hi")
    accepted = Accepted(at=1.0, run_id="r1", agent=AGENT, thread_id="t1", request=request, fingerprint="f")
    first = await process.watchman.accept(ADDRESS, accepted)
    again = await process.watchman.accept(ADDRESS, accepted)

    await process.deliver("r1")

    assert isinstance(first, Change)
    assert again == Change(again.head, again.events, (), "r1", signal=True)  # type: ignore[union-attr]
    assert await process.watchman.accept(ADDRESS, accepted) == Unchanged("r1")
    assert len(process.agent.turns) == 1


@pytest.mark.behaviour("service.reset")
async def test_a_reset_empties_the_document_and_what_began_before_it_leaves_nothing(processes: Processes) -> None:
    """Delivered again it empties nothing that came behind it."""
    caller, durable = processes
    run = await caller.runs.start(AGENT, call("before"), caller.engine)
    await caller.runs.wait(run, caller.engine, 5.0)
    asked = await caller.log.ask(ADDRESS, Forget(1.0))
    after = await caller.runs.start(AGENT, call("after"), caller.engine)
    await caller.runs.wait(after, caller.engine, 5.0)

    watched = await durable.watchman.reset(ADDRESS, None, asked.head.reset_at)

    durable.engine.documents["t1"] = "{}"
    assert [message.text for message in history_messages(watched.snapshot.conversation)] == ["after", "echo: after"]
    assert caller.agent.turns[-1] == ["after"]


@pytest.mark.behaviour("service.watchman")
async def test_a_document_that_was_handed_out_too_early_is_asked_for_again(processes: Processes) -> None:
    """A newer one was stored, and the log trimmed behind it."""
    caller, durable = processes
    run = await caller.runs.start(AGENT, call("one"), caller.engine)
    await caller.runs.wait(run, caller.engine, 5.0)
    await durable.deliver(run.run_id)
    old = durable.engine.documents["t1"]
    run = await caller.runs.start(AGENT, call("two"), caller.engine)
    await caller.runs.wait(run, caller.engine, 5.0)
    await durable.deliver(run.run_id)
    await durable.log.ask(ADDRESS, Trim(1.0, 6))

    with pytest.raises(OutdatedDocumentError):
        await durable.watchman.run(ADDRESS, old, run.run_id)


@pytest.mark.behaviour("service.watchman")
@pytest.mark.parametrize("stored", ["no JSON", '{"schemaVersion": "9.0.0", "data": {}}'])
async def test_a_document_that_cannot_be_read_is_left_as_it_is(process: Process, stored: str) -> None:
    """Whoever sent the operation is told why."""
    run = await process.runs.start(AGENT, call(waits=False), process.engine)

    with pytest.raises(UnreadableStateError):
        await process.watchman.run(ADDRESS, stored, run.run_id)


@pytest.mark.behaviour("service.watchman")
async def test_a_late_operation_of_a_deleted_thread_changes_nothing(processes: Processes) -> None:
    """Its run is gone, and the document that it was handed counts as empty."""
    caller, durable = processes
    run = await caller.runs.start(AGENT, call(), caller.engine)
    await caller.runs.wait(run, caller.engine, 5.0)
    await durable.deliver(run.run_id)
    await caller.log.ask(ADDRESS, Delete(1.0))
    await caller.log.ask(ADDRESS, Bury(2.0, {}))

    watched = await durable.deliver(run.run_id)

    assert watched.run is None
    assert said(durable) == []
