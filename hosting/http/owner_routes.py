"""The routes of an app that knows the caller: grants, threads that are shared, and all that one owner has.

Theory. A shared thread has every route that a thread has, with the grant instead of the agent and the id. What
only an owner may do is there too, and refused, so that a route of a thread is never unknown.
"""

from __future__ import annotations

from dataclasses import replace

from hosting import errors
from hosting.http import bodies, owner_bodies, routes
from hosting.http.route import LOG, STORES, ResponseSpec, Route, ok
from hosting.http.routes import THREAD_PATH, read_of_thread
from hosting.http.workflow_routes import of_workflow
from hosting.request.owner_call import GRANT, OWNER
from hosting.request.parameters import CURSOR, LIMIT

GRANTS = read_of_thread("http_grants", "/grants", "List the people a thread is shared with", bodies.GrantList, LOG)
SHARE = Route(
    "http_grant",
    "POST",
    f"{THREAD_PATH}/grants",
    "Share a thread with another person",
    (ResponseSpec(201, "The grant, and the URL at which the person finds the thread.", bodies.ShownGrant),),
    (errors.ThreadDeletingError, errors.ThreadDeletedError, errors.TooManyGrantsError, *LOG),
    body=GRANT,
    needs="own",
)
WITHDRAW = Route(
    "http_grant_withdraw",
    "DELETE",
    f"{THREAD_PATH}/grants/{{grant_id}}",
    "Stop sharing a thread with a person",
    (ResponseSpec(204, "The grant is withdrawn."),),
    LOG,
    needs="own",
)
ASSIGN = Route(
    "http_assign",
    "POST",
    f"{THREAD_PATH}/assign",
    "Assign a thread without an owner to an owner",
    (
        ResponseSpec(204, "Assigned, under the same id."),
        ResponseSpec(202, "Assigned. The old copy is still being deleted.", headers=(routes.RETRY_AFTER,)),
    ),
    (errors.InvalidThreadIdError, errors.ThreadChangedError, *routes.WHOLE, errors.AttachmentsUnavailableError),
    body=OWNER,
    needs="admin",
)
ME = Route("http_me", "GET", "owners/me", "Show who is signed in", ok(owner_bodies.Me))
MY_EXPORT = Route(
    "http_my_export",
    "GET",
    "owners/me/export",
    "Export everything that is stored about the caller",
    ok(owner_bodies.OwnerExport),
    (*routes.WHOLE, errors.AttachmentsUnavailableError),
    (LIMIT, CURSOR),
)
ERASE_ME = Route(
    "http_my_erasure",
    "DELETE",
    "owners/me",
    "Delete everything that is stored about the caller",
    (
        ResponseSpec(200, "Everything is deleted.", owner_bodies.OwnerErasure),
        ResponseSpec(202, "In progress. Send it again.", owner_bodies.OwnerErasure, (routes.RETRY_AFTER,)),
    ),
    STORES,
    needs="own",
)
_SHARED = "shared/{grant}"


def shared(route: Route) -> Route:
    """Return the same route of a thread that is shared with the caller."""
    function, path = route.function.replace("http_", "http_shared_"), route.path.replace(THREAD_PATH, _SHARED)
    return replace(route, function=function, path=path)


SHARED_RUN = replace(routes.RUN, function="http_shared_run", path=f"{_SHARED}/run")
SHARED_ROUTES = (SHARED_RUN, *(shared(route) for route in routes.ROUTES if THREAD_PATH in route.path))
BY_ADMINISTRATORS = ("GET", "HEAD", "DELETE")
"""The routes on which an administrator may name another owner: to read and to delete threads."""


def takes_owner(route: Route) -> bool:
    """Return whether an administrator may name another owner on that route."""
    is_shared = "{grant}" in route.path
    is_of_another = route.needs == "admin" or (route.method in BY_ADMINISTRATORS and route is not ME)
    return is_of_another and not is_shared and not route.is_for_all


_OWNED_THREADS = (GRANTS, SHARE, WITHDRAW, ASSIGN)
OWNED_WORKFLOW_ROUTES = tuple(same for route in _OWNED_THREADS if (same := of_workflow(route)) is not None)
OWNED_ROUTES = (ME, MY_EXPORT, ERASE_ME, GRANTS, SHARE, WITHDRAW, ASSIGN, *SHARED_ROUTES)
"""The routes that an app has besides if it knows its callers."""
