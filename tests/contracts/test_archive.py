"""What the archive does over a store of objects (`test_object_store.py`): `hosting.core.stores.archive.Archive`."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from hosting.core.stores.archive import Archive, Lent, Loan, Volume
from hosting.core.stores.blobs import PATIENCE_SECONDS, BlobObjects
from hosting.core.stores.cosmos import cosmos_account
from hosting.core.stores.memory import MemoryObjects
from hosting.errors import ArchiveIncompleteError, ArchiveUnavailableError, AttachmentsUnavailableError
from hosting.names import Address, StoreKey
from tests.contracts.objects import FACTORIES, cosmos_objects
from tests.support.azurite import Azurite
from tests.support.cosmos_server import CosmosServer
from tests.support.fault_proxy import FaultProxy, connect_quickly

OpenArchive = Callable[[], Archive]

PLACE = StoreKey("joker", "thread")
VOLUME = Volume(PLACE, 0)


@pytest.fixture(params=["memory", "sqlite"])
async def open_archive(request: pytest.FixtureRequest) -> AsyncIterator[OpenArchive]:
    """Opens the archive of this test; memory has one view of it, the other as many as are opened."""
    opened: list[Archive] = []
    make = await FACTORIES[request.param](request)

    def open_one() -> Archive:
        opened.append(Archive(make()))
        return opened[-1]

    yield open_one
    for archive in opened:
        await archive.close()


def entries(first: int, last: int, output: str = "entry") -> list[str]:
    """Return entries that tell their position."""
    return [json.dumps({"text": f"{output} {position}"}) for position in range(first, last + 1)]


@pytest.mark.behaviour("archive.keeps-entries")
async def test_entries_are_read_as_they_were_put_by_any_process(open_archive: OpenArchive) -> None:
    """From any position to any other, over the borders of what was put at once."""
    archive = open_archive()
    for first, last in ((1, 3), (4, 4), (5, 9)):
        await archive.put(VOLUME, first, entries(first, last))

    other = open_archive()
    assert await other.read(VOLUME, 1, 9) == entries(1, 9)
    assert await other.read(VOLUME, 2, 6) == entries(2, 6)
    assert await other.read(VOLUME, 9, 9) == entries(9, 9)


@pytest.mark.behaviour("archive.put-again")
async def test_what_is_put_again_stands_once(open_archive: OpenArchive) -> None:
    """A move that was broken off is done again, cut at another place: nothing is lost or doubled."""
    archive = open_archive()
    await archive.put(VOLUME, 1, entries(1, 6))
    await archive.put(VOLUME, 1, entries(1, 6))
    await open_archive().put(VOLUME, 1, entries(1, 4))
    await open_archive().put(VOLUME, 5, entries(5, 10))

    assert await archive.read(VOLUME, 1, 10) == entries(1, 10)


@pytest.mark.behaviour("archive.tells-what-is-missing")
@pytest.mark.parametrize(("first", "last", "missing"), [(1, 5, 4), (4, 4, 4), (9, 12, 11)])
async def test_an_entry_that_is_not_there_is_named(
    open_archive: OpenArchive, first: int, last: int, missing: int
) -> None:
    archive = open_archive()
    await archive.put(VOLUME, 1, entries(1, 3))
    await archive.put(VOLUME, 5, entries(5, 10))

    with pytest.raises(ArchiveIncompleteError, match=f"lacks entry {missing} of"):
        await archive.read(VOLUME, first, last)


@pytest.mark.behaviour("archive.erases")
async def test_an_erased_thread_has_no_entry_left_and_others_have_theirs(open_archive: OpenArchive) -> None:
    """All generations of it, told as a count; to erase what is not there is no error."""
    archive = open_archive()
    other = Volume(StoreKey("joker", "thread-2"), 0)
    for volume in (VOLUME, Volume(PLACE, 1), other):
        await archive.put(volume, 1, entries(1, 3))

    assert await open_archive().erase(PLACE) == 6
    assert await open_archive().erase(PLACE) == 0

    for volume in (VOLUME, Volume(PLACE, 1)):
        with pytest.raises(ArchiveIncompleteError):
            await archive.read(volume, 1, 1)
    assert await archive.read(other, 1, 3) == entries(1, 3)


@pytest.mark.behaviour("archive.erases")
async def test_the_volumes_before_a_reset_are_erased_alone(open_archive: OpenArchive) -> None:
    archive = open_archive()
    for generation in (0, 9, 10):
        await archive.put(Volume(PLACE, generation), 1, entries(1, 2))

    assert await archive.erase(PLACE, before=10) == 4

    assert await archive.read(Volume(PLACE, 10), 1, 2) == entries(1, 2)


LENT = Lent(VOLUME, 6)
BORROWER = Volume(StoreKey("joker", "fork"), 9)
LOAN = Loan(LENT, BORROWER, Address("joker", "fork", "person1"))


@pytest.mark.behaviour("fork.whole")
async def test_what_a_volume_does_not_have_is_read_from_those_that_lend_it(open_archive: OpenArchive) -> None:
    """Up to where they do, and never in place of what it has itself."""
    archive, other = open_archive(), Volume(StoreKey("joker", "other"), 0)
    await archive.put(VOLUME, 1, entries(1, 9, "lent"))
    await archive.put(other, 7, entries(7, 12, "lent, too"))
    await archive.put(BORROWER, 6, entries(6, 6, "own"))
    await archive.put(BORROWER, 9, entries(9, 10, "own"))
    lenders = [LENT, Lent(other, 8)]

    has = [*entries(1, 5, "lent"), *entries(6, 6, "own"), *entries(7, 8, "lent, too"), *entries(9, 10, "own")]
    assert await open_archive().read(BORROWER, 1, 10, lenders) == has
    assert await open_archive().read(BORROWER, 5, 7, lenders) == has[4:7]
    with pytest.raises(ArchiveIncompleteError, match="lacks entry 11 of"):
        await archive.read(BORROWER, 1, 11, lenders)
    with pytest.raises(ArchiveIncompleteError, match="lacks entry 1 of"):
        await archive.read(BORROWER, 1, 10)


@pytest.mark.behaviour("fork.alone")
async def test_whoever_erases_what_is_lent_is_told_first(open_archive: OpenArchive) -> None:
    """Of the loans of what is to go, by any process, and of none that has ended."""
    seen: list[object] = []
    archive, newer = open_archive(), Volume(PLACE, 3)

    async def end_loans(loans: object) -> None:
        seen.extend([loans, len(await archive.present(VOLUME, 1, 9))])

    await archive.put(VOLUME, 1, entries(1, 9))
    for loan in (LOAN, Loan(Lent(newer, 4), BORROWER, LOAN.address)):
        await open_archive().lend(loan)
        await open_archive().lend(loan)
    assert [await archive.is_lent(volume, BORROWER) for volume in (VOLUME, newer, BORROWER)] == [True, True, False]

    assert await archive.erase(PLACE, 3, end_loans) == 9
    assert [await archive.is_lent(volume, BORROWER) for volume in (VOLUME, newer)] == [False, True]
    await open_archive().end_loan(newer, BORROWER)
    assert await open_archive().erase(PLACE, end_loans=end_loans) == 0
    assert seen == [[LOAN], 9, [], 0]


@pytest.mark.behaviour("fork.alone")
async def test_what_is_lent_is_not_erased_by_somebody_who_does_not_settle(open_archive: OpenArchive) -> None:
    archive = open_archive()
    await archive.put(VOLUME, 1, entries(1, 9))
    await archive.lend(LOAN)

    with pytest.raises(ValueError, match="1 forks refer to entries that will be erased"):
        await archive.erase(PLACE)

    assert await archive.read(VOLUME, 1, 9) == entries(1, 9)


class GivingObjects(MemoryObjects):
    """Gives the borrower its own entries, and erases what was lent, once somebody has looked for the borrower's."""

    looks = 0

    async def names(self, store_key: StoreKey, prefix: str = "") -> dict[str, float]:
        """List names, and then give and erase after the first reader's look."""
        found = await super().names(store_key, prefix)
        self.looks += store_key == BORROWER.thread
        if self.looks == 1:
            self.looks += 1
            await Archive(self).put(BORROWER, 1, entries(1, 6))
            await self.erase(PLACE)
        return found


