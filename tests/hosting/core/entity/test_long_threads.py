"""A long thread over HTTP: whoever reads it cannot tell which of its entries are archived."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.thread.commands import DeleteThread, EndRun
from hosting.core.thread.run_request import PauseKind, PendingApproval, RunRequest
from hosting.core.thread_log import epoch_store_key
from hosting.names import Address
from state.codec import read, write
from state.conversation import with_log_mark
from state.extension import LogMark, host_of
from tests.support.app.scripted import scripted_agent
from tests.support.cluster.cluster import ADDRESS, HUB, INSTANCE, AppProcess, Cluster
from tests.support.threads import accept, completed, end

THREAD = "/api/agents/Joker/threads/t1"
PLACE = epoch_store_key(HUB, Address.of("Joker", "t1"), 0)
TURNS = 20


@pytest.fixture
async def long_thread() -> AppProcess:
    """A process of an app whose thread has many turns, most of them archived."""
    app = Cluster(lambda: scripted_agent("Joker")).process(AGENT_RECENT_BYTES="2048")
    for number in range(TURNS):
        await app.run(f"m{number}", run_id=f"r{number}")
    return app


async def ask(app: AppProcess, message: str) -> dict[str, Any]:
    answer = await app.http.post("/api/agents/Joker/run", json={"message": message, "thread_id": "t1"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def page_of(app: AppProcess, **query: object) -> dict[str, Any]:
    answer = await app.http.get(f"{THREAD}/messages", params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def positions(page: dict[str, Any]) -> list[int]:
    """Return the positions of a page's entries."""
    return [entry["position"] for entry in page["entries"]]


WINDOWS: list[tuple[dict[str, object], list[int], bool]] = [
    ({"after": 3, "before": 7}, [4, 5, 6], False),
    ({"limit": 2, "before": 7}, [1, 2], True),
    ({"limit": 2 * TURNS}, list(range(1, 2 * TURNS + 1)), False),
    ({"limit": 2 * TURNS - 1}, list(range(1, 2 * TURNS)), True),
    ({"after": 2 * TURNS}, [], False),
    ({"before": 1}, [], False),
    ({"after": 9, "before": 5}, [], False),
    ({"after": 2 * TURNS - 3, "order": "desc"}, [2 * TURNS, 2 * TURNS - 1, 2 * TURNS - 2], False),
]


@pytest.mark.moved_time
@pytest.mark.behaviour("archive.one-conversation")
@pytest.mark.behaviour("archive.counts-all")
async def test_whoever_reads_a_long_thread_cannot_tell_what_is_archived(long_thread: AppProcess) -> None:
    """Pages from either end, windows, the counts of the thread, and its export."""
    forwards, backwards = [], []
    page = await page_of(long_thread, limit=7)
    while page["entries"]:
        forwards += page["entries"]
        page = await page_of(long_thread, limit=7, after=positions(page)[-1])
    page = await page_of(long_thread, limit=7, order="desc")
    while page["entries"]:
        backwards += page["entries"]
        page = await page_of(long_thread, limit=7, order="desc", before=positions(page)[-1])
    windows = [await page_of(long_thread, **query) for query, _, _ in WINDOWS]
    received = (await long_thread.http.get(THREAD)).json()
    exported = (await long_thread.http.get(f"{THREAD}/export")).json()["conversation"]

    (stored,) = long_thread.cluster.engine.documents.values()
    runs = [f"r{number}" for number in range(TURNS) for _ in range(2)]
    assert host_of(read(stored)).archived.entries > TURNS
    assert [entry["position"] for entry in forwards] == list(range(1, 2 * TURNS + 1))
    assert forwards == backwards[::-1]
    assert [entry["run_id"] for entry in forwards] == runs
    texts = [entry["messages"][0]["contents"][0]["text"] for entry in forwards]
    assert texts == [text for number in range(TURNS) for text in (f"m{number}", f"echo: m{number}")]
    assert [(positions(window), window["has_more"]) for window in windows] == [row[1:] for row in WINDOWS]
    assert (received["message_count"], received["created_at"]) == (2 * TURNS, forwards[0]["created_at"])
    assert list(received["usage"].values()) == [3 * TURNS, 4 * TURNS, 7 * TURNS]
    assert received["size_bytes"] < 4096
    assert [entry["correlationId"] for entry in exported["data"]["conversationHistory"]] == runs
    assert host_of(read(json.dumps(exported))).archived.entries == 0


