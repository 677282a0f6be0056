"""The measures by name, in the order in which they are taken."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.figures import Measure
from benchmarks.measures import clients, clone, crowd, engine, fresh, growth, memory, slow, start, state, waited

MEASURES: Mapping[str, Measure] = {
    "start": start.measure,
    "fresh": fresh.measure,
    "growth": growth.measure,
    "clients": clients.measure,
    "crowd": crowd.measure,
    "waited": waited.measure,
    "slow": slow.measure,
    "state": state.measure,
    "memory": memory.measure,
    "engine": engine.measure,
    "clone": clone.measure,
}
ON_REQUEST = frozenset({"clone"})  # installs packages: minutes, and the network
