"""What every backend of attachments must do: `hosting.ports.AttachmentStore`, in the order of its sentences."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosting.errors import AttachmentsUnavailableError
from hosting.names import Address, StoreKey
from hosting.ports import AttachmentStore
from hosting.runner.thread_log import epoch_store_key, store_key
from hosting.stores.blobs import BlobAttachments, storage_account
from hosting.stores.sqlite_contents import SqliteAttachments
from state.attached import Attachment
from tests.contracts.archives import BEGIN_ALIKE, EPOCHS
from tests.contracts.attachment_stores import FACTORIES, STORES, OpenAttachments

PLACE = StoreKey("joker", "thread")
ELSEWHERE = StoreKey("joker", "thread-2")
LONG_AGO, LATER = 1e9, 4e9


@pytest.fixture(params=STORES)
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[OpenAttachments]:
    """Opens the store of this test; memory has one view of it, the others as many as are opened."""
    opened: list[AttachmentStore] = []
    make = FACTORIES[request.param](request)

    def open_one() -> AttachmentStore:
        opened.append(make())
        return opened[-1]

    yield open_one
    for store in opened:
        await store.close()


def attachment(body: bytes) -> Attachment:
    """Return bytes with their hash."""
    return Attachment(hashlib.sha256(body).hexdigest(), body)


async def moments(store: AttachmentStore) -> list[float]:
    """Return when each thread's attachments were put."""
    return [moment for moment, _ in await store.put_between("joker", LONG_AGO, LATER)]


ONE, TWO = attachment(bytes(range(256)) * 400), attachment(b"two")


@pytest.mark.behaviour("erasure.attachments")
async def test_what_was_put_is_read_by_any_process(open_store: OpenAttachments) -> None:
    """Of what is asked for, that which is there."""
    await open_store().put(PLACE, [ONE, TWO])

    assert await open_store().read(PLACE, [ONE.sha256, "0" * 64]) == {ONE.sha256: ONE.body}
    assert await open_store().hashes(PLACE) == sorted([ONE.sha256, TWO.sha256])
    assert await open_store().read(PLACE, []) == {}


@pytest.mark.behaviour("erasure.attachments")
async def test_what_is_put_again_is_kept_once(open_store: OpenAttachments) -> None:
    """By any process, and by many at once."""
    stores = [open_store() for _ in range(4)]

    await asyncio.gather(*(store.put(PLACE, [ONE]) for store in stores for _ in range(4)))

    assert await stores[0].hashes(PLACE) == [ONE.sha256]


async def test_threads_do_not_see_each_other(open_store: OpenAttachments) -> None:
    """Neither by hash nor in the list, also where one's name begins with the other's."""
    store = open_store()
    await store.put(ELSEWHERE, [ONE])

    assert await store.read(PLACE, [ONE.sha256]) == {}
    assert await store.hashes(PLACE) == []


