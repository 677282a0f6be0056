"""What every backend of the run log must do: `hosting.ports.RunLogStore`, in the order of its sentences."""

import asyncio
import hashlib
from dataclasses import replace

import pytest

from hosting.events import Delta, Event, Place
from hosting.ports import Deleting, Deletion, Erased, Found, Opened, QueueFull
from hosting.requests import RunRequest
from hosting.run_record import RunRecord, fold
from tests.contracts.appending_process import append_until_won
from tests.contracts.run_log_stores import EXACT_BACKENDS, OpenStore
from tests.support.sample_events import accepted, answered, cancel_requested, completed, failed, signalled, started

PLACE = Place("joker", "thread")


@pytest.mark.behaviour("turn.log-opens-with-the-request")
async def test_a_run_that_is_new_is_opened_with_its_request(open_store: OpenStore) -> None:
    """The first event is the whole request, at position 1."""
    opened = await open_store().open(accepted("run"))

    assert opened == Opened(RunRecord(accepted=accepted("run"), position=1, signalled_at=1.25))


async def test_a_run_that_exists_is_found_as_it_stands(open_store: OpenStore) -> None:
    """The second open writes nothing, whatever it would have written."""
    store = open_store()
    await store.open(accepted("run"))
    await store.append("run", started(), after=1)

    found = await open_store().open(accepted("run", fingerprint="another"))

    assert found == Found(log(accepted("run"), started()))


@pytest.mark.behaviour("turn.log-opens-with-the-request")
async def test_of_many_who_open_one_run_at_once_one_creates_it(open_store: OpenStore) -> None:
    """Create-if-absent decides, over as many stores as there are processes."""
    stores = [open_store() for _ in range(4)]

    outcomes = await asyncio.gather(*(store.open(accepted("run")) for store in stores for _ in range(4)))

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Found"] * 15 + ["Opened"]


async def test_a_receipt_leads_to_the_run_that_it_was_written_with(open_store: OpenStore) -> None:
    """A second request under the same receipt finds the first one's run, and its own run id stays unused."""
    store = open_store()
    await store.open(accepted("first"), receipt="key")

    found = await store.open(accepted("second"), receipt="key")

    assert found == Found(log(accepted("first")))
    assert await store.read("second") is None


async def test_of_many_with_one_receipt_at_once_all_get_one_run(open_store: OpenStore) -> None:
    """Receipt and log are one step, so no two runs can have one receipt."""
    stores = [open_store() for _ in range(4)]

    outcomes = await asyncio.gather(
        *(store.open(accepted(f"run-{n}"), receipt="key") for n, store in enumerate(stores * 4))
    )

    assert len({outcome.record.run_id for outcome in outcomes}) == 1
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Found"] * 15 + ["Opened"]


async def test_receipts_do_not_meet(open_store: OpenStore) -> None:
    """Another receipt, or none, opens a run of its own."""
    store = open_store()
    await store.open(accepted("first"), receipt="key")

    assert isinstance(await store.open(accepted("second"), receipt="other key"), Opened)
    assert isinstance(await store.open(accepted("third")), Opened)


@pytest.mark.parametrize("after", [0, 2, 7])
async def test_an_append_behind_another_position_than_the_last_is_refused(open_store: OpenStore, after: int) -> None:
    """Compare-and-append: the writer must know the log as it stands."""
    store = open_store()
    await store.open(accepted("run"))

    assert not await store.append("run", started(), after=after)
    assert await store.read("run") == log(accepted("run"))


async def test_an_append_to_a_run_that_is_not_there_is_refused(open_store: OpenStore) -> None:
    """A log begins with `accepted` and with nothing else."""
    store = open_store()

    assert not await store.append("run", started(), after=0)
    assert await store.read("run") is None


@pytest.mark.behaviour("turn.one-terminal-record")
async def test_of_two_terminal_records_at_once_one_is_appended(open_store: OpenStore) -> None:
    """The loser is told so, and both read the same outcome."""
    here, there = open_store(), open_store()
    await here.open(accepted("run"))

    won = await asyncio.gather(here.append("run", completed(), after=1), there.append("run", failed(), after=1))

    assert sorted(won) == [False, True]
    assert (
        await here.read("run") == await there.read("run") == log(accepted("run"), completed() if won[0] else failed())
    )


