"""Uploads of files under SIGKILL, from two processes at once, and what a process holds of a large one in memory."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.faults.uploaded_files import CANARY, FILE, kept_up, left, upload
from tests.support.canary import gone
from tests.support.carriers import GUARD_SECONDS
from tests.support.grouped_app import grouped_app
from tests.support.kept_in import KINDS, kept_in
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

THREAD = "/api/agents/Joker/threads/t"
FILES = f"{THREAD}/files"
UPLOADING = [
    *((f"{side} attachments.put", nth) for side in ("before", "after") for nth in ("1", "2", "4")),
    *((f"{side} log.append", nth) for side in ("before", "after") for nth in ("1", "2", "3", "4", "5", "6")),
]
DELETING = [
    *((f"{side} attachments.erase", nth) for side in ("before", "after") for nth in ("1", "2", "3")),
    *((f"{side} log.append", nth) for side in ("before", "after") for nth in ("1", "2")),
    *((f"{side} log.forget", nth) for side in ("before", "after") for nth in ("1", "2")),
]
MIB = 1024 * 1024
LARGE_MIB = 200
MOST_GROWN_MIB = 48
"""Of a process that takes and sends a file of 200 MiB: some pieces, and what its stores hold of them."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app."""
    return killing_stores_app(tmp_path)


@pytest.mark.behaviour("uploads.through-a-kill")
@pytest.mark.parametrize(
    ("point", "nth", "stores"), kept_in(*KINDS, first=UPLOADING[1], rest=UPLOADING[2::3]), indirect=["stores"]
)
async def test_a_host_killed_in_an_upload_has_the_file_whole_or_not_at_all(
    folder: Path, point: str, nth: str, stores: dict[str, str]
) -> None:
    """The next process takes it again, and after a day nothing is left of a file that is not there."""
    await killed_by(folder, point, lambda api: upload(api, FILES), NTH=nth, **stores)

    async with running(folder, **stores) as (_, api):
        listed = (await api.http.get(FILES)).json()["files"]
        contents = [(await api.http.get(file["content_url"])).content for file in listed]
        again = (await upload(api, FILES)).json()
        await api.http.delete(f"{FILES}/{again['file_id']}")
        for file in listed:
            await api.http.delete(f"{FILES}/{file['file_id']}")
    await kept_up(folder, stores)

    assert contents == [FILE] * len(listed)
    assert (again["bytes"], again["sha256"]) == (len(FILE), hashlib.sha256(FILE).hexdigest())
    assert left(folder, stores) == []


@pytest.mark.behaviour("uploads.through-a-kill")
@pytest.mark.parametrize(
    ("point", "nth", "stores"), kept_in(*KINDS, first=DELETING[0], rest=DELETING[1::3]), indirect=["stores"]
)
async def test_a_host_killed_in_the_deletion_of_a_thread_leaves_none_of_its_files(
    folder: Path, point: str, nth: str, stores: dict[str, str]
) -> None:
    """The deletion is delivered again, and the receipt counts the file."""
    async with running(folder, **stores) as (_, api):
        await api.ask("hi", thread_id="t")
        assert (await upload(api, FILES)).status_code == 201
        assert left(folder, stores) != []
    await killed_by(folder, point, lambda api: api.http.delete(THREAD), NTH=nth, SAID="upload", **stores)

    async with running(folder, **stores) as (_, api):
        assert (await api.http.delete(THREAD)).status_code in (202, 204)
        async with asyncio.timeout(2 * GUARD_SECONDS):
            while (receipt := await api.http.get(f"{THREAD}/erasure")).status_code != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            while left(folder, stores):  # noqa: ASYNC110 - stores tell nobody
                await asyncio.sleep(0.05)

    assert receipt.json()["uploads"] == 1


@pytest.mark.behaviour("uploads.two-processes")
async def test_a_file_that_is_deleted_while_another_process_sends_it_is_gone_for_both(tmp_path: Path) -> None:
    """The reader's answer breaks off or was there already, and no file of the stores has any of it."""
    folder = killing_stores_app(tmp_path)
    with grouped_app(folder, log={"AGENT_LOG": "sqlite:.agents/log.sqlite"}) as app:
        one, two = (httpx.AsyncClient(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS) for host in app.http)
        async with one, two:
            file = (await one.post("files", params={"name": "canary.txt"}, content=FILE * 4)).json()
            read = bytearray()
            with contextlib.suppress(httpx.TransportError):
                async with two.stream("GET", f"files/{file['file_id']}/content") as answer:
                    async for piece in answer.aiter_bytes(MIB):
                        if not read:
                            deleted = await one.delete(f"files/{file['file_id']}")
                        read += piece
            after = [(await each.get(f"files/{file['file_id']}/content")).status_code for each in (one, two)]
        await asyncio.wait_for(gone(folder, CANARY), GUARD_SECONDS)

    assert deleted.json() == {"files": 1, "bytes": len(FILE) * 4, "chunks": 0}
    assert (FILE * 4).startswith(bytes(read))
    assert after == [404, 404]


@pytest.mark.behaviour("uploads.in-pieces")
@pytest.mark.skipif(sys.platform != "linux", reason="what a process keeps is read from /proc")
async def test_no_process_holds_a_file_whole(folder: Path) -> None:
    """One that takes and sends a large file grows by some pieces of it."""
    chunk = bytes(range(256)) * (MIB // 256)

    async def body() -> AsyncIterator[bytes]:
        for _ in range(LARGE_MIB):
            yield chunk

    headers = {"content-length": str(LARGE_MIB * MIB)}
    limit = {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": str(2 * LARGE_MIB * MIB)}
    async with running(folder, AGENT_LOG="sqlite:.agents/log.sqlite", **limit) as (host, api):
        await upload(api, FILES)
        before = most_resident_mib(host)
        sent: Any = await api.http.post("/api/files?name=large.bin", content=body(), headers=headers, timeout=300)
        sending = most_resident_mib(host)
        read = 0
        async with api.http.stream("GET", sent.json()["content_url"], timeout=300) as answer:
            async for piece in answer.aiter_bytes():
                read += len(piece)
        after = most_resident_mib(host)

    assert (sent.status_code, read) == (201, LARGE_MIB * MIB)
    assert max(sending, after) - before < MOST_GROWN_MIB, (before, sending, after)


def most_resident_mib(host: RunningHost) -> int:
    """Return how much memory the process had at most."""
    lines = Path(f"/proc/{host.process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:"))
