"""Which tables the settings lead to, and which settings are refused at start-up."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from azure.data.tables import EdmType

from hosting.core.stores.contract import (
    MOST_APPEND_BYTES,
    MOST_EVENTS,
    MOST_HEAD_BYTES,
    MOST_PAYLOAD_BYTES,
    Append,
    Row,
    StoredHead,
)
from hosting.core.stores.storage_account import table_account
from hosting.core.stores.table_entities import BatchError, EntityChange, Table, submit
from hosting.core.stores.tables import table_name
from hosting.errors import ConfigurationError
from hosting.ports import MOST_ROWS

KEY = "AccountName=shop;AccountKey=c2VjcmV0;"
ALONE = {"AzureWebJobsScriptRoot": "app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}


@pytest.mark.behaviour("log.tables-account")
@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({"AzureWebJobsStorage": "UseDevelopmentStorage=true"}, "http://127.0.0.1:10002/devstoreaccount1"),
        ({"AzureWebJobsStorage": KEY}, "https://shop.table.core.windows.net"),
        ({"AzureWebJobsStorage": f"{KEY}TableEndpoint=https://tables.shop"}, "https://tables.shop"),
        ({"AzureWebJobsStorage__accountName": "shop"}, "https://shop.table.core.windows.net"),
        (
            {
                "AzureWebJobsStorage__tableServiceUri": "https://shop.table.core.usgovcloudapi.net",
                "AzureWebJobsStorage__blobServiceUri": "https://shop.blob.core.usgovcloudapi.net",
                "AzureWebJobsStorage__clientId": "0000",
            },
            "https://shop.table.core.usgovcloudapi.net",
        ),
    ],
)
async def test_the_tables_are_in_the_account_that_the_host_uses(environ: dict[str, str], url: str) -> None:
    """By its connection string or by the app's identity, in any cloud; nothing is asked of it before the first call."""
    async with table_account(environ, "TEST")("Hub") as table:
        assert table.client.url == url


