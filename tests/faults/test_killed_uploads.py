"""Files whose process dies as they are sent, read for search, carried to a fork or erased: whole, or not there."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from typing import Any, Literal

import httpx
import pytest

from hosting.features.uploads.contents import PIECE_BYTES
from hosting.host_settings import task_hub
from hosting.names import StoreKey, store_space
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments
from tests.faults.killed_app import KILLED, SCRIPTED, KilledApp, Row, Scenario, each_dies
from tests.faults.storm_kept import kept
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import HUB

pytestmark = KILLED

SEARCHING = """
from hosting.app import FileSearch, Principal
from tests.support.hashed_words import HashedWords
from tests.support.searcher import searcher



class NotedWords(HashedWords):
    async def get_embeddings(self, values, *, options=None):
        note(values[0][:30].replace(" ", "-"))
        return await super().get_embeddings(values, options=options)


search = FileSearch(embeddings=NotedWords(), chunk_tokens=100, overlap_tokens=0)
app = AgentFunctionApp(
    agents=[searcher(search)],
    principal=lambda request: Principal("https://login.example", request.headers.get("x-user", "ann"), roles=("ops",)),
)
"""
AGENT = "/api/agents/Librarian"
THREADS = "/api/agents/Joker/threads"
FILES = f"{THREADS}/t/files"
CANARY = b"canary-4b1d"
FILE = CANARY * (PIECE_BYTES * 2 // len(CANARY) + 9)
HALF = len(FILE) // 2
TEXT = "\n\n".join(f"Paragraph {number} tells of subject{number}." for number in range(1400)).encode()
"""Some batches of chunks."""
DAYS = tuple({"CLOCK_AHEAD": str(hours * 3600)} for hours in (26, 40))
"""After the first an upload has expired, and after the second nothing is left of it."""


Space = Literal["uploads", "uploads-due", "file-search", "file-index"]


async def names_in(app: KilledApp, *spaces: Space) -> list[str]:
    """Return the names of all objects in these spaces."""
    objects = choose_attachments(read_settings(app.stores), app.path, app.stores)
    names = list[str]()
    try:
        for holds in spaces:
            space = store_space(task_hub(app.path, app.stores), holds)
            for _, key in await objects.put_between(space, 0.0, math.inf):
                names += await objects.names(StoreKey(space, key))
    finally:
        await objects.close()
    return names


async def upload(api: Api, path: str, content: bytes = FILE) -> httpx.Response:
    return await api.http.post(path, params={"name": "canary.txt"}, content=content)


async def contents_of(api: Api, files: str) -> list[bytes]:
    answer = await api.http.get(files)
    listed = answer.json()["files"] if answer.status_code == 200 else []
    return [(await api.http.get(file["content_url"])).content for file in listed]


def left(app: KilledApp) -> list[str]:
    """Return the places where the stores have some of the file."""
    return [place for place, text in kept(app.path, app.stores, app.stores[HUB]) if CANARY in text]


async def nothing_is_left_a_day_later(app: KilledApp) -> None:
    """Have the upkeep run then, and once more after that."""
    for later in DAYS:
        async with app.running(**later) as api:
            await app.repaired(api)

            async def is_over(is_first: bool = later is DAYS[0]) -> bool:
                due = await names_in(app, "uploads-due")
                return not left(app) and (not due or (is_first and any(name.endswith("-gone") for name in due)))

            await app.until(is_over)
    assert await names_in(app, "uploads", "uploads-due", "file-index", "file-search") == []


async def send(app: KilledApp, api: Api) -> None:
    await upload(api, FILES)


async def the_file_is_whole_or_not_there(app: KilledApp, api: Api) -> None:
    """The next process takes it again."""
    contents = await contents_of(api, FILES)
    again = (await upload(api, FILES)).json()

    assert contents == [FILE] * len(contents)
    assert (again["bytes"], again["sha256"]) == (len(FILE), hashlib.sha256(FILE).hexdigest())
    for file in (await api.http.get(FILES)).json()["files"]:
        await api.http.delete(f"{FILES}/{file['file_id']}")


async def begin_by_halves(app: KilledApp, api: Api) -> None:
    """Begin an upload of the file by parts, and send both."""
    fields = {"name": "canary.bin", "bytes": len(FILE), "media_type": "image/png"}
    location = (await api.http.post("/api/uploads", json=fields)).headers["location"]
    app.known["url"] = f"/api/{location.partition('/api/')[2]}"
    sent = [await api.http.post(f"{app.known['url']}/parts", content=half) for half in (FILE[:HALF], FILE[HALF:])]
    app.known["parts"] = [answer.json()["part_id"] for answer in sent]


async def complete(app: KilledApp, api: Api) -> httpx.Response:
    return await api.http.post(f"{app.known['url']}/complete", json={"part_ids": app.known["parts"]})


async def the_parts_are_one_file(app: KilledApp, api: Api) -> None:
    """Also where the completion was answered before."""
    assert (await complete(app, api)).status_code == 201
    assert await contents_of(api, "/api/files") == [FILE]
    for file in (await api.http.get("/api/files")).json()["files"]:
        await api.http.delete(f"/api/files/{file['file_id']}")


CARRIED = [CANARY * 3, CANARY * 5]


async def two_files(app: KilledApp, api: Api) -> None:
    await api.ask("hello", thread_id="t")
    for content in CARRIED:
        assert (await upload(api, FILES, content)).status_code == 201


async def fork(app: KilledApp, api: Api) -> httpx.Response:
    return await api.http.post(f"{THREADS}/t/fork", json={"thread_id": "copy-1"})


async def the_fork_has_all_files(app: KilledApp, api: Api) -> None:
    """Where nobody asks again, the work of twice a day has it so, if there is a fork."""
    app.known["is_there"] = "copy-1" in (await api.http.get(THREADS)).text
    if app.known["point"].startswith("before"):
        assert (await fork(app, api)).status_code == 201
    else:
        await app.repaired(api)

    async def has_all() -> bool:
        return sorted(await contents_of(api, f"{THREADS}/copy-1/files")) == CARRIED

    await app.until(has_all)
    for thread_id in ("copy-1", "t"):
        await api.http.delete(f"{THREADS}/{thread_id}")


UPLOADING = [
    *(f"{side} attachments.put {nth}" for nth in (2, 1, 4) for side in ("after", "before")),
    *(f"{side} log.append {nth}" for nth in (1, 2, 3, 4, 5, 6) for side in ("after", "before")),
]


@each_dies(
    Scenario("sent", SCRIPTED, UPLOADING, send, the_file_is_whole_or_not_there).rows(
        pytest.mark.behaviour("uploads.through-a-kill")
    ),
    Scenario(
        "completion",
        SCRIPTED,
        [f"{side} log.append {nth} | upload" for nth in (3, 1, 2, 4) for side in ("before", "after")],
        complete,
        the_parts_are_one_file,
        begin_by_halves,
    ).rows(pytest.mark.behaviour("uploads.through-a-kill")),
    Scenario(
        "fork",
        SCRIPTED,
        ["after log.append 3 | copy-1", "after log.append 4 | copy-1"]
        + [f"before log.append {nth} | copy-1" for nth in (2, 3, 4, 6, 8)],
        fork,
        the_fork_has_all_files,
        two_files,
        next_environ={"CLOCK_AHEAD": "43200"},
    ).rows(pytest.mark.behaviour("uploads.carried"), gate=[("before log.append 3 | copy-1", "sqlite")]),
)
async def test_a_file_whose_process_dies_is_whole_or_gone(row: Row) -> None:
    """After a day nothing is left of a file that is not there."""
    await row.dies_and_ends()
    await nothing_is_left_a_day_later(row.app)


async def ready(app: KilledApp, api: Api, url: str) -> Any:
    """Return how far the search is with a file, once it is ready."""

    async def index() -> Any:
        found = (await api.http.get(url)).json()["index"]
        assert found["status"] != "failed", found
        return found["status"] == "ready" and found

    return await app.until(index, 12 * GUARD_SECONDS)


async def three_files(app: KilledApp, api: Api) -> None:
    """Two of the same content, and another one."""
    for content in (TEXT, TEXT, b"One tea, please."):
        await ready(app, api, f"/api/files/{(await upload(api, '/api/files', content)).json()['file_id']}")
    assert len(await names_in(app, "uploads", "file-index")) > 5


async def erase(app: KilledApp, api: Api) -> httpx.Response:
    return await api.http.delete("/api/owners/me")


async def nothing_of_the_files_is_left(app: KilledApp, api: Api) -> None:
    """Bytes, chunks and vectors, when it is sent again."""

    async def erased() -> bool:
        return (await erase(app, api)).status_code == 200

    await app.until(erased)
    assert await contents_of(api, "/api/files") == []
    assert await names_in(app, "uploads", "file-index", "file-search") == []


async def index(app: KilledApp, api: Api) -> None:
    await ready(app, api, f"/api/files/{(await upload(api, '/api/files', TEXT)).json()['file_id']}")


async def the_file_is_ready_and_cited(app: KilledApp, api: Api) -> None:
    """No recorded batch of chunks is embedded again, but for that which was on its way."""
    [file] = (await api.http.get("/api/files")).json()["files"]
    made = await ready(app, api, url := f"/api/files/{file['file_id']}")
    embedded_again = [batch for batch, times in Counter(app.said).items() if times > 1]
    question = {"message": "search subject1234", "thread_id": "t"}
    answer = (await api.http.post(f"{AGENT}/run", json=question)).json()

    assert (len({*app.said}) > 2, len(embedded_again) <= 1) == (True, True)
    assert [citation["name"] for citation in answer["citations"]][:1] == ["canary.txt"]
    assert await names_in(app, "file-search") == []
    deleted = (await api.http.delete(url)).json()
    assert made["chunks"] == made["embedded"] == deleted["chunks"] > 128


ERASING = [
    f"before {call} {nth} | {said}"  # files are removed several at once: which call ends first is not known
    for call, said, numbers in (
        ("log.append", "uploads", (3, 1, 2, 5, 7)),
        ("attachments.put", "uploads-due", (1, 3)),
        ("log.append", "file-index", (1, 2)),
        ("attachments.erase", "file-index", (1, 2)),
        ("attachments.erase", "uploads", (1, 2, 3)),
        ("log.forget", "uploads", (1, 3)),
    )
    for nth in numbers
]
INDEXING = [
    f"{side} {call}"
    for call in (
        "attachments.put 3 | file-search",
        "log.append 10 | uploads",
        "attachments.put 1 | file-search",
        "attachments.put 5 | file-search",
        "log.append 1 | file-index",
        "attachments.put 1 | file-index",
        "log.append 2 | file-index",
        "attachments.erase 1 | file-search",
    )
    for side in ("after", "before")
]


@each_dies(
    Scenario("owner", SEARCHING, ERASING, erase, nothing_of_the_files_is_left, three_files).rows(
        pytest.mark.behaviour("file-search.erased")
    ),
    Scenario("job", SEARCHING, INDEXING, index, the_file_is_ready_and_cited).rows(
        pytest.mark.behaviour("file-search.once")
    ),
)
async def test_a_file_for_search_whose_process_dies_is_ready_once_or_gone(row: Row) -> None:
    """Its bytes, chunks and vectors."""
    row.app.environ["AGENT_ADMIN_ROLE"] = "ops"
    await row.dies_and_ends()
