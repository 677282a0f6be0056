"""The usage of an agent's background tasks, which counts for the budget of the run, or the thread, that began them."""

from __future__ import annotations

from typing import Protocol

from hosting.amounts import UNUSED, Per, Used
from hosting.core.thread.run import Run
from hosting.names import Address


class TaskUsage(Protocol):
    """Reads what runs that belong together have used. Both methods raise `LogUnavailableError`."""

    async def beside_run(self, run: Run) -> Used:
        """Return what the run that began all of them and its tasks have used, without this run."""

    async def beside_thread(self, address: Address) -> Used:
        """Return what the thread that began all of them and those of its tasks have used, without this thread."""


async def used_beside(usage: TaskUsage, run: Run, per: Per) -> Used:
    """Return what other runs have used of the budget of a run; raises `LogUnavailableError`.

    Nothing for an owner's day, which is counted at one place for all.
    """
    match per:
        case "run":
            return await usage.beside_run(run)
        case "thread":
            return await usage.beside_thread(run.address)
    return UNUSED