@pytest.mark.behaviour("log.tables-account")
@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({}, r"TEST is 'tables', and no storage account is set up for it\. Set AzureWebJobsStorage to a connection"),
        ({"AzureWebJobsStorage__blobServiceUri": "https://shop.blob.core.windows.net"}, "no storage account is set up"),
        ({"AzureWebJobsStorage": "nonsense"}, "AzureWebJobsStorage is not a connection string of a storage account: "),
        (
            {"AzureWebJobsStorage": "TableEndpoint=https://tables.shop"},
            "not a connection string of a storage account: ",
        ),
        ({"AzureWebJobsStorage__tableServiceUri": "http://shop"}, "AzureWebJobsStorage__tableServiceUri is 'http://sh"),
        ({"AzureWebJobsStorage__tableServiceUri": "shop.table"}, "Identities need https"),
    ],
)
def test_settings_that_lead_to_no_tables_are_refused_at_start_up(environ: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        table_account(environ, "TEST")


@pytest.mark.behaviour("log.tables-account")
def test_tables_where_nobody_listens_stop_a_developers_app() -> None:
    """As without Azurite's table service. In production the account is waited for."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        environ = {"AzureWebJobsStorage": f"{KEY}TableEndpoint=http://{place}/shop"}

        with pytest.raises(ConfigurationError, match=f"AzureWebJobsStorage names {place}, which cannot be") as met:
            table_account({**environ, **ALONE}, "TEST")

    assert "c2VjcmV0" not in met.value.detail
    table_account({**environ, **ALONE, "WEBSITE_SITE_NAME": "agents"}, "TEST")


@pytest.mark.behaviour("log.tables-account")
def test_each_task_hub_has_a_table_and_a_name_that_is_no_task_hub_is_refused() -> None:
    """The longest is of 45 characters; a table's name takes 63."""
    assert [table_name(hub) for hub in ("AgentHub", "a" * 45)] == ["AgentHubAgentLog", "a" * 45 + "AgentLog"]
    for hub in ("", "a-hub", "1hub", "a" * 46, "hub\n"):
        with pytest.raises(ConfigurationError, match="must be 3 to 45 of the characters"):
            table_name(hub)


FOUND = "W/\"datetime'2026-01-02T03%3A04%3A05.6789Z'\""
ENTITY = {"PartitionKey": "joker.app~!1", "RowKey": "head", "p0": b"\x00\xff", "position": (2**40, EdmType.INT64)}
CHANGES = [EntityChange("POST", ENTITY), EntityChange("PUT", ENTITY, FOUND), EntityChange("DELETE", ENTITY, FOUND)]
PART = "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 "
DONE = PART + "204 No Content\r\nX-Content-Type-Options: nosniff\r\nDataServiceVersion: 3.0;\r\n"
ERROR = {"odata.error": {"code": "EntityAlreadyExists", "message": {"lang": "en-US", "value": "0:It exists.\nId: 1"}}}
KIND = "Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\r\n\r\n"
FAILED = f"{PART}409 Conflict\r\n{KIND}{json.dumps(ERROR)}\r\n"


def batch(*parts: str) -> bytes:
    """Return the body of an answer whose change set has these parts."""
    head = "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n"
    return f"{head}{''.join(parts)}--changesetresponse_1--\r\n--batchresponse_1--\r\n".encode()


@dataclass
class Service:
    """A table service that answers the same whatever it is asked, and has what it was sent last."""

    answer: bytes
    sent: bytes = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        self.sent = await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
        writer.write(self.answer)
        writer.close()

    @asynccontextmanager
    async def table(self) -> AsyncIterator[Table]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/shop"
        connection_string = f"AccountName=shop;AccountKey=c2VjcmV0;TableEndpoint={url}"
        async with server, table_account({"AzureWebJobsStorage": connection_string}, "TEST")("Hub") as table:
            yield table


def answering(status: str, body: bytes) -> Service:
    """Return a service that answers so."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: multipart/mixed; boundary=batchresponse_1"
    return Service(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


@pytest.mark.behaviour("log.tables-batch")
async def test_each_part_of_an_answer_has_its_entitys_etag() -> None:
    body = batch(f"{DONE}ETag: {FOUND}\r\n\r\n\r\n", f"{DONE}etag: {FOUND}\r\n\r\n\r\n", f"{DONE}\r\n\r\n")
    async with answering("202 Accepted", body).table() as table:
        assert await submit(table, CHANGES) == [FOUND, FOUND, ""]


@pytest.mark.behaviour("log.tables-batch")
@pytest.mark.parametrize(
    ("status", "body", "code", "text"),
    [
        ("202 Accepted", batch(FAILED), "EntityAlreadyExists", "0:It exists."),
        ("404 Not Found", json.dumps(ERROR).encode(), "EntityAlreadyExists", "0:It exists."),
        ("403 Forbidden\r\nx-ms-error-code: AuthorizationFailure", b"<?xml?>", "AuthorizationFailure", "403 Auth"),
        ("202 Accepted", batch(), "", "202"),
        ("202 Accepted", b"no batch", "", "202"),
    ],
    ids=["a part", "the whole", "no JSON", "too few parts", "no batch"],
)
async def test_an_answer_that_does_not_say_that_all_was_done_is_an_error(
    status: str, body: bytes, code: str, text: str
) -> None:
    async with answering(status, body).table() as table:
        with pytest.raises(BatchError, match=text) as met:
            await submit(table, CHANGES[:1])

    assert met.value.error_code == code


HEAD = StoredHead(1, "a", b"{}")
LARGE = bytes(MOST_PAYLOAD_BYTES)


@pytest.mark.behaviour("log.limits")
@pytest.mark.parametrize(
    ("head", "events", "rows"),
    [
        (StoredHead(1, "a", bytes(MOST_HEAD_BYTES + 1)), (), ()),
        (HEAD, (LARGE + b"1",), ()),
        (HEAD, (), (Row("run-1", 1, LARGE + b"1"),)),
        (HEAD, (LARGE,) * (MOST_APPEND_BYTES // MOST_PAYLOAD_BYTES), (Row("run-1", 1, b"1"),)),
        (HEAD, (b"",) * (MOST_EVENTS + 1), ()),
        (HEAD, (), tuple(Row(f"run-{n}", 1, b"") for n in range(MOST_ROWS + 1))),
        (HEAD, (), (Row("run-1", 1, b""),) * 2),
    ],
    ids=["the head", "an event", "a row", "all of it", "events", "rows", "a row twice"],
)
def test_an_append_over_a_limit_is_refused_before_a_store_sees_it(
    head: StoredHead, events: tuple[bytes, ...], rows: tuple[Row, ...]
) -> None:
    """The limits are those that the smallest of the stores can take in one transaction."""
    with pytest.raises(ValueError):
        Append(head, events, rows)
    largest = (LARGE,) * (MOST_APPEND_BYTES // MOST_PAYLOAD_BYTES)
    assert Append(StoredHead(8, "a", bytes(MOST_HEAD_BYTES)), largest, ()).events == largest


@pytest.mark.behaviour("log.limits")
@pytest.mark.parametrize("name", ["", "a" * 65, "a b", "a/b", "a_b", "ä", "a\n"])
def test_a_row_of_a_name_that_some_store_cannot_keep_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must be 1 to 64 of the characters"):
        Row(name, 1, b"")
