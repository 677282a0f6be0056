"""One agent as its runs are executed here: once, or again after a failure, and how long they may take.

Theory. The holder of the claim runs the agent, and no other process does. Its end of the run is appended under its
token, and is the only end of the run. A holder that was taken over finds its token stale and drops what it did. A
holder without a log releases the run: its lease runs out, and the next holder replays the recorded steps.

How long a run and an attempt of it may take is in `time_limits`.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from msgspec import structs

from hosting.core.agent.agent_runner import AgentFailure, AgentRunner, Attempt, AttemptOutcome
from hosting.core.agent.changed_calls import with_arguments, with_rules
from hosting.core.agent.deltas import BatchPace, DeltaWriter, OnDelta
from hosting.core.agent.held_run import HeldRun
from hosting.core.agent.history import thread_messages
from hosting.core.agent.long_steps import end_in_time
from hosting.core.agent.recorded import drop_thoughts
from hosting.core.agent.smaller_answers import smaller_answer
from hosting.core.agent.step_recorder import StepRecorder
from hosting.core.agent.steps import AgentSteps
from hosting.core.agent.time_limits import UNLIMITED, AttemptTimes
from hosting.core.hooks import Listen, Meter, OnAnswer, Report
from hosting.core.telemetry import record_outcome, run_span
from hosting.core.thread.events import Completed, Step, Terminal
from hosting.core.thread.events import encode as encode_event
from hosting.core.thread.messages import call_notes, expiry, pending_approvals, run_messages
from hosting.core.thread.run import unanswered
from hosting.core.thread.run_request import RETRIED
from hosting.core.thread.versions import NEWEST_VERSION, VERSION
from hosting.errors import (
    BudgetExceededError,
    HostingError,
    RunCancelledError,
    RunTimedOutError,
    UnreadableStateError,
    UnstorableAnswerError,
)
from hosting.names import new_id
from hosting.options import Reasoning, Retry
from hosting.ports import iso
from hosting.progress import REPORT
from hosting.settings import Settings
from hosting.tools import AT_WORK, RunAtWork
from state.attachments import external_bytes
from state.conversation import message_count, response_text, session_state
from state.convert import stored_response
from state.errors import BadContentError
from state.models import Conversation, ResponseEntry

if TYPE_CHECKING:
    from hosting.user_tokens import OnBehalfOf

logger = logging.getLogger(__name__)


class HostedAgent:
    """One agent as its runs are executed here; one of them may take `run_timeout_seconds`, its `attempts` as those say.

    `retry` is for requests that bring none. `reasoning` is what becomes of its model's thoughts. `meter` counts the
    model calls of its attempts, if anybody asks for them. `listen` returns the listener of an attempt's updates,
    and `on_answer` adds to its answer. `tokens` has those of the runs' callers.
    """

    def __init__(
        self,
        runner: AgentRunner,
        settings: Settings,
        run_timeout_seconds: float,
        *,
        pace: BatchPace,
        attempts: AttemptTimes = UNLIMITED,
        retry: Retry | None = None,
        reasoning: Reasoning | None = None,
        meter: Meter | None = None,
        listen: Listen | None = None,
        report: Report | None = None,
        tokens: OnBehalfOf | None = None,
        on_answer: OnAnswer | None = None,
    ) -> None:
        self.times = structs.replace(attempts, run_seconds=run_timeout_seconds)
        self.attempt_seconds = min(run_timeout_seconds, attempts.longest_seconds)
        self.claim_version = VERSION if self.attempt_seconds == run_timeout_seconds else NEWEST_VERSION
        self.name = runner.name
        self.check_answer = runner.check_answer
        self.clear = runner.clear
        self._runner = runner
        self._settings = settings
        self._retry = retry
        self._shows_thoughts, self._drops_thoughts = reasoning == "show", reasoning == "drop"
        self._meter = meter
        self._listen, self._on_answer = listen, on_answer
        self._report = report
        self._tokens = tokens
        self._pace = pace

    async def run(self, held: HeldRun, conversation: Conversation, on_delta: OnDelta) -> Terminal:
        """Return how the run ends after this conversation; that and the run's last deltas are not appended yet.

        `on_delta` is called with each delta as it comes. Raises `StaleTokenError` once another holds the run,
        `DrainingError` where another process is to go on, and `LogUnavailableError` when a step could not be recorded:
        the run then continues elsewhere.
        """
        while True:
            with run_span(held.run) as span:
                try:
                    attempt = self._attempt(held, conversation, on_delta)
                except BadContentError as error:
                    refused = UnreadableStateError(f"The run's stored request cannot be read: {error}")
                    return unanswered(held.run_id, held.clocks.wall(), refused)
                outcome = await self._work(held, attempt)
                ended = self._ended(attempt, outcome, message_count(conversation), held.clocks.wall())
                deltas: tuple[Step, ...] = ()
                if attempt.deltas is not None:
                    answer = ended.response if isinstance(ended, Completed) else None
                    deltas = await attempt.deltas.close(
                        response_text(answer) if isinstance(answer, ResponseEntry) else None
                    )
                if not isinstance(outcome, AgentFailure) or not await self._tries_again(held, outcome.error):
                    held.unlogged = (*held.unlogged, *deltas)
                    if isinstance(outcome, AgentFailure) and isinstance(outcome.error, BudgetExceededError):
                        ended = held.out_of_budget(ended.at, outcome.error)
                    meter = None if attempt.recorder is None else attempt.recorder.meter
                    if meter is not None:
                        ended = meter.counted_in(ended)
                    record_outcome(span, ended)
                    if self._tokens is not None and ended.kind != "cancelled":  # one that is released goes on
                        self._tokens.forget(held.run_id)
                    is_whole = isinstance(ended, Completed)
                    return ended if is_whole else ended.model_copy(update={"under_way": held.superstep})
            if held.stop.is_requested:  # in the pause
                return unanswered(held.run_id, held.clocks.wall(), RunCancelledError("The run was cancelled."))

    async def _work(self, held: HeldRun, attempt: Attempt) -> AttemptOutcome:
        """Have the agent work, and tools ask of the run that is at work."""
        accepted, address = held.run.accepted, held.address
        ids = (accepted.agent, address.thread_id, held.run_id, accepted.principal, address.owner)
        token = AT_WORK.set(RunAtWork(*ids, attempt.session_id, accepted.request.context))
        reporting = REPORT.set(self._report and partial(self._report, ref(held), held.run.attempts))
        tokens = None if self._tokens is None else self._tokens.begin(held.run_id, accepted.principal)
        try:
            limit, left = self.times.run_seconds, min(held.until, held.stops_at) - held.clocks.awake()
            outcome = await self._runner.run(attempt, limit, limit - left)
        finally:
            AT_WORK.reset(token)
            REPORT.reset(reporting)
            if tokens is not None:
                tokens.end()
            if attempt.listener is not None:
                attempt.listener.finish()
            if attempt.recorder is not None and attempt.recorder.meter is not None:
                await attempt.recorder.meter.count_cut_short()
        if not isinstance(outcome, AgentFailure):
            if self._on_answer is not None:
                self._on_answer(held.run, outcome.response)
        elif isinstance(outcome.error, RunTimedOutError):
            return AgentFailure(end_in_time(held, outcome.error))
        return outcome

    def _attempt(self, held: HeldRun, conversation: Conversation, on_delta: OnDelta) -> Attempt:
        """Return the next attempt's input. Steps are recorded if the agent's can be and the request has any."""
        accepted, agent, steps = held.run.accepted, self._runner.journaled, None
        request = accepted.request
        meter = None if self._meter is None else self._meter(held.run, held.used_before.used)
        if meter is not None:
            held.counted = meter.counts
        reports, drops = self._settings.interrupted_tools == "tell", self._drops_thoughts
        recorder = StepRecorder(held, reports, meter=meter, drops_thoughts=drops)
        options = {"has_text": accepted.streamed, "has_thoughts": self._shows_thoughts}
        if agent is not None and (request.enable_tool_calls or meter is not None):
            steps = AgentSteps(agent, recorder)
        notes, session = call_notes(request, conversation), session_state(conversation)
        return Attempt(
            run_id=held.run_id,
            session_id=held.run.thread_key,
            request=request,
            messages=run_messages(request, conversation),
            call_notes=notes,
            history=thread_messages(conversation),
            session=with_arguments(session, notes.arguments) if notes.arguments else session,
            stop=held.stop,
            steps=steps,
            deltas=DeltaWriter(held, self._pace, on_delta, **options) if any(options.values()) else None,
            listener=None if self._listen is None else self._listen(held.run),
            recorder=recorder,
        )

    async def _tries_again(self, held: HeldRun, error: HostingError) -> bool:
        """Claim the run for another attempt and pause, or return False when this one's error is to be its end."""
        retry = held.run.accepted.request.retry or self._retry
        seconds = retry.pause_seconds(held.run.failures + 1) if retry and error.code in RETRIED else None
        if seconds is None or held.clocks.awake() + seconds >= held.until:
            return False
        logger.warning("An attempt of run %s ended as %s. The next: in %g s.", held.run_id, error.code, seconds)
        await held.retry(new_id(), error.code)
        pausing = asyncio.ensure_future(asyncio.sleep(min(seconds, held.stops_at - held.clocks.awake())))
        held.stop.bind(pausing)
        try:
            await asyncio.wait((pausing,))
        finally:
            pausing.cancel()
        if held.is_leaving and not held.stop.is_requested:
            raise held.left()
        return True

    def _ended(self, attempt: Attempt, outcome: AttemptOutcome, messages_before: int, now: float) -> Terminal:
        """Return how the run ends. An answer that no store can hold is found out here, before any store has it."""
        run_id, settings = attempt.run_id, self._settings
        if isinstance(outcome, AgentFailure):
            return unanswered(run_id, now, outcome.error)
        try:
            sent = [*attempt.messages, *outcome.joined]
            if self._drops_thoughts:
                drop_thoughts([*outcome.response.messages, *outcome.added])
            entry = stored_response(
                run_id=run_id,
                created_at=iso(now),
                response=outcome.response,
                request=sent,
                history=outcome.added,
            )
            count = messages_before + len(sent)
            requests, tools = outcome.requests, attempt.request.client_tools
            approvals = pending_approvals(run_id, outcome.response, tools, now) if requests is None else requests
            if approvals and requests is None and attempt.steps is not None:
                approvals = with_rules(approvals, attempt.steps.agent, attempt.steps.recorder.tools)
            completed = Completed(
                at=now,
                run_id=run_id,
                entry=entry,
                session=outcome.session,
                message_count=count + len(entry["messages"]),
                approvals=approvals,
                expires_at=expiry(approvals, now, settings.approval_seconds) if approvals else None,
            )
            kept_bytes = len(encode_event(completed)) - external_bytes(completed.response, settings.attachment_bytes)
            if kept_bytes > settings.state_limit_bytes:
                completed = smaller_answer(completed, kept_bytes, settings)
            return completed
        except Exception:
            logger.exception("The answer of run %s cannot be stored.", run_id)
            error = UnstorableAnswerError(
                f"The agent's answer cannot be stored. The log has the cause under run {run_id}."
            )
            return unanswered(run_id, now, error)
