"""What a deletion leaves: its receipt, delivered again after a crash, and the instances that it names."""

import hashlib
import json
from collections.abc import Iterator

import pytest

from hosting.entity.erasing import RUNS_LOOKED_AT
from hosting.entity.receipt import Instance, Receipt, decode, encode
from hosting.entity.settling import Settling
from hosting.errors import EngineUnavailableError
from hosting.events import Place
from hosting.ports import Deletion, EntityPage, Purge
from hosting.runlog.log import RunLog
from hosting.runlog.memory import MemoryStore
from tests.support.bench import NOW, Bench
from tests.support.sample_events import accepted

PLACE = Place("joker", "t")
OWN = Instance(id="@dafx-joker@t")


@pytest.fixture
def bench() -> Iterator[Bench]:
    """One thread and its engine."""
    bench = Bench(ttl_seconds=60)
    yield bench
    bench.loop.close()


async def carried(bench: Bench, message: str, orchestration: str) -> None:
    """Take a turn that an orchestration asked for."""
    await bench.deliver({"message": message, "correlationId": f"run-{message}", "orchestrationId": orchestration})


async def receipt_of(bench: Bench) -> Receipt:
    """Return the receipt that stands."""
    mark = await bench.store.deletion(PLACE)
    assert mark is not None
    assert mark.receipt is not None
    return decode(mark.receipt)


@pytest.mark.behaviour("erasure.receipt")
async def test_a_receipt_says_what_was_deleted_and_names_each_orchestration_once(bench: Bench) -> None:
    """Also one whose run is only in the run log, because it was refused a place in the conversation."""
    await bench.run("one")
    await carried(bench, "two", "orchestration-1")
    await carried(bench, "three", "orchestration-2")
    await carried(bench, "four", "orchestration-1")
    stored = (bench.state or "").encode()
    await bench.store.mark_deleting(PLACE, "d-1")

    await bench.deliver({"id": "d-1"}, name="delete")

    assert await receipt_of(bench) == Receipt(
        deleted_at=NOW,
        reason="asked",
        document_bytes=len(stored),
        sha256=hashlib.sha256(stored).hexdigest(),
        runs=4,
        archived_entries=0,
        instances=(Instance(id="orchestration-1"), Instance(id="orchestration-2"), OWN),
    )


@pytest.mark.behaviour("erasure.instances")
@pytest.mark.parametrize("environ", [{}, {"AGENT_RECENT_BYTES": "2048"}], ids=["recent", "archived"])
async def test_an_orchestration_of_long_ago_is_found_in_the_conversation(environ: dict[str, str]) -> None:
    """Its run is behind the newest hundred, and its entry in the document or in the archive."""
    bench = Bench(environ=environ)
    await carried(bench, "one", "orchestration-1")
    for number in range(RUNS_LOOKED_AT):
        await bench.run(str(number))
    await bench.store.mark_deleting(PLACE, "d-1")

    await bench.deliver({"id": "d-1"}, name="delete")

    receipt = await receipt_of(bench)
    assert receipt.instances == (Instance(id="orchestration-1"), OWN)
    assert (receipt.runs, receipt.archived_entries > 0) == (101, bool(environ))
    bench.loop.close()


@pytest.mark.behaviour("erasure.receipt")
async def test_a_gap_in_the_archive_is_no_reason_to_keep_the_thread() -> None:
    """What can be found is named, and the rest goes."""
    bench = Bench(environ={"AGENT_RECENT_BYTES": "2048"})
    for number in range(20):
        await bench.run(str(number))
    await bench.archive.erase(PLACE)
    await bench.store.mark_deleting(PLACE, "d-1")

    await bench.deliver({"id": "d-1"}, name="delete")

    assert (bench.state, (await receipt_of(bench)).instances) == (None, (OWN,))
    bench.loop.close()


@pytest.mark.behaviour("erasure.receipt")
async def test_a_second_delivery_leaves_the_receipt_as_it_is(bench: Bench) -> None:
    """What was counted the first time is not there the second time."""
    await bench.run("one")
    await bench.store.mark_deleting(PLACE, "d-1")
    await bench.deliver({"id": "d-1"}, name="delete", commit=False)
    first = await receipt_of(bench)
    bench.restart()
    bench.clock.now += 60

    await bench.deliver({"id": "d-1"}, name="delete")

    assert (bench.state, await receipt_of(bench)) == (None, first)


