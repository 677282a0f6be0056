"""The proxy before the storage emulator: what it passes, and each fault as the real clients see it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from azure.core.exceptions import AzureError, HttpResponseError, ServiceResponseError
from azure.data.tables import TableClient, TableServiceClient, TableTransactionError
from azure.storage.blob import BlobServiceClient
from redis import ConnectionError as BrokenError
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.azurite import NAME, Azurite
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_faults import RedisFaultProxy
from tests.support.redis_server import RedisServer
from tests.support.storage_calls import parse_call

GUARD_SECONDS = 5.0
LARGE = bytes(range(256)) * 16_384
HEAD = b"POST /d/c HTTP/1.1\r\nHost: d\r\n"
OK = b"HTTP/1.1 200 OK\r\nX-odd:  a \r\n"
CONVERSATIONS: dict[str, list[bytes]] = {
    "large both ways": [
        HEAD + f"Content-Length: {len(LARGE)}\r\n\r\n".encode() + LARGE,
        OK + f"Content-Length: {len(LARGE)}\r\n\r\n".encode() + LARGE,
    ],
    "in chunks, with a trailer": [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\na\r\n\r\n0\r\nT: 1\r\n\r\n",
        OK + b"Transfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
    ],
    "asked for its body": [
        HEAD + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"abc",
        b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
    ],
    "ended by closing": [b"GET /d/c HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nto the end"],
}


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.behaviour("storage.proxy-passes")
async def test_everything_passes_byte_for_byte(name: str) -> None:
    """Whoever speaks next has heard all that was said before, and nothing else."""
    parts = CONVERSATIONS[name]
    heard_there: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while len(heard_there) < len(parts) // 2:
                at = 2 * len(heard_there)
                heard_there.append(await reader.readexactly(len(parts[at])))
                writer.write(parts[at + 1])
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    heard_here = []
    async with server:
        with FaultProxy({"Blob": origin}) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.origins["Blob"].rpartition(":")[2]))
            for at in range(0, len(parts), 2):
                writer.write(parts[at])
                heard = reader.readexactly(len(parts[at + 1]))
                heard_here.append(await asyncio.wait_for(heard, GUARD_SECONDS))
            writer.close()

    assert heard_there + heard_here == parts[0::2] + parts[1::2]
    assert (proxy.bytes_up, proxy.bytes_down) == tuple(sum(map(len, parts[way::2])) for way in (0, 1))


@pytest.mark.behaviour("storage.faults-fire")
def test_a_fault_that_never_fired_fails_the_test_that_set_it() -> None:
    """By its name: a test in which nothing went wrong shows nothing."""
    with (
        pytest.raises(AssertionError, match=r"Set, and never fired: 'busy' \(/runs\)"),
        FaultProxy({"Blob": "http://127.0.0.1:1"}) as proxy,
    ):
        proxy.set("busy", path="/runs")


@pytest.fixture
def proxy(azurite: Azurite) -> Iterator[FaultProxy]:
    with FaultProxy(azurite.origins) as proxy:
        yield proxy


OPTIONS: dict[str, Any] = {"retry_total": 0, "connection_timeout": GUARD_SECONDS, "read_timeout": GUARD_SECONDS}


@pytest.fixture
def table(azurite: Azurite, proxy: FaultProxy) -> Iterator[TableClient]:
    """A table of this test's own, over the proxy."""
    name = f"test{uuid.uuid4().hex}"
    with TableServiceClient.from_connection_string(azurite.connection_string) as direct:
        direct.create_table(name)
    with TableClient.from_connection_string(proxy.connection_string, name, **OPTIONS) as client:
        yield client


def row(name: str, **fields: object) -> dict[str, object]:
    return {"PartitionKey": "p", "RowKey": name, **fields}


def rows_of(table: TableClient) -> list[str]:
    return [str(found["RowKey"]) for found in table.list_entities()]


@dataclass(frozen=True)
class Case:
    """A fault, what the client makes of it, and whether the write was carried out."""

    name: str
    error: type[AzureError]
    was_done: bool
    status: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    patience: dict[str, float] = field(default_factory=dict)


