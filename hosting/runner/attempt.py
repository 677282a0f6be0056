"""A claimed run brought to its end: its agent is run once, or again after a failure, and how that ended is returned.

Theory. Whoever holds the claim runs the agent; nobody else does. How the run ends is appended under the holder's token,
as the one end of the run. A holder that was taken over finds its token stale and drops what it did. A holder whose log
stays away releases the run: its lease runs out, and whoever takes over replays what was recorded.

How long an attempt may take is what the app's author chose, inside what the platform gives a function. The platform
ends a function at `functionTimeout` by ending its worker, and with it every other run there. So we must stop a run
before: a limit that leaves no time to stop the agent and to append the end is refused.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hosting.errors import (
    ConfigurationError,
    HostingError,
    RunCancelledError,
    UnreadableStateError,
    UnstorableAnswerError,
)
from hosting.host_settings import host_value
from hosting.names import new_id
from hosting.ports import awake_seconds, iso
from hosting.request.run_request import RETRIED, Retry
from hosting.runner.agent_loop import Stop
from hosting.runner.agent_runner import STOPPING_SECONDS, AgentFailure, AgentRunner, Attempt, AttemptOutcome
from hosting.runner.callbacks import Listener
from hosting.runner.deltas import BatchPace, DeltaWriter, OnDelta
from hosting.runner.history import history_of
from hosting.runner.journal import Journal
from hosting.runner.steps import AgentSteps, StepRecorder
from hosting.runner.telemetry import record_outcome, run_span
from hosting.runner.thread_log import PATIENCE_SECONDS
from hosting.settings import Settings
from hosting.thread.events import Accepted, Completed, Delta, Terminal
from hosting.thread.events import encode as encode_event
from hosting.thread.messages import pending_approvals, refusals, run_messages
from hosting.thread.run import unanswered
from state.attached import detachable_bytes
from state.conversation import message_count, response_text, session_state
from state.convert import stored_response
from state.errors import BadContentError
from state.models import Conversation, ResponseEntry

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunEnd:
    """How a run ends: the terminal event, and the last deltas before it."""

    terminal: Terminal
    words: tuple[Delta, ...] = ()


@dataclass(frozen=True)
class ClaimedRun:
    """A run that this process holds: its journal, the conversation before it, and until when it may take.

    The `deadline` is of `awake_seconds`: a wall clock that is set does not end the run. `on_delta` is called with each
    delta as it comes, `stop` ends the run early.
    """

    journal: Journal
    conversation: Conversation
    deadline: float
    on_delta: OnDelta
    stop: Stop = field(default_factory=Stop)


class Attempts:
    """Runs one agent for whoever holds a run of it. `retry` is for requests that bring none.

    `listener` returns the callback's listener for an attempt, if the agent has one.
    """

    def __init__(
        self,
        runner: AgentRunner,
        settings: Settings,
        *,
        batch_seconds: float,
        retry: Retry | None = None,
        listener: Callable[[Accepted], Listener | None] = lambda accepted: None,
    ) -> None:
        self._runner = runner
        self._settings = settings
        self._retry = retry
        self._listener = listener
        seconds = settings.stream_batch_seconds
        self._pace = BatchPace(batch_seconds if seconds is None else seconds, settings.stream_batch_characters)

    async def run(self, held: ClaimedRun) -> RunEnd:
        """Return how the run ends; nothing of its end is appended yet.

        Raises `StaleTokenError` once another holds the run, and `LogUnavailableError` when a step could not be
        recorded: the run then continues elsewhere.
        """
        run_id = held.journal.run.run_id
        while True:
            with run_span(held.journal.run) as span:
                try:
                    attempt = self._attempt(held)
                except BadContentError as error:
                    refused = UnreadableStateError(f"The run's stored request cannot be read: {error}")
                    return RunEnd(unanswered(run_id, time.time(), refused))
                try:
                    outcome = await self._runner.run(attempt, max(0.0, held.deadline - awake_seconds()))
                finally:
                    if attempt.listener is not None:
                        attempt.listener.finish()
                ended = self._ended(held, attempt, outcome)
                last: tuple[Delta, ...] = ()
                if attempt.deltas is not None:
                    entry = ended.response if isinstance(ended, Completed) else None
                    last = await attempt.deltas.close(
                        response_text(entry) if isinstance(entry, ResponseEntry) else None
                    )
                if not isinstance(outcome, AgentFailure) or not await self._tries_again(held, outcome.error):
                    record_outcome(span, ended)
                    return RunEnd(ended, last)
            if held.stop.is_requested:  # in the pause
                cancelled = RunCancelledError("The run was cancelled.")
                return RunEnd(unanswered(run_id, time.time(), cancelled))

    def _attempt(self, held: ClaimedRun) -> Attempt:
        """Return what the next attempt needs. Steps are recorded where the agent's can be and the request has any."""
        journal, conversation, stop = held.journal, held.conversation, held.stop
        accepted, agent, steps = journal.run.accepted, self._runner.journaled, None
        request = accepted.request
        if agent is not None and request.enable_tool_calls:
            steps = AgentSteps(agent, StepRecorder(journal, self._settings.interrupted_tools == "tell"))
        return Attempt(
            run_id=accepted.run_id,
            thread_id=journal.address.thread_id,
            request=request,
            messages=run_messages(request, conversation),
            refusals=refusals(request, conversation),
            history=history_of(conversation),
            session=session_state(conversation),
            stop=stop,
            steps=steps,
            deltas=DeltaWriter(journal, self._pace, held.on_delta, stop.request) if accepted.streamed else None,
            listener=self._listener(accepted),
        )

    async def _tries_again(self, held: ClaimedRun, error: HostingError) -> bool:
        """Claim the run for another attempt and pause, or return False when this one's error is to be its end."""
        journal = held.journal
        retry = journal.run.accepted.request.retry or self._retry
        seconds = retry.pause_seconds(journal.run.failures + 1) if retry and error.code in RETRIED else None
        if seconds is None or awake_seconds() + seconds >= held.deadline:
            return False
        logger.warning("Run %s ended as %s; another attempt in %g s.", journal.run.run_id, error.code, seconds)
        await journal.retry(new_id(), error.code)
        pausing = asyncio.ensure_future(asyncio.sleep(seconds))
        held.stop.bind(pausing)
        try:
            await asyncio.wait((pausing,))
        finally:
            pausing.cancel()
        return True

    def _ended(self, held: ClaimedRun, attempt: Attempt, outcome: AttemptOutcome) -> Terminal:
        """Return how the run ends. An answer that no store can hold is found out here, before any store has it."""
        now, run_id, settings = time.time(), attempt.run_id, self._settings
        if isinstance(outcome, AgentFailure):
            return unanswered(run_id, now, outcome.error)
        try:
            entry = stored_response(run_id=run_id, created_at=iso(now), response=outcome.response)
            count = message_count(held.conversation) + len(attempt.messages)
            approvals = pending_approvals(run_id, outcome.response)
            completed = Completed(
                at=now,
                run_id=run_id,
                entry=entry,
                session=outcome.session,
                message_count=count + len(entry["messages"]),
                approvals=approvals,
                expires_at=now + settings.approval_seconds if approvals and settings.approval_seconds else None,
                summary=outcome.summary,
            )
            kept_bytes = len(encode_event(completed)) - detachable_bytes(completed.response, settings.attachment_bytes)
            if kept_bytes > settings.state_limit_bytes:
                logger.error(
                    "The answer of run %s has %d bytes and a conversation at most %d: it is kept in its log only.",
                    run_id,
                    kept_bytes,
                    settings.state_limit_bytes,
                )
                lost = {"kept": False, "message_count": count + 1, "approvals": (), "expires_at": None}
                completed = completed.model_copy(update=lost)
            return completed
        except Exception:
            logger.exception("The answer of run %s cannot be stored.", run_id)
            error = UnstorableAnswerError(
                f"The agent's answer cannot be kept; the cause is in the log under run {run_id}."
            )
            return unanswered(run_id, now, error)


