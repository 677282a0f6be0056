"""Conversations as a process remembers them."""

from __future__ import annotations

import pytest

from hosting.core.conversations import Conversations
from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.commands import DeleteThread, FinishDelete, TrimThread
from hosting.core.thread.events import Completed
from state.conversation import without_oldest
from state.models import Conversation
from tests.support.process import ADDRESS, Engine, Process, call

Processes = tuple[Process, Process]


@pytest.mark.behaviour("service.conversations")
async def test_what_is_remembered_from_before_a_trim_is_read_again(processes: Processes) -> None:
    one, other = processes
    for process, message in ((one, "one"), (other, "two")):
        run = await process.start(call(message))
        await process.runs.wait(run, process.engine, 5.0)
    await other.deliver(run.run_id)
    trimmed = (await other.log.execute(ADDRESS, TrimThread(1.0, 6))).head.trimmed
    await other.store.trim(ADDRESS, trimmed, 0)

    run = await one.start(call("three"))
    await one.runs.wait(run, one.engine, 5.0)

    assert one.agent.turns[-1] == ["one", "echo: one", "two", "echo: two", "three"]


@pytest.mark.behaviour("service.conversations")
async def test_a_process_that_is_behind_reads_the_log_and_not_the_document(processes: Processes) -> None:
    """But for a thread that was deleted meanwhile and begun anew: there the document counts."""
    one, other = processes
    for process in (one, other):
        run = await process.start(call("old"))
        await process.runs.wait(run, process.engine, 5.0)
    documents = Conversations(one.log)
    first = await documents.at(ADDRESS, await one.log.head(ADDRESS), one.engine)
    run = await other.start(call("more"))
    await other.runs.wait(run, other.engine, 5.0)
    before = one.engine.reads
    second = await documents.at(ADDRESS, await one.log.head(ADDRESS), one.engine)
    reads = one.engine.reads - before
    await other.log.execute(ADDRESS, DeleteThread(1.0))
    await other.log.execute(ADDRESS, FinishDelete(2.0, {}))
    await other.start(call("new", waits=False))
    third = await documents.at(ADDRESS, await one.log.head(ADDRESS), one.engine)

    assert [len(one.conversation.data.conversation_history.stored) for one in (first, second, third)] == [4, 6, 0]
    assert (reads, one.engine.reads - before) == (0, 1)


@pytest.mark.behaviour("service.bounded")
async def test_a_long_conversation_is_remembered_within_its_bytes_and_cut_seldom() -> None:
    cuts: list[int] = []

    def shorten(conversation: Conversation) -> Conversation:
        cuts.append(len(conversation.data.conversation_history))
        return without_oldest(conversation, cuts[-1] - 8)

    process = Process(
        SharedMemory(), MemoryObjects(), Engine(), remembering={"shorten": shorten, "document_bytes": 8000}
    )
    for number in range(60):
        run = await process.start(call(f"m{number}"))
        run = await process.runs.wait(run, process.engine, 5.0)

    assert max(map(len, process.agent.turns)) <= max(cuts) < 60
    assert len(cuts) < 8
    assert isinstance(run.end, Completed)
    assert run.end.message_count == 120
    process.loop.close()
