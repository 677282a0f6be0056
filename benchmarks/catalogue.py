"""The measures by name, in the order in which they are taken."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.figures import Measure
from benchmarks.measures import (
    appends,
    before,
    clients,
    clone,
    crowd,
    drain,
    engine,
    forks,
    fresh,
    groups,
    growth,
    imports,
    logs,
    memory,
    owners,
    page,
    processor,
    readers,
    slow,
    start,
    state,
    steps,
    streams,
    supersteps,
    threads,
    waited,
    waiters,
    wires,
)

MEASURES: Mapping[str, Measure] = {
    "start": start.measure,
    "fresh": fresh.measure,
    "growth": growth.measure,
    "clients": clients.measure,
    "crowd": crowd.measure,
    "waited": waited.measure,
    "slow": slow.measure,
    "streams": streams.measure,
    "wires": wires.measure,
    "steps": steps.measure,
    "supersteps": supersteps.measure,
    "state": state.measure,
    "owners": owners.measure,
    "memory": memory.measure,
    "threads": threads.measure,
    "forks": forks.measure,
    "engine": engine.measure,
    "groups": groups.measure,
    "drain": drain.measure,
    "readers": readers.measure,
    "waiters": waiters.measure,
    "page": page.measure,
    "before": before.measure,
    "processor": processor.measure,
    "import": imports.measure,
    "logs": logs.measure,
    "appends": appends.measure,
    "clone": clone.measure,
}
ON_REQUEST = frozenset(
    {"groups", "drain", "readers", "waiters", "page", "before", "processor", "import", "logs", "appends", "clone"}
)  # these may install packages, or need a browser: minutes, and the network
