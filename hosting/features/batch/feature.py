"""Batches: many requests for runs in one (docs/reference/http-runs.md, "Many requests in one")."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from hosting.core.runs import Runs
from hosting.feature import Feature
from hosting.features.batch.routes import ROUTES
from hosting.http.request import Bound, late
from hosting.http.runs import Starting
from hosting.settings import Settings, SettingsPart


class BatchSettings(SettingsPart):
    """The settings of batches."""

    batch_runs: int = Field(8, ge=1, le=100)
    """The most runs of batches that an instance of the app waits for at once."""


class BatchFeature(Feature):
    """The batches of one app."""

    name = "batch"
    settings = BatchSettings

    def __init__(self, starting: Starting, runs: Runs, settings: Settings, own_settings: BatchSettings) -> None:
        """The requests are read by the app's `settings`."""
        self._starting, self._runs, self._settings = starting, runs, settings
        self._most_runs = own_settings.batch_runs

    def routes(self) -> Sequence[Bound]:
        """Return the route that takes a batch."""
        return late(ROUTES, self._bound)

    def _bound(self) -> Sequence[Bound]:
        from hosting.features.batch.batches import Batches
        from hosting.features.batch.http import BatchHandlers

        batches = Batches(self._starting, self._runs, self._most_runs)
        return BatchHandlers(batches, self._runs, self._settings).bound()
