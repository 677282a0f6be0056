"""What goes by its age: events of living threads, and threads whose time to live is up; and what wins over that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from hosting.core.agent.held_run import read_run
from hosting.core.retention import DAY_SECONDS, EVENTS_BETWEEN_TRIMS, Retention
from hosting.core.thread.commands import TrimThread
from hosting.core.thread.rows import DeletedRow
from hosting.ports import read_utc
from state.codec import read
from state.extension import LogMark, host_of
from tests.support.cluster.cluster import ADDRESS, INSTANCE, THREAD, AppProcess, Cluster, call
from tests.support.cluster.engine import instance_of
from tests.support.state_documents import history_messages

pytestmark = pytest.mark.moved_time
DAYS = 30
TTL = 3600.0
Two = tuple[AppProcess, AppProcess]


def mark(app: AppProcess) -> LogMark:
    found = host_of(read(app.cluster.engine.documents[INSTANCE])).log_mark
    assert found is not None
    return found


async def trim(app: AppProcess, days: float, given: LogMark | None = None) -> None:
    """Have what is older than `DAYS` removed so many days from now."""
    app.cluster.wall_ahead += days * DAY_SECONDS
    await Retention(app.log, DAYS).trim(ADDRESS, given or mark(app))
    app.cluster.wall_ahead -= days * DAY_SECONDS


@pytest.mark.behaviour("service.retention")
@pytest.mark.behaviour("thread.metadata")
async def test_what_is_too_old_and_stored_goes_and_the_conversation_stays(two: Two) -> None:
    """And the thread's metadata; large events go from the attachments too."""
    one, other = two
    for metadata in ({"for": "an old test"}, {"for": "a test"}):
        await one.threads.describe(ADDRESS, metadata, one.engine)
    run_id = await one.run("x" * 100_000)
    kept = [len(await one.attachments.names(one.place(0)))]

    await trim(one, DAYS + 1)
    view = await other.threads.view(ADDRESS, other.engine)
    kept.append(len(await one.attachments.names(one.place(0))))

    assert (await one.kinds(), kept) == (["trimmed"], [2, 0])
    assert await read_run(other.log, ADDRESS, run_id) is None
    assert [message.text[:7] for message in history_messages(view.conversation)] == ["xxxxxxx", "echo: x"]
    assert (view.runs, (await other.log.head(ADDRESS)).metadata) == ((), {"for": "a test"})


@pytest.mark.behaviour("service.retention")
async def test_all_that_is_too_old_goes_at_one_look(app: AppProcess) -> None:
    """Also runs that began in one piece and ended in another; a second look finds nothing and removes nothing."""
    app.agent.gate.clear()
    run = await app.start(call())
    for number in range(3 * EVENTS_BETWEEN_TRIMS):
        await app.threads.describe(ADDRESS, {"number": str(number)}, app.engine)
    app.agent.gate.set()
    await app.runs.wait(run, app.engine, 5.0)
    await app.deliver(run.run_id)

    await trim(app, DAYS + 1)
    kinds = await app.kinds()
    await trim(app, DAYS + 1)

    assert kinds == await app.kinds() == ["trimmed"]
    assert app.store.calls["trim"] == 1


@pytest.mark.behaviour("service.retention")
async def test_what_the_given_document_lacks_stays_however_old(app: AppProcess) -> None:
    """A document that is only about to be stored may never be."""
    await app.run("one")
    given = mark(app)
    await app.run("two")

    await trim(app, DAYS + 1, given)

    assert (await app.log.head(ADDRESS)).trimmed == given.since
    _, runs = await app.threads.runs(ADDRESS, 10, app.engine)
    assert runs[0].accepted.request.message == "two"


@pytest.mark.behaviour("service.retention")
async def test_a_run_goes_only_when_its_end_is_too_old(app: AppProcess) -> None:
    """Its status and its key are kept for so long behind it."""
    app.agent.gate.clear()
    run = await app.start(call(key="k"))
    await asyncio.sleep(10.0)
    app.agent.gate.set()
    await app.runs.wait(run, app.engine, 5.0)
    await app.deliver(run.run_id)

    await trim(app, DAYS - 5.0 / DAY_SECONDS)

    assert (await app.runs.find(ADDRESS, run.run_id, app.engine)).run_id == run.run_id
    assert (await app.log.head(ADDRESS)).trimmed == 0


@pytest.mark.behaviour("service.retention")
async def test_a_process_that_dies_before_the_store_removed_anything_leaves_it_to_the_next_look(two: Two) -> None:
    one, other = two
    run_id = await one.run("hi")
    await one.log.execute(ADDRESS, TrimThread(one.cluster.wall(), mark(one).since))
    found = await read_run(other.log, ADDRESS, run_id)

    await trim(other, DAYS)

    assert (found, await other.kinds()) == (None, ["trimmed"])


