"""The places of an owner's schedules with an agent: never more than allowed, also with many makers at once.

Theory. To count schedules and to store one are two calls of a store. So whoever makes one takes a place first, in a
record of the owner's with the agent: a head alone. The schedules are counted after that record was read, and the append
to it fails where somebody has taken a place since. A place is needed until its schedule is stored, which is counted
from then on; one that was taken long ago and is no schedule is nobody's, because its maker died.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from hosting.errors import TooManySchedulesError
from hosting.names import Address
from hosting.service.lone_heads import LoneHeads
from hosting.stores.contract import Appended, StoredHead

MOST_SCHEDULES = 200
"""As many as an owner may be allowed to have with an agent."""
NEW_SECONDS = 120.0
"""So long after its start a clock waits for its schedule, and for so long a place is kept for it."""


class SchedulePlaces:
    """The places of all owners, at most so many each; a schedule is named by where it is stored.

    What reads or writes one raises `LogUnavailableError`.
    """

    def __init__(self, heads: LoneHeads, most: int) -> None:
        self._heads = heads
        self._most = most

    async def take(self, schedule: Address, now: float) -> None:
        """Take a place for a schedule that is about to be stored; raise `TooManySchedulesError` where none is left."""
        places = _places(schedule)
        async with self._heads.turn(places):
            while True:
                stored = await self._heads.read(places)
                taken = {id_: at for id_, at in _read(stored).items() if at > now - NEW_SECONDS}
                taken[schedule.thread_id] = now
                listed = await self._heads.store.heads(schedule.agent, schedule.owner, "", MOST_SCHEDULES)
                if len({id_ for id_, _ in listed} | taken.keys()) > self._most:
                    agent = schedule.agent.rpartition(".")[0]
                    raise TooManySchedulesError(
                        f"There are {self._most} schedules of yours for agent {agent!r}, the limit. Delete one first."
                    )
                if await self._wrote(places, stored, taken):
                    return

    async def leave(self, schedule: Address) -> None:
        """Give back the place of a schedule that is not there; nothing where it has none."""
        places = _places(schedule)
        async with self._heads.turn(places):
            while schedule.thread_id in (taken := _read(stored := await self._heads.read(places))):
                del taken[schedule.thread_id]
                if await self._wrote(places, stored, taken):
                    return

    async def erase(self, schedule: Address) -> None:
        """Remove the record of an owner with such a schedule, now or before."""
        await self._heads.remove(_places(schedule))

    async def _wrote(self, places: Address, known: StoredHead | None, taken: Mapping[str, float]) -> bool:
        return isinstance(await self._heads.replace(places, known, json.dumps(taken).encode()), Appended)


def _places(schedule: Address) -> Address:
    """Return where the record is: no agent's name has a dot, so it is among no agent's threads and no schedules."""
    return Address(f"{schedule.agent}.places", "taken", schedule.owner)


def _read(stored: StoredHead | None) -> dict[str, float]:
    return {} if stored is None else dict(json.loads(stored.payload))
