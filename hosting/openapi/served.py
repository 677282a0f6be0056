"""What one app serves, as far as its OpenAPI document depends on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hosting.names import http_function
from hosting.reply.routes import HEALTH, READY, ROUTES, RUN, Route
from hosting.request.limits import Limits


@dataclass(frozen=True)
class ServedApp:
    """The agents with an HTTP endpoint and what each takes; whether health is served, whether keys are asked for."""

    agents: Mapping[str, Limits]
    has_health: bool
    asks_for_key: bool

    def routes(self) -> Iterator[tuple[Route, str | None]]:
        """Iterate over the routes; with an agent's name, the route that is this agent's own.

        Routes below an agent are left out when no agent has an HTTP endpoint: they answer nothing but 404.
        """
        for route in ROUTES:
            if route is RUN:
                yield from ((_of_agent(name), name) for name in self.agents)
            elif self._serves(route):
                yield route, None

    def _serves(self, route: Route) -> bool:
        if route in (HEALTH, READY):
            return self.has_health
        return bool(self.agents) or "{name}" not in route.path


def _of_agent(name: str) -> Route:
    return replace(RUN, function=http_function(name), path=RUN.path.format(name=name))