@pytest.mark.behaviour("approvals.once")
async def test_of_two_answers_behind_a_runs_end_one_is_appended(open_store: OpenStore) -> None:
    """A run that has ended takes them as an open one does, and does not count as open for it."""
    here, there = open_store(), open_store()
    await here.open(accepted("run"))
    await here.append("run", completed(), after=1)

    won = await asyncio.gather(
        here.append("run", answered(approved=True), after=2), there.append("run", answered(approved=False), after=2)
    )

    assert sorted(won) == [False, True]
    stands = log(accepted("run"), completed(), answered(approved=won[0]))
    assert await here.read("run") == await there.read("run") == stands
    assert isinstance(await here.open(accepted("next"), most_open=1), Opened)


async def test_positions_have_no_gap_and_no_event_is_lost_or_doubled_under_contention(open_store: OpenStore) -> None:
    """Four writers with ten appends each make forty positions behind the first."""
    await asyncio.gather(*(append_until_won(open_store(), "run", wins=10, mark=100.0 * n) for n in range(4)))

    record = await open_store().read("run")

    assert record is not None
    assert record.position == 41


async def test_what_is_read_is_what_was_written(open_store: OpenStore) -> None:
    """Every member of every event, over another store's eyes."""
    store = open_store()
    await store.open(accepted("run"))
    events: list[Event] = [signalled(5.0), started("mine"), completed()]
    for position, event in enumerate(events, start=1):
        assert await store.append("run", event, after=position)

    assert await open_store().read("run") == log(accepted("run"), *events)


async def test_several_events_are_appended_together_or_not_at_all(open_store: OpenStore) -> None:
    """At positions one behind the other; an end among them counts as one."""
    store = open_store()
    await store.open(accepted("run"), most_open=1)

    assert await store.append("run", started(), signalled(5.0), completed(), after=1)
    assert not await store.append("run", signalled(6.0), signalled(7.0), after=3)

    assert await open_store().read("run") == log(accepted("run"), started(), signalled(5.0), completed())
    assert isinstance(await store.open(accepted("next"), most_open=1), Opened)


async def test_a_burst_of_turns_is_carried_to_the_end(open_store: OpenStore) -> None:
    """More at once than a client has connections: they wait for each other, and none is refused."""
    store = open_store()

    async def turn(run_id: str) -> bool:
        await store.open(accepted(run_id, thread_id=run_id), most_open=32)
        return await store.append(run_id, started(), completed(), after=1)

    assert all(await asyncio.gather(*(turn(f"run-{n}") for n in range(150))))


async def test_runs_do_not_see_each_other(open_store: OpenStore) -> None:
    """Positions count per run."""
    store = open_store()
    await store.open(accepted("one"))
    await store.open(accepted("two"))

    assert await store.append("two", failed(), after=1)
    assert await store.read("one") == log(accepted("one"))


@pytest.mark.behaviour("turn.queue-limit")
async def test_a_thread_with_as_many_open_runs_as_may_be_takes_no_more(open_store: OpenStore) -> None:
    """Ended runs do not count, nor do those of other threads; a refused run is not written."""
    store = open_store()
    for run_id in ("one", "two", "three"):
        await store.open(accepted(run_id), most_open=3)
    await store.append("three", completed(), after=1)

    assert isinstance(await store.open(accepted("fourth"), most_open=3), Opened)
    assert await store.open(accepted("fifth"), most_open=3) == QueueFull(3)
    assert await store.read("fifth") is None
    assert isinstance(await store.open(accepted("elsewhere", thread_id="other"), most_open=3), Opened)


@pytest.mark.behaviour("turn.queue-limit")
@pytest.mark.parametrize("open_store", EXACT_BACKENDS, indirect=True)
async def test_open_runs_count_whoever_opened_and_ended_them(open_store: OpenStore) -> None:
    """Where counting costs no storage call, the bound holds for all processes together."""
    here, there = open_store(), open_store()
    await here.open(accepted("one"), most_open=1)

    assert await there.open(accepted("two"), most_open=1) == QueueFull(1)
    await there.append("one", completed(), after=1)
    assert isinstance(await here.open(accepted("two"), most_open=1), Opened)


async def test_a_run_that_another_process_ended_makes_room(open_store: OpenStore) -> None:
    """A process looks again before it refuses."""
    here, there = open_store(), open_store()
    await here.open(accepted("one"), most_open=1)

    await there.append("one", completed(), after=1)

    assert isinstance(await here.open(accepted("two"), most_open=1), Opened)


async def test_an_append_that_is_repeated_after_its_answer_was_lost_changes_nothing(open_store: OpenStore) -> None:
    """Whether it is told as done or not, every event is there once, and others' events are not taken for it."""
    store = open_store()
    await store.open(accepted("run"))
    await store.append("run", started(), after=1)

    await open_store().append("run", started(), after=1)

    assert not await open_store().append("run", started("another"), after=1)
    assert not await open_store().append("run", started(), completed(), after=1)
    assert await store.read("run") == log(accepted("run"), started())


