"""What every store of objects must do: `hosting.ports.ObjectStore`, in the order of its sentences."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosting.core.stores.blobs import BlobObjects, blob_account
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.thread_log import epoch_store_key, store_key
from hosting.errors import AttachmentsUnavailableError
from hosting.names import Address, StoreKey
from hosting.ports import ObjectStore
from tests.contracts.objects import BEGIN_ALIKE, EPOCHS, FACTORIES, STORES, UNAVAILABLE, OpenObjects
from tests.support.canary import holds

PLACE = StoreKey("joker", "thread")
ELSEWHERE = StoreKey("joker", "thread-2")
LONG_AGO, LATER = 1e9, 4e9
ONE, TWO = {"1-one": bytes(range(256)) * 400}, {"2-two": b"two"}
BOTH = {**ONE, **TWO}


@pytest.fixture(params=STORES)
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[OpenObjects]:
    """Opens the store of this test; memory has one view of it, the others as many as are opened."""
    opened: list[ObjectStore] = []
    make = await FACTORIES[request.param](request)

    def open_one() -> ObjectStore:
        opened.append(make())
        return opened[-1]

    yield open_one
    for store in opened:
        await store.close()


async def moments(store: ObjectStore) -> list[float]:
    """Return when something of each thread was first put."""
    return [moment for moment, _ in await store.put_between("joker", LONG_AGO, LATER)]


@pytest.mark.behaviour("archive.put-again")
async def test_names_come_in_the_order_of_their_last_put(open_store: OpenObjects) -> None:
    """With its time; some stores tell moments in whole seconds."""
    store = open_store()
    await store.put(PLACE, BOTH)
    found = await store.names(PLACE)
    while found["1-one"] <= found["2-two"]:
        await open_store().put(PLACE, ONE)
        await asyncio.sleep(0.05)
        found = await store.names(PLACE)

    assert [*found] == [*TWO, *ONE]
    assert [*found.values()] == sorted(found.values())


@pytest.mark.behaviour("archive.calls")
async def test_names_are_asked_for_by_how_they_begin(open_store: OpenObjects) -> None:
    names = ["1-000001-x", "1-000001-y", "1-000010-x", "11-000001-x", "A-1", "a-1"]
    await open_store().put(PLACE, dict.fromkeys(names, b""))

    found = {prefix: sorted(await open_store().names(PLACE, prefix)) for prefix in ("1-000001-", "1", "a", "", "2")}

    assert found == {"1-000001-": names[:2], "1": names[:4], "a": ["a-1"], "": names, "2": []}


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_what_was_put_since_a_moment_is_not_erased(open_store: OpenObjects) -> None:
    """Of what is named that alone, and of no other thread."""
    store = open_store()
    await store.put(PLACE, BOTH)
    await store.put(ELSEWHERE, ONE)

    await store.erase(PLACE, [*ONE], before=LONG_AGO)
    await store.erase(PLACE, before=LONG_AGO)
    kept = sorted(await store.names(PLACE))
    await store.erase(PLACE, [*ONE], before=LATER)

    assert kept == [*BOTH]
    assert ([*await store.names(PLACE)], [*await store.names(ELSEWHERE)]) == ([*TWO], [*ONE])


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_whoever_has_something_put_in_a_span_of_time_is_told(open_store: OpenObjects) -> None:
    """Each thread of that agent once, oldest first, and nobody whose name begins alike."""
    store = open_store()
    await store.put(PLACE, ONE)
    while len(set(await moments(store))) < 2:  # some stores tell moments in whole seconds
        await store.put(ELSEWHERE, BOTH)
    for alike in (StoreKey("joker", "thread/0"), StoreKey("joker2", "thread"), StoreKey("joke", "r/thread")):
        await store.put(alike, TWO)

    all_of_it = await open_store().put_between("joker", LONG_AGO, LATER)
    first, second, _ = [moment for moment, _ in all_of_it]

    assert sorted(thread_id for _, thread_id in all_of_it) == ["thread", "thread-2", "thread/0"]
    assert all_of_it == sorted(all_of_it)
    assert await store.put_between("joker", first, second) == [(first, "thread")]
    assert await store.put_between("joker", second, LATER) == all_of_it[1:]
    assert await store.put_between("nobody", LONG_AGO, LATER) == []


@pytest.mark.behaviour("erasure.attachments")
async def test_lives_of_threads_do_not_meet(open_store: OpenObjects) -> None:
    """Of two hubs, of threads and epochs whose names begin alike: each has its own, and is erased alone."""
    store = open_store()
    kept = {place: {"own": str(place).encode(), **TWO} for place in (*EPOCHS, *BEGIN_ALIKE)}
    for place, objects in kept.items():
        await store.put(place, objects)

    for erased in (EPOCHS[0], EPOCHS[9], EPOCHS[-1], *BEGIN_ALIKE):
        await open_store().erase(erased)

        kept[erased] = {}
        assert {place: sorted(await store.names(place)) for place in kept} == {
            place: sorted(objects) for place, objects in kept.items()
        }
    assert {place: await store.read(place, ["own", *TWO]) for place in kept} == kept


@pytest.mark.behaviour("erasure.attachments")
async def test_the_epochs_of_a_thread_that_have_objects_are_told(open_store: OpenObjects) -> None:
    """Whatever an earlier life left is found and erased without a list of all threads."""
    store, thread = open_store(), store_key("hub", Address("joker", "a"))
    for place in (*EPOCHS, *BEGIN_ALIKE):
        await store.put(place, TWO)

    assert await open_store().epochs(thread) == [1, 10, 11]
    await store.erase(epoch_store_key("hub", Address("joker", "a"), 10))
    assert await store.epochs(thread) == [1, 11]
    assert await store.epochs(store_key("hub", Address("joker", "b"))) == []


async def test_an_account_that_does_not_answer_is_said_to_be_away() -> None:
    """By an error of ours, after the patience of its container."""
    text = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;BlobEndpoint=http://127.0.0.1:1/a;"
    connect = blob_account({"AzureWebJobsStorage": text}, "AGENT_ATTACHMENTS")
    store = BlobObjects(connect, "container", UNAVAILABLE, patience_seconds=0.2)

    with pytest.raises(AttachmentsUnavailableError):
        await store.names(PLACE)
    await store.close()


PLACE, KEPT = StoreKey("joker", "thread"), StoreKey("joker", "kept")


@pytest.mark.behaviour("archive.erases")
@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_what_was_erased_is_in_no_file(tmp_path: Path, seed: int) -> None:
    """One thread after another, among others with objects of any size, some put twice; a reader has the file open."""
    seeded, file = random.Random(seed), tmp_path / "objects.sqlite"
    store = SqliteObjects(StoreFile(ATTACHMENTS, file, AttachmentsUnavailableError))
    places = [StoreKey("joker", f"thread-{n}") for n in range(8)]
    for number in range(200):
        place = seeded.choice(places)
        words = f"{number} canary of {place.name} ".encode() * seeded.choice([1, 4, 20, 60, 200, 2000])
        await store.put(place, {f"{seeded.randint(1, number + 1)}": words})

    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("SELECT count(*) FROM object").fetchone()
        for place in seeded.sample(places, k=7):
            canary = f"canary of {place.name} ".encode()
            assert holds(tmp_path, canary)
            await store.erase(place)
            assert not holds(tmp_path, canary)
    await store.close()
