"""What the blob run log promises beyond the contract: how few calls, and an outcome whatever the account does."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator

import pytest

from hosting.errors import RunLogUnavailableError
from hosting.events import Place, RunRequest
from hosting.identity import place_digest
from hosting.ports import Deleting, Deletion, Erased, Opened, Opening
from hosting.runlog.blob import BlobStore, run_log_container
from tests.contracts.blob_process import Process, everything
from tests.contracts.storage_line import StorageLine, busy_server, connect_over, detour, lose_answers, never_answer
from tests.support.azurite import Azurite
from tests.support.sample_events import accepted, cancel_requested, completed, signalled, started

pytestmark = pytest.mark.slow
PLACE = Place("joker", "thread")
OWN_ID = f"{place_digest(PLACE)}-1"
"""A run id that leads from the thread to the run by itself."""


@pytest.fixture
def container() -> str:
    """A container of the test's own."""
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
async def here(azurite: Azurite, container: str) -> AsyncIterator[Process]:
    """The process that opens runs."""
    process = Process(azurite, container)
    await process.warm()
    yield process
    process.line.fault = None
    await process.store.close()


@pytest.fixture
async def there(azurite: Azurite, container: str) -> AsyncIterator[Process]:
    """Another process of the app."""
    process = Process(azurite, container)
    await process.warm()
    yield process
    process.line.fault = None
    await process.store.close()


@pytest.mark.behaviour("turn.blob-calls")
@pytest.mark.parametrize(
    ("run_id", "receipt", "calls"), [(OWN_ID, None, 3), ("any-id", None, 4), (OWN_ID, "key", 4), ("any-id", "key", 5)]
)
async def test_a_turn_that_nobody_streams_costs_three_calls(
    here: Process, run_id: str, receipt: str | None, calls: int
) -> None:
    """Open, claim, end; one more for an idempotency key, one more for an id that does not tell its thread."""
    await here.store.open(accepted(run_id), receipt=receipt, most_open=32)
    await here.store.append(run_id, started(), after=1)
    await here.store.append(run_id, completed(), after=2)

    assert len(here.line.calls) == calls


@pytest.mark.behaviour("turn.blob-calls")
async def test_a_turn_that_another_process_takes_costs_one_look_more(here: Process, there: Process) -> None:
    """The entity reads what it did not open."""
    await here.store.open(accepted(OWN_ID))
    await there.store.read(OWN_ID)
    await there.store.append(OWN_ID, started(), after=1)
    await there.store.append(OWN_ID, completed(), after=2)

    assert (len(here.line.calls), len(there.line.calls)) == (1, 3)


@pytest.mark.behaviour("turn.blob-calls")
async def test_a_look_at_a_run_that_waits_or_is_known_to_be_claimed_is_one_call(here: Process, there: Process) -> None:
    """Who waits asks often: only the look that learns of the claim costs two."""
    await here.store.open(accepted(OWN_ID))
    await here.store.read(OWN_ID)
    await there.store.read(OWN_ID)
    await there.store.append(OWN_ID, started(), after=1)
    here.line.calls.clear()
    await here.store.read(OWN_ID)
    learned = len(here.line.calls)
    await here.store.read(OWN_ID)

    assert (learned, len(here.line.calls)) == (2, 3)


async def test_storage_calls_are_not_logged_one_by_one(here: Process, caplog: pytest.LogCaptureFixture) -> None:
    """An app that logs at INFO, as apps on Azure do, is not flooded with the headers of every call."""
    with caplog.at_level(logging.INFO):
        await here.store.open(accepted("run"))

    assert caplog.messages == []


@pytest.mark.behaviour("turn.queue-limit")
async def test_openings_that_failed_do_not_fill_the_thread(here: Process) -> None:
    """Nor those whose caller went away."""
    async with busy_server(500) as origin:
        here.line.fault = detour(3, origin)
        with pytest.raises(RunLogUnavailableError):
            await here.store.open(accepted("one"), most_open=1)
    here.line.fault = never_answer
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(here.store.open(accepted("two"), most_open=1), timeout=0.05)

    here.line.fault = None
    assert isinstance(await here.store.open(accepted("three"), most_open=1), Opened)


async def test_wishes_to_cancel_are_looked_for_in_one_call_and_gone_with_the_run(here: Process, there: Process) -> None:
    """However many runs a process executes; ended runs do not make the look longer."""
    run_ids = [f"run-{n}" for n in range(5)]
    for run_id in run_ids:
        await here.store.open(accepted(run_id))
        await there.store.append(run_id, cancel_requested(), after=1)
    here.line.calls.clear()

    assert await here.store.cancel_requests(run_ids) == set(run_ids)
    assert len(here.line.calls) == 1

    for run_id in run_ids:
        await here.store.append(run_id, completed(), after=2)
        await here.store.read(run_id)
        await here.store.append(run_id, completed(), after=2)
    assert await there.store.cancel_requests(run_ids) == set()


