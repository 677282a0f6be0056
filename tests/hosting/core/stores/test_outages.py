"""Stores that cannot be used: refused at start-up by their path, and named in the log with the cause later."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hosting.core.stores.blobs import BlobObjects, blob_account
from hosting.core.stores.connection import QUIET_SECONDS, StoreReadiness
from hosting.core.stores.redis import RedisThreadStore
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.storage_account import table_account
from hosting.core.stores.tables import TablesThreadStore
from hosting.errors import AttachmentsUnavailableError, ConfigurationError, HostingError, LogUnavailableError
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import choose_stores

ADDRESS = Address.of("Joker", "t")
ALONE = {"AzureWebJobsScriptRoot": "app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
FILES = {
    "AGENT_LOG": ("threads' log", "log.sqlite"),
    "AGENT_ARCHIVE": ("archive", "archive.sqlite"),
    "AGENT_ATTACHMENTS": ("file of attachments", "attachments.sqlite"),
}


def start(folder: Path, environ: dict[str, str] | None = None) -> None:
    """Choose the stores as an app does that a local host starts."""
    given = {**ALONE, **(environ or {})}
    choose_stores(read_settings(given), folder, given, "hub")


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def damage(file: Path) -> None:
    file.write_bytes(b"not a database" * 100)


def be_a_folder(file: Path) -> None:
    file.mkdir()


def belong_to_another_program(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE invoice (number INTEGER); PRAGMA user_version=1;")


def be_cut_off(file: Path) -> None:
    start(file.parent, {setting: f"sqlite:{file.name}" for setting, (_, name) in FILES.items() if name == file.name})
    file.write_bytes(file.read_bytes()[: 4096 + 100])


def have_an_empty_page(file: Path) -> None:
    start(file.parent, {setting: f"sqlite:{file.name}" for setting, (_, name) in FILES.items() if name == file.name})
    pages = file.read_bytes()
    file.write_bytes(pages[:4096] + bytes(4096) + pages[8192:])


@pytest.mark.behaviour("hosting.stores-checked-at-start")
@pytest.mark.parametrize(
    ("setting", "spoil", "cause"),
    [
        ("AGENT_LOG", damage, "cannot be opened: file is not a database. Set"),
        ("AGENT_ARCHIVE", be_a_folder, "cannot be opened: unable to open database file. Set"),
        ("AGENT_ATTACHMENTS", belong_to_another_program, "is a database of another program, not the"),
        ("AGENT_LOG", be_cut_off, "cannot be opened: "),
        ("AGENT_ARCHIVE", have_an_empty_page, "cannot be opened: it is damaged ("),
    ],
)
def test_a_file_that_cannot_be_used_stops_the_app_at_start_up(
    setting: str, spoil: Callable[[Path], None], cause: str, tmp_path: Path
) -> None:
    """With its path, the cause and the setting that names another."""
    kind, name = FILES[setting]
    spoil(tmp_path / name)

    with pytest.raises(ConfigurationError) as refused:
        start(tmp_path, {setting: f"sqlite:{name}"})

    assert cause in refused.value.detail
    assert all(part in refused.value.detail for part in (kind, str(tmp_path / name), setting))


@pytest.mark.behaviour("hosting.stores-checked-at-start")
def test_a_foreign_file_is_left_as_it_was_and_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """Not a byte of another program's database is changed."""
    file = tmp_path / "log.sqlite"
    belong_to_another_program(file)
    before = file.read_bytes()
    with pytest.raises(ConfigurationError):
        start(tmp_path, {"AGENT_LOG": "sqlite:log.sqlite"})
    assert file.read_bytes() == before

    with pytest.raises(
        ConfigurationError, match=rf"{tmp_path}/log\.sqlite/new/x\.sqlite cannot be opened: .*Not a directory"
    ):
        start(tmp_path, {"AGENT_ARCHIVE": "sqlite:log.sqlite/new/x.sqlite"})


