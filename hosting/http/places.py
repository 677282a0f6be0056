"""The places of routes: those of agents, of their threads and runs, and of workflows, where agents' are served too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from hosting import errors
from hosting.http.parameters import in_path
from hosting.http.route import STORES, Place, Route
from hosting.names import MAX_STORED_ID_LENGTH
from hosting.plan import Kind

THREAD_ID = in_path(
    "thread_id",
    "The thread. Threads stored by another package may have ids with other characters.",
    errors.UnknownThreadError,
    pattern=rf"[^/\\?#\u0000-\u001f\u007f-\u009f]{{1,{MAX_STORED_ID_LENGTH}}}",
)
RUN_ID = in_path("run_id", "The run.", errors.UnknownRunError, errors.ThreadDeletedError, *STORES)

APP = Place()
AGENTS = APP.below("agents")
AGENT = AGENTS.below("{name}")
THREAD = AGENT.below("threads/{thread_id}", THREAD_ID)
RUN = THREAD.below("runs/{run_id}", RUN_ID)
WORKFLOWS = Place("http_workflow", "workflow").below("workflows")
WORKFLOW = WORKFLOWS.below("{name}")
OF_KIND: Mapping[Kind, Place] = {"agent": AGENTS, "workflow": WORKFLOWS}


class Mount(Struct, frozen=True):
    """Another place, where those routes below `home` are served too that pass `has`."""

    home: Place
    place: Place
    has: Callable[[Route], bool] = lambda route: True

    def of(self, route: Route) -> Route | None:
        """Return the same route at this place; None if it is not there."""
        place = route.place.moved(self.home, self.place)
        return None if place is None or not self.has(route) else route.at(place)


OF_WORKFLOWS = Mount(AGENT, WORKFLOW, lambda route: route.is_for_workflows)
"""Workflows have the routes of agents."""
