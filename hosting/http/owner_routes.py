"""The routes of an app that knows the caller: grants, threads that are shared, and all that one owner has.

Theory. A shared thread has every route that a thread has, with the grant instead of the agent and the id. What
only an owner may do is there too, and refused, so that a route of a thread is never unknown.
"""

from __future__ import annotations

from dataclasses import replace

from hosting import errors
from hosting.http import routes
from hosting.http.route import ResponseSpec, Route, ok
from hosting.request.pages import CURSOR, LIMIT
from hosting.service import bodies

GRANTS = Route(
    "http_grants",
    "GET",
    f"{routes.THREAD_PATH}/grants",
    "List with whom a thread is shared",
    ok("The first grant first.", bodies.GrantList, routes.THREAD_HEADERS),
    (*routes.THREAD_OF_AGENT, *routes.LOG),
)
SHARE = Route(
    "http_grant",
    "POST",
    f"{routes.THREAD_PATH}/grants",
    "Share a thread with somebody",
    (ResponseSpec(201, "The grant, and where they find the thread.", bodies.ShownGrant, routes.THREAD_HEADERS),),
    (
        *routes.BODY,
        errors.BodyTooLargeError,
        errors.UnsupportedMediaTypeError,
        *routes.THREAD_OF_AGENT,
        errors.ThreadDeletingError,
        errors.ThreadDeletedError,
        errors.TooManyGrantsError,
        *routes.LOG,
    ),
    needs="own",
)
WITHDRAW = Route(
    "http_grant_withdraw",
    "DELETE",
    f"{routes.THREAD_PATH}/grants/{{grant_id}}",
    "Share a thread no longer",
    (ResponseSpec(204, "The grant opens nothing any more.", None, routes.THREAD_HEADERS),),
    (*routes.THREAD_OF_AGENT, *routes.LOG),
    needs="own",
)
ME = Route("http_me", "GET", "owners/me", "Show who is signed in", ok("Who it is, and their owner.", bodies.Me))
MY_EXPORT = Route(
    "http_my_export",
    "GET",
    "owners/me/export",
    "Export everything that is stored about the caller",
    ok("A part of it: whole threads.", bodies.OwnerExport),
    (
        errors.InvalidFieldError,
        *(each for each in routes.WHOLE if each not in routes.THREAD_OF_AGENT),
        errors.AttachmentsUnavailableError,
    ),
    (LIMIT, CURSOR),
)
ERASE_ME = Route(
    "http_my_erasure",
    "DELETE",
    "owners/me",
    "Delete everything that is stored about the caller",
    (
        ResponseSpec(200, "All of it is gone.", bodies.OwnerErasure),
        ResponseSpec(202, "It is under way. Ask again.", bodies.OwnerErasure, (routes.RETRY_AFTER,)),
    ),
    routes.STORES,
    needs="own",
)
ASSIGN = Route(
    "http_assign",
    "POST",
    f"{routes.THREAD_PATH}/assign",
    "Hand a thread of the app to an owner",
    (
        ResponseSpec(204, "It is the owner's, under the same id.", None, routes.THREAD_HEADERS),
        ResponseSpec(
            202, "It is the owner's; the old one still goes.", None, (*routes.THREAD_HEADERS, routes.RETRY_AFTER)
        ),
    ),
    (
        *routes.BODY,
        errors.BodyTooLargeError,
        errors.UnsupportedMediaTypeError,
        errors.InvalidThreadIdError,
        errors.ThreadChangedError,
        *routes.WHOLE,
        errors.AttachmentsUnavailableError,
    ),
    needs="admin",
)
_SHARED = "shared/{grant}"


def shared(route: Route) -> Route:
    """Return the same route of a thread that is shared with the caller."""
    return replace(
        route,
        function=route.function.replace("http_", "http_shared_"),
        path=route.path.replace(routes.THREAD_PATH, _SHARED),
        refusals=(*route.refusals, errors.UnknownGrantError, errors.ForbiddenError),
    )


SHARED_RUN = replace(shared(routes.RUN), function="http_shared_run", path=f"{_SHARED}/run")
SHARED_ROUTES = (SHARED_RUN, *(shared(route) for route in routes.ROUTES if routes.THREAD_PATH in route.path))
BY_ADMINISTRATORS = ("GET", "HEAD", "DELETE")
"""What an administrator may do with the threads of another: read them, and delete them."""

OWNED_ROUTES = (ME, MY_EXPORT, ERASE_ME, GRANTS, SHARE, WITHDRAW, ASSIGN, *SHARED_ROUTES)
"""What an app has besides that knows the caller."""
