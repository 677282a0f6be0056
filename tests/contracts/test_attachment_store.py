"""What every backend of attachments must do: `hosting.ports.AttachmentStore`, in the order of its sentences."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosting.attachments.blob import BlobAttachments, attachments_container
from hosting.attachments.sqlite import SqliteAttachments
from hosting.errors import AttachmentsUnavailableError
from hosting.events import Place
from hosting.ports import AttachmentStore
from hosting.storage.blob_account import storage_account
from state.attached import Attachment
from tests.contracts.attachment_stores import FACTORIES, STORES, OpenAttachments
from tests.support.canary import holds

PLACE = Place("joker", "thread")
ELSEWHERE = Place("joker", "thread-2")


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


async def test_a_closed_store_may_be_used_again(open_store: OpenAttachments) -> None:
    """Closing lets go of files and threads; what is kept stays."""
    store = open_store()
    await store.put(PLACE, [TWO])
    await store.close()

    assert await store.hashes(PLACE) == [TWO.sha256]


@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_what_was_erased_is_in_no_file_of_the_store(tmp_path: Path) -> None:
    """Neither in freed pages nor in the write-ahead log."""
    store = SqliteAttachments(tmp_path / "attachments.sqlite")
    await store.put(PLACE, [attachment(b"canary-4711" * 5000)])
    assert holds(tmp_path, b"canary-4711")

    await store.erase(PLACE)

    assert not holds(tmp_path, b"canary-4711")
    await store.close()


async def test_a_file_that_cannot_be_opened_is_said_to_be_away(tmp_path: Path) -> None:
    """By an error of ours."""
    with pytest.raises(AttachmentsUnavailableError):
        await SqliteAttachments(tmp_path).hashes(PLACE)


async def test_an_account_that_does_not_answer_is_said_to_be_away() -> None:
    """By an error of ours, after the patience of its container."""
    text = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;BlobEndpoint=http://127.0.0.1:1/a;"
    container = attachments_container(storage_account({"AzureWebJobsStorage": text}), patience_seconds=0.2)
    store = BlobAttachments(container)

    with pytest.raises(AttachmentsUnavailableError):
        await store.hashes(PLACE)
    await store.close()
