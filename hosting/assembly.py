"""The features of an app: the one place that names them all."""

from __future__ import annotations

from collections.abc import Sequence

from hosting.core.services import Services
from hosting.feature import Feature
from hosting.features.memory.feature import MemoryFeature
from hosting.features.overview.feature import OverviewFeature
from hosting.features.schedules.feature import SchedulesFeature
from hosting.plan import Plan
from hosting.settings import Settings

FEATURES: Sequence[type[Feature]] = (SchedulesFeature, MemoryFeature, OverviewFeature)


def make_features(services: Services, plan: Plan, settings: Settings) -> Sequence[Feature]:
    """Return the features of one app, also those that are off. Each is given what it needs, and no more."""
    cells, log = services.cells, services.log
    overview = OverviewFeature(
        cells, log, services.holders, services.promised, plan, rotation=services.rotation("overview")
    )
    services.newest_threads = overview.overview.newest
    return (
        SchedulesFeature(cells, services.runs, plan, log.clocks, settings),
        MemoryFeature(cells, log, services.holders.held, plan, settings),
        overview,
    )
