"""Files under SIGKILL at each of their other turns: parts, completions, erasures, and the job that reads them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.faults.uploaded_files import FILE, kept_up, left, names_in, upload
from tests.support.carriers import Api
from tests.support.kept_in import KINDS, explored, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

SEARCHING = """
from hosting.app import FileSearch, Principal
from tests.support.hashed_words import HashedWords
from tests.support.searcher import searcher


def signed_in(request):
    return Principal("https://login.example", "ann", roles=("operators",))


search = FileSearch(embeddings=HashedWords(), chunk_tokens=100, overlap_tokens=0)
app = hosting.app.AgentFunctionApp(agents=[searcher(search)], principal=signed_in)
"""
AGENT = "/api/agents/Librarian"
GUARD_SECONDS = 60.0
HALF = len(FILE) // 2
TEXT = "\n\n".join(f"Paragraph {number} tells of subject{number}." for number in range(1400)).encode()
"""Some batches of chunks."""

SIDES = ("before", "after")

Work = Callable[[Api, dict[str, Any]], Awaitable[Any]]


class Kill(Struct, frozen=True):
    """A death in some work, at the call of that number that has a word in it."""

    work: str
    point: str
    nth: str
    said: str = "upload"

    def __str__(self) -> str:
        return f"{self.work} {self.point} {self.nth} {self.said}"


def kills(work: str, *calls: tuple[str, str, str], sides: Sequence[str] = SIDES) -> list[Kill]:
    """Return the deaths before and after each of these calls, or on one of its `sides`."""
    return [Kill(work, f"{side} {call}", nth, said) for call, nth, said in calls for side in sides]


def over_stores(first: Kill, *chosen: list[Kill]) -> list[Any]:
    """Return the cases of a test: in the gate `first` over each store, and every sixth other one over files."""
    others = [kill for each in chosen for kill in each if kill != first]
    rest = [kill for number, kill in enumerate(others) if number % 6]
    return kept_in(*KINDS, first=first, rest=others[::6]) + explored(*rest)


async def dead_of(kill: Kill, folder: Path, stores: dict[str, str], work: Callable[[Api], object]) -> None:
    """Have a host do the work, and die of it there."""
    await killed_by(folder, kill.point, work, NTH=kill.nth, SAID=kill.said, **stores)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app, whose agent searches the files of whoever is signed in."""
    return killing_stores_app(tmp_path, SEARCHING)


async def begun(api: Api, known: dict[str, Any]) -> None:
    """Begin an upload of the file, and send the first half."""
    fields = {"name": "canary.bin", "bytes": len(FILE), "media_type": "image/png"}
    known["url"] = (await api.http.post("/api/uploads", json=fields)).headers["location"].partition("/api/")[2]
    known["parts"] = [await part(api, known, FILE[:HALF])]


async def begun_whole(api: Api, known: dict[str, Any]) -> None:
    """Begin an upload, and send both halves."""
    await begun(api, known)
    known["parts"].append(await part(api, known, FILE[HALF:]))


async def part(api: Api, known: dict[str, Any], content: bytes) -> str:
    """Send a part, and return its id."""
    return str((await api.http.post(f"/api/{known['url']}/parts", content=content)).json()["part_id"])


async def send_the_rest(api: Api, known: dict[str, Any]) -> None:
    """Send the second half."""
    known["parts"].append(await part(api, known, FILE[HALF:]))


async def complete(api: Api, known: dict[str, Any]) -> Any:
    """Make the file of its parts."""
    return await api.http.post(f"/api/{known['url']}/complete", json={"part_ids": known["parts"]})


async def cancel(api: Api, known: dict[str, Any]) -> Any:
    """Give the upload up."""
    return await api.http.post(f"/api/{known['url']}/cancel")


PARTS: Mapping[str, tuple[Work, Work]] = {
    "a part": (begun, send_the_rest),
    "a completion": (begun_whole, complete),
    "a cancellation": (begun_whole, cancel),
}
PART_KILLS = [
    kills("a part", *((call, nth, "upload") for call, nth in (("attachments.put", "1"), ("log.append", "1")))),
    kills("a completion", *(("log.append", nth, "upload") for nth in "1234")),
    kills(
        "a cancellation",
        ("attachments.put", "1", "uploads-due"),
        ("log.append", "1", "upload"),
        ("attachments.erase", "1", "uploads"),
        ("log.append", "2", "upload"),
    ),
]


