"""The entity of a thread: it stores the conversation, and finishes what others began."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from hosting.core.conversations import Conversations
from hosting.core.stores.contract import Processes as StoreProcesses
from hosting.core.thread.commands import Change, DeleteThread, FinishDelete, ResetThread, TrimThread, Unchanged
from hosting.core.thread.events import Accepted, Completed
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread_operations import WATCHED_SECONDS, Forget, GoOn, Keep, OutdatedDocumentError, Store
from state.codec import read, write
from state.conversation import reset, with_log_mark
from state.extension import LogMark, host_of
from tests.support.cluster.app import AgentsHere
from tests.support.cluster.cluster import ADDRESS, AGENT, INSTANCE, LEASE_SECONDS, AppProcess, Cluster, call
from tests.support.state_documents import history_messages

pytestmark = pytest.mark.moved_time
Two = tuple[AppProcess, AppProcess]


def document(app: AppProcess) -> str:
    return app.cluster.engine.documents[INSTANCE]


def output(app: AppProcess) -> list[str]:
    return [message.text for message in history_messages(read(document(app)))]


async def deleted(app: AppProcess) -> None:
    await app.log.execute(ADDRESS, DeleteThread(1.0))
    await app.log.execute(ADDRESS, FinishDelete(2.0, {}))


@pytest.mark.behaviour("service.thread-operations")
async def test_a_run_that_nobody_waits_for_is_executed_by_its_entity(two: Two) -> None:
    """And stands in the stored conversation, which names its position. The operation delivered again does nothing."""
    caller, durable = two
    run = await caller.start(call(waits=False))

    await durable.deliver(run.run_id)
    stored = document(durable)
    await durable.deliver(run.run_id)

    assert isinstance(await durable.end_of(run.run_id), Completed)
    assert (output(durable), document(durable), len(durable.agent.turns)) == (["hi", "echo: hi"], stored, 1)
    assert host_of(read(stored)).log_mark == LogMark(epoch=0, position=3, since=3)


@pytest.mark.behaviour("service.thread-operations")
@pytest.mark.behaviour("service.woken")
async def test_a_run_that_its_caller_holds_is_watched_and_stored_behind_those_before_it(two: Two) -> None:
    """The operation learns of its end from the store, and not with its next look."""
    caller, durable = two
    await caller.answered("m0")
    caller.agent.gate.clear()
    run = await caller.start(call("m1"))
    delivery = asyncio.ensure_future(durable.deliver(run.run_id))
    await asyncio.sleep(5.0)
    released_at = caller.cluster.wall()
    caller.agent.gate.set()

    await delivery

    assert caller.cluster.wall() - released_at < 0.01
    assert (len(caller.agent.turns), durable.agent.turns) == (2, [])
    assert output(durable) == ["m0", "echo: m0", "m1", "echo: m1"]


@pytest.mark.behaviour("service.temporary")
async def test_the_thread_of_a_temporary_run_goes_once_nobody_can_be_at_its_answer_any_more(two: Two) -> None:
    """The operation deletes it after a lease, unless whoever answered has; of a thread like any other nothing goes."""
    caller, durable = two
    run = await caller.start(call(temporary=True))
    await caller.runs.wait(run, caller.engine, 5.0)
    ended_at = caller.cluster.wall()

    watched = await durable.operations.run(ADDRESS, None, run.run_id)
    before = await durable.kinds()
    is_deleted = await durable.deletion.forget(ADDRESS, None)

    assert (watched, before, is_deleted) == (Forget(), ["accepted", "claimed", "completed"], True)
    assert caller.cluster.wall() - ended_at >= LEASE_SECONDS
    assert await durable.kinds() == ["deleted"]
    await caller.start(call(waits=False))
    assert await durable.deletion.forget(ADDRESS, None) is False


@pytest.mark.behaviour("service.temporary")
async def test_a_thread_that_is_not_to_be_stored_is_stored_by_no_operation(two: Two) -> None:
    """And one whose process ends leaves the deletion to the next one."""
    caller, durable = two
    run = await caller.start(call(temporary=True))
    await caller.runs.wait(run, caller.engine, 5.0)
    await caller.threads.describe(ADDRESS, {"for": "a test"}, caller.engine)
    stored = await caller.operations.store(ADDRESS, None)
    await durable.holders.drain(1.0)

    watched = await durable.operations.run(ADDRESS, None, run.run_id)

    assert (stored, watched) == (Keep(), GoOn(Keep(), 0.0, is_spent=True))


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
@pytest.mark.behaviour("service.lost-processes")
@pytest.mark.parametrize(("gone", "is_known"), [({"caller"}, True), ({"another", ""}, False)])
async def test_a_run_whose_process_died_is_taken_over_when_its_lease_is_out_or_its_death_is_known(
    two: Two, gone: set[str], is_known: bool
) -> None:
    """By the watchman's own clock, without anybody asking; of any other process its death says nothing."""
    caller, durable = two
    caller.log.processes, durable.log.processes = KnownProcesses("caller"), KnownProcesses("durable")
    durable.log.processes.gone = frozenset(gone)
    caller.agent.gate.clear()
    run = await caller.start(call())
    await asyncio.sleep(0.1)
    caller.die()
    died_at = caller.cluster.wall()

    await durable.deliver(run.run_id)

    assert (await durable.kinds())[:3] == ["accepted", "claimed", "claimed"]
    assert output(durable) == ["hi", "echo: hi"]
    assert (caller.cluster.wall() - died_at < LEASE_SECONDS - 1) is is_known


