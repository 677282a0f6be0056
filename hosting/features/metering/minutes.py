"""How many requests each caller has sent to an agent in the last minute, and how many tokens their runs have used.

Theory. A cell of the owner's (`hosting.core.cells`) has how many came in each second, counted at one place for all
processes. A request is counted by the append that is made before anything of it is stored, so that over all processes
none is taken beyond the limit. A second counts until a whole minute has gone after its end: in no 60 seconds more are
taken than the limit says.

What a model's answer used is added before the answer itself is recorded. It is known after the call only, and a request
is refused once none are left: what the runs that were taken before still use is over the limit.

Others only add to a cell, and what leaves it does so by the time. So a cell that is full is full in whichever newer
form the store has it, and a refusal costs no call of the store.

Times are those of the process that asks. Seconds that lie more than a minute ahead of them count for nothing, so that
no process with a wrong clock locks anybody out. They stay in the cell: to drop what lies outside one's own minute would
take from all others what they counted. A cell keeps the seconds that were counted last, twice as many as a minute has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate
from typing import Literal

from pydantic import Field

from hosting.amounts import LimitState
from hosting.core.cells import Cell, CellKind, Cells, Counted
from hosting.core.stores.contract import ThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.features.metering.limits import WINDOW_SECONDS, Limit, Standing, too_many_requests, too_many_tokens

Seconds = Mapping[int, int]
"""How many came in which second since 1970, in the order in which they were counted last."""
_KEPT_SECONDS = 2 * (WINDOW_SECONDS + 1)


class _Minute(Counted):
    """Requests by `seconds`, and `tokens` by those in which the model answered."""

    seconds: Seconds = Field(default_factory=dict)
    tokens: Seconds = Field(default_factory=dict)


_MINUTE = CellKind.of_model("limit", "minute", _Minute, remembered=True)


class OwnerMinutes:
    """The minutes of one agent's callers, for one event loop, in the store of the threads' logs."""

    def __init__(self, agent: str, log: ThreadLog, store: ThreadStore, limit: Limit) -> None:
        self._agent = agent
        self._cells = Cells(store, log)
        self._clocks = log.clocks
        self._most_requests = limit.requests_per_minute
        self._most_tokens = limit.tokens_per_minute

    async def count(self, owner: str) -> tuple[Standing, ...]:
        """Count one request once, and return how the limits stand then.

        Raises `LimitExceededError` where it is one too many, and `LogUnavailableError`.
        Where tokens alone are limited nothing is counted, and the store is asked whether any are left.
        """
        cell = Cell(_MINUTE, self._agent, owner)
        if self._most_requests is None:
            self._check(self._cells.remembered(cell))
            self._check(minute := await self._cells.read(cell))
            return self._standings(minute)

        def more(known: _Minute) -> _Minute:
            self._check(known)
            return self._adding(known, requests=1)

        return self._standings(await self._cells.count(cell, more))

    async def add(self, owner: str, tokens: int) -> None:
        """Count the usage of one call once. Raises `LogUnavailableError`."""
        cell = Cell(_MINUTE, self._agent, owner)
        await self._cells.count(cell, lambda minute: self._adding(minute, tokens=tokens))

    def _adding(self, known: _Minute, *, requests: int = 0, tokens: int = 0) -> _Minute:
        second = int(self._clocks.wall())
        sent, used = _and(known.seconds, second, requests), _and(known.tokens, second, tokens)
        return known.model_copy(update={"seconds": sent, "tokens": used})

    def _check(self, known: _Minute) -> None:
        """Raise `LimitExceededError` if no request is accepted: for the longer wait, if both limits are reached."""
        now = self._clocks.wall()
        sent, used = _within(known.seconds, now), _within(known.tokens, now)
        refusals = []
        if (most := self._most_requests) is not None and (over := sum(sent.values()) + 1 - most) > 0:
            refusals.append(too_many_requests(most, _left_in(sent, over, now)))
        if (most := self._most_tokens) is not None and (over := sum(used.values()) + 1 - most) > 0:
            refusals.append(too_many_tokens(most, sum(used.values()), _left_in(used, over, now)))
        if refusals:
            raise max(refusals, key=lambda refusal: refusal.retry_after_seconds)

    def _standings(self, known: _Minute) -> tuple[Standing, ...]:
        now, found = self._clocks.wall(), []
        if self._most_requests is not None:
            found.append(_standing("requests", self._most_requests, _within(known.seconds, now), now))
        if self._most_tokens is not None:
            found.append(_standing("tokens", self._most_tokens, _within(known.tokens, now), now))
        return tuple(found)


def _and(seconds: Seconds, second: int, more: int) -> Seconds:
    """Return the seconds with so many more in this one."""
    if not more:
        return seconds
    others = [one for one in seconds.items() if one[0] != second]
    return dict([*others, (second, seconds.get(second, 0) + more)][-_KEPT_SECONDS:])


def _within(seconds: Seconds, now: float) -> dict[int, int]:
    """Return the seconds that count now, oldest first."""
    return {at: many for at, many in sorted(seconds.items()) if abs(at - int(now)) <= WINDOW_SECONDS}


def _left_in(seconds: Seconds, many: int, now: float) -> int:
    """Return in how many seconds so many of these have left the minute."""
    leaves = next(at for at, left in zip(seconds, accumulate(seconds.values()), strict=True) if left >= many)
    return max(1, math.ceil(leaves + 1 + WINDOW_SECONDS - now))


def _standing(of: Literal["requests", "tokens"], most: int, seconds: Seconds, now: float) -> Standing:
    left = max(0, most - sum(seconds.values()))
    state: LimitState = {"of": of, "per": "owner/minute", "most": most, "left": left}
    return Standing(state, _left_in(seconds, 1, now) if seconds else None)
