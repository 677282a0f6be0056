"""Threads read whole: with the log, the archive and what they refer to, in few calls, also while they change."""

from __future__ import annotations

import json

import pytest

from hosting.commands.tail import tail
from hosting.core.archiving import PAGE_BYTES
from hosting.core.stores.archive import Volume
from hosting.core.thread.run_request import Answering, Decision
from hosting.core.thread_view import MessagesPage, ThreadView
from hosting.listing import Window
from hosting.names import Address
from state.codec import read, write
from state.conversation import without_oldest
from state.models import entry_text
from tests.support.process import ADDRESS, AGENT, Process, call
from tests.support.state_documents import history_messages

Processes = tuple[Process, Process]
FIRST = Window(limit=10, after=None, before=None, is_newest_first=False)
THEIRS = (
    '{"schemaVersion": "1.1.0", "data": {"conversationHistory": [{"$type": "request", "correlationId": "r1", '
    '"createdAt": "2026-01-01T00:00:00Z", "messages": '
    '[{"role": "user", "contents": [{"$type": "text", "text": "hi"}]}]}]}}'
)


async def answered(process: Process, message: str = "hi") -> str:
    run = await process.start(call(message))
    await process.runs.wait(run, process.engine, 5.0)
    await process.deliver(run.run_id)
    return run.run_id


def texts(view: ThreadView) -> list[str]:
    return [message.text for message in history_messages(view.conversation)]


@pytest.mark.behaviour("service.reading")
async def test_reading_a_thread_takes_two_calls_of_the_log_however_many_runs_it_has(processes: Processes) -> None:
    """Its head and its events; the document is one call of the engine."""
    one, other = processes
    ids = [await answered(one, str(number)) for number in range(12)]
    view = await other.threads.view(Address.of(AGENT, "t1"), other.engine)
    seen = dict(other.store.calls)
    other.store.calls.clear()
    _, newest = await other.threads.runs(Address.of(AGENT, "t1"), 3, other.engine)

    assert [run.run_id for run in view.runs] == ids[::-1]
    assert [run.run_id for run in newest] == ids[:-4:-1]
    assert seen == dict(other.store.calls) == {"head": 1, "events": 1}


@pytest.mark.behaviour("service.reading-a-run")
@pytest.mark.parametrize("reading", ["found", "followed", "told"])
async def test_reading_an_old_run_reads_its_own_events_and_none_behind(processes: Processes, reading: str) -> None:
    one, other = processes
    first = await answered(one)
    run = await other.runs.find(ADDRESS, first, other.engine)
    for number in range(12):
        await answered(one, str(number))
    other.store.events_read = 0

    if reading == "found":
        assert await other.runs.find(ADDRESS, first, other.engine) == run
    elif reading == "followed":
        told = [news async for news in other.following.follow(run, other.engine)]
        assert [one.event.kind for news in told for one in news] == ["accepted", "claimed", "completed"]
    else:
        frames = [frame async for frame in tail(other.log, ADDRESS, first)]
        assert frames
    assert other.store.events_read == {"found": 3, "followed": 3, "told": 6}[reading]


@pytest.mark.behaviour("service.reading-a-run")
async def test_answers_to_approvals_are_read_behind_the_end_of_their_run(processes: Processes) -> None:
    """The run's row names its end, and people answer later."""
    one, other = processes
    one.agent.asks = ["c1", "c2"]
    asked = await answered(one)
    first, second = (await one.runs.find(ADDRESS, asked, one.engine)).requested_approvals
    await one.approvals.answer(ADDRESS, Answering(Decision(id=first.id, approved=True), one.caller))

    found = await other.runs.find(ADDRESS, asked, other.engine)

    assert [given.decision.id for given in found.answers] == [first.id]
    assert found.undecided == (second,)


@pytest.mark.behaviour("service.reading")
async def test_a_thread_that_only_another_package_knows_is_read(process: Process) -> None:
    process.engine.documents["t1"] = THEIRS

    view = await process.threads.view(Address.of(AGENT, "t1"), process.engine)

    assert (texts(view), view.text, view.runs, view.head.position) == (["hi"], THEIRS, (), 0)


async def archive_the_first(process: Process) -> None:
    conversation = read(process.engine.documents["t1"])
    entries = conversation.data.conversation_history.stored
    await process.archive.put(Volume(process.place(0), 0), 1, [entry_text(entry) for entry in entries[:2]])
    process.engine.documents["t1"] = write(without_oldest(conversation, 2))


@pytest.mark.behaviour("service.reading")
async def test_messages_are_those_of_the_archive_the_document_and_the_log(process: Process) -> None:
    await answered(process, "one")
    await answered(process, "two")
    await archive_the_first(process)
    run = await process.start(call("three"))
    await process.runs.wait(run, process.engine, 5.0)

    page = await process.threads.messages(Address.of(AGENT, "t1"), FIRST, process.engine)

    output = [json.loads(entry_text(entry))["messages"][0]["contents"][0]["text"] for _, entry in page.entries]
    assert output == ["one", "echo: one", "two", "echo: two", "three", "echo: three"]
    assert ([position for position, _ in page.entries], page.has_more) == ([1, 2, 3, 4, 5, 6], False)


@pytest.mark.behaviour("service.reading")
@pytest.mark.parametrize("is_newest_first", [False, True])
async def test_a_page_of_messages_ends_at_its_bytes(process: Process, is_newest_first: bool) -> None:
    """However many entries it asks for: the next one goes on behind it, and none is left out or there twice."""
    for number in range(16):
        await answered(process, f"{number}".ljust(PAGE_BYTES // 20, "x"))
    edge, pages, has_more = None, list[list[int]](), True

    while has_more:
        window = Window(200, *((None, edge) if is_newest_first else (edge, None)), is_newest_first)
        page = await process.threads.messages(ADDRESS, window, process.engine)
        assert sum(len(entry_text(entry)) for _, entry in page.entries) < PAGE_BYTES
        pages.append([position for position, _ in page.entries])
        edge, has_more = pages[-1][-1], page.has_more

    positions = [position for page in pages for position in page]
    assert positions == list(range(32, 0, -1) if is_newest_first else range(1, 33))
    assert [len(page) for page in pages] == [19, 13]


@pytest.mark.behaviour("service.reset")
async def test_messages_of_a_thread_that_is_reset_while_they_are_read_are_read_again(process: Process) -> None:
    await answered(process, "one")
    await archive_the_first(process)
    stale = process.engine.documents["t1"]
    await process.archive.erase(process.place(0))
    process.engine.next_documents = [stale]
    process.engine.documents["t1"] = write(read(None))

    page = await process.threads.messages(Address.of(AGENT, "t1"), FIRST, process.engine)

    assert page == MessagesPage([], has_more=False)