ENDING_SECONDS = STOPPING_SECONDS + PATIENCE_SECONDS
"""What a run needs after its limit: the agent's clean-up, and a log that is away while its end is appended."""

MARGIN_SECONDS = ENDING_SECONDS + PATIENCE_SECONDS
"""Between a run's limit and the function's: its end, and a log that is away before its agent starts."""

DEFAULT_FUNCTION_TIMEOUT_SECONDS = 1800.0
"""Where host.json says nothing: the Flex Consumption plan's (host contract 6.1)."""

_DURATION = re.compile(r"(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})\Z")


@dataclass(frozen=True)
class TimeLimit:
    """The limit of runs unless an agent has its own, and the platform's, which is None when it has none."""

    default_seconds: float
    function_seconds: float | None

    @property
    def working_seconds(self) -> float:
        """For how long an entity may work before what it still holds has to be ended."""
        return math.inf if self.function_seconds is None else self.function_seconds - ENDING_SECONDS

    def of(self, agent: str, own_seconds: float | None) -> float:
        """Return the limit of one agent's runs; raises `ConfigurationError` for one that is none or does not fit."""
        seconds = self.default_seconds if own_seconds is None else own_seconds
        name = "AGENT_RUN_TIMEOUT_SECONDS" if own_seconds is None else f"run_timeout_seconds of agent {agent!r}"
        if not 0 < seconds <= 86_400:
            raise ConfigurationError(f"{name} is {seconds:g} s: it must be above 0 and at most 86400.")
        if self.function_seconds is not None and seconds + MARGIN_SECONDS > self.function_seconds:
            raise ConfigurationError(
                f"{name} is {seconds:g} s and the platform ends a function after {self.function_seconds:g} s. "
                f"Choose at most {self.function_seconds - MARGIN_SECONDS:g}, or raise functionTimeout in host.json."
            )
        return float(seconds)


def function_timeout_seconds(folder: Path, environ: Mapping[str, str]) -> float | None:
    """Return the platform's limit: the app setting that overrides host.json, else host.json of `folder`, else Flex's.

    None stands for no limit. Raises `ConfigurationError` for a value that the platform would not take either.
    """
    value = host_value(folder, environ, "functionTimeout")
    if value is None:
        return DEFAULT_FUNCTION_TIMEOUT_SECONDS
    if value in ("-1", -1):
        return None
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        raise ConfigurationError(f'functionTimeout is {value!r}: it must be "-1" or hh:mm:ss.')
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