async def test_a_request_of_any_size_is_read_as_it_was_written(open_store: OpenStore) -> None:
    """What fits no header or no single value goes elsewhere, and is found by its thread, and erased with it."""
    store = open_store()
    request = RunRequest(message="".join(hashlib.sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(2000)))
    large = accepted("run").model_copy(update={"request": request})

    assert await store.open(large) == Opened(log(large))
    assert await open_store().read("run") == log(large)
    assert await open_store().runs_of(PLACE, limit=1) == [log(large)]
    await store.erase(PLACE, Deletion("first", "digest"))
    assert await open_store().read("run") == Erased("run")


async def test_a_run_that_was_erased_by_another_process_takes_no_more_events(open_store: OpenStore) -> None:
    """What this process knew of the log is no reason to write."""
    here, there = open_store(), open_store()
    await here.open(accepted("run"))

    await there.erase(PLACE, Deletion("first", "digest"))

    assert not await here.append("run", started(), after=1)
    assert await here.read("run") == Erased("run")


async def test_a_run_that_exists_is_found_however_full_its_thread_is(open_store: OpenStore) -> None:
    """Attaching to a run adds none."""
    store = open_store()
    await store.open(accepted("one"), receipt="key", most_open=1)

    assert await store.open(accepted("again"), receipt="key", most_open=1) == Found(log(accepted("one")))


@pytest.mark.behaviour("turn.cancel")
async def test_wishes_to_cancel_are_found_in_one_look(open_store: OpenStore) -> None:
    """Of the runs asked for only, and from any process."""
    store = open_store()
    for run_id in ("one", "two", "three"):
        await store.open(accepted(run_id))
    for run_id in ("one", "three"):
        await store.append(run_id, cancel_requested(), after=1)

    assert await open_store().cancel_requests(["one", "two", "unknown"]) == {"one"}
    assert await open_store().read("one") == log(accepted("one"), cancel_requested())


async def test_the_runs_of_a_thread_come_newest_first(open_store: OpenStore) -> None:
    """As many as are asked for, with the agent's name in any letter case."""
    store = open_store()
    for number in range(5):
        await store.open(accepted(f"run-{number}", at=10.0 + number))
    await store.open(accepted("elsewhere", thread_id="other"))

    runs = await open_store().runs_of(PLACE, limit=3)

    assert runs == [log(accepted(f"run-{number}", at=10.0 + number)) for number in (4, 3, 2)]


@pytest.mark.behaviour("turn.delete")
async def test_a_thread_that_is_marked_for_deletion_takes_no_runs(open_store: OpenStore) -> None:
    """Whoever marks it again finds the first mark; the runs that are there stay readable until they are erased."""
    store = open_store()
    await store.open(accepted("one"))

    assert await store.mark_deleting(PLACE, "first") == Deletion("first")
    assert await open_store().mark_deleting(PLACE, "second") == Deletion("first")
    assert await store.open(accepted("two")) == Deleting()
    assert isinstance(await store.open(accepted("elsewhere", thread_id="other")), Opened)
    assert await open_store().deletion(PLACE) == Deletion("first")
    assert await store.read("one") == log(accepted("one"))


@pytest.mark.behaviour("turn.delete")
async def test_of_an_erased_run_only_its_id_and_its_receipt_remain(open_store: OpenStore) -> None:
    """Both say that it was deleted; the thread takes new runs, and other threads are as they were."""
    store = open_store()
    await store.open(accepted("one"), receipt="key")
    await store.open(accepted("elsewhere", thread_id="other"))
    await store.mark_deleting(PLACE, "first")

    erased = await store.erase(PLACE, Deletion("first", "digest"))

    assert erased == Deletion("first", "digest", runs=1)
    assert await open_store().read("one") == Erased("one")
    assert await open_store().open(accepted("two"), receipt="key") == Erased("one")
    assert not await store.append("one", completed(), after=1)
    assert await store.deletion(PLACE) == erased
    assert await store.runs_of(PLACE, limit=9) == []
    assert await store.read("elsewhere") == log(accepted("elsewhere", thread_id="other"))
    assert isinstance(await store.open(accepted("three"), most_open=1), Opened)
    assert await store.mark_deleting(PLACE, "second") == Deletion("second")


