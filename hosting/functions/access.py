"""The sender of a request, and the threads it may use: their own, shared ones, or all.

Theory. Everything below this file takes an address, and the owner in it comes from here alone. A principal has their
own threads. A grant leads to one thread of somebody else's, to read or to run. An administrator names an owner, to read
or to delete, and each time a line of the log says who it was.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hosting.core.sharing import SharedThread, Sharing
from hosting.errors import CrossSiteError, ForbiddenError, InvalidFieldError
from hosting.http.owner_routes import takes_owner
from hosting.http.parameters import OWNER
from hosting.http.route import Route
from hosting.names import APP
from hosting.principal import NOBODY, Caller, Principal, PrincipalRequest, PrincipalResolver, resolve

logger = logging.getLogger(__name__)


_OWN_SITES = ("same-origin", "none")
_FORMS = ("", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_NO_FORMS_HEADERS = ("authorization", "idempotency-key", "x-functions-key")


def refuse_forms_of_other_sites(route: Route, headers: Mapping[str, str]) -> None:
    """Raise `CrossSiteError` for a write that a browser sends for a page of another site without asking the host first.

    Of anything but a form's request it asks, and the host's CORS settings answer. A form's request goes out at once,
    with the cookies of a platform's sign-in. A browser says in `Sec-Fetch-Site` whose page it is; no page can set that.
    """
    site = headers.get("sec-fetch-site", "none")
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_forms = media_type in _FORMS and not any(name in headers for name in _NO_FORMS_HEADERS)
    if route.method == "POST" and site not in _OWN_SITES and is_forms:
        raise CrossSiteError(
            f"A page of another site ({site[:20]}) sent this as a form. Send JSON, from an origin in the host's CORS "
            "settings."
        )


@dataclass(frozen=True)
class Access:
    """The rules of access. Without a `resolver` requests need no sign-in, and all threads are the app's."""

    resolver: PrincipalResolver | None
    admin_role: str
    sharing: Sharing

    async def of(
        self,
        route: Route,
        headers: Mapping[str, str],
        query: Mapping[str, str],
        path: Mapping[str, str],
    ) -> tuple[Caller, SharedThread | None]:
        """Return the caller with the owner of the threads, and the thread that a grant in the path opens.

        Raises `UnauthorizedError`, `ForbiddenError`, `InvalidFieldError`, `UnknownGrantError`, `LogUnavailableError`,
        and what the app's own resolver does.
        """
        if self.resolver is None or route.is_for_all:
            return NOBODY, None
        principal = await resolve(self.resolver, PrincipalRequest(headers, str(route), route.agent or path.get("name")))
        if "grant" in path:
            shared = await self.sharing.find(path["grant"], principal)
            if route.needs == "own" or (route.needs == "run" and shared.access == "read"):
                raise ForbiddenError(f"This thread is shared with you to {shared.access} it. Ask its owner for more.")
            return shared.caller, shared
        owner = OWNER.read(query) or (APP if route.needs == "admin" else None)
        if owner is None:
            return Caller.of(principal), None
        return replace(Caller.of(principal), owner=self._administered(owner, principal, route, path)), None

    def administers(self, principal: Principal | None) -> bool:
        """Return whether the sender may use routes for administrators; without sign-in all may."""
        roles = () if principal is None else principal.roles
        return self.resolver is None or (bool(self.admin_role) and self.admin_role in roles)

    def _administered(self, owner: str, principal: Principal, route: Route, path: Mapping[str, str]) -> str:
        """Return the owner that an administrator names, after logging it."""
        if not self.administers(principal):
            raise ForbiddenError(
                "Only administrators, who have the role in AGENT_ADMIN_ROLE, may read, delete and assign threads by "
                "'owner'. Leave 'owner' out for your own threads."
            )
        if not takes_owner(route):
            raise ForbiddenError(
                f"{route} does not take 'owner': administrators may read, delete and assign other people's threads, "
                "and may not act for them. Leave 'owner' out."
            )
        if owner == APP and "{name}" not in route.path and route.needs != "admin":
            raise InvalidFieldError("'app' is not a person: read and delete its threads one by one. Name an owner.")
        logger.warning(
            "Administrator %s of %s: %s, owner %s, thread %s.",
            principal.id,
            principal.issuer,
            route,
            owner,
            path.get("thread_id", "-"),
        )
        return owner
