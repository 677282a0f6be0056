"""Who sends a request, and which threads it may use: asked of every request before anything else of it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from hosting.errors import CrossSiteError
from hosting.http.route import Route
from hosting.names import APP, Address
from hosting.principal import Principal, PrincipalResolver

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


class Admitted(NamedTuple):
    """The sender of a request with the owner of the threads, and the thread that a `grant` in the path opens.

    `epoch` is the life of that thread for which the grant was given.
    """

    principal: Principal | None = None
    owner: str = APP
    grant: str | None = None
    epoch: int | None = None
    shared: Address | None = None


class Access(Protocol):
    """The rules of access of an app."""

    @property
    def resolver(self) -> PrincipalResolver | None:
        """The app's sign-in, None where requests need none."""

    async def of(
        self, route: Route, headers: Mapping[str, str], query: Mapping[str, str], path: Mapping[str, str]
    ) -> Admitted:
        """Return the sender of a request with their threads, or raise a `HostingError`."""

    def administers(self, principal: Principal | None) -> bool:
        """Return whether the sender may use routes for administrators."""


class OpenAccess:
    """The access of an app without sign-in: all threads are the app's, and everybody administers it."""

    resolver: PrincipalResolver | None = None

    async def of(
        self, route: Route, headers: Mapping[str, str], query: Mapping[str, str], path: Mapping[str, str]
    ) -> Admitted:
        """Return that nobody is signed in."""
        return Admitted()

    def administers(self, principal: Principal | None) -> bool:
        """Always."""
        return True