@pytest.mark.moved_time
@pytest.mark.behaviour("archive.tells-what-is-missing")
async def test_an_archive_that_lost_something_says_so_and_runs_go_on(long_thread: AppProcess) -> None:
    """503, with the position; a page of what is there is still read. A deleted thread begins anew."""
    await long_thread.stores.archive.erase(PLACE)

    lost = await long_thread.http.get(f"{THREAD}/messages")
    newest = await page_of(long_thread, limit=2, order="desc")

    assert (lost.status_code, lost.json()["code"]) == (503, "archive_incomplete")
    assert "lacks entry 1 of" in lost.json()["detail"]
    assert positions(newest) == [2 * TURNS, 2 * TURNS - 1]
    assert (await ask(long_thread, "on"))["message_count"] == 2 * TURNS + 2
    await long_thread.log.execute(Address.of("Joker", "t1"), DeleteThread(long_thread.cluster.wall()))
    await long_thread.operate({"logged": True}, "delete")
    await ask(long_thread, "anew")
    page = await page_of(long_thread)
    assert [entry["messages"][0]["contents"][0]["text"] for entry in page["entries"]] == ["anew", "echo: anew"]


DAY_SECONDS = 86_400.0
PICTURE = bytes(range(256)) * 400
"""So large that its request stands elsewhere than in the log, too."""
REFERRED = hashlib.sha256(PICTURE).hexdigest()
LEFT, LATE = ({hashlib.sha256(body).hexdigest(): body} for body in (b"left", b"late"))


@pytest.fixture
async def app(cluster: Cluster) -> AppProcess:
    """A process whose documents are short."""
    return cluster.process(AGENT_RECENT_BYTES="2048")


async def show(app: AppProcess) -> None:
    uri = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    shown = RunRequest(message="see", contents=({"$type": "data", "uri": uri, "mediaType": "image/png"},))
    await app.deliver(await app.open(request=shown))


async def trim(app: AppProcess, seconds: float = 2 * DAY_SECONDS, epoch: int = 0) -> list[str]:
    """Have the entity look for what is too old after so long, and return what is kept beside the thread."""
    app.cluster.wall_ahead += seconds
    await app.operate({"logged": True}, "trim")
    return sorted(await app.attachments.names(app.place(epoch)))


@pytest.mark.moved_time
@pytest.mark.behaviour("erasure.unused-uploads")
@pytest.mark.parametrize(("seconds", "is_kept"), [(UNUSED_SECONDS + 60, False), (UNUSED_SECONDS - 60, True)])
async def test_what_a_conflict_or_a_crash_left_goes_after_some_hours(
    app: AppProcess, seconds: float, is_kept: bool
) -> None:
    """Until then an append that is under way may be about to refer to it."""
    await app.run("one")
    await app.attachments.put(app.place(0), LEFT)

    assert await trim(app, seconds) == ([*LEFT] if is_kept else [])


@pytest.mark.moved_time
@pytest.mark.behaviour("erasure.unused-uploads")
@pytest.mark.parametrize("is_archived", [False, True])
async def test_what_the_log_the_document_or_an_archived_entry_refers_to_stays(
    app: AppProcess, is_archived: bool
) -> None:
    """A request that is too large for the log, and the picture that the conversation refers to."""
    await show(app)
    before = sorted(await app.attachments.names(app.place(0)))
    for number in range(12 * is_archived):
        await app.run(f"{number} ".ljust(300, "x"))
    await app.attachments.put(app.place(0), LEFT)

    kept = await trim(app)

    document = read(app.cluster.engine.documents[INSTANCE])
    assert (host_of(document).archived.entries > 2) == is_archived
    assert (REFERRED in kept, len(before)) == (True, 2)
    assert kept.count(*LEFT) == 0
    assert is_archived or kept == before


