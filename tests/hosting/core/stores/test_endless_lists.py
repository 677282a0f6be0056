"""Lists of a storage account that would never end, because they lead to the same page again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hosting.core.stores.blobs import BlobObjects, blob_account
from hosting.core.stores.storage_account import table_account
from hosting.core.stores.tables import TablesThreadStore
from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.names import Address

GUARD_SECONDS = 5.0
NEXT = {"x-ms-continuation-NextPartitionKey": "again", "x-ms-continuation-NextRowKey": "again"}
BLOBS = '<?xml version="1.0"?><EnumerationResults><Blobs/><NextMarker>again</NextMarker></EnumerationResults>'

pytestmark = pytest.mark.behaviour("http.lists-end")


async def answer(request: web.Request) -> web.Response:
    """Answer as an account does whose lists have no end."""
    if request.method == "PUT":
        return web.Response(status=201)
    if request.query.get("comp") == "list":
        return web.Response(text=BLOBS, content_type="application/xml")
    return web.json_response({"value": []}, headers=NEXT)


@pytest.fixture
async def environ() -> AsyncIterator[dict[str, str]]:
    """The settings of an app with such an account."""
    routes = web.Application()
    routes.router.add_route("*", "/{path:.*}", answer)
    server = TestServer(routes)
    await server.start_server()
    url = str(server.make_url("/account"))
    account = f"AccountName=account;AccountKey=c2VjcmV0;BlobEndpoint={url};TableEndpoint={url};"
    yield {"AzureWebJobsStorage": account}
    await server.close()


async def test_of_tables(environ: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    store = TablesThreadStore(table_account(environ, "TEST"), "hub")

    with pytest.raises(LogUnavailableError):
        await asyncio.wait_for(store.events(Address.of("Joker", "t"), 0), GUARD_SECONDS)

    await store.close()
    assert "cannot be used: its list repeats a page and would never end." in caplog.text


async def test_of_blobs(environ: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    store = BlobObjects(blob_account(environ, "TEST"), "container", AttachmentsUnavailableError)

    with pytest.raises(AttachmentsUnavailableError):
        await asyncio.wait_for(store.put_between("joker", 0.0, 1.0), GUARD_SECONDS)

    await store.close()
    assert "cannot be used: its list repeats a page and would never end." in caplog.text