CASES = [
    Case("request lost", ServiceResponseError, False),
    Case("answer dropped", ServiceResponseError, True),
    Case("failed after the commit", HttpResponseError, True, 500),
    Case("busy", HttpResponseError, False, 503, {"retry_after": 1}),
    Case("busy", HttpResponseError, False, 429, {"status": 429, "retry_after": 2}),
    Case("slow", AzureError, True, None, {"seconds": 60}, {"read_timeout": 0.1}),
    Case("silent", AzureError, False, patience={"read_timeout": 0.1}),
]


@pytest.mark.slow
@pytest.mark.behaviour("storage.faults")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} {case.status or ''}")
def test_what_goes_wrong_is_seen_by_the_client_and_done_or_not(
    azurite: Azurite, proxy: FaultProxy, table: TableClient, case: Case
) -> None:
    """The client is told the same whether Azurite did it or not, which is what makes it hard."""
    fault = proxy.set(case.name, service="Table", kind="write", path="test", **case.options)

    with pytest.raises(case.error) as raised:
        table.create_entity(row("one"), **case.patience)

    answered = getattr(raised.value, "response", None)
    assert (fault.fired, getattr(raised.value, "status_code", None)) == (1, case.status)
    retry_after = str(case.options["retry_after"]) if "retry_after" in case.options else None
    assert answered is None or answered.headers.get("retry-after") == retry_after
    table.create_entity(row("two"))
    with TableClient.from_connection_string(azurite.connection_string, table.table_name) as past:
        done = ["one", "two"] if case.was_done else ["two"]
        assert wait_for(lambda: rows_of(past) == done)


def wait_for(fact: Callable[[], bool]) -> bool:
    """Return whether it becomes true: a client that gave up does not know when the account has done what it asked."""
    end = time.monotonic() + GUARD_SECONDS
    while not (is_true := fact()) and time.monotonic() < end:
        time.sleep(0.01)
    return is_true


@pytest.mark.slow
@pytest.mark.behaviour("storage.faults")
@pytest.mark.parametrize(
    ("entries", "pages"), [(2, [["a", "b"], ["c", "d"], ["e"]]), (0, [[], [], ["a", "b", "c", "d", "e"]])]
)
def test_a_page_is_cut_short_or_empty_and_the_rest_is_behind_its_continuation(
    proxy: FaultProxy, table: TableClient, entries: int, pages: list[list[str]]
) -> None:
    """Nothing is lost and nothing comes twice, for a client that goes on while there is a continuation."""
    for name in "abcde":
        table.create_entity(row(name))
    fault = proxy.set("page cut", times=2, entries=entries)

    found = table.query_entities("PartitionKey eq 'p'").by_page()
    assert [[str(entity["RowKey"]) for entity in page] for page in found] == pages
    assert fault.fired == 2


PARTS = {f"part{n}": b"x" * 60_000 for n in range(18)}


@pytest.mark.slow
@pytest.mark.behaviour("storage.table-limits")
def test_a_batch_above_the_limits_of_azure_is_refused_and_one_within_them_is_taken(table: TableClient) -> None:
    """100 changes, and nearly 4 MiB; Azurite itself would take more."""
    with pytest.raises(HttpResponseError) as too_large:
        table.submit_transaction([("create", row(str(n), text=b"x" * 50_000)) for n in range(70)])
    with pytest.raises(TableTransactionError) as too_many:
        table.submit_transaction([("create", row(str(n))) for n in range(101)])

    assert (too_large.value.status_code, type(too_large.value).__name__) == (413, "RequestTooLargeError")
    assert (too_many.value.status_code, too_many.value.error_code, too_many.value.index) == (400, "InvalidInput", 99)
    assert rows_of(table) == []
    table.create_entity(row("large", **dict(list(PARTS.items())[:17])))
    table.submit_transaction([("create", row(f"{n:03}", text=b"x" * 28_000)) for n in range(100)])
    assert len(rows_of(table)) == 101


def client(url: str, protocol: int = 2) -> Redis:
    return Redis.from_url(url, protocol=protocol, retry=Retry(NoBackoff(), 0))


