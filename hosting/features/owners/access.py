"""The sender of a request, and the threads it may use: their own, shared ones, or all.

Theory. Everything below this file takes an address, and the owner in it comes from here alone. A principal has their
own threads. A grant leads to one thread of somebody else's, to read or to run. An administrator names an owner, to read
or to delete, and each time a line of the log says who it was.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from msgspec import Struct

from hosting.errors import ForbiddenError, InvalidFieldError
from hosting.features.owners.sharing import Sharing
from hosting.http.access import Admitted
from hosting.http.parameters import OWNER
from hosting.http.route import Route
from hosting.names import APP
from hosting.principal import Principal, PrincipalRequest, PrincipalResolver, resolve

logger = logging.getLogger(__name__)


class OwnerAccess(Struct, frozen=True):
    """The rules of access of an app whose threads are their callers', who sign in by the `resolver`."""

    resolver: PrincipalResolver
    admin_role: str
    sharing: Sharing

    async def of(
        self,
        route: Route,
        headers: Mapping[str, str],
        query: Mapping[str, str],
        path: Mapping[str, str],
    ) -> Admitted:
        """Return the caller with the owner of the threads, and the thread that a grant in the path opens.

        Raises `UnauthorizedError`, `ForbiddenError`, `InvalidFieldError`, `UnknownGrantError`, `LogUnavailableError`,
        and what the app's own resolver does.
        """
        if route.is_for_all:
            return Admitted()
        agent = route.place.agent or path.get("name")
        principal = await resolve(self.resolver, PrincipalRequest(headers, str(route), agent))
        if "grant" in path:
            shared = await self.sharing.find(path["grant"], principal)
            if route.needs == "own" or (route.needs == "run" and shared.access == "read"):
                raise ForbiddenError(f"This thread is shared with you to {shared.access} it. Ask its owner for more.")
            return Admitted(principal, shared.address.owner, path["grant"], shared.epoch, shared.address)
        owner = OWNER.read(query) or (APP if route.needs == "admin" else None)
        if owner is None:
            return Admitted(principal, principal.owner)
        return Admitted(principal, self._administered(owner, principal, route, path))

    def administers(self, principal: Principal | None) -> bool:
        """Return whether the sender may use routes for administrators: whether they have the role."""
        return principal is not None and bool(self.admin_role) and self.admin_role in principal.roles

    def _administered(self, owner: str, principal: Principal, route: Route, path: Mapping[str, str]) -> str:
        """Return the owner that an administrator names, after logging it."""
        if not self.administers(principal):
            raise ForbiddenError(
                "Only administrators, who have the role in AGENT_ADMIN_ROLE, may read, delete and assign threads by "
                "'owner'. Leave 'owner' out for your own threads."
            )
        if not route.takes_owner:
            raise ForbiddenError(
                f"{route} does not take 'owner': administrators may read, delete and assign other people's threads, "
                "and may not act for them. Leave 'owner' out."
            )
        if owner == APP and "name" not in route.path_names and route.needs != "admin":
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
