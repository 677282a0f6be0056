"""The steps of one run, as they are appended and as a later attempt finds them: model results and tool calls.

Theory. Each step is appended to the run's log as it ends, and a tool call also before it begins, by the attempt that
holds the run; an attempt that lost its claim appends nothing and must do nothing more. The agent runs on a loop of its
own and the log belongs to another, so appending crosses over. Appends keep their order, and words that wait to be
streamed go before the step that follows them, in one write. Source: turn.md, What is promised; Records 2 and 4.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from hosting.errors import LogUnavailableError
from hosting.events import Claim, Delta, Step
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from hosting.steps.step_journal import RunIds, StaleAttemptError
from hosting.thread.events import ModelResult, ToolResult, ToolStarted

APPEND_RETRY_SECONDS = (0.1, 0.5, 2.0)


class Journal:
    """The steps of one attempt. Made on the log's loop; `model`, `started`, `result` and `append` are the agent's.

    `take_words` gives what the agent said and the log does not have yet.
    """

    def __init__(
        self, record: RunRecord, token: str, log: RunLog, retry_seconds: Sequence[float] = APPEND_RETRY_SECONDS
    ) -> None:
        self.record = record
        self.take_words: Callable[[], tuple[Delta, ...]] = tuple
        self._unsure: tuple[Delta, ...] = ()
        self._token = token
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._appending = asyncio.Lock()
        self._retry_seconds = retry_seconds
        self._models = {(step.within, step.number): step for step in record.steps if isinstance(step, ModelResult)}
        self._started = {step.key: step for step in record.steps if isinstance(step, ToolStarted)}
        self._results = {step.key: step for step in record.steps if isinstance(step, ToolResult)}

    @property
    def ids(self) -> RunIds:
        """See `StepJournal`."""
        accepted = self.record.accepted
        return RunIds(accepted.agent, accepted.thread_id, accepted.run_id)

    def model(self, number: int, within: str = "") -> ModelResult | None:
        """Return what an earlier attempt recorded of an agent's n-th model call, counted from 1.

        `within` is the key of the call that the agent is the tool of, empty for the agent that runs.
        """
        return self._models.get((within, number))

    def started(self, key: str) -> ToolStarted | None:
        """Return the record that an earlier attempt began a tool call."""
        return self._started.get(key)

    def result(self, key: str) -> ToolResult | None:
        """Return what an earlier attempt recorded of a tool call's end."""
        return self._results.get(key)

    async def append(self, *steps: Step) -> None:
        """Append steps, in one write; returns once they are in the log.

        Raises `StaleAttemptError` when this attempt does not hold the run any more, `LogUnavailableError` when the
        log stays away: both end the attempt, and a later one goes on from what is recorded.
        """
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.append_here(*steps), self._loop))

    async def append_here(self, *steps: Step | Claim) -> None:
        """See `append`; on the log's loop, and without steps for the words alone, which are tried once.

        Words that could not be written go before the next ones, by themselves: a write of which nobody knows whether it
        was done may be repeated only as it was.
        """
        retry_seconds = self._retry_seconds if steps else ()
        async with self._appending:
            if self._unsure:
                await self._write(self._unsure, retry_seconds)
            self._unsure = words = self.take_words()
            if words or steps:
                await self._write((*words, *steps), retry_seconds)
            self._unsure = ()

    async def _write(self, events: Sequence[Step | Claim | Delta], retry_seconds: Sequence[float]) -> None:
        for pause in retry_seconds:
            with contextlib.suppress(LogUnavailableError):
                return await self._compare_and_append(events)
            await asyncio.sleep(pause)
        return await self._compare_and_append(events)

    async def _compare_and_append(self, events: Sequence[Step | Delta | Claim]) -> None:
        while (moved := await self._log.append(self.record, *events)) is None:
            self.record = await self._reread()
        self.record = moved

    async def _reread(self) -> RunRecord:
        newest = await self._log.kept(self.record.run_id)
        if newest is None or not newest.is_held_by(self._token):
            raise StaleAttemptError(f"Run {self.record.run_id} is held by another attempt, has ended or is deleted.")
        return newest