@pytest.mark.behaviour("fork.whole")
async def test_what_is_given_back_while_it_is_read_is_read_all_the_same() -> None:
    archive = Archive(GivingObjects())
    await archive.put(VOLUME, 1, entries(1, 6))

    assert await archive.read(BORROWER, 1, 6, [LENT]) == entries(1, 6)


async def said(archive: Archive, first: int, last: int, *lenders: Lent, volume: Volume = VOLUME) -> str | None:
    """Return what is said of the first segment that begins there."""
    return await archive.sums(volume, first, last, lenders)


@pytest.mark.behaviour("archive.counts-all")
async def test_what_is_before_a_segment_is_said_with_it(open_archive: OpenArchive) -> None:
    """By the first of those that begin within the positions that says it; and it is no entry, whichever is put last."""
    archive = open_archive()
    await archive.put(VOLUME, 4, entries(4, 6))
    await archive.put(VOLUME, 1, entries(1, 3), lambda before: f'"{before}"')
    await archive.put(VOLUME, 7, entries(7, 9), lambda before: f'"{6 + before}"')

    assert await archive.read(VOLUME, 1, 9) == entries(1, 9)
    asked = [(1, 9), (2, 9), (4, 6), (7, 7), (8, 9), (10, 20)]
    assert [await said(archive, *one) for one in asked] == ['"0"', '"6"', None, '"6"', None, None]
    assert await said(archive, 2, 9, volume=Volume(PLACE, 1)) is None


