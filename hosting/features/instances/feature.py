"""Workflows by the routes and names of agent-framework-azurefunctions, in an app that has workflows."""

from __future__ import annotations

from collections.abc import Sequence

from hosting.core.runs import Runs
from hosting.core.threads import Threads
from hosting.feature import Feature
from hosting.http.places import Mount
from hosting.http.request import Bound
from hosting.http.verbs import AnswersApprovals
from hosting.settings import Settings


class InstancesFeature(Feature):
    """The instances of one app: what its clients know as one is a thread here, under the same id."""

    name = "instances"
    absent = "This app has no workflows. GET agents lists its agents."

    def __init__(
        self, runs: Runs, threads: Threads, approvals: AnswersApprovals, settings: Settings, workflows: Sequence[str]
    ) -> None:
        """The `workflows` are the names of those that the app has."""
        self._needs = runs, threads, approvals, settings
        self._workflows = workflows

    @property
    def is_on(self) -> bool:
        """Whether the app has workflows."""
        return bool(self._workflows)

    def routes(self) -> Sequence[Bound]:
        """Return the routes with a workflow's name."""
        from hosting.features.instances.http import InstanceHandlers

        return InstanceHandlers(*self._needs).bound()

    def mounts(self) -> Sequence[Mount]:
        """Return the place without a name, which the only workflow of an app has too."""
        from hosting.features.instances.http import of_only

        return (of_only(self._workflows[0]),) if len(self._workflows) == 1 else ()