@pytest.mark.behaviour("uploads.through-a-kill")
@pytest.mark.parametrize(("kill", "stores"), over_stores(PART_KILLS[1][4], *PART_KILLS), indirect=["stores"], ids=str)
async def test_a_host_killed_in_an_upload_by_parts_goes_on_with_the_parts_that_came(
    folder: Path, kill: Kill, stores: dict[str, str]
) -> None:
    """The same request again has its end: one file with all bytes, or none after it was given up, and then nothing."""
    prepare, work = PARTS[kill.work]
    known: dict[str, Any] = {}
    async with running(folder, **stores) as (_, api):
        await prepare(api, known)
    parts = list(known["parts"])
    await dead_of(kill, folder, stores, lambda api: work(api, known))

    async with running(folder, **stores) as (_, api):
        known["parts"] = parts
        again = await work(api, known)
        ended = await complete(api, known)
        files = (await api.http.get("/api/files")).json()["files"]
        contents = [(await api.http.get(file["content_url"])).content for file in files]
        for file in files:
            await api.http.delete(f"/api/files/{file['file_id']}")
    await kept_up(folder, stores)

    assert len(files) == (ended.status_code == 201), (again, ended.text)
    assert ended.status_code == (404 if kill.work == "a cancellation" else 201), ended.text
    assert contents == [FILE] * len(files)
    assert left(folder, stores) == []
    assert await names_in(folder, stores, "uploads", "uploads-due") == []


ERASURES = {"the owner": "/api/owners/me", "the agent": f"{AGENT}/files"}
ERASING = [
    kills(
        work,
        *(("attachments.put", nth, "uploads-due") for nth in "13"),
        *(("log.append", nth, "uploads") for nth in "12357"),
        *(("log.append", nth, "file-index") for nth in "12"),
        *(("attachments.erase", nth, "file-index") for nth in "12"),
        *(("attachments.erase", nth, "uploads") for nth in "123"),
        *(("log.forget", nth, "uploads") for nth in "13"),
        sides=["before"],  # files are removed several at once: which call ends first is not known
    )
    for work in ERASURES
]


@pytest.mark.behaviour("file-search.erased")
@pytest.mark.parametrize(("kill", "stores"), over_stores(ERASING[0][4], *ERASING), indirect=["stores"], ids=str)
async def test_a_host_killed_in_an_erasure_of_files_leaves_nothing_of_them_when_it_is_sent_again(
    folder: Path, kill: Kill, stores: dict[str, str]
) -> None:
    """Bytes, chunks and vectors, of two files with the same content and a third one."""
    stores = {**stores, "AGENT_ADMIN_ROLE": "operators"}
    files = "/api/files" if kill.work == "the owner" else f"{AGENT}/files"
    async with running(folder, **stores) as (_, api):
        for content in (TEXT, TEXT, b"One tea, please."):
            await ready(api, f"{files}/{(await upload(api, files, content)).json()['file_id']}")
        there = await names_in(folder, stores, "uploads", "file-index")
    await dead_of(kill, folder, stores, lambda api: api.http.delete(ERASURES[kill.work]))

    async with running(folder, **stores) as (_, api):
        async with asyncio.timeout(GUARD_SECONDS):
            while (await api.http.delete(ERASURES[kill.work])).status_code != 200:  # noqa: ASYNC110 - it is sent again
                await asyncio.sleep(0.05)
        listed = (await api.http.get(files)).json()["files"]
        over = await names_in(folder, stores, "uploads", "file-index", "file-search")
    await kept_up(folder, stores)

    assert await names_in(folder, stores, "uploads-due") == []
    assert len(there) > 5
    assert (listed, over) == ([], [])


async def ready(api: Api, url: str) -> dict[str, Any]:
    """Return how far the search is with a file, once it is ready."""
    async with asyncio.timeout(GUARD_SECONDS):
        while (index := (await api.http.get(url)).json()["index"])["status"] != "ready":
            assert index["status"] != "failed", index
            await asyncio.sleep(0.05)
    return dict(index)


INDEXING = kills(
    "the job",
    ("log.append", "10", "uploads"),
    ("attachments.put", "1", "file-search"),
    ("attachments.put", "3", "file-search"),
    ("attachments.put", "5", "file-search"),
    ("log.append", "1", "file-index"),
    ("attachments.put", "1", "file-index"),
    ("log.append", "2", "file-index"),
    ("attachments.erase", "1", "file-search"),
)


@pytest.mark.behaviour("file-search.once")
@pytest.mark.parametrize(("kill", "stores"), over_stores(INDEXING[11], INDEXING), indirect=["stores"], ids=str)
async def test_a_host_killed_in_the_job_of_a_file_makes_it_ready_after_its_start(
    folder: Path, kill: Kill, stores: dict[str, str]
) -> None:
    """An answer cites it then; and it leaves nothing when it is deleted."""

    async def indexed(api: Api) -> None:
        file = (await upload(api, "/api/files", TEXT)).json()
        await ready(api, f"/api/files/{file['file_id']}")

    await dead_of(kill, folder, stores, indexed)

    async with running(folder, **stores) as (_, api):
        [file] = (await api.http.get("/api/files")).json()["files"]
        url = f"/api/files/{file['file_id']}"
        index = await ready(api, url)
        answer = await api.http.post(f"{AGENT}/run", json={"message": "search subject1234", "thread_id": "t"})
        batches = await names_in(folder, stores, "file-search")
        deleted = (await api.http.delete(url)).json()
        over = await names_in(folder, stores, "uploads", "file-index", "file-search", "uploads-due")

    assert index["chunks"] == index["embedded"] == deleted["chunks"] > 128
    assert [citation["name"] for citation in answer.json()["citations"]][:1] == ["canary.txt"]
    assert (batches, over) == ([], [])