ENTRIES = ['{"a":1}', '{"a":2}', '{"a":3}']


@pytest.fixture
def proxy(azurite: Azurite) -> Iterator[FaultProxy]:
    with FaultProxy(azurite.origins) as proxy:
        yield proxy


@pytest.fixture
async def archive(proxy: FaultProxy) -> AsyncIterator[Archive]:
    """An archive whose container is made, so that only what follows is counted."""
    made = archive_at(proxy, f"test-{uuid.uuid4().hex}")
    await made.erase(PLACE)
    yield made
    await made.close()


def archive_at(proxy: FaultProxy, container: str, patience_seconds: float = PATIENCE_SECONDS) -> Archive:
    """Return an archive whose repeats do not wait."""
    connect = connect_quickly(proxy.connection_string)
    return Archive(BlobObjects(connect, container, ArchiveUnavailableError, patience_seconds))


@pytest.mark.slow
@pytest.mark.behaviour("archive.calls")
async def test_a_move_is_one_call_and_a_page_of_a_long_thread_a_few(azurite: Azurite, archive: Archive) -> None:
    """However many entries are in the archive, and wherever the page is."""
    position = azurite.position()
    for first in range(1, 6001, 600):
        await archive.put(VOLUME, first, [f'{{"n":{number}}}' for number in range(first, first + 600)])
    assert len(azurite.calls_since(position)) == 10

    counts = []
    for first in (1, 2950, 5951):
        position = azurite.position()
        assert await archive.read(VOLUME, first, first + 49) == [f'{{"n":{n}}}' for n in range(first, first + 50)]
        counts.append(len(azurite.calls_since(position)))

    assert 1 <= min(counts) <= max(counts) <= 4