@pytest.mark.slow
@pytest.mark.behaviour("storage.redis-proxy")
@pytest.mark.parametrize("protocol", [2, 3])
def test_every_command_of_a_pipeline_and_every_kind_of_answer_passes(redis_server: RedisServer, protocol: int) -> None:
    """Numbers, texts, errors, nothing, lists in lists and maps, large and empty ones."""
    redis_server.empty()

    def asked(url: str) -> list[object]:
        with client(url, protocol) as redis, redis.pipeline(transaction=False) as pipeline:
            pipeline.set("large", b"\r\n$1\r\n" * 300_000).get("large").get("absent").incr("large")
            pipeline.delete("stream").xadd("stream", {"a": "", "b": "\r\n"}, id="1-0").xrange("stream")
            pipeline.xread({"stream": "0-0"}).xread({"stream": "1-0"}, block=1).hset("hash", "a", "1").hgetall("hash")
            return [str(one) if isinstance(one, Exception) else one for one in pipeline.execute(raise_on_error=False)]

    with RedisFaultProxy(redis_server.url) as proxy:
        passed = asked(proxy.url)
    redis_server.empty()

    assert passed == asked(redis_server.url)


@pytest.mark.slow
@pytest.mark.behaviour("storage.redis-proxy")
@pytest.mark.parametrize(("fault", "was_done"), [("request lost", None), ("answer dropped", b"1")])
def test_a_command_whose_connection_breaks_was_done_or_not(
    redis_server: RedisServer, fault: str, was_done: bytes | None
) -> None:
    """As the fault's name says; commands of other keys pass, and so do the first that are skipped."""
    redis_server.empty()
    with RedisFaultProxy(redis_server.url) as proxy, client(proxy.url) as redis:
        proxy.set(fault, text="mine", skip=1)
        redis.get("mine")
        redis.set("other", 1)
        with pytest.raises(BrokenError):
            redis.set("mine", 1)

        assert redis.get("mine") == was_done


REQUESTS = {
    "GET /d/agenthub-control-00/messages?numofmessages=32": ("queue", "agenthub-control-00", "read"),
    "POST /d/agenthub-control-01/messages": ("queue", "agenthub-control-01", "write"),
    "GET /d/runs?restype=container&comp=list&prefix=a": ("blob", "runs", "list"),
    "PUT /d/runs/run/a%2Fmessages?comp=appendblock": ("blob", "runs", "write"),
    "DELETE /d/runs/run/a": ("blob", "runs", "delete"),
    "POST /d/runs?restype=container&comp=batch": ("blob", "runs", "write"),
    "POST /d/$batch": ("table", "$batch", "write"),
    "GET /d/Instances()?$filter=RowKey%20eq%20%27a%27": ("table", "Instances", "list"),
    "GET /d/Instances(PartitionKey='a()',RowKey='')": ("table", "Instances", "read"),
    "POST /d/Instances": ("table", "Instances", "write"),
    "DELETE /d/Tables('Instances')": ("table", "Tables", "delete"),
}


@pytest.mark.behaviour("storage.calls-counted")
@pytest.mark.parametrize("request_line", REQUESTS)
def test_a_call_is_told_by_its_address(request_line: str) -> None:
    call = parse_call(*request_line.split(" "))

    assert (call.service, call.container, call.kind) == REQUESTS[request_line]


@pytest.mark.slow
@pytest.mark.behaviour("storage.calls-counted")
def test_real_clients_are_counted_by_the_emulators_log(azurite: Azurite) -> None:
    """Every answered call is there, by its service; that somebody looked is not."""
    name = f"test{uuid.uuid4().hex}"
    blobs = BlobServiceClient.from_connection_string(azurite.connection_string)
    tables = TableServiceClient.from_connection_string(azurite.connection_string)
    position = azurite.position()
    container = blobs.create_container(name)
    for blob in ("a", "messages"):
        container.upload_blob(f"run/{blob}", b"x")
    container.delete_blob("run/a")
    rows = tables.create_table(name)
    rows.submit_transaction([("create", {"PartitionKey": "p", "RowKey": str(n)}) for n in range(3)])
    rows.get_entity("p", "1")
    list(rows.query_entities("PartitionKey eq 'p'", results_per_page=2))
    httpx.get(f"{azurite.origins['Queue']}/{NAME}/jobs/messages")

    counted = Counter((call.service, call.kind) for call in azurite.calls_since(position))

    assert counted == {
        ("blob", "write"): 3,
        ("blob", "delete"): 1,
        ("table", "write"): 2,
        ("table", "read"): 1,
        ("table", "list"): 2,
        ("queue", "read"): 1,
    }
