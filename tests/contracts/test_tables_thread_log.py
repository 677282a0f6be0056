"""What threads' logs in Azure Tables promise beyond the contract: one outcome whatever the account does, few calls."""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from azure.data.tables import TableClient

from hosting.core.stores.contract import (
    Append,
    Appended,
    Conflict,
    Row,
    StoredHead,
    Unknown,
)
from hosting.core.stores.storage_account import table_account
from hosting.core.stores.tables import TablesThreadStore, table_name
from hosting.errors import LogUnavailableError
from hosting.names import Address
from hosting.ports import MOST_ROWS
from tests.contracts.thread_appends import ADDRESS, behind, texts, whole, write
from tests.support.azurite import Azurite
from tests.support.fault_proxy import FaultProxy
from tests.support.storage_calls import by_kind

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 5.0
BATCH = r"\$batch"


@pytest.fixture
def hub() -> str:
    """A task hub of the test's own."""
    return f"T{uuid.uuid4().hex}"


OpenStore = Callable[..., TablesThreadStore]


@pytest.fixture
async def open_tables(hub: str) -> AsyncIterator[OpenStore]:
    """Opens one process's view of the hub's logs in an account."""
    opened: list[TablesThreadStore] = []

    def open_one(account: str, call_seconds: float = PATIENCE_SECONDS) -> TablesThreadStore:
        connect = table_account({"AzureWebJobsStorage": account}, "TEST")
        opened.append(TablesThreadStore(connect, hub, call_seconds))
        return opened[-1]

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture
async def there(azurite: Azurite, open_tables: OpenStore) -> TablesThreadStore:
    """Another process of the app; the table is made, so that only what follows is counted or fails."""
    store = open_tables(azurite.connection_string)
    await store.head(ADDRESS)
    return store


@pytest.fixture
def here(there: TablesThreadStore, fault_proxy: FaultProxy, open_tables: OpenStore) -> TablesThreadStore:
    """The process whose calls fail."""
    return open_tables(fault_proxy.connection_string)


@pytest.fixture
def impatient(there: TablesThreadStore, fault_proxy: FaultProxy, open_tables: OpenStore) -> TablesThreadStore:
    """The same, where calls that are not answered are to be waited for."""
    return open_tables(fault_proxy.connection_string, call_seconds=0.5)


@pytest.fixture
def table(azurite: Azurite, hub: str) -> Iterator[TableClient]:
    with TableClient.from_connection_string(azurite.connection_string, table_name(hub)) as client:
        yield client


async def appended(store: TablesThreadStore, known: StoredHead | None, append: Append) -> StoredHead:
    """Return the head behind an append that nothing stands against."""
    outcome = await store.append(ADDRESS, known, append)
    assert isinstance(outcome, Appended), outcome
    return outcome.head


