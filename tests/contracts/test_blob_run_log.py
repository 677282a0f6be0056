"""What the blob run log promises beyond the contract: how few calls, and an outcome whatever the account does."""

import asyncio
import logging
import math
import uuid
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from hosting.errors import LogUnavailableError
from hosting.events import Place
from hosting.identity import place_digest
from hosting.ports import Deleting, Deletion, Erased, Opened, Opening
from hosting.requests import RunRequest
from hosting.runlog.blob import BlobStore, run_log_container
from tests.contracts.blob_process import everything, store_at
from tests.support.azurite import Azurite
from tests.support.fault_proxy import FaultProxy, connect_quickly
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
def proxy(azurite: Azurite) -> Iterator[FaultProxy]:
    """The way of `here` to the account."""
    with FaultProxy(azurite.origins) as proxy:
        yield proxy


@pytest.fixture
async def here(proxy: FaultProxy, container: str) -> AsyncIterator[BlobStore]:
    """The process that opens runs; the container is made, so that only what follows is counted."""
    store = store_at(proxy.connection_string, container)
    await store.read("warm")
    yield store
    await store.close()


@pytest.fixture
async def there(azurite: Azurite, container: str) -> AsyncIterator[BlobStore]:
    """Another process of the app."""
    store = store_at(azurite.connection_string, container)
    await store.read("warm")
    yield store
    await store.close()


@pytest.fixture
def count(azurite: Azurite, here: BlobStore) -> Callable[[], int]:
    """Returns how many calls the account answered since it was asked last, or since both processes are warm."""
    position = azurite.position()

    def asked() -> int:
        nonlocal position
        calls = azurite.calls_since(position)
        position = azurite.position()
        return len(calls)

    return asked


@pytest.mark.behaviour("turn.blob-calls")
@pytest.mark.parametrize(
    ("run_id", "receipt", "calls"), [(OWN_ID, None, 3), ("any-id", None, 4), (OWN_ID, "key", 4), ("any-id", "key", 5)]
)
async def test_a_turn_that_nobody_streams_costs_three_calls(
    here: BlobStore, count: Callable[[], int], run_id: str, receipt: str | None, calls: int
) -> None:
    """Open, claim, end; one more for an idempotency key, one more for an id that does not tell its thread."""
    await here.open(accepted(run_id), receipt=receipt, most_open=32)
    await here.append(run_id, started(), after=1)
    await here.append(run_id, completed(), after=2)

    assert count() == calls


@pytest.mark.behaviour("turn.blob-calls")
async def test_a_turn_that_another_process_takes_costs_one_look_more(
    here: BlobStore, there: BlobStore, count: Callable[[], int]
) -> None:
    """The entity reads what it did not open."""
    await here.open(accepted(OWN_ID))
    opened = count()
    await there.read(OWN_ID)
    await there.append(OWN_ID, started(), after=1)
    await there.append(OWN_ID, completed(), after=2)

    assert (opened, count()) == (1, 3)


@pytest.mark.behaviour("turn.blob-calls")
async def test_a_look_at_a_run_that_waits_or_is_known_to_be_claimed_is_one_call(
    here: BlobStore, there: BlobStore, count: Callable[[], int]
) -> None:
    """Who waits asks often: only the look that learns of the claim costs two."""
    await here.open(accepted(OWN_ID))
    await here.read(OWN_ID)
    await there.read(OWN_ID)
    await there.append(OWN_ID, started(), after=1)
    count()
    await here.read(OWN_ID)
    learned = count()
    await here.read(OWN_ID)

    assert (learned, count()) == (2, 1)


async def test_storage_calls_are_not_logged_one_by_one(here: BlobStore, caplog: pytest.LogCaptureFixture) -> None:
    """An app that logs at INFO, as apps on Azure do, is not flooded with the headers of every call."""
    with caplog.at_level(logging.INFO):
        await here.open(accepted("run"))

    assert caplog.messages == []


@pytest.mark.behaviour("turn.queue-limit")
async def test_openings_that_failed_do_not_fill_the_thread(here: BlobStore, proxy: FaultProxy) -> None:
    """Nor those whose caller went away."""
    proxy.set("busy", times=3, status=500)
    with pytest.raises(LogUnavailableError):
        await here.open(accepted("one"), most_open=1)
    silent = proxy.set("silent", times=math.inf)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(here.open(accepted("two"), most_open=1), timeout=0.05)

    silent.clear()
    assert isinstance(await here.open(accepted("three"), most_open=1), Opened)


async def test_wishes_to_cancel_are_looked_for_in_one_call_and_gone_with_the_run(
    here: BlobStore, there: BlobStore, count: Callable[[], int]
) -> None:
    """However many runs a process executes; ended runs do not make the look longer."""
    run_ids = [f"run-{n}" for n in range(5)]
    for run_id in run_ids:
        await here.open(accepted(run_id))
        await there.append(run_id, cancel_requested(), after=1)
    count()

    assert await here.cancel_requests(run_ids) == set(run_ids)
    assert count() == 1

    for run_id in run_ids:
        await here.append(run_id, completed(), after=2)
        await here.read(run_id)
        await here.append(run_id, completed(), after=2)
    assert await there.cancel_requests(run_ids) == set()


