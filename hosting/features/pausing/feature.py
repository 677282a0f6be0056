"""Pause and resume of the runs of one app: its routes. The pause itself stands in the thread's log."""

from __future__ import annotations

from collections.abc import Sequence

from hosting.feature import Feature
from hosting.features.pausing.pausing import Pausing
from hosting.features.pausing.routes import ROUTES
from hosting.http.request import Bound, late


class PausingFeature(Feature):
    """The pauses of the runs of one app."""

    name = "pausing"

    def __init__(self, pausing: Pausing) -> None:
        self._pausing = pausing

    def routes(self) -> Sequence[Bound]:
        """Return the two routes."""
        return late(ROUTES, self._bound)

    def _bound(self) -> Sequence[Bound]:
        from hosting.features.pausing.http import PausingHandlers

        return PausingHandlers(self._pausing).bound()