@pytest.mark.behaviour("service.thread-operations")
async def test_an_operation_that_watched_for_long_enough_sends_itself_on(two: Two) -> None:
    caller, durable = two
    caller.agent.gate.clear()
    run = await caller.start(call("first"))
    caller.cluster.engine.signals.clear()
    began_at = caller.cluster.wall()

    await durable.deliver(run.run_id)

    assert 0 <= caller.cluster.wall() - began_at - WATCHED_SECONDS < 3.0
    [(operation, order)] = caller.cluster.engine.sent
    assert (operation, order["run_id"], await durable.end_of(run.run_id)) == ("run", run.run_id, None)


@pytest.mark.behaviour("service.carried")
async def test_a_request_that_an_operation_carries_is_accepted_once(app: AppProcess) -> None:
    request = RunRequest(message="hi")
    accepted = Accepted(at=1.0, run_id="r1", agent=AGENT, thread_id="t1", request=request, fingerprint="f")
    first = await app.operations.accept(ADDRESS, accepted)
    again = await app.operations.accept(ADDRESS, accepted)

    await app.deliver("r1")

    assert isinstance(first, Change)
    assert again == Change(again.head, again.events, (), "r1", signal=True)  # type: ignore[union-attr]
    assert await app.operations.accept(ADDRESS, accepted) == Unchanged("r1")
    assert len(app.agent.turns) == 1


@pytest.mark.behaviour("service.reset")
async def test_a_reset_empties_the_document_and_what_began_before_it_leaves_nothing(two: Two) -> None:
    """Delivered again it empties nothing that came behind it."""
    caller, durable = two
    await caller.answered("before")
    decided = await caller.log.execute(ADDRESS, ResetThread(1.0))
    await caller.answered("after")

    for _ in range(2):
        await durable.operate({"position": decided.head.reset_at}, "reset")

    assert output(durable) == ["after", "echo: after"]
    assert caller.agent.turns[-1] == ["after"]


@pytest.mark.behaviour("service.reset")
async def test_a_reset_begins_anew_with_a_document_that_is_ahead_of_its_log(app: AppProcess) -> None:
    """One of the two was restored: what the document held does not come back once the log has its position."""
    ahead = read(None)
    app.cluster.engine.documents[INSTANCE] = write(with_log_mark(ahead, LogMark(epoch=0, position=9, since=9)))
    await app.threads.reset(ADDRESS, app.engine)

    watched = await app.operations.reset(ADDRESS, document(app), 1)

    assert watched.snapshot.document(watched.head.epoch) == with_log_mark(
        reset(ahead, "reset-1"), LogMark(epoch=0, position=1, since=1)
    )


@pytest.mark.behaviour("service.thread-operations")
@pytest.mark.behaviour("service.conversations")
async def test_a_document_that_was_handed_out_too_early_is_asked_for_again(two: Two) -> None:
    """A newer one was stored, and the log trimmed behind it. What a process remembers from before is read again."""
    caller, durable = two
    await durable.deliver((await caller.answered("one")).run_id)
    old = document(durable)
    run = await durable.answered("two")
    await durable.deliver(run.run_id)
    trimmed = (await durable.log.execute(ADDRESS, TrimThread(1.0, 6))).head.trimmed
    await durable.store.trim(ADDRESS, trimmed, 0)

    with pytest.raises(OutdatedDocumentError):
        await durable.operations.run(ADDRESS, old, run.run_id)
    await caller.answered("three")
    assert caller.agent.turns[-1] == ["one", "echo: one", "two", "echo: two", "three"]


