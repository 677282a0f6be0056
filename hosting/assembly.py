"""The features of an app: the one place that names them all."""

from __future__ import annotations

from collections.abc import Sequence

from hosting.core.services import Services
from hosting.feature import Feature
from hosting.features.approvals.approvals import Approvals
from hosting.features.approvals.feature import ApprovalsFeature
from hosting.features.forks.feature import ForksFeature
from hosting.features.forks.forking import Forking
from hosting.features.mcp.feature import McpFeature
from hosting.features.memory.feature import MemoryFeature
from hosting.features.metering.feature import MeteringFeature
from hosting.features.overview.feature import OverviewFeature
from hosting.features.owners.feature import OwnersFeature
from hosting.features.owners.owners import Owners
from hosting.features.owners.sharing import Sharing
from hosting.features.schedules.feature import SchedulesFeature
from hosting.http.access import Access, OpenAccess
from hosting.http.runs import Starting
from hosting.http.threads import exports_of
from hosting.plan import Plan
from hosting.principal import PrincipalResolver
from hosting.settings import Settings

FEATURES: Sequence[type[Feature]] = (
    SchedulesFeature,
    MemoryFeature,
    MeteringFeature,
    OverviewFeature,
    ApprovalsFeature,
    McpFeature,
    ForksFeature,
    OwnersFeature,
)


def make_features(
    services: Services, plan: Plan, settings: Settings, resolver: PrincipalResolver | None
) -> Sequence[Feature]:
    """Return the features of one app, also those that are off. Each is given what it needs, and no more.

    `services` get those verbs of features that other protocols use too.
    """
    cells, log, runs, holders = services.cells, services.log, services.runs, services.holders
    threads, stores, most_bytes = services.threads, services.stores, settings.max_body_bytes
    overview = OverviewFeature(cells, log, holders, services.promised, plan, rotation=services.rotation("overview"))
    services.newest_threads = overview.overview.newest
    services.approvals = approvals = Approvals(log, runs, holders, services.agents)
    services.forking = forking = Forking(
        log, threads, services.archiver, services.attachments, stores, publish=holders.publish
    )
    features = (
        SchedulesFeature(cells, runs, plan, log.clocks, settings),
        MemoryFeature(cells, log, holders.held, plan, settings),
        MeteringFeature(stores.threads, log, holders.held),
        overview,
        ApprovalsFeature(approvals, runs, Starting(services), most_bytes),
        McpFeature(runs, settings, resolver),
        ForksFeature(forking, most_bytes),
    )
    data = [part for feature in features if (part := feature.owner_data())]
    owners = Owners(log, threads, services.purging, stores, services.absent.has, data=data)
    return (
        *features,
        OwnersFeature(owners, Sharing(log), exports_of(services, plan), plan, settings, resolver=resolver),
    )


def access_of(features: Sequence[Feature]) -> Access:
    """Return the rules of access of the feature that has them; without one the app's are open."""
    return next((access for feature in features if (access := feature.access()) is not None), OpenAccess())