@pytest.mark.moved_time
@pytest.mark.behaviour("erasure.unused-uploads")
async def test_all_of_it_stays_where_nobody_knows_what_is_referred_to(app: AppProcess) -> None:
    """A document that cannot be read, by this version or by any."""
    await show(app)
    await app.attachments.put(app.place(0), LEFT)
    before = sorted(await app.attachments.names(app.place(0)))
    app.cluster.engine.documents[INSTANCE] = "{"

    assert await trim(app) == before


@pytest.mark.moved_time
@pytest.mark.behaviour("erasure.unused-uploads")
async def test_what_a_document_ahead_of_its_log_refers_to_stays(app: AppProcess) -> None:
    """Whoever restored an older log may restore a newer one yet (docs/guides/backup.md)."""
    await app.run("one")
    documents = app.cluster.engine.documents
    documents[INSTANCE] = write(with_log_mark(read(documents[INSTANCE]), LogMark(epoch=4, position=90, since=90)))
    for epoch in (4, 5):
        await app.attachments.put(app.place(epoch), LEFT)

    kept = [await trim(app, epoch=epoch) for epoch in (4, 5)]

    assert kept == [[*LEFT], []]


@pytest.mark.moved_time
@pytest.mark.behaviour("erasure.unused-uploads")
@pytest.mark.behaviour("service.temporary")
@pytest.mark.parametrize(
    ("kind", "seconds", "states"),
    [
        (None, 0.0, ["open", "deleted"]),
        ("client_tool", 60.0, ["open", "open"]),
        ("client_tool", -1.0, ["open", "deleted"]),
        ("approve", 60.0, ["open", "deleted"]),
    ],
)
async def test_a_thread_that_was_not_to_be_stored_goes_once_nobody_works_or_waits_for_its_caller(
    app: AppProcess, kind: PauseKind | None, seconds: float, states: list[str]
) -> None:
    """The engine lost the operation that was to delete it. A call waits for its time; nobody waits for a decision."""
    now, ends = app.cluster.wall(), end("r1")
    if kind is not None:
        asks = {"approvals": (PendingApproval(id="a1", tool="where", arguments={}, kind=kind),)}
        ends = EndRun("token-r1", completed("r1", at=now, expires_at=now + seconds).model_copy(update=asks))
    seen = []
    for command in (accept("r1", claimed=True, temporary=True), ends):
        await app.log.execute(ADDRESS, command)
        await trim(app, 0.0)
        seen.append((await app.log.head(ADDRESS)).state)

    assert seen == states


@pytest.mark.moved_time
@pytest.mark.behaviour("erasure.unused-uploads")
async def test_what_was_left_on_a_thread_that_has_nothing_else_goes(app: AppProcess) -> None:
    """Its first request was too large for the log, and its process died before it was there."""
    await app.attachments.put(app.place(0), LEFT)

    assert (await trim(app), app.entries()) == ([], [])


@pytest.mark.moved_time
@pytest.mark.behaviour("erasure.unused-uploads")
async def test_what_was_left_for_the_next_life_of_a_deleted_thread_goes(app: AppProcess) -> None:
    """No run began it. What is put there now stays, as somebody is about to refer to it."""
    await app.run("one")
    await app.log.execute(ADDRESS, DeleteThread(app.cluster.wall(), "asked"))
    await app.operate({"logged": True}, "delete")
    await app.attachments.put(app.place(2), LEFT)
    app.cluster.wall_ahead += DAY_SECONDS
    await app.attachments.put(app.place(2), LATE)

    assert await trim(app, 0.0, epoch=2) == [*LATE]
