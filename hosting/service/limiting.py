"""Admits what would start a run of an agent that has a limit, and refuses what is too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from hosting.errors import LimitExceededError
from hosting.limits import Limit, too_many_runs
from hosting.names import Address
from hosting.runner.held_run import HeldRun
from hosting.runner.owner_minutes import OwnerMinutes


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
            await self._count(owner, is_begun)
            yield
        finally:
            self._starting[address] -= 1
            self._starting += Counter()  # drops those of none

    def _is_full(self, address: Address) -> bool:
        if self._most_runs is None:
            return False
        at_work = {held.address for held in self._held.values() if held.address.agent == address.agent}
        at_work.update(self._starting)
        return address not in at_work and len(at_work) >= self._most_runs

    async def _count(self, owner: str, is_begun: Callable[[], Awaitable[bool]]) -> None:
        if self._minutes is None:
            return
        try:
            await self._minutes.count(owner)
        except LimitExceededError:
            if not await is_begun():
                raise
