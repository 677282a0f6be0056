"""The forks of an app: new threads that begin with the conversation of another one (docs/guides/forks.md).

A fork borrows the archived entries of its origin. So who lends to whom, and the copies before a lender goes, belong to
the core's archive (`core.lending`, `core.copies`): a deletion gives them with or without this feature.
"""

from __future__ import annotations

from collections.abc import Sequence

from hosting.core.runs import Runs
from hosting.errors import HostingError
from hosting.feature import Feature
from hosting.features.forks.forking import Forking
from hosting.features.forks.http import ForkHandlers, ForkRefusedError
from hosting.features.forks.older_runs import OlderRuns
from hosting.http.request import Bound


class ForksFeature(Feature):
    """The forks of one app."""

    name = "forks"

    def __init__(self, forking: Forking, runs: Runs, most_bytes: int) -> None:
        """The body of a request has `most_bytes` at most."""
        self.older_runs = OlderRuns(forking, runs)
        self._handlers = ForkHandlers(forking, most_bytes)

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        return (ForkRefusedError,)

    def routes(self) -> Sequence[Bound]:
        """Return the route that forks a thread."""
        return self._handlers.bound()
