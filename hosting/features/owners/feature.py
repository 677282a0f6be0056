"""The owners of an app: who may use which threads, and all that one owner has, with whichever features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from hosting.core.hooks import AgentHooks
from hosting.errors import HostingError
from hosting.feature import Feature
from hosting.http.places import Mount
from hosting.http.request import Bound
from hosting.plan import AgentPlan
from hosting.settings import SettingsPart

if TYPE_CHECKING:
    from hosting.features.owners.access import OwnerAccess
    from hosting.features.owners.http import OwnerHandlers
    from hosting.user_tokens import OnBehalfOf


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
    settings = OwnerSettings
    page = Path(__file__).with_name("ui")

    def __init__(
        self, access: OwnerAccess | None, handlers: OwnerHandlers | None, tokens: OnBehalfOf | None = None
    ) -> None:
        """All are None where callers do not sign in, and `tokens` where tools get none of theirs."""
        self._access = access
        self._handlers = handlers
        self._tokens = tokens

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""

        from hosting.features.owners.sharing import UnknownGrantError

        return (UnknownGrantError,)

    @property
    def is_on(self) -> bool:
        """Whether callers sign in."""
        return self._access is not None

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return what keeps the tokens of callers."""
        return AgentHooks(tokens=self._tokens)

    def routes(self) -> Sequence[Bound]:
        """Return the routes of grants, of runs of shared threads, and of all that the caller has."""
        assert self._handlers is not None
        return self._handlers.bound()

    def mounts(self) -> Sequence[Mount]:
        """Return the place of shared threads."""

        from hosting.features.owners.http import SHARED

        return (SHARED,)

    def access(self) -> OwnerAccess | None:
        """Return the rules by which callers have threads of their own."""
        return self._access
