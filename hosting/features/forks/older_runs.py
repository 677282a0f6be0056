"""Runs that continue an older one: on its thread, or on a fork of it where the thread has gone on from there."""

from __future__ import annotations

from msgspec.structs import replace

from hosting.core.runs import Runs
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import StartRun
from hosting.errors import LimitExceededError, RunNotNewestError, UnknownRunError
from hosting.features.forks.forking import ForkCall, Forking, ForkPoint, keyed_fork
from hosting.plan import AgentPlan
from hosting.principal import Caller


class OlderRuns:
    """Continues the runs of one app."""

    def __init__(self, forking: Forking, runs: Runs) -> None:
        self._forking = forking
        self._runs = runs

    async def continued(self, older: Run, agent: AgentPlan, start: StartRun, caller: Caller, *, scope: str) -> Run:
        """Start a run after an older one of the agent, or find the run that its idempotency key started.

        Under a key it is the same fork each time, which no request of another `scope` makes with that key. Raises
        `RunNotNewestError` where the thread has gone on and cannot be forked there, and as `Runs.start` does.
        """
        key = start.idempotency_key
        fork_key = f"{scope}\n{key}"
        try:
            return (await self._runs.start(agent.name, replace(start, follows=older.first), caller)).run
        except RunNotNewestError:
            if agent.workflow is not None:
                raise
        except LimitExceededError:
            if not await self._runs.is_begun(keyed_fork(older.address, fork_key), key):
                raise  # a run that is begun is never refused, and this one may be on the fork
        try:
            request = ForkCall(ForkPoint(older.run_id), None, None if key is None else fork_key)
            fork = await self._forking.fork(older.address, request, caller.client)
        except UnknownRunError as error:
            raise RunNotNewestError(
                "A later run already continues this one, or this one has not ended or stored nothing. Continue from "
                "another one."
            ) from error
        start = replace(start, thread_id=fork.thread_id, follows=None)
        return (await self._runs.start(agent.name, start, caller, is_limited=False)).run  # counted on the thread
