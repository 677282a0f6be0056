"""Threads as callers see them, in two processes: read in few calls, also while they change; reset, and deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from hosting.commands.tail import tail
from hosting.core.archiving import PAGE_BYTES
from hosting.core.stores.archive import Archive, Volume
from hosting.core.thread.commands import DeleteThread
from hosting.core.thread_log import store_key
from hosting.core.thread_view import MessagesPage
from hosting.errors import LogUnavailableError, ThreadDeletedError, ThreadDeletingError, UnknownThreadError
from hosting.listing import Window
from state.codec import read, write
from state.conversation import with_log_mark, without_oldest
from state.extension import LogMark
from state.models import entry_text
from tests.support.cluster.cluster import ADDRESS, AGENT, HUB, INSTANCE, AppProcess, Cluster, call
from tests.support.cluster.life import Life
from tests.support.state_documents import history_messages

pytestmark = pytest.mark.moved_time
Two = tuple[AppProcess, AppProcess]
FIRST = Window(limit=10, after=None, before=None, is_newest_first=False)
THEIRS = (
    '{"schemaVersion": "1.1.0", "data": {"conversationHistory": [{"$type": "request", "correlationId": "r1", '
    '"createdAt": "2026-01-01T00:00:00Z", "messages": '
    '[{"role": "user", "contents": [{"$type": "text", "text": "hi"}]}]}]}}'
)


async def output(app: AppProcess) -> list[str]:
    view = await app.threads.view(ADDRESS, app.engine)
    return [message.text for message in history_messages(view.conversation)]


async def archive_the_first(app: AppProcess) -> None:
    """Move the first turn to the archive, as an entity does that then dies behind its commit."""
    documents = app.cluster.engine.documents
    conversation = read(documents[INSTANCE])
    entries = conversation.data.conversation_history.stored
    await Archive(app.archive).put(Volume(app.place(0), 0), 1, [entry_text(entry) for entry in entries[:2]])
    documents[INSTANCE] = write(without_oldest(conversation, 2))


@pytest.mark.behaviour("service.threads")
async def test_a_thread_that_nobody_has_spoken_on_is_unknown(app: AppProcess) -> None:
    with pytest.raises(UnknownThreadError):
        await app.threads.view(ADDRESS, app.engine)


@pytest.mark.behaviour("service.reading")
async def test_a_thread_that_only_another_package_knows_is_read(app: AppProcess) -> None:
    app.cluster.engine.documents[INSTANCE] = THEIRS

    view = await app.threads.view(ADDRESS, app.engine)

    assert (await output(app), view.text, view.runs, view.head.position) == (["hi"], THEIRS, (), 0)


@pytest.mark.behaviour("service.reading")
@pytest.mark.behaviour("service.reading-a-run")
async def test_reading_a_thread_or_an_old_run_takes_few_calls_and_nothing_behind_it(two: Two) -> None:
    """The thread's head and its events, and the document from the engine; of a run its own events."""
    one, other = two
    ids = [await one.run(str(number)) for number in range(12)]
    view = await other.threads.view(ADDRESS, other.engine)
    seen = dict(other.store.calls)
    other.store.calls.clear()
    _, newest = await other.threads.runs(ADDRESS, 3, other.engine)

    assert [run.run_id for run in view.runs] == ids[::-1]
    assert [run.run_id for run in newest] == ids[:-4:-1]
    assert seen == dict(other.store.calls) == {"head": 1, "events": 1}
    reads = list[int]()
    for reading in ("found", "followed", "told"):
        before = other.store.events_read
        if reading == "found":
            run = await other.runs.find(ADDRESS, ids[0], other.engine)
        elif reading == "followed":
            told = [news async for news in other.following.follow(run, other.engine)]
            assert [update.event.kind for news in told for update in news] == ["accepted", "claimed", "completed"]
        else:
            assert [frame async for frame in tail(other.log, ADDRESS, ids[0])]
        reads.append(other.store.events_read - before)
    assert reads == [3, 3, 6]


