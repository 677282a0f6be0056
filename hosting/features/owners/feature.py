"""The owners of an app: who may use which threads, and all that one owner has, with whichever features."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from hosting.core.hooks import ThreadData
from hosting.feature import Feature
from hosting.features.owners.access import OwnerAccess
from hosting.features.owners.exports import OwnerExports
from hosting.features.owners.http import SHARED, OwnerHandlers
from hosting.features.owners.owners import Owners
from hosting.features.owners.sharing import Sharing, UnknownGrantError
from hosting.http.exports import Exports
from hosting.http.places import Mount
from hosting.http.request import Bound
from hosting.http.runs import Starting
from hosting.plan import Plan
from hosting.principal import PrincipalResolver
from hosting.settings import Settings, SettingsPart


class OwnerSettings(SettingsPart):
    """The settings of owners."""

    admin_role: str = Field("", pattern=r"^[\x21-\x7e]{1,100}$")
    """The role that may read and delete every owner's threads, with ?owner=; without it no role may."""


class OwnersFeature(Feature):
    """The owners of one app, which are there where callers sign in.

    Grants are kept in the log of their thread, and go with it.
    """

    name = "owners"
    paths = ("assign", "grants")
    absent = "This app has no owners: its AgentFunctionApp has no principal=, so all threads belong to the app."
    errors = (UnknownGrantError,)
    settings = OwnerSettings

    def __init__(
        self,
        owners: Owners,
        sharing: Sharing,
        exports: Exports,
        plan: Plan,
        settings: Settings,
        *,
        own_settings: OwnerSettings,
        starting: Starting,
        resolver: PrincipalResolver | None,
        thread_data: Sequence[ThreadData],
    ) -> None:
        """The `resolver` is the app's sign-in, and `thread_data` what other features keep of threads."""
        self._handlers = OwnerHandlers(
            owners, sharing, OwnerExports(owners, exports), plan, settings, starting=starting, thread_data=thread_data
        )
        self._access = None if resolver is None else OwnerAccess(resolver, own_settings.admin_role, sharing)

    @property
    def is_on(self) -> bool:
        """Whether callers sign in."""
        return self._access is not None

    def routes(self) -> Sequence[Bound]:
        """Return the routes of grants, of runs of shared threads, and of all that the caller has."""
        return self._handlers.bound()

    def mounts(self) -> Sequence[Mount]:
        """Return the place of shared threads."""
        return (SHARED,)

    def access(self) -> OwnerAccess | None:
        """Return the rules by which callers have threads of their own."""
        return self._access
