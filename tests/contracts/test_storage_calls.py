"""What the emulator's log says was asked of it, and when it says nothing."""

from __future__ import annotations

import uuid
from collections import Counter
from pathlib import Path

import httpx
import pytest
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

from tests.support.azurite import NAME, Azurite
from tests.support.storage_calls import LogPosition, NotCounted, parse_call

STARTED = "Azurite Queue service is successfully listening at http://127.0.0.1:10001\n"
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


NO_NUMBERS = {
    "there is no file": (None, ""),
    "did not grow": (STARTED, ""),
    "has no line of a request: start Azurite without --silent": ("", STARTED),
}


@pytest.mark.behaviour("storage.calls-counted")
@pytest.mark.parametrize("why", NO_NUMBERS)
def test_what_could_not_be_counted_is_said(tmp_path: Path, why: str) -> None:
    """With the reason: nought would be the best count of all."""
    before, added = NO_NUMBERS[why]
    log = tmp_path / "azurite.log"
    if before is not None:
        log.write_text(before, encoding="utf-8")
    position = LogPosition.now(log)
    if before is not None:
        log.write_text(before + added, encoding="utf-8")

    counted = position.calls_since()

    assert isinstance(counted, NotCounted)
    assert why in counted.why


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
