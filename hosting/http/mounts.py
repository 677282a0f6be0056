"""Other places of a thread's routes than the one below its agent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hosting.http.parameters import Parameter
from hosting.http.route import Route
from hosting.http.routes import RUN, THREAD_ID, THREAD_PATH


@dataclass(frozen=True)
class Mount:
    """Another place of a thread's routes: a `path` that names the thread by the `parameter` in it.

    Their functions have the `word` in their names.
    """

    path: str
    word: str
    parameter: Parameter

    def of(self, route: Route) -> Route | None:
        """Return the same route at this place; None if it is no thread's, or not for those who come here."""
        if not (route.path.startswith(THREAD_PATH) and route.is_for_shared):
            return None
        function, path = (
            route.function.replace("http_", f"http_{self.word}_"),
            route.path.replace(THREAD_PATH, self.path),
        )
        parameters = (*(each for each in route.parameters if each is not THREAD_ID), self.parameter)
        return replace(route, function=function, path=path, parameters=parameters)

    @property
    def run(self) -> Route:
        """The route that runs the agent of the thread, on it."""
        function, parameters = f"http_{self.word}_run", (*RUN.parameters, self.parameter)
        return replace(RUN, function=function, path=f"{self.path}/run", parameters=parameters)
