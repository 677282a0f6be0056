"""What was uploaded and nothing refers to goes after some hours; whatever something refers to stays."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.thread.commands import DeleteThread, EndRun
from hosting.core.thread.run_request import PauseKind, PendingApproval, RunRequest
from hosting.core.thread_log import epoch_store_key
from state.codec import read
from state.extension import host_of
from tests.support.bench import ADDRESS, HUB, PLACE, Bench
from tests.support.threads import accept, completed, end

pytestmark = pytest.mark.behaviour("erasure.unused-uploads")

DAY_SECONDS = 86_400.0
PICTURE = bytes(range(256)) * 400
"""So large that its request stands elsewhere than in the log, too."""
REFERRED = hashlib.sha256(PICTURE).hexdigest()
LEFT, LATE = ({hashlib.sha256(body).hexdigest(): body} for body in (b"left", b"late"))


@pytest.fixture
def bench() -> Iterator[Bench]:
    """One thread whose documents are short, two days ago."""
    bench = Bench(environ={"AGENT_RECENT_BYTES": "2048"})
    bench.attachments.ago_seconds = 2 * DAY_SECONDS
    yield bench
    bench.loop.close()


async def show(bench: Bench) -> None:
    """Take a turn with a picture."""
    uri = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    shown = RunRequest(message="see", contents=({"$type": "data", "uri": uri, "mediaType": "image/png"},))
    await bench.signal(await bench.open(request=shown))


async def trim(bench: Bench) -> list[str]:
    """Have the entity look for what is too old, and return what is kept beside the thread."""
    await bench.deliver({"logged": True}, name="trim")
    return sorted(await bench.attachments.names(PLACE))


@pytest.mark.parametrize(("ago_seconds", "is_kept"), [(UNUSED_SECONDS + 60, False), (UNUSED_SECONDS - 60, True)])
async def test_what_a_conflict_or_a_crash_left_goes_after_some_hours(
    bench: Bench, ago_seconds: float, is_kept: bool
) -> None:
    """Until then an append that is under way may be about to refer to it."""
    await bench.run("one")
    bench.attachments.ago_seconds = ago_seconds
    await bench.attachments.put(PLACE, LEFT)

    assert await trim(bench) == ([*LEFT] if is_kept else [])


async def test_what_the_log_or_the_document_refers_to_stays(bench: Bench) -> None:
    """A request and its end that are too large for the log, and the picture that the document refers to."""
    await show(bench)
    before = sorted(await bench.attachments.names(PLACE))
    await bench.attachments.put(PLACE, LEFT)

    assert (REFERRED in before, len(before)) == (True, 2)
    assert await trim(bench) == before


async def test_what_an_archived_entry_refers_to_stays(bench: Bench) -> None:
    await show(bench)
    for number in range(12):
        await bench.run(f"{number} ".ljust(300, "x"))
    await bench.attachments.put(PLACE, LEFT)

    kept = await trim(bench)

    assert host_of(read(bench.state)).archived.entries > 2
    assert (REFERRED in kept, kept.count(*LEFT) > 0) == (True, False)


async def test_all_of_it_stays_where_nobody_knows_what_is_referred_to(bench: Bench) -> None:
    """A document that cannot be read, by this version or by any."""
    await show(bench)
    before = sorted([*await bench.attachments.names(PLACE), *LEFT])
    await bench.attachments.put(PLACE, LEFT)
    bench.state = "{"

    assert await trim(bench) == before


@pytest.mark.behaviour("service.temporary")
async def test_a_thread_that_was_not_to_be_stored_goes_too(bench: Bench) -> None:
    """The engine lost the operation that was to delete it; one whose run is open stays."""
    states = []
    for command in (accept("r1", claimed=True, temporary=True), end("r1")):
        await bench.services.log.execute(ADDRESS, command)
        await trim(bench)
        states.append((await bench.services.log.head(ADDRESS)).state)

    assert states == ["open", "deleted"]


@pytest.mark.behaviour("service.temporary")
@pytest.mark.parametrize(
    ("kind", "seconds", "state"),
    [("client_tool", 60.0, "open"), ("client_tool", -1.0, "deleted"), ("approve", 60.0, "deleted")],
)
async def test_a_thread_that_was_not_to_be_stored_stays_while_it_waits_for_its_caller(
    bench: Bench, kind: PauseKind, seconds: float, state: str
) -> None:
    """Until the time of the call has passed; for a person's decision nobody waits."""
    now = time.time()
    asks = {"approvals": (PendingApproval(id="a1", tool="where", arguments={}, kind=kind),)}
    ends = completed("r1", at=now, expires_at=now + seconds).model_copy(update=asks)
    await bench.services.log.execute(ADDRESS, accept("r1", claimed=True, temporary=True))
    await bench.services.log.execute(ADDRESS, EndRun("token-r1", ends))

    await trim(bench)

    assert (await bench.services.log.head(ADDRESS)).state == state


async def test_what_was_left_on_a_thread_that_has_nothing_else_goes(bench: Bench) -> None:
    """Its first request was too large for the log, and its process died before it was there."""
    await bench.attachments.put(PLACE, LEFT)

    assert (await trim(bench), bench.state) == ([], None)


async def test_what_was_left_for_the_next_life_of_a_deleted_thread_goes(bench: Bench) -> None:
    """No run began it. What is put there now stays, as somebody is about to refer to it."""
    await bench.run("one")
    await bench.services.log.execute(ADDRESS, DeleteThread(time.time(), "asked"))
    await bench.deliver({"logged": True}, name="delete")
    next_life = epoch_store_key(HUB, ADDRESS, 2)
    await bench.attachments.put(next_life, LEFT)
    bench.attachments.ago_seconds = 0.0
    await bench.attachments.put(next_life, LATE)

    await trim(bench)

    assert sorted(await bench.attachments.names(next_life)) == [*LATE]