@pytest.mark.behaviour("service.reading-a-run")
async def test_answers_to_approvals_are_read_behind_the_end_of_their_run(two: Two) -> None:
    """The run's row names its end, and people answer later."""
    one, other = two
    one.agent.asks = ["c1", "c2"]
    asked = await one.run("pay")
    first, second = (await one.runs.find(ADDRESS, asked, one.engine)).requested_approvals
    await one.http.post(f"/api/agents/{AGENT}/threads/t1/approvals/{first.id}", json={"approved": True})

    found = await other.runs.find(ADDRESS, asked, other.engine)

    assert [given.decision.id for given in found.answers] == [first.id]
    assert found.undecided == (second,)


@pytest.mark.behaviour("service.reading")
async def test_messages_are_those_of_the_archive_the_document_and_the_log(app: AppProcess) -> None:
    for message in ("one", "two"):
        await app.run(message)
    await archive_the_first(app)
    await app.answered("three")

    page = await app.threads.messages(ADDRESS, FIRST, app.engine)

    told = [json.loads(entry_text(entry))["messages"][0]["contents"][0]["text"] for _, entry in page.entries]
    assert told == ["one", "echo: one", "two", "echo: two", "three", "echo: three"]
    assert ([position for position, _ in page.entries], page.has_more) == ([1, 2, 3, 4, 5, 6], False)


