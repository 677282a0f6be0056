"""The places at which routes are served besides the one where they are declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hosting.http.parameters import Parameter
from hosting.http.route import Route
from hosting.http.routes import RUN, THREAD_PATH

_OWN = "http_"
"""The function of a route begins with it, and with the word of its place after that."""


@dataclass(frozen=True)
class Mount:
    """Another place of the routes below `base`: a `path` instead of that, with the `parameters` of its own.

    Functions there have the `word` in their names. Only routes that pass `has` are there. A place that is for an
    `agent` or a workflow alone does not name it.
    """

    base: str
    path: str
    word: str
    has: Callable[[Route], bool] = lambda route: True
    parameters: tuple[Parameter, ...] = ()
    agent: str | None = None

    def of(self, route: Route) -> Route | None:
        """Return the same route at this place; None if it is not there."""
        if not (route.path.startswith(self.base) and self.has(route)):
            return None
        rest = route.path.removeprefix(self.base)
        kept = (each for each in route.parameters if each.location != "path" or f"{{{each.name}}}" in rest)
        return replace(
            route,
            function=f"{_OWN}{self.word}_{route.function.removeprefix(_OWN)}",
            path=f"{self.path}{rest}",
            parameters=(*kept, *self.parameters),
            agent=self.agent or route.agent,
        )


def of_threads(path: str, word: str, parameter: Parameter) -> Mount:
    """Return a place of threads, each of which the parameter in the path names, for others than its owner."""
    return Mount(THREAD_PATH, path, word, lambda route: route.is_for_shared, (parameter,))


def run_at(mount: Mount) -> Route:
    """Return the route that runs the agent of a thread at that place, on this thread."""
    function, parameters = f"{_OWN}{mount.word}_run", (*RUN.parameters, *mount.parameters)
    return replace(RUN, function=function, path=f"{mount.path}/run", parameters=parameters)
