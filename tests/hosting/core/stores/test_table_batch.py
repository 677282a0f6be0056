"""A batch of changes on its way to Azure Tables, and the answers that the service's documentation shows."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.data.tables import EdmType

from hosting.core.stores.storage_account import table_account
from hosting.core.stores.table_entities import BatchError, EntityChange, Table, submit

FOUND = "W/\"datetime'2026-01-02T03%3A04%3A05.6789Z'\""
ENTITY = {"PartitionKey": "joker.app~!1", "RowKey": "head", "p0": b"\x00\xff", "position": (2**40, EdmType.INT64)}
CHANGES = [EntityChange("POST", ENTITY), EntityChange("PUT", ENTITY, FOUND), EntityChange("DELETE", ENTITY, FOUND)]
PART = "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 "
DONE = PART + "204 No Content\r\nX-Content-Type-Options: nosniff\r\nDataServiceVersion: 3.0;\r\n"
ERROR = {"odata.error": {"code": "EntityAlreadyExists", "message": {"lang": "en-US", "value": "0:It exists.\nId: 1"}}}
KIND = "Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\r\n\r\n"
FAILED = f"{PART}409 Conflict\r\n{KIND}{json.dumps(ERROR)}\r\n"


LEFT_OUT = ("x-ms-date", "Date", "Content-Length")


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
        """Take one request."""
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        self.sent = await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
        writer.write(self.answer)
        writer.close()

    @asynccontextmanager
    async def table(self) -> AsyncIterator[Table]:
        """One of its tables."""
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


@pytest.mark.behaviour("log.tables-batch")
async def test_a_batch_is_sent_as_the_official_client_sends_it() -> None:
    """But for ids, dates, and the types of texts, which go without saying."""
    service = answering("202 Accepted", batch(*[f"{DONE}ETag: {FOUND}\r\n\r\n\r\n"] * 4))
    at = {"etag": FOUND, "match_condition": MatchConditions.IfNotModified}
    theirs: Any = [
        ("create", ENTITY, {"response_preference": "return-no-content"}),
        ("update", ENTITY, {"mode": "replace", **at}),
        ("delete", ENTITY, at),
        ("upsert", ENTITY, {"mode": "replace"}),
    ]
    async with service.table() as table:
        await table.client.submit_transaction(theirs)
        expected = said_in(service.sent)
        await submit(table, [*CHANGES, EntityChange("PUT", ENTITY)])

    assert said_in(service.sent) == expected
    assert len(expected) == 4


def said_in(body: bytes) -> list[tuple[str, set[str], dict[str, object]]]:
    """Return the request line, the headers and the entity of each change in a batch."""
    parts = re.split(r"--changeset_[^\n]*\n", body.decode())[1:-1]
    return [said_by(part.replace("\r\n", "\n")) for part in parts]


def said_by(part: str) -> tuple[str, set[str], dict[str, object]]:
    own, _, request = part.partition("\n\n")
    head, _, body = request.partition("\n\n")
    line, *headers = head.split("\n")
    entity = json.loads(body) if body.strip() else {}
    received = {header for header in [*own.split("\n"), *headers] if not header.startswith(LEFT_OUT)}
    return line, received, {name: value for name, value in entity.items() if value != "Edm.String"}