@pytest.mark.behaviour("service.reading")
@pytest.mark.parametrize("is_newest_first", [False, True])
async def test_a_page_of_messages_ends_at_its_bytes(app: AppProcess, is_newest_first: bool) -> None:
    """However many entries it asks for: the next one goes on behind it, and none is left out or there twice."""
    for number in range(16):
        await app.answered(f"{number}".ljust(PAGE_BYTES // 20, "x"))
    edge, pages, has_more = None, list[list[int]](), True

    while has_more:
        window = Window(200, *((None, edge) if is_newest_first else (edge, None)), is_newest_first)
        page = await app.threads.messages(ADDRESS, window, app.engine)
        assert sum(len(entry_text(entry)) for _, entry in page.entries) < PAGE_BYTES
        pages.append([position for position, _ in page.entries])
        edge, has_more = pages[-1][-1], page.has_more

    positions = [position for page in pages for position in page]
    assert positions == list(range(32, 0, -1) if is_newest_first else range(1, 33))
    assert [len(page) for page in pages] == [19, 13]


@pytest.mark.behaviour("service.reset")
async def test_messages_of_a_thread_that_is_reset_while_they_are_read_are_read_again(app: AppProcess) -> None:
    await app.run("one")
    await archive_the_first(app)
    engine = app.cluster.engine
    await app.archive.erase(app.place(0))
    engine.next_documents = [engine.documents[INSTANCE]]
    engine.documents[INSTANCE] = write(read(None))

    page = await app.threads.messages(ADDRESS, FIRST, app.engine)

    assert page == MessagesPage([], has_more=False)


@pytest.mark.behaviour("service.reset")
async def test_a_reset_holds_in_every_process_once_it_is_answered(two: Two) -> None:
    """Whether the entity has carried it out or not."""
    one, other = two
    await one.answered("before")
    await one.threads.reset(ADDRESS, one.engine)

    run = await other.answered("after")

    assert other.agent.turns[-1] == ["after"]
    assert await output(one) == ["after", "echo: after"]
    assert one.engine.sent[1] == ("reset", {"position": 4})
    assert run.end is not None


@pytest.mark.behaviour("service.delete")
async def test_a_deleted_thread_leaves_a_tombstone_and_its_receipt(two: Two) -> None:
    one, other = two
    await one.run("secret")
    deleting = asyncio.ensure_future(one.threads.delete(ADDRESS, one.engine, 5.0))
    await asyncio.sleep(0.02)
    sent = list(one.engine.sent)
    await other.cluster.deliver(other)

    assert await deleting
    receipt = await other.threads.receipt(ADDRESS)
    assert (receipt.runs, receipt.reason) == (1, "asked")
    assert await one.kinds() == ["deleted", "settled", "settled"]
    assert (one.engine.documents, sent) == ({}, [("delete", {"logged": True})])


@pytest.mark.behaviour("service.delete")
async def test_whoever_meets_a_deletion_under_way_signals_for_it(two: Two) -> None:
    """The process that began it may have died before its own signal: reading, asking and cancelling all move it on."""
    one, other = two
    run = await one.answered()
    keyed = call("keyed", key="k1")
    await other.runs.wait(await one.start(keyed), other.engine, 5.0)
    one.agent.gate.clear()
    running = await one.start(call("open"))
    await one.log.execute(ADDRESS, DeleteThread(1.0))
    meetings: dict[str, Callable[[], Awaitable[object]]] = {
        "view": lambda: other.threads.view(ADDRESS, other.engine),
        "runs": lambda: other.threads.runs(ADDRESS, 10, other.engine),
        "reset": lambda: other.threads.reset(ADDRESS, other.engine),
        "find": lambda: other.runs.find(ADDRESS, running.run_id, other.engine),
        "find ended": lambda: other.runs.find(ADDRESS, run.run_id, other.engine),
        "cancel": lambda: other.runs.cancel(ADDRESS, running.run_id, other.engine),
        "key": lambda: other.start(keyed),
        "open": lambda: other.start(call("new")),
    }
    signalled = dict[str, int]()
    for name, meeting in meetings.items():
        other.cluster.engine.signals.clear()
        with suppress(ThreadDeletedError, ThreadDeletingError):
            await meeting()
        signalled[name] = [operation for operation, _ in other.engine.sent].count("delete")

    assert signalled == dict.fromkeys(meetings, 1)


@pytest.mark.behaviour("service.delete")
@pytest.mark.parametrize(("act", "turn_at"), [("reset", 3), ("find", 4), ("cancel", 4)])
async def test_whoever_a_deletion_overtakes_signals_for_it(cluster: Cluster, act: str, turn_at: int) -> None:
    """It is begun between what they read and what they append, by a process that dies then. A reset is refused."""
    other = cluster.process()
    other.agent.gate.clear()
    running = await other.start(call("open"))
    one = cluster.process(Life(turn_at=turn_at, meanwhile=lambda: other.log.execute(ADDRESS, DeleteThread(1.0))))
    cluster.engine.signals.clear()

    if act == "reset":
        with pytest.raises(ThreadDeletingError):
            await one.threads.reset(ADDRESS, one.engine)
    else:
        await (one.runs.find if act == "find" else one.runs.cancel)(ADDRESS, running.run_id, one.engine)

    assert cluster.engine.sent == [("delete", {"logged": True})]


@pytest.mark.behaviour("service.delete")
async def test_a_deletion_that_broke_off_is_finished_while_the_thread_lives_again(two: Two) -> None:
    """Callers had their 204 at the tombstone and went on; what is left of the life before goes all the same."""
    one, other = two
    await one.run("old")
    await Archive(one.archive).put(Volume(one.place(0), 0), 1, ['"old"'])
    await one.threads.delete(ADDRESS, one.engine, 0.0)
    one.store.fails_erasing = True
    with pytest.raises(LogUnavailableError):
        await one.operate({"logged": True}, "delete")
    one.store.fails_erasing = False
    await other.answered("new")

    await one.operate({"logged": True}, "delete")

    assert await one.kinds() == ["deleted", "accepted", "claimed", "completed"]
    assert (one.engine.documents, await one.archive.names(one.place(0))) == ({}, {})
    assert await output(one) == ["new", "echo: new"]


@pytest.mark.behaviour("service.delete")
async def test_a_deletion_takes_what_a_document_ahead_of_its_log_refers_to(app: AppProcess) -> None:
    """Where the log was restored without it: its archive and attachments lie under the epoch that it names."""
    later = LogMark(epoch=4, position=90, since=90)
    app.cluster.engine.documents[INSTANCE] = write(with_log_mark(read(None), later))
    await Archive(app.archive).put(Volume(app.place(4), 0), 1, ['"old"'])
    await app.attachments.put(app.place(4), {"0" * 64: b"old"})
    await app.threads.delete(ADDRESS, app.engine, 0.0)

    await app.operate({"logged": True}, "delete")

    assert app.engine.documents == {}
    assert await app.archive.epochs(store_key(HUB, ADDRESS)) == []
    assert await app.attachments.epochs(store_key(HUB, ADDRESS)) == []