@dataclass(frozen=True)
class Fault:
    """One of the proxy's, with its options, by which a call is not answered as it should be."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.name, *map(str, self.options.values())])


DONE = [Fault("answer dropped"), Fault("failed after the commit"), Fault("slow", {"seconds": 60})]
NOT_DONE = [Fault("request lost"), Fault("silent"), *(Fault("busy", {"status": status}) for status in (503, 408))]


@pytest.mark.behaviour("log.repeated-append")
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "later"])
@pytest.mark.parametrize("fault", [*DONE, *NOT_DONE], ids=str)
async def test_an_append_without_an_answer_is_unknown_and_given_again_is_written_once(
    there: TablesThreadStore, impatient: TablesThreadStore, fault_proxy: FaultProxy, fault: Fault, is_first: bool
) -> None:
    """Whether the account did it or not; the head that comes back is one to append to."""
    known = None if is_first else await write(there, None)
    append = behind(known, b"one", b"two", rows=(Row("key-1", 1, b"row"),))
    fault_proxy.set(fault.name, path=BATCH, **fault.options)

    assert await impatient.append(ADDRESS, known, append) == Unknown()
    head = await appended(impatient, known, append)

    newest = await write(there, head, b"three")
    row = Row("key-1", 1, b"row")
    assert await whole(there, ["key-1"]) == (newest, [(1, b"one"), (2, b"two"), (3, b"three")], [row])


@pytest.mark.behaviour("log.away")
@pytest.mark.behaviour("http.retry-after")
async def test_a_busy_account_says_when_to_come_again(here: TablesThreadStore, fault_proxy: FaultProxy) -> None:
    """It is asked once to append: whoever appends tries again in its own time."""
    await here.head(ADDRESS)
    busy = fault_proxy.set("busy", path=BATCH, status=429, retry_after=7, times=math.inf)
    assert await here.append(ADDRESS, None, behind(None, b"one")) == Unknown(7.0)
    assert busy.fired == 1
    fault_proxy.set("busy", status=503, retry_after=7, times=math.inf)

    with pytest.raises(LogUnavailableError) as refused:
        await here.head(ADDRESS)

    assert refused.value.retry_after_seconds == 7.0


@pytest.mark.behaviour("log.tables-conflict")
@pytest.mark.parametrize(("status", "index"), [(409, 0), (412, 0), (404, 0), (409, 2)])
async def test_a_refused_part_is_a_conflict_and_nothing_is_written(
    here: TablesThreadStore, there: TablesThreadStore, fault_proxy: FaultProxy, status: int, index: int
) -> None:
    """Of the head, of an event or of a row, as another writer makes it come; the head is the one that stands."""
    head = await write(there, None, b"one")
    append = behind(head, b"two", rows=(Row("key-1", 2, b"row"),))
    fault_proxy.set("part refused", status=status, index=index)

    assert await here.append(ADDRESS, head, append) == Conflict(head)
    assert await whole(there, ["key-1"]) == (head, [(1, b"one")], [None])
    await appended(here, head, append)


@pytest.mark.behaviour("log.tables-cause")
@pytest.mark.parametrize("status", [403, 400])
async def test_what_cannot_succeed_is_unknown_and_its_cause_is_logged_once(
    here: TablesThreadStore, fault_proxy: FaultProxy, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    """A missing role may be given; until then the log says which table it is, and why, and that it came back."""
    refused = fault_proxy.set("busy", service="Table", status=status, times=math.inf)
    append = behind(None, b"one")
    for _ in range(3):
        assert await here.append(ADDRESS, None, append) == Unknown()
        with pytest.raises(LogUnavailableError):
            await here.head(ADDRESS)
    refused.clear()
    await appended(here, None, append)

    output = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in output] == ["ERROR", "WARNING"]
    assert "AgentLog cannot be used: " in output[0][1]
    assert output[1][1].endswith("AgentLog can be used again.")


VERBS: dict[str, tuple[str, Callable[[TablesThreadStore, StoredHead], Awaitable[object]]]] = {
    "head": ("", lambda store, _: store.head(ADDRESS)),
    "row": ("", lambda store, _: store.row(ADDRESS, "key-1")),
    "events": ("", lambda store, _: store.events(ADDRESS, 0)),
    "trim": (BATCH, lambda store, _: store.trim(ADDRESS, 1, 1)),
    "erase": (BATCH, lambda store, _: store.erase(ADDRESS, 2)),
    "forget": (BATCH, lambda store, head: store.forget(ADDRESS, head)),
}


@pytest.mark.behaviour("log.away")
@pytest.mark.parametrize("fault", [*DONE, *NOT_DONE], ids=str)
async def test_every_other_call_without_an_answer_is_refused_and_may_be_repeated(
    there: TablesThreadStore, impatient: TablesThreadStore, fault_proxy: FaultProxy, fault: Fault
) -> None:
    """Whether the account did it or not; what removes something is done with when it was repeated."""
    head = await write(there, None, b"one", rows=(Row("key-1", 1, b"row"),))
    head = await write(there, head, b"two", rows=(Row("key-2", 2, b"row"),))

    for path, ask in VERBS.values():
        failing = fault_proxy.set(fault.name, service="Table", path=path, times=math.inf, **fault.options)
        with pytest.raises(LogUnavailableError):
            await ask(impatient, head)
        failing.clear()  # a lost GET is asked once more by the client's own transport
        await ask(impatient, head)

    assert await whole(there, ["key-1", "key-2"]) == (None, [], [None, None])


@pytest.mark.behaviour("log.tables-pages")
@pytest.mark.parametrize(("entries", "times"), [(0, 2), (1, math.inf)])
async def test_pages_that_are_cut_or_empty_hide_nothing(
    here: TablesThreadStore, there: TablesThreadStore, fault_proxy: FaultProxy, entries: int, times: float
) -> None:
    """The service may end a page anywhere; what is behind a continuation is read, recognised and erased too."""
    append = behind(None, b"1")
    head = await appended(there, None, append)
    for number in range(2, 6):
        head = await write(there, head, b"%d" % number, rows=(Row(f"key-{number}", number, b"row"),))
    fault_proxy.set("page cut", entries=0, times=2)
    assert (await appended(here, None, append)).append_id == append.head.append_id
    fault_proxy.set("page cut", entries=entries, times=times)

    assert await texts(here) == [(n, b"%d" % n) for n in range(1, 6)]
    await here.erase(ADDRESS, 4)
    rows = [Row("key-2", 2, b""), Row("key-4", 4, b""), Row("key-5", 5, b"row")]
    assert await whole(there, ["key-2", "key-4", "key-5"]) == (head, [(5, b"5")], rows)
    assert await here.forget(ADDRESS, head)
    assert await there.row(ADDRESS, "key-5") is None


@pytest.mark.behaviour("log.erase")
async def test_what_was_erased_is_in_no_entity(here: TablesThreadStore, table: TableClient) -> None:
    """Not in one that it shared with later events either; the append is still known by what is left of it."""
    rows = (Row("key-1", 2, b"canary-3"), Row("key-2", 3, b"kept"))
    append = behind(None, b"canary-1", b"canary-2", b"kept", rows=rows)
    head = await appended(here, None, append)

    await here.erase(ADDRESS, 2)

    assert await whole(here, ["key-1", "key-2"]) == (head, [(3, b"kept")], [Row("key-1", 2, b""), rows[1]])
    assert b"canary" not in b"".join(repr(dict(entity)).encode() for entity in table.list_entities())
    await write(here, head, b"more")
    assert isinstance(await here.append(ADDRESS, None, append), Appended)


@pytest.mark.behaviour("log.erase")
async def test_an_erasure_that_meets_a_change_looks_again(
    here: TablesThreadStore, there: TablesThreadStore, fault_proxy: FaultProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """It takes each entity at the version that it saw, so that nothing newer goes; not without end, nor in silence."""
    head = await write(there, None, b"one", rows=(Row("key-1", 1, b"row"),))
    refusing = fault_proxy.set("part refused", path=BATCH, status=412, times=math.inf)
    with pytest.raises(LogUnavailableError):
        await here.erase(ADDRESS, 1)
    assert "AgentLog cannot be used: The rows to remove had changed at each of 10 reads." in caplog.text
    refusing.clear()
    fault_proxy.set("part refused", path=BATCH, status=404)

    await here.erase(ADDRESS, 1)

    assert await whole(there, ["key-1"]) == (head, [], [Row("key-1", 1, b"")])


@pytest.mark.behaviour("log.forget")
async def test_a_thread_of_many_rows_is_forgotten_unless_its_head_is_another_one(
    here: TablesThreadStore, there: TablesThreadStore, table: TableClient
) -> None:
    """More than one batch takes: each compares the head."""
    head = old = await write(there, None)
    for number in range(3):
        rows = tuple(Row(f"key-{number}-{n}", 0, b"row") for n in range(MOST_ROWS))
        head = await write(there, head, rows=rows)

    assert not await here.forget(ADDRESS, old)
    assert len(list(table.list_entities())) == 3 * MOST_ROWS + 1
    assert await here.forget(ADDRESS, head)
    assert list(table.list_entities()) == []


@pytest.mark.behaviour("log.tables-made")
async def test_a_missing_table_is_made_by_whoever_comes_first_and_again_when_it_was_removed(
    azurite: Azurite, hub: str, open_tables: OpenStore, table: TableClient
) -> None:
    """Once, however many calls of two processes find it missing; whoever knew its threads is told they are gone."""
    stores = [open_tables(azurite.connection_string) for _ in range(2)]
    position = azurite.position()
    addresses = [Address.of("joker", f"t{n}") for n in range(20)]

    outcomes = await asyncio.gather(
        *(stores[n % 2].append(address, None, behind(None, b"one")) for n, address in enumerate(addresses))
    )

    made = [call for call in azurite.calls_since(position) if call.container == "Tables"]
    assert {type(outcome) for outcome in outcomes} == {Appended}
    assert 1 <= len(made) <= 2
    head = await stores[0].head(addresses[0])
    table.delete_table()
    assert await stores[0].append(addresses[0], head, behind(head, b"two")) == Conflict(None)
    await write(stores[0], None, b"new", address=addresses[0])
    assert await texts(stores[1], address=addresses[0]) == [(1, b"new")]


@pytest.mark.behaviour("log.tables-calls")
async def test_an_append_and_a_read_of_the_head_are_one_call_each(
    here: TablesThreadStore, there: TablesThreadStore, azurite: Azurite, caplog: pytest.LogCaptureFixture
) -> None:
    """A conflict is three, however far the thread has gone on: the batch, the head, and the events beside it."""
    head = await write(there, None, b"one", rows=(Row("key-1", 1, b"row"),))
    for _ in range(3):
        head = await write(there, head, b"more")
    requested: list[Coroutine[Any, Any, object]] = [
        here.append(ADDRESS, head, behind(head, b"two", b"three", rows=(Row("key-2", 5, b"row"),))),
        here.head(ADDRESS),
        here.row(ADDRESS, "key-1"),
        here.events(ADDRESS, 0),
        here.append(ADDRESS, None, behind(None, b"other")),
    ]

    kinds = []
    caplog.set_level(logging.INFO)
    for call in requested:
        position = azurite.position()
        await call
        kinds.append(by_kind(azurite.calls_since(position)))

    assert caplog.messages == []  # an app that logs at INFO is not flooded with the headers of every call
    assert kinds == [{"write": 1}, {"read": 1}, {"read": 1}, {"list": 1}, {"write": 1, "read": 1, "list": 1}]