@pytest.mark.behaviour("hosting.stores-checked-at-start")
def test_a_server_that_is_not_there_stops_a_developers_app(tmp_path: Path) -> None:
    """Without its password in the sentence; in production the app starts and waits for it."""
    port = free_port()
    redis = {"AGENT_LOG": f"redis://:secret@127.0.0.1:{port}/0"}
    text = f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey=c2VjcmV0;TableEndpoint=http://127.0.0.1:{port}/a;"
    account = {"AGENT_LOG": "tables", "AzureWebJobsStorage": text}
    says = [
        f"AGENT_LOG is redis://127.0.0.1:{port}/0, which cannot",
        f"AzureWebJobsStorage names 127.0.0.1:{port}, which",
    ]

    for environ, sentence in zip((redis, account), says, strict=True):
        with pytest.raises(ConfigurationError, match=re.escape(sentence)) as met:
            start(tmp_path, environ)
        assert not any(secret in met.value.detail for secret in ("secret", "c2VjcmV0"))
    start(tmp_path, {**redis, "WEBSITE_SITE_NAME": "a", "AzureWebJobsStorage": "UseDevelopmentStorage=true"})


@pytest.mark.behaviour("hosting.stores-outages-named")
async def test_a_file_that_goes_bad_later_is_named_once_with_its_cause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And once when it is back; callers are told no path."""
    file = tmp_path / "log.sqlite"
    store = SqliteThreadStore(file, "hub", busy_seconds=0.1)
    file.mkdir()
    for _ in range(3):
        with pytest.raises(HostingError) as refused:
            await store.head(ADDRESS)
    file.rmdir()
    await store.head(ADDRESS)
    await store.close()

    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.ERROR, f"The threads' log {file} cannot be used: unable to open database file."),
        (logging.WARNING, f"The threads' log {file} can be used again."),
    ]
    assert str(tmp_path) not in refused.value.detail


@pytest.mark.behaviour("hosting.stores-outages-named")
async def test_a_server_that_is_gone_is_named_without_its_password(caplog: pytest.LogCaptureFixture) -> None:
    store = RedisThreadStore(f"redis://user:secret@127.0.0.1:{free_port()}/0", "hub")
    with pytest.raises(HostingError):
        await store.head(ADDRESS)
    await store.close()

    output = [record.getMessage() for record in caplog.records]
    assert len(output) == 1
    assert output[0].startswith("The threads' log in redis://127.0.0.1:")
    assert "secret" not in output[0]


@pytest.mark.behaviour("http.readiness")
async def test_a_failure_is_the_answer_for_a_while_and_then_one_read_decides() -> None:
    """Of an append for longer, and reads that work take nothing back of it, as on a full disk."""
    now, reads = [100.0], list[float]()

    async def read() -> None:
        reads.append(now[0])
        await asyncio.sleep(0)
        readiness.worked("read", "")

    async def is_ready() -> bool:
        with contextlib.suppress(LogUnavailableError):
            await readiness.check()
            return True
        return False

    readiness = StoreReadiness(read, lambda: now[0])
    assert (await asyncio.gather(*(is_ready() for _ in range(5))), len(reads)) == ([True] * 5, 1)
    for verb, seconds in QUIET_SECONDS.items():
        readiness.failed(verb, "")
        if verb == "append":
            readiness.worked("read", "")
        now[0] += seconds - 0.1
        early = await is_ready()
        now[0] += 0.2
        assert [early, await is_ready(), await is_ready()] == [False, True, True]
    readiness.failed("append", "")
    readiness.worked("append", "")
    assert (await is_ready(), len(reads)) == (True, 3)


GUARD_SECONDS = 5.0
NEXT = {"x-ms-continuation-NextPartitionKey": "again", "x-ms-continuation-NextRowKey": "again"}
BLOBS = '<?xml version="1.0"?><EnumerationResults><Blobs/><NextMarker>again</NextMarker></EnumerationResults>'


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


@pytest.mark.behaviour("http.lists-end")
async def test_a_list_that_leads_to_the_same_page_again_is_an_outage(
    environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """And the log says which: of the threads' log in tables, and of attachments in blobs."""
    tables = TablesThreadStore(table_account(environ, "TEST"), "hub")
    blobs = BlobObjects(blob_account(environ, "TEST"), "container", AttachmentsUnavailableError)

    with pytest.raises(LogUnavailableError):
        await asyncio.wait_for(tables.events(Address.of("Joker", "t"), 0), GUARD_SECONDS)
    with pytest.raises(AttachmentsUnavailableError):
        await asyncio.wait_for(blobs.put_between("joker", 0.0, 1.0), GUARD_SECONDS)

    await tables.close()
    await blobs.close()
    assert caplog.text.count("cannot be used: its list repeats a page and would never end.") == 2
