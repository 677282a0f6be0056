"""Files whose process dies as they are sent, read for search, carried to a fork or erased: whole, or not there."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import httpx
import pytest

from hosting.features.uploads.contents import PIECE_BYTES
from tests.faults.killed_app import KILLED, SCRIPTED, KilledApp, Row, Scenario, each_dies
from tests.faults.storm_kept import kept
from tests.faults.uploaded_files import names_in
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
    """Begin an upload of the file by parts, and send the first half."""
    fields = {"name": "canary.bin", "bytes": len(FILE), "media_type": "image/png"}
    location = (await api.http.post("/api/uploads", json=fields)).headers["location"]
    app.known["url"] = f"/api/{location.partition('/api/')[2]}"
    app.known["parts"] = []
    await send_half(app, api, FILE[:HALF])


async def begin_whole(app: KilledApp, api: Api) -> None:
    await begin_by_halves(app, api)
    await send_half(app, api, FILE[HALF:])


async def send_half(app: KilledApp, api: Api, content: bytes = FILE[HALF:]) -> None:
    answer = await api.http.post(f"{app.known['url']}/parts", content=content)
    app.known["parts"].append(str(answer.json()["part_id"]))


async def complete(app: KilledApp, api: Api) -> httpx.Response:
    return await api.http.post(f"{app.known['url']}/complete", json={"part_ids": app.known["parts"]})


async def give_up(app: KilledApp, api: Api) -> None:
    await api.http.post(f"{app.known['url']}/cancel")


async def send_half_and_complete(app: KilledApp, api: Api) -> None:
    await send_half(app, api)
    await the_parts_are_one_file(app, api)


async def the_parts_are_one_file(app: KilledApp, api: Api) -> None:
    """Also where the completion was answered before."""
    assert (await complete(app, api)).status_code == 201
    assert await contents_of(api, "/api/files") == [FILE]
    for file in (await api.http.get("/api/files")).json()["files"]:
        await api.http.delete(f"/api/files/{file['file_id']}")


async def the_upload_is_given_up(app: KilledApp, api: Api) -> None:
    await give_up(app, api)
    assert (await complete(app, api)).status_code == 404
    assert await contents_of(api, "/api/files") == []


async def send_to_the_thread(app: KilledApp, api: Api) -> None:
    await api.ask("hi", thread_id="t")
    assert (await upload(api, FILES)).status_code == 201
    assert left(app) != []


async def delete_the_thread(app: KilledApp, api: Api) -> None:
    await api.http.delete(f"{THREADS}/t")


async def the_receipt_counts_the_file(app: KilledApp, api: Api) -> None:
    """The deletion is delivered again, and leaves nothing."""
    await delete_the_thread(app, api)

    async def receipt() -> Any:
        answer = await api.http.get(f"{THREADS}/t/erasure")
        return answer.status_code == 200 and answer.json()

    assert (await app.until(receipt))["uploads"] == 1
    await app.until(lambda: not left(app))


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
DELETING = [
    *(f"{side} attachments.erase {nth} | upload" for nth in (1, 2) for side in ("before", "after")),
    *(f"{side} log.{call} {nth} | upload" for call in ("append", "forget") for nth in (1, 2) for side in ("after",)),
]
CANCELLING = [
    f"{side} {call}"
    for call in (
        "log.append 1 | upload",
        "attachments.put 1 | uploads-due",
        "attachments.erase 1 | uploads",
        "log.append 2 | upload",
    )
    for side in ("after", "before")
]


@each_dies(
    Scenario("sent", SCRIPTED, UPLOADING, send, the_file_is_whole_or_not_there).rows(
        pytest.mark.behaviour("uploads.through-a-kill")
    ),
    Scenario(
        "part",
        SCRIPTED,
        [f"before {call} 1 | upload" for call in ("attachments.put", "log.append")],
        send_half,
        send_half_and_complete,
        begin_by_halves,
    ).rows(pytest.mark.behaviour("uploads.through-a-kill")),
    Scenario(
        "completion",
        SCRIPTED,
        [f"{side} log.append {nth} | upload" for nth in (3, 1, 2, 4) for side in ("before", "after")],
        complete,
        the_parts_are_one_file,
        begin_whole,
    ).rows(pytest.mark.behaviour("uploads.through-a-kill")),
    Scenario("cancellation", SCRIPTED, CANCELLING, give_up, the_upload_is_given_up, begin_whole).rows(
        pytest.mark.behaviour("uploads.through-a-kill")
    ),
    Scenario("thread", SCRIPTED, DELETING, delete_the_thread, the_receipt_counts_the_file, send_to_the_thread).rows(
        pytest.mark.behaviour("uploads.through-a-kill")
    ),
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
        url = app.known.setdefault("files", "/api/files")
        await ready(app, api, f"{url}/{(await upload(api, url, content)).json()['file_id']}")
    assert len(await names_in(app, "uploads", "file-index")) > 5


async def three_files_of_the_agent(app: KilledApp, api: Api) -> None:
    app.known["files"] = f"{AGENT}/files"
    await three_files(app, api)


async def erase(app: KilledApp, api: Api) -> httpx.Response:
    files = app.known["files"]
    return await api.http.delete("/api/owners/me" if files == "/api/files" else files)


async def nothing_of_the_files_is_left(app: KilledApp, api: Api) -> None:
    """Bytes, chunks and vectors, when it is sent again."""

    async def erased() -> bool:
        return (await erase(app, api)).status_code == 200

    await app.until(erased)
    assert await contents_of(api, app.known["files"]) == []
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
    Scenario("agent", SEARCHING, ERASING, erase, nothing_of_the_files_is_left, three_files_of_the_agent).rows(
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
