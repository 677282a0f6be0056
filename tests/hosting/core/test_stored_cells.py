"""Cells in the store: the names and bytes of each kind, as the apps that run now have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hosting.amounts import Used
from hosting.app import Limit
from hosting.core.cells import Cells
from hosting.core.stores.contract import Append, AppendOutcome, StoredHead
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread_log import ThreadLog
from hosting.features.health.shared_store import SharedStore
from hosting.features.memory.facts import Memories
from hosting.features.memory.provider import Fact
from hosting.features.metering.days import OwnerDays
from hosting.features.metering.minutes import OwnerMinutes
from hosting.features.overview.overview import Overview
from hosting.features.schedules.requests import NewSchedule
from hosting.features.schedules.schedules import Schedules
from hosting.features.schedules.times import Times
from hosting.names import APP, Address
from hosting.ports import Clocks
from hosting.principal import Caller, Principal
from tests.support.cluster.cluster import Cluster
from tests.support.thread_stores import ArmedStore

PAGE = (Path(__file__).parents[3] / "docs" / "contributing" / "stored-names.md").read_text(encoding="utf-8")
NOW = 1_800_000_000.0
AGENT, OWNER = "Echo Two", "4inphfip7mhng6ri"
SCHEDULE = (
    '{"v":1,"agent":"Echo Two","created_at":1800000000.0,"cron":"0 * * * *","time_zone":"UTC","at":null,'
    '"missed":"run_once","request":{"message":"tick"},"thread_id":"t1","busy":null,"principal":%s,'
    '"fingerprint":"<id><id>","done":1800000000.0,"generation":1800000000,"paused":false,"begun":null,"spans":[],'
    '"last":null,"last_missed":null}'
)
MEMORY = '{"v":1,"facts":[{"id":"f1","text":"Likes tea","at":1800000000.0}]}'
STORED = {
    "echo!two.budget.4inphfip7mhng6ri~day": '{"counted":["<id>"],"days":{"2027-01-15":[40,5]}}',
    "echo!two.limit.4inphfip7mhng6ri~minute": '{"counted":["<id>"],"seconds":{"1800000000":1},"tokens":{}}',
    "echo!two.limit.app~minute": '{"counted":["<id>"],"seconds":{},"tokens":{"1800000000":7}}',
    "app.store.app~mark": '{"counted":[],"id":"<id>"}',
    "echo!two.memory.4inphfip7mhng6ri~facts": MEMORY,
    "echo!two.memory.app~facts": MEMORY,
    "echo!two.overview.app~threads": ('{"seen_until":1800000000.0,"whole_at":1800000000.0,"horizon":0.0,"begins":0}'),
    "echo!two.schedules.places.nobody~taken": '{"<id>": 1800000000.0}',
    "echo!two.schedules.nobody~<id>": SCHEDULE % "null",
    "echo!two.schedules.places.4inphfip7mhng6ri~taken": '{"<id>": 1800000000.0}',
    "echo!two.schedules.4inphfip7mhng6ri~<id>": SCHEDULE
    % '{"issuer":"https://issuer.example","id":"somebody","name":null,"roles":[]}',
}
"""By the key of the log; `<id>` stands for 32 hexadecimal digits."""


class NotingStore(ArmedStore):
    """A store that notes the payload that each log's head had last."""

    def __init__(self) -> None:
        super().__init__(MemoryThreadStore(SharedMemory()))
        self.stored: dict[str, str] = {}

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        self.stored[_without_ids(address.key)] = _without_ids(append.head.payload.decode())
        return await super().append(address, known, append)


@pytest.mark.moved_time
@pytest.mark.behaviour("thread.versions")
async def test_cells_stand_where_and_as_they_always_did(cluster: Cluster) -> None:
    """A deployment finds what the one before it stored."""
    store, clocks, app = NotingStore(), Clocks(lambda: NOW), cluster.process()
    log = ThreadLog(store, MemoryObjects(), "hub", clocks=clocks)
    cells, fact = Cells(store, log), Fact(id="f1", text="Likes tea", at=NOW)
    minutes = OwnerMinutes(AGENT, log, store, Limit(requests_per_minute=9))
    callers = app.caller, Caller.of(app.engine, Principal("https://issuer.example", "somebody"))
    new = NewSchedule(Times("0 * * * *"), "run_once", RunRequest(message="tick"), "t1", None, None)

    await OwnerDays(AGENT, log, store).add(OWNER, Used(40, 5))
    await minutes.count(OWNER)
    await minutes.add(APP, 7)
    await SharedStore(cells, clocks).id()
    await Memories(cells, clocks).remember(AGENT, OWNER, fact)
    await Memories(cells, clocks).remember(AGENT, APP, fact)
    await Overview(Cells(store, log), log, lambda: NOW).refresh(AGENT, app.engine)
    for caller in callers:
        await Schedules(cells, app.runs, {}, caller, clocks=clocks, most=9).create(AGENT, new)

    assert store.stored == STORED


@pytest.mark.behaviour("erasure.inventory")
@pytest.mark.parametrize("name", sorted({key.rpartition(".")[0] for key in STORED}))
def test_each_kind_of_cell_has_a_row_in_the_inventory(name: str) -> None:
    assert f"\n| `{name.replace('echo!two', '<agent>')}`" in PAGE


def _without_ids(text: str) -> str:
    return re.sub("[0-9a-f]{32}", "<id>", text)
