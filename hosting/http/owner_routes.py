"""The routes of an app that knows the caller: grants, threads that are shared, and all that one owner has.

Theory. A shared thread has every route that a thread has, with the grant instead of the agent and the id. What
only an owner may do is there too, and refused, so that a route of a thread is never unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hosting import errors
from hosting.http import bodies, owner_bodies, routes
from hosting.http.bodies import with_members
from hosting.http.owner_call import GRANT, OWNER
from hosting.http.parameters import CURSOR, LIMIT, in_path
from hosting.http.route import LOG, STORES, ResponseSpec, Route, ok
from hosting.http.routes import THREAD_ID, THREAD_PATH, read_of_thread

_OF_GRANTS = (errors.UnknownAgentError, errors.UnknownThreadError, errors.UnknownGrantError, errors.ForbiddenError)
_GRANT = in_path("grant", "The grant that its owner gave you: `grant` of the answer.", *_OF_GRANTS, pattern=None)
_GRANT_ID = in_path("grant_id", "The grant.", pattern=None)

GRANTS = read_of_thread(
    "http_grants",
    "/grants",
    "List the people a thread is shared with",
    bodies.GrantList,
    LOG,
    is_for_shared=False,
)
SHARE = Route(
    "http_grant",
    "POST",
    f"{THREAD_PATH}/grants",
    "Share a thread with another person",
    (ResponseSpec(201, "The grant, and the URL at which the person finds the thread.", bodies.ShownGrant),),
    (errors.ThreadDeletingError, errors.ThreadDeletedError, errors.TooManyGrantsError, *LOG),
    (THREAD_ID,),
    GRANT,
    is_for_shared=False,
    needs="own",
)
WITHDRAW = Route(
    "http_grant_withdraw",
    "DELETE",
    f"{THREAD_PATH}/grants/{{grant_id}}",
    "Stop sharing a thread with a person",
    (ResponseSpec(204, "The grant is withdrawn."),),
    LOG,
    (THREAD_ID, _GRANT_ID),
    is_for_shared=False,
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
    (THREAD_ID,),
    OWNER,
    is_for_shared=False,
    needs="admin",
)
ME = Route("http_me", "GET", "owners/me", "Show who is signed in", ok(owner_bodies.Me))


def my_export(members: Mapping[str, Any]) -> Route:
    """Return the export of the caller's data, which has these members by features besides the threads."""
    body = with_members(owner_bodies.OwnerExport, members)
    return Route(
        "http_my_export",
        "GET",
        "owners/me/export",
        "Export everything that is stored about the caller",
        ok(body),
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


def shared(route: Route) -> Route | None:
    """Return the same route of a thread that is shared with the caller; None if shared threads do not have it."""
    if not (route.path.startswith(THREAD_PATH) and route.is_for_shared):
        return None
    function, path = route.function.replace("http_", "http_shared_"), route.path.replace(THREAD_PATH, _SHARED)
    parameters = (*(each for each in route.parameters if each is not THREAD_ID), _GRANT)
    return replace(route, function=function, path=path, parameters=parameters)


SHARED_RUN = replace(
    routes.RUN, function="http_shared_run", path=f"{_SHARED}/run", parameters=(*routes.RUN.parameters, _GRANT)
)
BY_ADMINISTRATORS = ("GET", "HEAD", "DELETE")
"""The routes on which an administrator may name another owner: to read and to delete threads."""


def takes_owner(route: Route) -> bool:
    """Return whether an administrator may name another owner on that route."""
    is_shared = "{grant}" in route.path
    is_of_another = route.needs == "admin" or (route.method in BY_ADMINISTRATORS and route is not ME)
    return is_of_another and not is_shared and not route.is_for_all