@pytest.mark.behaviour("erasure.attachments")
async def test_a_thread_is_erased_and_others_stay(open_store: OpenAttachments) -> None:
    """Twice is as good, and it may be used again."""
    store = open_store()
    await store.put(PLACE, [ONE, TWO])
    await store.put(ELSEWHERE, [ONE])

    for _ in range(2):
        await open_store().erase(PLACE)

    assert await store.hashes(PLACE) == []
    assert await store.read(ELSEWHERE, [ONE.sha256]) == {ONE.sha256: ONE.body}
    await store.put(PLACE, [TWO])
    assert await open_store().hashes(PLACE) == [TWO.sha256]


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_what_nobody_has_put_since_a_moment_is_told_and_erased(open_store: OpenAttachments) -> None:
    """Of what is named that alone, and of no other thread."""
    store = open_store()
    await store.put(PLACE, [ONE, TWO])
    await store.put(ELSEWHERE, [ONE])

    received = [await open_store().put_before(PLACE, moment) for moment in (LONG_AGO, LATER)]
    await store.erase(PLACE, [ONE.sha256], before=LONG_AGO)
    kept = await store.hashes(PLACE)
    await store.erase(PLACE, [ONE.sha256], before=LATER)

    assert received == [[], sorted([ONE.sha256, TWO.sha256])]
    assert kept == sorted([ONE.sha256, TWO.sha256])
    assert (await store.hashes(PLACE), await store.hashes(ELSEWHERE)) == ([TWO.sha256], [ONE.sha256])


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_whoever_has_something_put_in_a_span_of_time_is_told(open_store: OpenAttachments) -> None:
    """Each thread of that agent once, oldest first, and nobody whose name begins alike."""
    store = open_store()
    await store.put(PLACE, [ONE])
    while len(set(await moments(store))) < 2:  # some stores tell moments in whole seconds
        await store.put(ELSEWHERE, [ONE, TWO])
    for alike in (StoreKey("joker", "thread/0"), StoreKey("joker2", "thread"), StoreKey("joke", "r/thread")):
        await store.put(alike, [TWO])

    all_of_it = await open_store().put_between("joker", LONG_AGO, LATER)
    first, second, _ = [moment for moment, _ in all_of_it]

    assert sorted(thread_id for _, thread_id in all_of_it) == ["thread", "thread-2", "thread/0"]
    assert all_of_it == sorted(all_of_it)
    assert await store.put_between("joker", first, second) == [(first, "thread")]
    assert await store.put_between("joker", second, LATER) == all_of_it[1:]
    assert await store.put_between("nobody", LONG_AGO, LATER) == []


@pytest.mark.behaviour("erasure.attachments")
@pytest.mark.parametrize("erased", [EPOCHS[0], EPOCHS[9], EPOCHS[-1], *BEGIN_ALIKE])
async def test_lives_of_threads_do_not_meet(open_store: OpenAttachments, erased: StoreKey) -> None:
    """Of two hubs, of threads and epochs whose names begin alike: each has its own, and is erased alone."""
    store, places = open_store(), [*EPOCHS, *BEGIN_ALIKE]
    own = {place: attachment(str(place).encode()) for place in places}
    for place in places:
        await store.put(place, [own[place], TWO])

    await open_store().erase(erased)

    for place in places:
        kept = [] if place == erased else [own[place], TWO]
        assert await store.hashes(place) == sorted(one.sha256 for one in kept)
        assert await store.read(place, [own[place].sha256, TWO.sha256]) == {one.sha256: one.body for one in kept}


@pytest.mark.behaviour("erasure.attachments")
async def test_the_epochs_of_a_thread_that_have_attachments_are_told(open_store: OpenAttachments) -> None:
    """Whatever an earlier life left is found and erased without a list of all threads."""
    store, thread = open_store(), store_key("hub", Address("joker", "a"))
    for place in (*EPOCHS, *BEGIN_ALIKE):
        await store.put(place, [TWO])

    assert await open_store().epochs(thread) == [1, 10, 11]
    await store.erase(epoch_store_key("hub", Address("joker", "a"), 10))
    assert await store.epochs(thread) == [1, 11]
    assert await store.epochs(store_key("hub", Address("joker", "b"))) == []


async def test_a_closed_store_may_be_used_again(open_store: OpenAttachments) -> None:
    """Closing lets go of files and threads; what is kept stays."""
    store = open_store()
    await store.put(PLACE, [TWO])
    await store.close()

    assert await store.hashes(PLACE) == [TWO.sha256]


async def test_a_file_that_cannot_be_opened_is_said_to_be_away(tmp_path: Path) -> None:
    """By an error of ours."""
    with pytest.raises(AttachmentsUnavailableError):
        await SqliteAttachments(tmp_path).hashes(PLACE)


async def test_an_account_that_does_not_answer_is_said_to_be_away() -> None:
    """By an error of ours, after the patience of its container."""
    text = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;BlobEndpoint=http://127.0.0.1:1/a;"
    connect = storage_account({"AzureWebJobsStorage": text}, "AGENT_ATTACHMENTS")
    store = BlobAttachments(connect, patience_seconds=0.2)

    with pytest.raises(AttachmentsUnavailableError):
        await store.hashes(PLACE)
    await store.close()
