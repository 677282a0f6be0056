"""All threads together: the newest, waiting approvals and figures of an owner; and for operators, those of all owners.

Both are one feature, because an operator's figures of today are those of the owners, added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hosting.core.cells import Cells
from hosting.core.held_runs import HeldRuns
from hosting.core.promised_runs import PromisedRuns
from hosting.core.rotation import Rotation
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.feature import Feature, OwnerData, Upkeep
from hosting.features.overview.routes import ROUTES
from hosting.http.request import Bound, late
from hosting.http.verbs import CountsFeedback, FindsThreads, FoundThreads, ThreadQuery
from hosting.plan import Plan
from hosting.principal import Caller

if TYPE_CHECKING:
    from hosting.features.overview.overview import Overview


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
        search: FindsThreads,
        rotation: Rotation,
        most_bytes: int,
        feedback: CountsFeedback,
    ) -> None:
        """`rotation` is the turn order of the agents in the upkeep. A body has `most_bytes` at most.

        `feedback` has the figures of feedback.
        """
        self._cells, self._log, self._threads, self._search = cells, log, threads, search
        self._seen_by_operators = holders, promised
        self._plan, self._rotation, self._most_bytes = plan, rotation, most_bytes
        self._feedback = feedback

    @cached_property
    def _overview(self) -> Overview:
        from hosting.features.overview.overview import Overview

        return Overview(self._cells, self._log, self._log.clocks.wall)

    async def newest(self, agent: str, wanted: ThreadQuery, caller: Caller) -> FoundThreads:
        """Return the caller's threads with the agent, the newest change first; see `NewestThreads`."""
        return await self._overview.newest(agent, wanted, caller)

    def routes(self) -> Sequence[Bound]:
        """Return the routes of owners, and that of operators."""
        return late(ROUTES, self._bound)

    def _bound(self) -> Sequence[Bound]:
        from hosting.features.overview.http import OverviewHandlers
        from hosting.features.overview.labels import LabelHandlers
        from hosting.features.overview.operations import OperationsHandlers
        from hosting.features.overview.operators_view import OperatorsView

        holders, promised = self._seen_by_operators
        view = OperatorsView(self._log, holders, self._overview, promised, self._feedback)
        of_owners = OverviewHandlers(self._overview, self._search, self._threads, self._log, self._feedback)
        labels = LabelHandlers(self._threads, self._most_bytes)
        return *of_owners.bound(), *labels.bound(), *OperationsHandlers(view, self._log, self._search).bound()

    def upkeep(self) -> Sequence[Upkeep]:
        """Return the look at the app's own threads, before their events go by their age."""
        from hosting.features.overview.overview import OverviewSweep

        return (OverviewSweep(self._overview, self._plan.by_name, self._rotation, self._search),)

    def owner_data(self) -> OwnerData:
        """Return the overviews of an owner's threads, which their export has already."""
        return OwnerData.of_threads(self._erase)

    async def _erase(self, caller: Caller) -> None:
        await self._overview.erase(await self._log.agents(), caller.owner)
