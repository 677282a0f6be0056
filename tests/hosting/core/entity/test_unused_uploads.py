"""What was uploaded and nothing refers to goes after some hours; whatever something refers to stays."""

from __future__ import annotations

import base64
import hashlib

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.thread.commands import DeleteThread, EndRun
from hosting.core.thread.run_request import PauseKind, PendingApproval, RunRequest
from state.codec import read
from state.extension import host_of
from tests.support.cluster.cluster import ADDRESS, INSTANCE, AppProcess, Cluster
from tests.support.threads import accept, completed, end

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("erasure.unused-uploads")]

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
    """Take a turn with a picture."""
    uri = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    shown = RunRequest(message="see", contents=({"$type": "data", "uri": uri, "mediaType": "image/png"},))
    await app.deliver(await app.open(request=shown))


async def trim(app: AppProcess, seconds: float = 2 * DAY_SECONDS, epoch: int = 0) -> list[str]:
    """Have the entity look for what is too old after so long, and return what is kept beside the thread."""
    app.cluster.wall_ahead += seconds
    await app.operate({"logged": True}, "trim")
    return sorted(await app.attachments.names(app.place(epoch)))


@pytest.mark.parametrize(("seconds", "is_kept"), [(UNUSED_SECONDS + 60, False), (UNUSED_SECONDS - 60, True)])
async def test_what_a_conflict_or_a_crash_left_goes_after_some_hours(
    app: AppProcess, seconds: float, is_kept: bool
) -> None:
    """Until then an append that is under way may be about to refer to it."""
    await app.run("one")
    await app.attachments.put(app.place(0), LEFT)

    assert await trim(app, seconds) == ([*LEFT] if is_kept else [])


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


async def test_all_of_it_stays_where_nobody_knows_what_is_referred_to(app: AppProcess) -> None:
    """A document that cannot be read, by this version or by any."""
    await show(app)
    await app.attachments.put(app.place(0), LEFT)
    before = sorted(await app.attachments.names(app.place(0)))
    app.cluster.engine.documents[INSTANCE] = "{"

    assert await trim(app) == before


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


async def test_what_was_left_on_a_thread_that_has_nothing_else_goes(app: AppProcess) -> None:
    """Its first request was too large for the log, and its process died before it was there."""
    await app.attachments.put(app.place(0), LEFT)

    assert (await trim(app), app.entries()) == ([], [])


async def test_what_was_left_for_the_next_life_of_a_deleted_thread_goes(app: AppProcess) -> None:
    """No run began it. What is put there now stays, as somebody is about to refer to it."""
    await app.run("one")
    await app.log.execute(ADDRESS, DeleteThread(app.cluster.wall(), "asked"))
    await app.operate({"logged": True}, "delete")
    await app.attachments.put(app.place(2), LEFT)
    app.cluster.wall_ahead += DAY_SECONDS
    await app.attachments.put(app.place(2), LATE)

    assert await trim(app, 0.0, epoch=2) == [*LATE]
