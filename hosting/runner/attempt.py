"""A claimed run brought to its end: the agent is run once, or once more after a failure, and its end is appended.

Theory. Whoever holds the claim runs the agent; nobody else does. What the agent came to is appended under the holder's
token, as the one end of the run. A holder that was taken over finds its token stale and drops what it did. A holder
whose log stays away lets go of the run: its lease runs out, and whoever takes over is given what was recorded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field

from hosting.agent.compaction import sent_history
from hosting.agent.runner import AgentRunner, Answered, Attempt, Broke, Outcome
from hosting.agent.stop import Stop
from hosting.callback.updates import Listener
from hosting.errors import UnstorableAnswerError
from hosting.identity import new_id
from hosting.retry import RETRIED, Retry
from hosting.runner.journal import Journal
from hosting.runner.words import Heard, Pace, Words
from hosting.settings import Settings
from hosting.steps.journaled import JournaledRun
from hosting.thread.approvals import pending_approvals
from hosting.thread.endings import unanswered
from hosting.thread.events import Completed, Delta, Terminal
from hosting.thread.events import encode as encode_event
from hosting.thread.messages import refusals, run_messages
from hosting.times import iso
from state.attached import detachable_bytes
from state.codec import entry_value
from state.conversation import message_count, response_text, session_state
from state.convert import response_entry
from state.models import Conversation, ResponseEntry

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ended:
    """How an attempt's run ends: the terminal event, and the last words before it."""

    terminal: Terminal
    words: tuple[Delta, ...] = ()


@dataclass(frozen=True)
class Held:
    """A run that this process holds: its journal, the conversation before it, and until when it may take.

    `heard` is told each word as it comes, `stop` ends the run early.
    """

    journal: Journal
    conversation: Conversation
    deadline: float
    heard: Heard
    stop: Stop = field(default_factory=Stop)
    listener: Listener | None = None


class Attempts:
    """Runs one agent for whoever holds a run of it. `retry` is for requests that bring none."""

    def __init__(
        self, runner: AgentRunner, settings: Settings, *, batch_seconds: float, retry: Retry | None = None
    ) -> None:
        self._runner = runner
        self._settings = settings
        self._retry = retry
        seconds = settings.stream_batch_seconds
        self._pace = Pace(batch_seconds if seconds is None else seconds, settings.stream_batch_characters)

    async def run(self, held: Held) -> Ended:
        """Return how the run ends; nothing of its end is appended yet.

        Raises `StaleAttemptError` once another holds the run, and `LogUnavailableError` when a step could not be
        recorded: the run then goes on elsewhere.
        """
        while True:
            attempt, words = self._attempt(held)
            outcome = await self._runner.run(attempt, max(0.0, held.deadline - time.time()))
            ended = self._ended(held, attempt, outcome)
            last = await words.close(_answer_of(ended)) if words is not None else ()
            if not isinstance(outcome, Broke) or not await self._tries_again(held, outcome):
                return Ended(ended, last)

    def _attempt(self, held: Held) -> tuple[Attempt, Words | None]:
        journal, conversation, stop = held.journal, held.conversation, held.stop
        accepted = journal.run.accepted
        words = Words(journal, self._pace, held.heard, stop.request) if accepted.streamed else None
        attempt = Attempt(
            run_id=accepted.run_id,
            thread_id=journal.ids.thread_id,
            request=accepted.request,
            messages=run_messages(accepted.request, conversation),
            refusals=refusals(accepted.request, conversation),
            history=sent_history(conversation),
            session=session_state(conversation),
            stop=stop,
            journaled=self._journaled(journal),
            speech=words,
            listener=held.listener,
        )
        return attempt, words

    def _journaled(self, journal: Journal) -> JournaledRun | None:
        """Return what records the attempt's steps, for agents whose steps can be and requests that may have any."""
        if not (self._runner.keeps_journal and journal.run.accepted.request.enable_tool_calls):
            return None
        return JournaledRun(journal, time.time, tells_unknown_outcomes=self._settings.interrupted_tools == "tell")

    async def _tries_again(self, held: Held, outcome: Broke) -> bool:
        """Claim the run for another attempt and pause, or return False when this one's error is to be its end."""
        journal, error = held.journal, outcome.error
        retry = journal.run.accepted.request.retry or self._retry
        seconds = retry.pause_seconds(journal.run.failures + 1) if retry and error.code in RETRIED else None
        if seconds is None or time.time() + seconds >= held.deadline:
            return False
        logger.warning("Run %s ended as %s; another attempt in %g s.", journal.ids.run_id, error.code, seconds)
        await journal.retry(new_id(), error.code)
        await _pause(seconds, held.stop)
        return True

    def _ended(self, held: Held, attempt: Attempt, outcome: Outcome) -> Terminal:
        now, run_id = time.time(), attempt.run_id
        if isinstance(outcome, Broke):
            return unanswered(run_id, now, outcome.error)
        try:
            return self._completed(held, attempt, outcome, now)
        except Exception:
            logger.exception("The answer of run %s cannot be stored.", run_id)
            error = UnstorableAnswerError(
                f"The agent's answer cannot be kept; the cause is in the log under run {run_id}."
            )
            return unanswered(run_id, now, error)

    def _completed(self, held: Held, attempt: Attempt, answered: Answered, at: float) -> Completed:
        """Return the record of an answer; raises whatever says that no store can hold it, before one is asked to."""
        entry = response_entry(run_id=attempt.run_id, created_at=iso(at), response=answered.response)
        asked = message_count(held.conversation) + len(attempt.messages)
        approvals = pending_approvals(attempt.run_id, answered.response)
        completed = Completed(
            at=at,
            run_id=attempt.run_id,
            entry=entry_value(entry),
            session=answered.session,
            message_count=asked + len(entry.messages),
            approvals=approvals,
            expires_at=at + self._settings.approval_seconds if approvals and self._settings.approval_seconds else None,
            summary=answered.summary,
        )
        kept_bytes = len(encode_event(completed)) - detachable_bytes(entry, self._settings.attachment_bytes)
        if kept_bytes > self._settings.state_limit_bytes:
            logger.error(
                "The answer of run %s has %d bytes and a conversation at most %d: it is kept in its log only.",
                attempt.run_id,
                kept_bytes,
                self._settings.state_limit_bytes,
            )
            lost = {"kept": False, "message_count": asked + 1, "approvals": (), "expires_at": None}
            completed = completed.model_copy(update=lost)
        return completed.remembering(entry)


def _answer_of(terminal: Terminal) -> str | None:
    if not isinstance(terminal, Completed):
        return None
    response = terminal.response
    return response_text(response) if isinstance(response, ResponseEntry) else None


async def _pause(seconds: float, stop: Stop) -> None:
    """Return after so many seconds, or once the run is to end."""
    pausing = asyncio.ensure_future(asyncio.sleep(seconds))
    stop.bind(pausing)
    try:
        await asyncio.wait((pausing,))
    finally:
        pausing.cancel()
