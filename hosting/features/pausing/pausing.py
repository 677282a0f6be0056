"""Pauses and resumes runs, for every surface of one app.

Theory. A pause is one append to the thread's log, and so is its end: both find the other wherever they were made, and a
repeat changes nothing. The holder of the run sees the pause and releases the run at its next step. No process claims it
then, and its entity is not called: nothing works or waits for a run that stands still.

The append that ends a pause is followed by a signal. A process that dies between the two leaves a run of which the
engine knows nothing. So each pause leaves a mark first, as a run does that is answered before it is claimed
(`hosting.core.promised_runs`): the sweep over the marks signals for what stands still and is not paused any more.
"""

from __future__ import annotations

from hosting.core.promised_runs import PromisedRuns
from hosting.core.runs import Runs
from hosting.core.thread.commands import PauseRun, ResumeRun
from hosting.core.thread.run import Run
from hosting.core.thread_log import ThreadLog
from hosting.errors import AttachmentsUnavailableError
from hosting.names import Address
from hosting.ports import EntityClient


class Pausing:
    """Pauses and resumes the runs of one app."""

    def __init__(self, runs: Runs, promised: PromisedRuns, log: ThreadLog) -> None:
        self._runs, self._promised, self._log = runs, promised, log

    async def pause(self, address: Address, run_id: str, client: EntityClient) -> Run:
        """Have the run stop at its next step, and return it as it stands; one that ends or has ended stays so.

        Raises as `Runs.find` does, and `AttachmentsUnavailableError` if the pause could not be marked.
        """
        run = (await self._log.head(address)).run(run_id)
        if run is not None and not run.paused and not await self._promised.mark(address, run_id):
            raise AttachmentsUnavailableError("The run is not paused: that cannot be noted now. Try again.")
        return await self._runs.carry_out(address, client, PauseRun(self._log.clocks.wall(), run_id))

    async def resume(self, address: Address, run_id: str, client: EntityClient) -> Run:
        """Have a paused run go on, and return it as it stands; a run that is not paused goes on as before.

        Raises as `Runs.find` does.
        """
        return await self._runs.carry_out(address, client, ResumeRun(self._log.clocks.wall(), run_id))
