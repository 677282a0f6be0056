"""Admits requests that start runs of an agent with a limit, and refuses those beyond it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import cast

from hosting.amounts import LimitState
from hosting.core.agent.held_run import HeldRun
from hosting.core.hooks import ANSWER_HEADERS
from hosting.errors import LimitExceededError
from hosting.features.metering.limits import Limit, Standing, limit_headers, too_many_runs
from hosting.features.metering.minutes import OwnerMinutes
from hosting.names import Address


class Limiter:
    """The limit of one agent, for one event loop.

    A thread has one run at a time: its next request waits for that one, and is none more at once. So what is counted
    are the threads on which this process is at work, whoever had it begin there.
    """

    def __init__(self, limit: Limit, minutes: OwnerMinutes | None, held: Mapping[str, HeldRun]) -> None:
        """`minutes` count requests, and `held` are the runs of all agents that this process holds."""
        self._most_runs = limit.runs_at_once
        self._minutes = minutes
        self._held = held
        self._starting: Counter[Address] = Counter()

    @asynccontextmanager
    async def admitted(
        self, address: Address, owner: str, is_begun: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[None]:
        """Enter the block, in which the run is started, if the `owner` may send one more request for it.

        What `is_begun` already is not refused. Raises `LimitExceededError` and `LogUnavailableError`.
        """
        if self._is_full(address) and not await is_begun():
            assert self._most_runs is not None
            raise too_many_runs(address.agent, self._most_runs)
        self._starting[address] += 1  # before anything is waited for, so that no other one takes its place
        try:
            standings = (*await self._count(owner, is_begun), *self._runs(address.agent))
            ANSWER_HEADERS.set(limit_headers(standings))
            yield
        finally:
            self._starting[address] -= 1
            self._starting += Counter()  # drops those of none

    def _is_full(self, address: Address) -> bool:
        if self._most_runs is None:
            return False
        at_work = self._at_work(address.agent)
        return address not in at_work and len(at_work) >= self._most_runs

    def _at_work(self, agent: str) -> set[Address]:
        return {held.address for held in self._held.values() if held.address.agent == agent}.union(self._starting)

    def _runs(self, agent: str) -> tuple[Standing, ...]:
        if self._most_runs is None:
            return ()
        left = max(0, self._most_runs - len(self._at_work(agent)))
        return (Standing({"of": "runs", "per": "process", "most": self._most_runs, "left": left}),)

    async def _count(self, owner: str, is_begun: Callable[[], Awaitable[bool]]) -> tuple[Standing, ...]:
        if self._minutes is None:
            return ()
        try:
            return await self._minutes.count(owner)
        except LimitExceededError as refusal:
            if not await is_begun():
                raise
            return (Standing(cast(LimitState, refusal.limit), math.ceil(refusal.retry_after_seconds)),)
