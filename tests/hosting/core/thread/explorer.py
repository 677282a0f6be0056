"""Every interleaving of what processes, holders and the entity may do to one thread, over the real `decide` and `fold`.

Theory. The state is small and canonical (`world`), decisions are made once (`decisions`), and what the events say is
told a second time apart from the head (`history`), so that a wrong head is seen. `search` finds the shortest way to a
broken promise, and the states from which a promise can never be kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.hosting.core.thread.callers import Callers
from tests.hosting.core.thread.entity import Entity
from tests.hosting.core.thread.holders import Holders
from tests.hosting.core.thread.search import Search, Searched
from tests.hosting.core.thread.world import State, Step, World


def explored(world: World) -> Searched:
    """Return how many states the world has, and the first promise that is broken in one."""
    actors = (Callers(world), Holders(world), Entity(world))

    def steps(state: State) -> Iterator[Step]:
        for actor in actors:
            yield from actor.steps(state)

    return Search(world.first(), steps).run(world.is_over_now)
