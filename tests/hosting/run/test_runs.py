"""Runs as callers see them: started, waited for from this process and another, signalled again, given up."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosting.errors import IdempotencyKeyReusedError, LogUnavailableError, UnknownRunError
from hosting.events import Signalled, Started
from hosting.ports import RunLogStore
from hosting.request.run_call import RunCall, Wait
from hosting.requests import RunRequest
from hosting.run.runs import LONGEST_POLL_SECONDS, RESIGNAL_SECONDS, Runs
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from hosting.runlog.sqlite import SqliteStore
from hosting.settings import read_settings
from hosting.thread.events import Failed
from tests.support.bench import ArmedStore, MovingClock, Signals
from tests.support.sample_events import completed

GUARD_SECONDS = 5.0


class Process:
    """What one process of the app has: its view of the log and its runs."""

    def __init__(self, store: RunLogStore, clock: MovingClock) -> None:
        self.log = RunLog(store)
        self.runs = Runs(self.log, read_settings({}), clock)
        self.client = Signals()

    async def start(self, message: str = "hi", key: str | None = None) -> RunRecord:
        """Start a run on the thread `t`, or attach to the key's."""
        call = RunCall(RunRequest(message=message), "t", Wait(), "json", key)
        return (await self.runs.start("Joker", call, self.client)).record


@pytest.fixture
def clock() -> MovingClock:
    """Time that the test moves."""
    return MovingClock()


@pytest.fixture
def store() -> ArmedStore:
    """One store for all processes of a test."""
    return ArmedStore()


@pytest.fixture
def process(store: ArmedStore, clock: MovingClock) -> Process:
    """The process that takes the request."""
    return Process(store, clock)


async def test_a_run_is_in_the_log_before_its_signal_is_sent(process: Process, store: ArmedStore) -> None:
    """The signal carries the run id and the mark that a log exists, and nothing of the request."""
    record = await process.start()

    assert process.client.sent == [("dafx-Joker", "t", "run", {"run_id": record.run_id, "logged": True})]
    assert store.kinds(record.run_id) == ["accepted"]


@pytest.mark.behaviour("turn.log-down")
async def test_with_the_log_away_nothing_is_started(process: Process, store: ArmedStore) -> None:
    """The refusal comes before the signal."""
    store.is_down = True

    with pytest.raises(LogUnavailableError):
        await process.start()

    assert process.client.sent == []


@pytest.mark.behaviour("turn.resignal")
async def test_a_signal_that_failed_leaves_an_accepted_run_that_who_waits_signals_again(
    process: Process, clock: MovingClock
) -> None:
    """An unclear error of the carrier is no error of the request."""
    process.client.is_lossy = True
    record = await process.start()
    process.client.is_lossy = False
    clock.now += RESIGNAL_SECONDS + 1

    found = await process.runs.find("joker", "t", record.run_id, process.client)

    assert len(process.client.sent) == 1
    assert found.signalled_at == clock.now


@pytest.mark.behaviour("turn.resignal")
async def test_of_many_who_look_at_a_silent_run_one_signals_it(store: ArmedStore, clock: MovingClock) -> None:
    """One compare-and-append decides, over processes."""
    processes = [Process(store, clock) for _ in range(4)]
    record = await processes[0].start()
    clock.now += RESIGNAL_SECONDS + 1

    await asyncio.gather(*(each.runs.find("Joker", "t", record.run_id, each.client) for each in processes * 3))

    assert sum(len(each.client.sent) for each in processes) == 1 + 1
    assert store.kinds(record.run_id) == ["accepted", "signalled"]


@pytest.mark.behaviour("turn.resignal")
async def test_a_run_that_was_signalled_lately_is_not_signalled_again(process: Process, clock: MovingClock) -> None:
    """And each silence is twice as long as the one before."""
    record = await process.start()
    sent = []
    for _ in range(60):
        clock.now += 1
        await process.runs.find("Joker", "t", record.run_id, process.client)
        sent.append(len(process.client.sent))

    assert [sent.index(count) + 1 for count in (2, 3, 4)] == [6, 13, 27]


@pytest.mark.behaviour("turn.resignal")
async def test_a_run_that_this_process_executes_is_not_signalled_again(process: Process, clock: MovingClock) -> None:
    """It is not silent, it is long; once the attempt is over without a record, whoever looks signals it."""
    claim = Started(at=clock.now, attempt=1, token="x", deadline=clock.now + 300)
    record = await process.log.append(await process.start(), claim)
    assert record is not None
    process.log.executing(record.run_id, lambda: None)
    clock.now += RESIGNAL_SECONDS + 1

    await process.runs.find("Joker", "t", record.run_id, process.client)
    while_executing = len(process.client.sent)
    process.log.release(record.run_id)
    await process.runs.find("Joker", "t", record.run_id, process.client)

    assert (while_executing, len(process.client.sent)) == (1, 2)


