"""The metadata of one app's threads: its routes. It stands in the thread's log, so an owner's data has it already."""

from __future__ import annotations

from collections.abc import Sequence

from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.errors import HostingError
from hosting.feature import Feature
from hosting.features.metadata.routes import ROUTES, MetadataChangedError
from hosting.http.request import Bound, late


class MetadataFeature(Feature):
    """The metadata of one app's threads."""

    name = "metadata"

    def __init__(self, threads: Threads, log: ThreadLog, most_bytes: int) -> None:
        """A body has `most_bytes` at most."""
        self._needs = threads, log, most_bytes

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusal."""
        return (MetadataChangedError,)

    def routes(self) -> Sequence[Bound]:
        """Return the two routes."""
        return late(ROUTES, self._bound)

    def _bound(self) -> Sequence[Bound]:
        from hosting.features.metadata.http import MetadataHandlers

        return MetadataHandlers(*self._needs).bound()
