"""One run brought to its one terminal record: adopted, given up after too many attempts, or by running the agent.

Theory. The claim is appended before the agent starts and the terminal record after it ended, both by
compare-and-append, so whatever dies or happens twice, one attempt at a time holds the run and one terminal record
stands. An attempt that finds a newer claim is stale: it appends nothing and gives its delivery back. Source: turn.md,
Records 2, 3 and 5.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from hosting.agent.compaction import sent_history
from hosting.agent.runner import AgentRunner, Answered, Attempt, Broke, Outcome
from hosting.agent.stop import Stop
from hosting.callback.updates import Listener
from hosting.entity.capacity import Capacity
from hosting.errors import LogUnavailableError, RunCrashedError, UnstorableAnswerError
from hosting.events import Accepted, Delta, encode
from hosting.ports import Clock
from hosting.process.telemetry import run_span, tell_outcome
from hosting.reply.run_replies import completed_text
from hosting.retry import Retry
from hosting.run.claims import attempt_seconds, next_claim, token_of
from hosting.run.endings import cancelled, recorded
from hosting.run.retries import Retries
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from hosting.settings import Settings
from hosting.steps.journal import Journal
from hosting.steps.journaled import JournaledRun
from hosting.steps.speech import Pace, Speech
from hosting.steps.step_journal import StaleAttemptError
from hosting.thread.approvals import pending_approvals
from hosting.thread.endings import unanswered
from hosting.thread.events import Completed, Terminal
from hosting.thread.messages import refusals, run_messages
from hosting.times import iso
from state.attached import detachable_bytes
from state.codec import entry_value
from state.conversation import message_count, response_of, session_state
from state.convert import response_entry
from state.models import Conversation

logger = logging.getLogger(__name__)

MOST_CRASHES = 3
LOG_RETRY_SECONDS = (0.1, 0.5, 2.0, 5.0)


class Turns:
    """Ends the runs of one agent."""

    def __init__(
        self,
        runner: AgentRunner,
        log: RunLog,
        settings: Settings,
        clock: Clock,
        capacity: Capacity,
        *,
        retry: Retry | None = None,
        listener: Callable[[Accepted], Listener | None] = lambda accepted: None,
        log_retry_seconds: Sequence[float] = LOG_RETRY_SECONDS,
    ) -> None:
        """`retry` is for requests that bring none; `listener` gives who is to hear what an attempt says meanwhile."""
        self._runner = runner
        self._log = log
        self._settings = settings
        self._clock = clock
        self._capacity = capacity
        self._listener = listener
        self._log_retry_seconds = log_retry_seconds
        self._retries = Retries(clock, retry)
        seconds = settings.stream_batch_seconds
        self._pace = Pace(log.batch_seconds if seconds is None else seconds, settings.stream_batch_characters)

    async def finish(self, record: RunRecord, conversation: Conversation) -> RunRecord:
        """Return the record once it is terminal: adopted, given up after too many crashes, or by running the agent."""
        token = ""
        while record.terminal is None:
            if record.cancel_requested:
                return await self.end(record, cancelled(record.run_id, self._clock()))
            if record.is_held_by(token):
                record, token = await self._attempted(record, token, conversation)
                continue
            if record.deliveries >= MOST_CRASHES:
                error = RunCrashedError(f"The run ended its process {record.deliveries} times and is not tried again.")
                return await self.end(record, unanswered(record.run_id, self._clock(), error))
            now = self._clock()
            claim = next_claim(record, now, now + self._settings.run_timeout_seconds)
            token = claim.token
            record = await self._log.append(record, claim) or await self._reread(record)
        return record

    async def _attempted(self, record: RunRecord, token: str, conversation: Conversation) -> tuple[RunRecord, str]:
        """Run the agent under a claim; return the record of the end, or of the next claim and its token."""
        journal = Journal(record, token, self._log)
        attempt = self._attempt(journal, conversation)
        self._log.executing(record.run_id, attempt.stop.request)
        try:
            with run_span(record) as span:
                seconds = attempt_seconds(record, self._clock(), self._settings.run_timeout_seconds)
                outcome = await self._runner.run(attempt, seconds)
                terminal = self._terminal(attempt, outcome, conversation)
                words = (
                    await attempt.speech.last_words(_answer_of(terminal)) if isinstance(attempt.speech, Speech) else ()
                )
                if isinstance(outcome, Broke) and await self._retries.begun(journal, attempt.stop, outcome.error):
                    claimed = journal.record
                    return await self._reread(claimed) if attempt.stop.is_requested else claimed, token_of(claimed)
                finished = await self.end(journal.record, terminal, token, words)
                tell_outcome(span, finished)
                return finished, token
        finally:
            self._log.release(record.run_id)

    def _attempt(self, journal: Journal, conversation: Conversation) -> Attempt:
        accepted, stop = journal.record.accepted, Stop()
        return Attempt(
            run_id=accepted.run_id,
            thread_id=accepted.thread_id,
            request=accepted.request,
            messages=run_messages(accepted.request, conversation),
            refusals=refusals(accepted.request, conversation),
            history=sent_history(conversation),
            session=session_state(conversation),
            stop=stop,
            journaled=self._journaled(journal),
            speech=Speech(journal, self._clock, self._pace, stop.request) if accepted.streamed else None,
            listener=self._listener(accepted),
        )

    def _journaled(self, journal: Journal) -> JournaledRun | None:
        """Return what records the attempt's steps, for agents whose steps can be and requests that may have any."""
        if not (self._runner.keeps_journal and journal.record.accepted.request.enable_tool_calls):
            return None
        tells = self._settings.interrupted_tools == "tell"
        return JournaledRun(journal, self._clock, tells_unknown_outcomes=tells)

    def _terminal(self, attempt: Attempt, outcome: Outcome, conversation: Conversation) -> Terminal:
        now, run_id = self._clock(), attempt.run_id
        if isinstance(outcome, Broke):
            return unanswered(run_id, now, outcome.error)
        try:
            return self._completed(attempt, now, outcome, conversation)
        except Exception:
            logger.exception("The answer of run %s cannot be stored.", run_id)
            error = UnstorableAnswerError(
                f"The agent's answer cannot be kept; the cause is in the log under run {run_id}."
            )
            return unanswered(run_id, now, error)

    def _completed(self, attempt: Attempt, at: float, answered: Answered, conversation: Conversation) -> Completed:
        """Return the record of an answer; raises whatever says that no store can hold it, before one is asked to."""
        run_id = attempt.run_id
        entry = response_entry(run_id=run_id, created_at=iso(at), response=answered.response)
        asked = message_count(conversation) + len(attempt.messages)
        approvals = pending_approvals(run_id, answered.response)
        completed = Completed(
            at=at,
            run_id=run_id,
            entry=entry_value(entry),
            session=answered.session,
            message_count=asked + len(entry.messages),
            approvals=approvals,
            expires_at=self._expiry(at) if approvals else None,
            summary=answered.summary,
        )
        kept_bytes = len(encode(completed)) - detachable_bytes(entry, self._settings.attachment_bytes)
        if not self._capacity.keeps(run_id, kept_bytes):
            lost = {"kept": False, "message_count": asked + 1, "approvals": (), "expires_at": None}
            completed = completed.model_copy(update=lost)
        return completed.remembering(entry)

    def _expiry(self, at: float) -> float | None:
        seconds = self._settings.approval_seconds
        return at + seconds if seconds else None

    async def end(
        self, record: RunRecord, terminal: Terminal, token: str | None = None, words: Sequence[Delta] = ()
    ) -> RunRecord:
        """Append the terminal record, behind the last `words` of its run, or return the one that was first.

        With the log down the outcome is returned all the same, so that the conversation gets it; whoever attaches to
        the run later signals it again, and `repair` writes it into the log.
        """
        for pause in (*self._log_retry_seconds, None):
            try:
                return await self._compare_and_end(record, (*words, terminal), token)
            except LogUnavailableError:
                logger.warning("The run log cannot be reached to end run %s.", record.run_id)
            if pause is not None:
                await asyncio.sleep(pause)
        return record.with_event(terminal)

    async def _compare_and_end(
        self, record: RunRecord, events: Sequence[Delta | Terminal], token: str | None
    ) -> RunRecord:
        while record.terminal is None:
            if token is not None and not record.is_held_by(token):
                raise StaleAttemptError(f"Run {record.run_id} is held by attempt {record.attempts}.")
            ended = await self._log.append(record, *events)
            record = ended if ended is not None else await self._reread(record)
        return record

    async def _reread(self, record: RunRecord) -> RunRecord:
        newest = await self._log.kept(record.run_id)
        if newest is None:
            raise StaleAttemptError(f"The log of run {record.run_id} is gone.")
        return newest

    async def repair(self, record: RunRecord, conversation: Conversation) -> RunRecord:
        """Give the log of an applied run its terminal record, if a crash or an outage kept it from having one."""
        entry = response_of(conversation, record.run_id)
        if record.terminal is not None or entry is None:
            return record
        return await self.end(record, recorded(entry, self._clock(), conversation))


def _answer_of(terminal: Terminal) -> str | None:
    return completed_text(terminal) if isinstance(terminal, Completed) else None