async def test_runs_are_found_by_their_thread_with_and_without_an_entry(here: BlobStore, there: BlobStore) -> None:
    """Also where ids begin alike."""
    for at, run_id in enumerate((OWN_ID, "any-id", f"{OWN_ID}2")):
        await here.open(accepted(run_id, at=float(at)))
    await here.open(accepted(f"{place_digest(PLACE)}-other", thread_id="other"))

    found = [record.run_id for record in await there.runs_of(PLACE, limit=9)]

    assert found == [f"{OWN_ID}2", "any-id", OWN_ID]


@pytest.mark.behaviour("turn.delete")
@pytest.mark.parametrize("size", [5, 50_000])
async def test_what_was_erased_is_in_no_blob(azurite: Azurite, here: BlobStore, container: str, size: int) -> None:
    """Neither in a body, nor in metadata, nor in an entry, however large the request was."""
    request = RunRequest(message="".join(f"canary-{n}" for n in range(size)))
    await here.open(accepted("run").model_copy(update={"request": request}), receipt="key")
    await here.append("run", completed().model_copy(update={"entry": {"text": "canary-9f27"}}), after=1)

    await here.erase(PLACE, Deletion("first", "digest"))

    left = await everything(azurite, container)
    assert sorted(left) == ["mark/joker/thread", next(name for name in left if name.startswith("receipt/")), "run/run"]
    assert left["run/run"] == (b"", {"erased": "1"})


@pytest.mark.behaviour("turn.log-unavailable")
async def test_an_account_that_throttles_for_a_moment_delays_a_run(here: BlobStore, proxy: FaultProxy) -> None:
    """The client repeats what the account turned away."""
    busy = proxy.set("busy", times=2, retry_after=0)

    assert isinstance(await here.open(accepted(OWN_ID)), Opened)
    assert busy.fired == 2


@pytest.mark.behaviour("turn.log-unavailable")
@pytest.mark.parametrize("status", [429, 503, 500, 403])
async def test_an_account_that_goes_on_refusing_is_reported_as_unavailable(
    here: BlobStore, proxy: FaultProxy, status: int
) -> None:
    """And the same store goes on when the account does."""
    await here.open(accepted(OWN_ID))
    busy = proxy.set("busy", times=math.inf, status=status)
    with pytest.raises(LogUnavailableError):
        await here.append(OWN_ID, started(), after=1)

    busy.clear()
    assert await here.append(OWN_ID, started(), after=1)


@pytest.mark.behaviour("turn.log-unavailable")
async def test_an_account_that_never_answers_is_reported_as_unavailable(proxy: FaultProxy, container: str) -> None:
    """Within the store's patience, whatever is asked."""
    connect = connect_quickly(proxy.connection_string)
    store = BlobStore(run_log_container(connect, container, patience_seconds=0.05))
    proxy.set("silent", times=math.inf)

    for ask in (store.open(accepted("run")), store.read("run"), store.cancel_requests(["run"])):
        with pytest.raises(LogUnavailableError):
            await ask
    await store.close()


async def test_an_append_whose_answer_was_lost_is_known_as_done(
    here: BlobStore, there: BlobStore, proxy: FaultProxy
) -> None:
    """The client's repeat is refused by the version, and the store sees that the lines there are its own."""
    await here.open(accepted(OWN_ID))
    proxy.set("answer dropped", method="PUT")

    assert await here.append(OWN_ID, started("mine"), after=1)

    record = await there.read(OWN_ID)
    assert record is not None
    assert not isinstance(record, Erased)
    assert (record.position, record.is_held_by("mine")) == (2, True)


@pytest.mark.behaviour("turn.log-opens-with-the-request")
async def test_a_receipt_without_a_log_names_the_run_that_the_repeated_request_opens(
    here: BlobStore, there: BlobStore
) -> None:
    """A process died between the two: whoever repeats the request opens that run, and both get one."""
    await here.mark_deleting(PLACE, "first")
    assert await here.open(accepted("first"), receipt="key") == Deleting()
    await here.erase(PLACE, Deletion("first", "digest"))

    opened = await there.open(accepted("second"), receipt="key")

    assert isinstance(opened, Opened)
    assert opened.record.run_id == "first"
    assert run_id_of(await here.open(accepted("third"), receipt="key")) == "first"


async def test_a_log_that_is_full_takes_nothing_but_the_end(azurite: Azurite, container: str) -> None:
    """The storage takes 50,000 appends of a blob; the last ones are kept for the terminal record."""
    store = store_at(azurite.connection_string, container, most_blocks=2)
    await store.open(accepted("run"))
    for position in (1, 2):
        await store.append("run", signalled(float(position)), after=position)

    with pytest.raises(LogUnavailableError, match="The log of run 'run' is full: 2 appends"):
        await store.append("run", signalled(9.0), after=3)

    assert await store.append("run", completed(), after=3)
    await store.close()


def run_id_of(opening: Opening) -> str:
    """Return the id of the run that was opened or found."""
    assert hasattr(opening, "record")
    run_id: str = opening.record.run_id
    return run_id