@pytest.fixture
async def timed() -> AsyncIterator[AppProcess]:
    """A process whose agent has a time to live."""
    cluster = Cluster(registered={"ttl_seconds": TTL})
    yield cluster.process()
    await cluster.close()


def expiration(app: AppProcess) -> float | None:
    text = json.loads(app.cluster.engine.documents[INSTANCE])["data"].get("expirationTimeUtc")
    return None if text is None else read_utc(text)


async def left(app: AppProcess, run_id: str) -> float:
    """Return how long the thread lives behind the end of a run."""
    ends_at = expiration(app)
    assert ends_at is not None
    return round(ends_at - (await app.terminal(run_id)).at)


async def expire(app: AppProcess, thread_id: str = THREAD, *, commit: bool = True) -> None:
    await app.operate({"logged": True}, "expire", thread_id, commit=commit)


@pytest.mark.behaviour("erasure.time-to-live")
async def test_a_run_without_an_answer_begins_it_only_where_there_is_none(timed: AppProcess) -> None:
    """A thread that never had an answer does not stay for ever."""
    timed.agent.fails = [RuntimeError("the model is away")] * 2
    failed = await timed.run("one")
    first = await left(timed, failed)
    timed.cluster.wall_ahead += 1800

    await timed.run("two")

    assert (first, await left(timed, failed)) == (TTL, TTL)


@pytest.mark.behaviour("erasure.time-to-live")
@pytest.mark.parametrize(("operation", "value"), [("expire", {"logged": True}), ("CheckAndDeleteIfExpired", None)])
async def test_a_thread_is_deleted_once_its_time_is_up(timed: AppProcess, operation: str, value: object) -> None:
    """By the sweep's order, or the reminder that the .NET package sent to the thread's own entity."""
    run_id = await timed.run("one")
    timed.cluster.wall_ahead += TTL - 60
    await timed.operate(value, operation)
    assert timed.places() == [run_id]

    timed.cluster.wall_ahead += 60
    await timed.operate(value, operation)

    assert timed.cluster.engine.documents == {}
    assert isinstance(await read_run(timed.log, ADDRESS, run_id), DeletedRow)


@pytest.mark.behaviour("erasure.message-wins")
async def test_a_message_at_the_last_second_wins(timed: AppProcess) -> None:
    """The run is open when the thread is asked: it is answered, knows what was said, and begins the time anew."""
    await timed.run("one")
    timed.cluster.wall_ahead += TTL
    run_id = await timed.open("recall")

    await expire(timed)
    await timed.deliver(run_id)

    assert timed.agent.turns[-1] == ["one", "echo: one", "recall"]
    assert await left(timed, run_id) == TTL


@pytest.mark.behaviour("erasure.message-wins")
async def test_an_end_that_was_lost_before_its_commit_comes_with_its_second_delivery(timed: AppProcess) -> None:
    """The tombstone stands: the document goes too, also when a message came in between, which begins a new one."""
    await timed.run("one")
    timed.cluster.wall_ahead += TTL
    await expire(timed, commit=False)
    other = timed.cluster.process()
    later = await other.open("two")

    await expire(other)
    await other.deliver(later)

    assert (other.places(), other.agent.turns) == ([later], [["two"]])


@pytest.mark.behaviour("erasure.time-to-live")
async def test_a_thread_follows_what_the_app_says_of_its_agent_now(timed: AppProcess) -> None:
    """Without a time to live nothing ends, and the next answer takes the end away; with one, it begins when found."""
    cluster = timed.cluster
    await timed.run("one")
    cluster.wall_ahead += TTL
    cluster.registered, before = {}, dict(cluster.engine.documents)
    without = cluster.process()
    await expire(without)
    assert cluster.engine.documents == before
    await without.run("two")
    assert expiration(without) is None

    await expire(timed)
    begun = dict(cluster.engine.documents)
    cluster.wall_ahead += TTL
    await expire(timed)

    assert (len(begun), cluster.engine.documents) == (1, {})


@pytest.mark.behaviour("erasure.time-to-live")
async def test_times_of_other_packages_are_read_and_others_are_never_up(timed: AppProcess) -> None:
    """A time that cannot be understood deletes nothing."""
    documents, is_deleted = timed.cluster.engine.documents, dict[str, bool]()
    times = {
        "2020-01-02T03:04:05.1234567Z": True,
        "2020-01-02T03:04:05+00:00": True,
        "2099-01-02T03:04:05Z": False,
        "2020-13-02T03:04:05Z": False,
        "2020-01-02T03:04:05+02:00": False,
        "soon": False,
    }
    for number, written in enumerate(times):
        instance = instance_of(*timed.address(f"t{number}").entity)
        data = {"conversationHistory": [], "expirationTimeUtc": written}
        documents[instance] = json.dumps({"schemaVersion": "1.2.0", "data": data})
        await expire(timed, f"t{number}")
        is_deleted[written] = instance not in documents

    assert is_deleted == times