@pytest.mark.behaviour("erasure.message-wins")
async def test_a_thread_is_not_erased_while_a_run_is_open_where_that_was_asked(open_store: OpenStore) -> None:
    """Nothing is changed then, and no mark is left; once the run has ended it is erased."""
    store = open_store()
    for run_id in ("ended", "open"):
        await store.open(accepted(run_id))
    await store.append("ended", completed(), after=1)

    assert await open_store().erase(PLACE, Deletion("first", "digest"), unless_open=True) is None
    assert await store.read("ended") == log(accepted("ended"), completed())
    assert await store.deletion(PLACE) is None

    await store.append("open", failed(), after=1)
    erased = await open_store().erase(PLACE, Deletion("first", "digest"), unless_open=True)
    assert erased == await store.deletion(PLACE) == Deletion("first", "digest", runs=2)


@pytest.mark.behaviour("erasure.receipt")
async def test_a_receipt_is_kept_with_its_own_deletion_only(open_store: OpenStore) -> None:
    """One that comes late, when the thread is deleted again, changes nothing."""
    store = open_store()
    await store.open(accepted("one"))
    erased = await store.erase(PLACE, Deletion("first", "digest"))
    assert erased is not None
    settled = replace(erased, receipt='{"runs": 1}')

    await open_store().settle(PLACE, settled)
    assert await store.deletion(PLACE) == settled

    await store.mark_deleting(PLACE, "second")
    await open_store().settle(PLACE, settled)
    assert await store.deletion(PLACE) == Deletion("second")


async def test_a_closed_store_may_be_used_again(open_store: OpenStore) -> None:
    """Closing lets go of files and threads; the logs stay."""
    store = open_store()
    await store.open(accepted("run"))
    await store.close()

    assert await store.read("run") == log(accepted("run"))
    assert await store.append("run", started(), after=1)


def log(*events: Event) -> RunRecord:
    """Return the record that a log of these events folds to."""
    record = fold(events)
    assert record is not None
    return record


@pytest.mark.behaviour("streams.resume")
async def test_events_are_read_from_any_position(open_store: OpenStore) -> None:
    """By whoever wrote them and by another process, again and again while the log grows."""
    writer, reader = open_store(), open_store()
    log_of_run: list[Event] = [accepted("run"), started()]
    await writer.open(accepted("run"))
    await writer.append("run", started(), after=1)

    assert await reader.events("run", 0) == tuple(log_of_run)
    assert await reader.events("run", 2) == ()
    log_of_run += [Delta(at=3.0, text="ü\n\u2028 😀"), Delta(at=3.0, text="b"), completed()]
    await writer.append("run", *log_of_run[2:4], after=2)
    assert await reader.events("run", 2) == tuple(log_of_run[2:4])
    assert await reader.events("run", 4) == ()
    await writer.append("run", log_of_run[4], after=4)
    assert await reader.events("run", 4) == tuple(log_of_run[4:])

    for store in (writer, reader, open_store()):
        for after in range(7):
            assert await store.events("run", after) == tuple(log_of_run[after:])


async def test_events_of_a_run_that_is_not_there_are_none_and_of_an_erased_one_say_so(open_store: OpenStore) -> None:
    """So a follower ends instead of waiting for ever."""
    store = open_store()
    await store.open(accepted("run"))
    mark = await store.mark_deleting(PLACE, "deletion")
    await store.erase(PLACE, Deletion(mark.id, "digest"))

    assert await store.events("run", 0) == Erased("run")
    assert await open_store().events("run", 0) == Erased("run")
    assert await store.events("another", 0) is None


@pytest.mark.behaviour("streams.retention")
async def test_ended_runs_are_removed_by_their_age_and_their_receipts_stay(open_store: OpenStore) -> None:
    """One that has not ended stays, however old, and so does one that is not old enough."""
    store = open_store()
    for run_id, at in (("old", 10.0), ("older", 5.0), ("open", 1.0), ("new", 20.0)):
        await store.open(accepted(run_id, at=at), receipt=f"key of {run_id}")
    for run_id in ("old", "older", "new"):
        await store.append(run_id, completed(), after=1)

    assert await open_store().expire(20.0, limit=10) == 2
    assert await store.expire(20.0, limit=10) == 0

    assert [await store.read(run_id) for run_id in ("old", "older")] == [Erased("old"), Erased("older")]
    assert [record.run_id for record in await store.runs_of(PLACE, 10)] == ["new", "open"]
    assert await store.open(accepted("again"), receipt="key of old") == Erased("old")


@pytest.mark.behaviour("streams.retention")
async def test_no_more_runs_are_removed_at_once_than_was_asked_for(open_store: OpenStore) -> None:
    """The next call goes on."""
    store = open_store()
    for number in range(5):
        await store.open(accepted(f"run-{number}", thread_id=f"t{number % 2}"))
        await store.append(f"run-{number}", completed(), after=1)

    assert [await store.expire(100.0, limit=2) for _ in range(4)] == [2, 2, 1, 0]
