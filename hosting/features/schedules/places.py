"""The places of an owner's schedules with an agent: never more than allowed, also with many makers at once.

Theory. To count schedules and to store one are two calls of a store. So whoever makes one takes a place first, in a
cell of the owner's with the agent. The schedules are counted after that cell was read, and the append to it fails where
somebody has taken a place since. A place is needed until its schedule is stored, which is counted from then on; if it
was taken long ago and is no schedule, its maker died.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from hosting.core.cells import Cell, CellKind, Cells
from hosting.features.schedules.routes import TooManySchedulesError
from hosting.features.schedules.schedule import ScheduleName

MOST_SCHEDULES = 200
"""As many as an owner may be allowed to have with an agent."""
NEW_SECONDS = 120.0
"""So long after its start a clock waits for its schedule, and for so long a place is kept for it."""

Places = Mapping[str, float]
"""When each place was taken, by the id of its schedule."""
_PLACES: CellKind[Places] = CellKind(
    "schedules.places",
    "taken",
    lambda payload: json.loads(payload or "{}"),
    lambda places: json.dumps(places).encode(),
)


class SchedulePlaces:
    """The places of all owners, at most so many each.

    What reads or writes one raises `LogUnavailableError`.
    """

    def __init__(self, cells: Cells, most: int) -> None:
        self._cells = cells
        self._most = most

    async def take(self, name: ScheduleName, now: float) -> None:
        """Take a place for a schedule that is about to be stored; raise `TooManySchedulesError` where none is left."""

        async def with_place(places: Places) -> Places:
            taken = {id_: at for id_, at in places.items() if at > now - NEW_SECONDS} | {name.id: now}
            if len((await self._cells.siblings(name.cell)).keys() | taken.keys()) > self._most:
                raise TooManySchedulesError(
                    f"There are {self._most} schedules of yours for agent {name.agent!r}, the limit. Delete one first."
                )
            return taken

        await self._cells.change_awaited(_places(name), with_place)

    async def leave(self, name: ScheduleName) -> None:
        """Give back the place of a schedule that is not there; nothing where it has none."""
        await self._cells.change(
            _places(name), lambda places: {id_: at for id_, at in places.items() if id_ != name.id}
        )

    async def erase(self, name: ScheduleName) -> None:
        """Remove the places of an owner with such a schedule, now or before."""
        await self._cells.remove(_places(name))


def _places(name: ScheduleName) -> Cell[Places]:
    return Cell(_PLACES, name.agent, name.cell.owner)
