"""What every backend of the run log must do: `hosting.ports.RunLogStore`, in the order of its sentences."""

import asyncio

import pytest

from hosting.events import Event
from hosting.ports import Found, Opened
from hosting.run_record import RunRecord, fold
from tests.contracts.appending_process import append_until_won
from tests.contracts.conftest import OpenStore
from tests.contracts.sample_events import accepted, completed, failed, signalled, started


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

    assert not await store.append("run", started(), after)
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

    won = await asyncio.gather(here.append("run", completed(), 1), there.append("run", failed(), 1))

    assert sorted(won) == [False, True]
    assert (
        await here.read("run") == await there.read("run") == log(accepted("run"), completed() if won[0] else failed())
    )


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
        assert await store.append("run", event, position)

    assert await open_store().read("run") == log(accepted("run"), *events)


async def test_runs_do_not_see_each_other(open_store: OpenStore) -> None:
    """Positions count per run."""
    store = open_store()
    await store.open(accepted("one"))
    await store.open(accepted("two"))

    assert await store.append("two", failed(), after=1)
    assert await store.read("one") == log(accepted("one"))


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