@pytest.mark.behaviour("erasure.receipt")
async def test_a_crash_between_the_runs_and_the_receipt_loses_no_receipt(bench: Bench) -> None:
    """The second delivery writes it, with the number of runs that the mark kept."""
    await bench.run("one")
    text = bench.state or ""
    digest = hashlib.sha256(text.encode()).hexdigest()
    await bench.store.erase(PLACE, Deletion("d-1", digest))
    bench.restart()

    await bench.deliver({"id": "d-1"}, name="delete")

    receipt = await receipt_of(bench)
    assert (bench.state, receipt.runs, receipt.sha256) == (None, 1, digest)


@pytest.mark.behaviour("erasure.receipt")
async def test_a_thread_whose_time_was_up_says_so(bench: Bench) -> None:
    """Nobody asked for it."""
    await bench.run("one")
    bench.clock.now += 60

    await bench.deliver({"id": "look"}, name="expire")

    assert (await receipt_of(bench)).reason == "expired"


@pytest.mark.behaviour("erasure.receipt")
async def test_a_conversation_that_cannot_be_read_has_a_receipt_too(bench: Bench) -> None:
    """Of its bytes."""
    bench.state = "not even JSON"
    await bench.store.mark_deleting(PLACE, "d-1")

    await bench.deliver({"id": "d-1"}, name="delete")

    receipt = await receipt_of(bench)
    assert (receipt.document_bytes, receipt.instances) == (13, (OWN,))


class Hub:
    """A task hub in which a test says what comes of each instance; `is_down` takes it away."""

    def __init__(self, **outcomes: Purge) -> None:
        self.outcomes = outcomes
        self.state: str | None = None
        self.asked: list[str] = []
        self.is_down = False

    async def purge(self, instance_id: str) -> Purge:
        """See `EntityClient.purge`."""
        if self.is_down:
            raise EngineUnavailableError("the engine is away")
        self.asked.append(instance_id)
        return self.outcomes.get(instance_id, "deleted")

    async def read(self, entity: str, key: str) -> str | None:
        """See `EntityClient.read`."""
        return self.state

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """See `EntityClient.signal`: nobody signals here."""
        raise NotImplementedError

    async def list(self, entity: str, limit: int, cursor: str | None, changed_until: float | None = None) -> EntityPage:
        """See `EntityClient.list`: nobody lists here."""
        raise NotImplementedError


@pytest.fixture
async def log() -> RunLog:
    """A run log with the receipt of one deleted thread, which two orchestrations had called."""
    log = RunLog(MemoryStore())
    receipt = Receipt(
        deleted_at=NOW,
        reason="asked",
        document_bytes=1,
        sha256="0",
        runs=1,
        archived_entries=0,
        instances=(Instance(id="one"), Instance(id="two"), OWN),
    )
    await log.erase(PLACE, Deletion("d-1", "0"))
    await log.settle(PLACE, Deletion("d-1", "0", receipt=encode(receipt)))
    return log


async def outcomes(log: RunLog) -> list[str]:
    """Return what became of each instance, in the receipt's order."""
    mark = await log.deletion(PLACE)
    return [instance["outcome"] for instance in json.loads((mark and mark.receipt) or "")["instances"]]


@pytest.mark.behaviour("erasure.instances")
async def test_what_is_settled_is_not_asked_for_again(log: RunLog) -> None:
    """What runs is, each time."""
    hub = Hub(one="running")

    assert await Settling(log).settle(PLACE, hub)
    assert await outcomes(log) == ["running", "deleted", "deleted"]
    hub.outcomes = {"one": "missing"}
    await Settling(log).settle(PLACE, hub)

    assert await outcomes(log) == ["missing", "deleted", "deleted"]
    assert hub.asked == ["one", "two", "@dafx-joker@t", "one"]


@pytest.mark.behaviour("erasure.instances")
async def test_an_engine_that_is_away_leaves_instances_pending(log: RunLog) -> None:
    """The deletion itself is done; whoever deletes again finishes it."""
    hub = Hub()
    hub.is_down = True

    assert not await Settling(log).settle(PLACE, hub)
    assert await outcomes(log) == ["pending"] * 3
    hub.is_down = False

    assert await Settling(log).settle(PLACE, hub)


@pytest.mark.behaviour("erasure.instances")
@pytest.mark.parametrize("begun", ["conversation", "run"])
async def test_the_entity_of_a_thread_that_began_again_is_not_purged(log: RunLog, begun: str) -> None:
    """What waits for it would be lost."""
    hub = Hub()
    if begun == "conversation":
        hub.state = "{}"
    else:
        await log.open(accepted("run", thread_id="t"))

    await Settling(log).settle(PLACE, hub)

    assert await outcomes(log) == ["deleted", "deleted", "pending"]