@pytest.mark.behaviour("turn.lost-runs-end")
@pytest.mark.parametrize(
    ("claimed", "late", "code"),
    [(False, 3601, "run_lost"), (False, 3599, None), (True, 300 + 91, "run_lost"), (True, 300 + 89, None)],
)
async def test_a_run_past_every_deadline_is_ended_by_whoever_looks(
    process: Process, clock: MovingClock, claimed: bool, late: float, code: str | None
) -> None:
    """Unclaimed past the queue's limit; claimed past its deadline and the redelivery's margin."""
    record = await process.start()
    if claimed:
        claim = Started(at=clock.now, attempt=1, token="x", deadline=clock.now + 300)
        assert await process.log.append(record, claim)
    clock.now += late

    found = await process.runs.find("Joker", "t", record.run_id, process.client)

    assert (found.terminal.code if isinstance(found.terminal, Failed) else None) == code


async def test_an_ended_run_is_not_looked_after(process: Process, clock: MovingClock) -> None:
    """Neither signalled nor lost, however old."""
    record = await process.start()
    ended = await process.log.append(record, completed())
    clock.now += 1_000_000

    assert await process.runs.find("Joker", "t", record.run_id, process.client) == ended
    assert len(process.client.sent) == 1


@pytest.mark.parametrize("place", [("Joker", "u"), ("other", "t")])
async def test_a_run_is_found_in_its_own_place_only(process: Process, place: tuple[str, str]) -> None:
    """Knowing a run's id opens no other thread."""
    record = await process.start()

    with pytest.raises(UnknownRunError):
        await process.runs.find(*place, record.run_id, process.client)


async def test_a_wait_ends_with_the_event_of_its_own_process(process: Process, clock: MovingClock) -> None:
    """Told directly, long before the next poll of a run that is executed here."""
    claim = Started(at=clock.now, attempt=1, token="x", deadline=clock.now + 300)
    record = await process.log.append(await process.start(), claim)
    assert record is not None
    waiting = asyncio.create_task(process.runs.wait(record, process.client, 100.0))
    await asyncio.sleep(0)

    ended = await process.log.append(record, completed())

    assert await asyncio.wait_for(waiting, LONGEST_POLL_SECONDS / 2) == ended


async def test_a_wait_that_runs_out_returns_the_run_as_it_stands(process: Process) -> None:
    """Open, and still there for the next look."""
    record = await process.start()

    assert await process.runs.wait(record, process.client, 0.05) == record


@pytest.fixture
async def two_processes(tmp_path: Path, clock: MovingClock) -> AsyncIterator[tuple[Process, Process]]:
    """Two processes over one SQLite file."""
    stores = [SqliteStore(tmp_path / "runs.sqlite") for _ in range(2)]
    yield Process(stores[0], clock), Process(stores[1], clock)
    for store in stores:
        await store.close()


async def test_a_wait_sees_what_another_process_did(two_processes: tuple[Process, Process]) -> None:
    """By polling the log that both share."""
    here, there = two_processes
    record = await here.start()
    waiting = asyncio.create_task(here.runs.wait(record, here.client, 100.0))

    found = await there.log.read(record.run_id)
    assert found is not None
    ended = await there.log.append(found, completed())

    assert await asyncio.wait_for(waiting, GUARD_SECONDS) == ended


async def test_a_key_leads_to_its_run_from_another_process(two_processes: tuple[Process, Process]) -> None:
    """The receipt is in the log, and signals nothing a second time."""
    here, there = two_processes
    record = await here.start(key="k")

    again = await there.start(key="k")

    assert again == record
    assert there.client.sent == []
    with pytest.raises(IdempotencyKeyReusedError):
        await there.start("another message", key="k")


async def test_a_process_that_lost_a_race_reads_the_record_it_lost_to(two_processes: tuple[Process, Process]) -> None:
    """What a process knows is never used against the store."""
    here, there = two_processes
    record = await here.start()
    known = await there.log.read(record.run_id)
    assert known is not None
    await here.log.append(record, Signalled(at=1.0))

    assert await there.log.append(known, completed()) is None
    assert await there.log.read(record.run_id) == await here.log.read(record.run_id)