async def test_runs_are_found_by_their_thread_with_and_without_an_entry(here: Process, there: Process) -> None:
    """Also where ids begin alike."""
    for at, run_id in enumerate((OWN_ID, "any-id", f"{OWN_ID}2")):
        await here.store.open(accepted(run_id, at=float(at)))
    await here.store.open(accepted(f"{place_digest(PLACE)}-other", thread_id="other"))

    found = [record.run_id for record in await there.store.runs_of(PLACE, limit=9)]

    assert found == [f"{OWN_ID}2", "any-id", OWN_ID]


@pytest.mark.behaviour("turn.delete")
@pytest.mark.parametrize("size", [5, 50_000])
async def test_what_was_erased_is_in_no_blob(azurite: Azurite, here: Process, container: str, size: int) -> None:
    """Neither in a body, nor in metadata, nor in an entry, however large the request was."""
    request = RunRequest(message="".join(f"canary-{n}" for n in range(size)))
    await here.store.open(accepted("run").model_copy(update={"request": request}), receipt="key")
    await here.store.append("run", completed().model_copy(update={"entry": {"text": "canary-9f27"}}), after=1)

    await here.store.erase(PLACE, Deletion("first", "digest"))

    left = await everything(azurite, container)
    assert sorted(left) == ["mark/joker/thread", next(name for name in left if name.startswith("receipt/")), "run/run"]
    assert left["run/run"] == (b"", {"erased": "1"})


@pytest.mark.behaviour("turn.log-unavailable")
async def test_an_account_that_throttles_for_a_moment_delays_a_run(here: Process) -> None:
    """The client repeats what the account turned away."""
    async with busy_server(503) as origin:
        here.line.fault = detour(2, origin)

        assert isinstance(await here.store.open(accepted(OWN_ID)), Opened)


@pytest.mark.behaviour("turn.log-unavailable")
@pytest.mark.parametrize("status", [429, 503, 500, 403])
async def test_an_account_that_goes_on_refusing_is_reported_as_unavailable(here: Process, status: int) -> None:
    """And the same store goes on when the account does."""
    await here.store.open(accepted(OWN_ID))
    async with busy_server(status) as origin:
        here.line.fault = detour(99, origin)
        with pytest.raises(RunLogUnavailableError):
            await here.store.append(OWN_ID, started(), after=1)

    here.line.fault = None
    assert await here.store.append(OWN_ID, started(), after=1)


@pytest.mark.behaviour("turn.log-unavailable")
async def test_an_account_that_never_answers_is_reported_as_unavailable(azurite: Azurite, container: str) -> None:
    """Within the store's patience, whatever is asked."""
    line = StorageLine()
    store = BlobStore(
        run_log_container(connect_over(line, azurite.connection_string), container, patience_seconds=0.05)
    )
    line.fault = never_answer

    for ask in (store.open(accepted("run")), store.read("run"), store.cancel_requests(["run"])):
        with pytest.raises(RunLogUnavailableError):
            await ask
    await store.close()


async def test_an_append_whose_answer_was_lost_is_known_as_done(here: Process, there: Process) -> None:
    """The client's repeat is refused by the version, and the store sees that the lines there are its own."""
    await here.store.open(accepted(OWN_ID))
    here.line.fault = lose_answers(1, "PUT")

    assert await here.store.append(OWN_ID, started("mine"), after=1)

    record = await there.store.read(OWN_ID)
    assert record is not None
    assert not isinstance(record, Erased)
    assert (record.position, record.is_held_by("mine")) == (2, True)


@pytest.mark.behaviour("turn.log-opens-with-the-request")
async def test_a_receipt_without_a_log_names_the_run_that_the_repeated_request_opens(
    here: Process, there: Process
) -> None:
    """A process died between the two: whoever repeats the request opens that run, and both get one."""
    await here.store.mark_deleting(PLACE, "first")
    assert await here.store.open(accepted("first"), receipt="key") == Deleting()
    await here.store.erase(PLACE, Deletion("first", "digest"))

    opened = await there.store.open(accepted("second"), receipt="key")

    assert isinstance(opened, Opened)
    assert opened.record.run_id == "first"
    assert run_id_of(await here.store.open(accepted("third"), receipt="key")) == "first"


async def test_a_log_that_is_full_takes_nothing_but_the_end(azurite: Azurite, container: str) -> None:
    """The storage takes 50,000 appends of a blob; the last ones are kept for the terminal record."""
    process = Process(azurite, container, most_blocks=2)
    await process.store.open(accepted("run"))
    for position in (1, 2):
        await process.store.append("run", signalled(float(position)), after=position)

    with pytest.raises(RunLogUnavailableError, match="The log of run 'run' is full: 2 appends"):
        await process.store.append("run", signalled(9.0), after=3)

    assert await process.store.append("run", completed(), after=3)
    await process.store.close()


def run_id_of(opening: Opening) -> str:
    """Return the id of the run that was opened or found."""
    assert hasattr(opening, "record")
    run_id: str = opening.record.run_id
    return run_id
