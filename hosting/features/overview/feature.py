"""All threads together: the newest, waiting approvals and figures of an owner; and for operators, those of all owners.

Both are one feature, because an operator's figures of today are those of the owners, added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hosting.core.cells import Cells
from hosting.core.held_runs import HeldRuns
from hosting.core.promised_runs import PromisedRuns
from hosting.core.rotation import Rotation
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.feature import Feature, OwnerData, Upkeep
from hosting.features.overview.http import OverviewHandlers
from hosting.features.overview.labels import LabelHandlers
from hosting.features.overview.operations import OperationsHandlers
from hosting.features.overview.operators_view import OperatorsView
from hosting.features.overview.overview import Overview, OverviewSweep
from hosting.features.overview.search import ThreadSearch
from hosting.http.request import Bound
from hosting.plan import Plan
from hosting.principal import Caller


class OverviewFeature(Feature):
    """The overviews of one app. Each app has them: its lists of threads by their last change are read from there."""

    name = "overview"
    page = Path(__file__).with_name("ui")

    def __init__(
        self,
        cells: Cells,
        log: ThreadLog,
        holders: HeldRuns,
        promised: PromisedRuns,
        plan: Plan,
        *,
        threads: Threads,
        reads: LargeReads,
        rotation: Rotation,
        most_bytes: int,
    ) -> None:
        """`rotation` is the turn order of the agents in the upkeep. A body has `most_bytes` at most."""
        self.overview = Overview(cells, log)
        self._view = OperatorsView(log, holders, self.overview, promised)
        self._sweep = OverviewSweep(self.overview, plan.by_name, rotation)
        self._log = log
        self._threads = threads
        self._search = ThreadSearch(self.overview, log, threads, reads)
        self._most_bytes = most_bytes

    def routes(self) -> Sequence[Bound]:
        """Return the routes of owners, and that of operators."""
        of_owners = OverviewHandlers(self.overview, self._search, self._threads, self._log)
        labels = LabelHandlers(self._threads, self._log, self._most_bytes)
        return *of_owners.bound(), *labels.bound(), *OperationsHandlers(self._view, self._log).bound()

    def upkeep(self) -> Sequence[Upkeep]:
        """Return the look at the app's own threads, before their events go by their age."""
        return (self._sweep,)

    def owner_data(self) -> OwnerData:
        """Return the overviews of an owner's threads, which their export has already."""
        return OwnerData.of_threads(self._erase)

    async def _erase(self, caller: Caller) -> None:
        await self.overview.erase(await self._log.agents(), caller.owner)
