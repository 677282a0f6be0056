"""How many requests each caller has sent to an agent in the last minute, counted at one place for all processes.

Theory. The owner's head (`hosting.runner.owner_heads`) has how many came in each second. A request is counted by the
append that is made before anything of it is stored, so that over all processes none is taken beyond the limit. A
second counts until a whole minute has gone after its end: in no 60 seconds more are taken than the limit says.

Others only add to a head, and what leaves it does so by the time. So a head that is full is full in whichever newer
form the store has it, and a refusal costs no call of the store.

Times are those of the process that asks. Seconds that lie more than a minute ahead of them count for nothing, so that
no process with a wrong clock locks anybody out.
"""

from __future__ import annotations

import math
from itertools import accumulate

from pydantic import Field

from hosting.limits import WINDOW_SECONDS, too_many_requests
from hosting.names import new_id
from hosting.runner.owner_heads import OwnerHead, OwnerHeads
from hosting.runner.thread_log import ThreadLog
from hosting.stores.contract import ThreadStore


class _Minute(OwnerHead):
    """How many came in which second since 1970."""

    seconds: dict[int, int] = Field(default_factory=dict)


class OwnerMinutes:
    """The minutes of one agent's callers, for one event loop, in the store of the threads' logs."""

    def __init__(self, agent: str, log: ThreadLog, store: ThreadStore, most: int) -> None:
        """A caller may send `most` requests in a minute."""
        self._heads = OwnerHeads(("limit", "minute"), agent, _Minute, log, store)
        self._clocks = log.clocks
        self._most = most

    async def count(self, owner: str) -> None:
        """Count one request once. Raises `LimitExceededError` where it is one too many, and `LogUnavailableError`."""
        counted = new_id()

        def more(known: _Minute) -> _Minute | None:
            if counted in known.counted:
                return None
            now = self._clocks.wall()
            seconds = {at: many for at, many in sorted(known.seconds.items()) if abs(at - int(now)) <= WINDOW_SECONDS}
            if (over := sum(seconds.values()) + 1 - self._most) > 0:
                sent = zip(seconds, accumulate(seconds.values()), strict=True)
                leaves = next(at for at, many in sent if many >= over) + 1 + WINDOW_SECONDS
                raise too_many_requests(self._most, max(1, math.ceil(leaves - now)))
            seconds[int(now)] = seconds.get(int(now), 0) + 1
            return _Minute(seconds=seconds, counted=known.counting(counted))

        await self._heads.change(owner, more)