@pytest.mark.behaviour("service.thread-operations")
async def test_a_run_that_no_longer_fits_into_the_operation_is_left_to_the_next_one(app: AppProcess) -> None:
    run = await app.start(call(waits=False))

    watched = await app.operations.run(ADDRESS, None, run.run_id, most_seconds=0.05)

    assert isinstance(watched, GoOn)
    assert await app.kinds() == ["accepted"]


@pytest.mark.behaviour("service.thread-operations")
async def test_an_operation_that_sees_its_thread_deleted_is_delivered_again(two: Two) -> None:
    """By another execution: what it was handed belongs to the life before."""
    caller, durable = two
    caller.agent.gate.clear()
    run = await caller.start(call())
    delivery = asyncio.ensure_future(durable.deliver(run.run_id))
    await asyncio.sleep(0.1)
    await deleted(caller)
    caller.agent.gate.set()

    with pytest.raises(OutdatedDocumentError):
        await delivery


@pytest.mark.behaviour("hosting.refuses-while-blocked")
async def test_a_process_that_can_take_no_run_leaves_it_until_it_can(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entity looks again and again, and claims nothing meanwhile, so that another process may."""
    asked: list[bool] = []

    def takes_runs(loop: AgentsHere) -> bool:
        asked.append(len(asked) >= 3)
        return asked[-1]

    monkeypatch.setattr(AgentsHere, "takes_runs", takes_runs)
    app = cluster.process()
    run = await app.start(call(waits=False))
    kinds = await app.kinds()
    await app.deliver(run.run_id)

    assert (kinds, asked[:4]) == (["accepted"], [False, False, False, True])
    assert await app.kinds() == ["accepted", "claimed", "completed"]


@pytest.mark.behaviour("service.thread-operations")
@pytest.mark.parametrize("seconds", [0.0, 0.1], ids=["before the claim", "behind it"])
async def test_two_workers_with_one_operation_ask_the_agent_once(two: Two, seconds: float) -> None:
    """For a while both of an instance's workers may have the entity: the second waits for the run of the first."""
    caller, durable = two
    run = await caller.start(call(waits=False))
    durable.agent.gate.clear()
    first = asyncio.ensure_future(durable.operations.run(ADDRESS, None, run.run_id))
    await asyncio.sleep(seconds)
    second = asyncio.ensure_future(durable.operations.run(ADDRESS, None, run.run_id))
    await asyncio.sleep(0.1)
    durable.agent.gate.set()
    outcomes = [await first, await second]

    for outcome in outcomes:
        assert isinstance(outcome, Store)
        assert [end.kind for end in outcome.ended] == ["completed"]
    assert await durable.kinds() == ["accepted", "claimed", "completed"]
    assert len(durable.agent.turns) == 1


@pytest.mark.behaviour("service.conversations")
async def test_a_process_that_is_behind_reads_the_log_and_not_the_document(two: Two) -> None:
    """But for a thread that was deleted meanwhile and begun anew: there the document counts."""
    one, other = two
    for app in two:
        await app.answered("old")
    documents, engine = Conversations(one.log), one.cluster.engine
    first = await documents.at(ADDRESS, await one.log.head(ADDRESS), one.engine)
    await other.answered("more")
    before = engine.reads
    second = await documents.at(ADDRESS, await one.log.head(ADDRESS), one.engine)
    reads = engine.reads - before
    await deleted(other)
    await other.start(call("new", waits=False))
    third = await documents.at(ADDRESS, await one.log.head(ADDRESS), one.engine)

    assert [len(view.conversation.data.conversation_history.stored) for view in (first, second, third)] == [4, 6, 0]
    assert (reads, engine.reads - before) == (0, 1)


@pytest.mark.behaviour("service.bounded")
async def test_a_long_conversation_is_remembered_within_its_bytes_and_cut_seldom(cluster: Cluster) -> None:
    app = cluster.process(AGENT_RECENT_BYTES="8192")
    for number in range(60):
        run = await app.answered(f"m{number}")

    lengths = [len(turn) for turn in app.agent.turns]
    cuts = sum(later < earlier for earlier, later in pairwise(lengths))
    assert max(lengths) < 60
    assert 0 < cuts < 8
    assert isinstance(run.end, Completed)
    assert run.end.message_count == 120