@pytest.mark.slow
@pytest.mark.behaviour("archive.unavailable")
async def test_an_account_that_never_answers_or_throttles_is_reported(proxy: FaultProxy) -> None:
    """Within the archive's patience, whatever is asked; afterwards it goes on."""
    container = f"test-{uuid.uuid4().hex}"
    impatient = archive_at(proxy, container, patience_seconds=1)
    silent = proxy.set("silent", times=math.inf)

    async def is_refused(asked: Awaitable[object]) -> None:
        with pytest.raises(ArchiveUnavailableError, match="older part of this thread"):
            await asked

    calls = (impatient.put(VOLUME, 1, ENTRIES), impatient.read(VOLUME, 1, 1), impatient.erase(PLACE))
    await asyncio.gather(*map(is_refused, calls))
    await impatient.close()

    silent.clear()
    patient = archive_at(proxy, container)
    busy = proxy.set("busy", times=math.inf)
    with pytest.raises(ArchiveUnavailableError):
        await patient.put(VOLUME, 1, ENTRIES)
    busy.clear()
    await patient.put(VOLUME, 1, ENTRIES)
    assert await patient.read(VOLUME, 1, 3) == ENTRIES
    await patient.close()


@pytest.mark.slow
@pytest.mark.behaviour("archive.put-again")
@pytest.mark.parametrize("times", [1, math.inf])
async def test_a_put_whose_answer_is_lost_is_repeated_or_reported(
    archive: Archive, proxy: FaultProxy, times: float
) -> None:
    """The entries are there once, either way. Besides the SDK, aiohttp repeats what a kept connection lost."""
    dropped = proxy.set("answer dropped", method="PUT", times=times)

    if times == 1:
        await archive.put(VOLUME, 1, ENTRIES)
    else:
        with pytest.raises(ArchiveUnavailableError):
            await archive.put(VOLUME, 1, ENTRIES)
        dropped.clear()
        await archive.put(VOLUME, 1, ENTRIES)

    assert await archive.read(VOLUME, 1, 3) == ENTRIES
    assert await archive.erase(PLACE) == 3


@pytest.mark.slow
@pytest.mark.behaviour("archive.unavailable")
async def test_an_account_that_goes_away_is_reported(npm_packages: Path) -> None:
    """Whatever is asked; the sentence names neither the account nor its key."""
    server = CosmosServer(npm_packages)
    archive = Archive((await cosmos_objects(server.connection_string))())
    await archive.put(VOLUME, 1, ["{}"])

    server.stop()

    asked = archive.put(VOLUME, 1, ["{}"]), archive.read(VOLUME, 1, 1), archive.erase(VOLUME.thread)
    for refused in await asyncio.gather(*asked, return_exceptions=True):
        assert isinstance(refused, AttachmentsUnavailableError)
        assert "127.0.0.1" not in refused.detail
    await archive.close()


@pytest.mark.slow
@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_nothing_of_an_erased_thread_is_left_in_the_account(cosmos_server: CosmosServer) -> None:
    """Whatever database and container it may be in; another thread's entries stay."""
    archive = Archive((await cosmos_objects(cosmos_server.connection_string))())
    other = Volume(StoreKey("joker", "other"), 0)
    await archive.put(VOLUME, 1, ['"a canary"', '"and its song"'])
    await archive.put(other, 1, ['"a neighbour"'])
    before = await everything(cosmos_server)

    await archive.erase(VOLUME.thread)
    after = await everything(cosmos_server)
    await archive.close()

    assert ("a canary" in before, "a neighbour" in before) == (True, True)
    assert ("a canary" in after, "and its song" in after, "a neighbour" in after) == (False, False, True)


async def everything(server: CosmosServer) -> str:
    """Return every item of the account, as text."""
    found: list[str] = []
    async with cosmos_account("AGENT_COSMOS", server.connection_string, {})() as client:
        async for database in client.list_databases():
            held = client.get_database_client(database["id"])
            async for container in held.list_containers():
                found += [str(item) async for item in held.get_container_client(container["id"]).read_all_items()]
    return "".join(found)
