"""The routes and the refusals that the library declares, for tests of all of them."""

from __future__ import annotations

from types import ModuleType

from hosting.assembly import FEATURES
from hosting.errors import REQUEST_ERRORS, RUN_ERRORS
from hosting.features.approvals import http as approvals
from hosting.features.approvals import standing
from hosting.features.batch.routes import BATCH
from hosting.features.feedback import routes as feedback
from hosting.features.forks import http as forks
from hosting.features.health import http as health
from hosting.features.metadata import routes as metadata_routes
from hosting.features.metering.http import BUDGET
from hosting.features.overview import routes as overview_routes
from hosting.features.overview.routes import OPERATIONS
from hosting.features.owners import http as owners_http
from hosting.features.owners.http import SHARED, SHARED_RUN
from hosting.features.pausing import routes as pausing_routes
from hosting.features.thread_state import routes as thread_state
from hosting.features.uploads import routes as uploads
from hosting.http import routes
from hosting.http.bodies import Erasure, Export
from hosting.http.route import Route


def routes_in(module: ModuleType) -> list[Route]:
    """Return the routes of a module, in its order, without those that it imports of `routes`."""
    imported = [] if module is routes else _COMMON
    return [value for value in vars(module).values() if isinstance(value, Route) and value not in imported]


_COMMON = [value for value in vars(routes).values() if isinstance(value, Route)]
ROUTES = [
    *_COMMON,
    routes.agents_route(()),
    routes.description_route(()),
    BUDGET,
    *(route for route in routes_in(overview_routes) if route is not OPERATIONS),
    *routes_in(metadata_routes),
    *routes_in(pausing_routes),
    *routes_in(approvals),
    *routes_in(standing),
    *routes_in(feedback),
    *routes_in(forks),
    *routes_in(thread_state),
    BATCH,
    *routes_in(health),
    routes.export_route(Export),
    routes.erasure_route(Erasure),
]
"""Those of every app, but for files, which have a page of their own."""
FILE_ROUTES = [*uploads.ROUTES]
SHARED_ROUTES = [SHARED_RUN, *(same for route in ROUTES if (same := SHARED.of(route)) is not None)]
"""Those of a thread that is shared with the caller."""
OWNED_ROUTES = [
    *(route for route in routes_in(owners_http) if route is not SHARED_RUN),
    owners_http.my_export(Export, {}),
    owners_http.my_erasure(Erasure),
]
"""Those of an app that knows its callers, but for shared threads."""
ERRORS = (*REQUEST_ERRORS, *RUN_ERRORS, *(error for feature in FEATURES for error in feature.errors()))
"""The refusals of requests and the errors of runs."""
