"""One attempt of one run: the agent, once, with its thread's messages, within its time."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from agent_framework import Agent, AgentResponse, AgentResponseUpdate, Message, ResponseStream, SupportsAgentRun

from hosting.agent.compaction import RunCompaction, run_compaction, uncompacted
from hosting.agent.history import SOURCE_ID, ThreadSession, attach_history
from hosting.agent.loop import AgentLoop
from hosting.agent.made_tools import agents_within
from hosting.agent.refused_calls import RefusedCalls
from hosting.agent.stop import Stop
from hosting.agent.structured import structured_value
from hosting.agent.tool_switch import ToolsOff
from hosting.agent.tool_threads import RUN
from hosting.agent.valued_response import with_value
from hosting.callback.updates import Listener
from hosting.errors import (
    HostingError,
    InvalidOutputError,
    LogUnavailableError,
    RunCancelledError,
    RunFailedError,
    RunTimedOutError,
    UnstorableAnswerError,
)
from hosting.requests import ResponseFormat, RunRequest
from hosting.steps.journaled import JournaledRun
from hosting.steps.step_journal import StaleAttemptError
from hosting.steps.step_middleware import keeps_journal
from hosting.thread.approvals import approval_requests
from state.summary import Summary

logger = logging.getLogger(__name__)

_LAST_WORDS_SECONDS = 5.0
CONTEXT_TOKENS = 100_000


@dataclass(frozen=True)
class Answered:
    """The agent answered; `session` is what its context providers want kept, as plain JSON values, and `summary` what
    stands for the conversation's beginning from now on, if the run made one."""

    response: AgentResponse[Any]
    session: dict[str, Any] | None
    summary: Summary | None = None


@dataclass(frozen=True)
class Broke:
    """The attempt ended without an answer, for the reason of `error`, which callers may read."""

    error: HostingError


Outcome = Answered | Broke


class Hearing(Protocol):
    """Takes what the agent says, on the loop on which it runs."""

    def hear(self, update: AgentResponseUpdate, *, is_known: bool) -> None:
        """Take what it says next; `is_known` when an earlier attempt said it and the log has it."""
        ...


@dataclass(frozen=True)
class Attempt:
    """What one attempt needs: the request and what it says, and its thread as the conversation has it.

    `refusals` is what the model is told of tool calls that a person refused, by the framework's id of the call.
    """

    run_id: str
    thread_id: str
    request: RunRequest
    messages: Sequence[Message]
    history: Sequence[Message]
    session: dict[str, Any] | None
    refusals: Mapping[str, str] = field(default_factory=dict)
    stop: Stop = field(default_factory=Stop)
    journaled: JournaledRun | None = None
    speech: Hearing | None = None
    listener: Listener | None = None


class AgentRunner:
    """Runs one agent on the agent loop."""

    def __init__(
        self, agent: SupportsAgentRun, name: str, loop: AgentLoop, context_tokens: int = CONTEXT_TOKENS
    ) -> None:
        """`context_tokens` is how much is sent to the model of an agent that has no compaction of its own."""
        self._context_tokens = context_tokens
        self._agent = agent
        self._opened = agents_within(agent)
        self._name = name
        self._loop = loop
        self._takes_history = attach_history(agent, name)
        self._options = _standing_options(agent)
        self.keeps_journal = keeps_journal(agent)

    async def run(self, attempt: Attempt, seconds: float) -> Outcome:
        """Return what the agent made of the request.

        Raises when the wait itself is cancelled (the host stops), and what ends an attempt without ending its run:
        `StaleAttemptError`, and `LogUnavailableError` when a step could not be recorded.
        """
        return await self._loop.run(self._within(attempt, seconds))

    async def _within(self, attempt: Attempt, seconds: float) -> Outcome:
        RUN.set(attempt.run_id)
        task = asyncio.ensure_future(self._answer(attempt))
        attempt.stop.bind(task)
        try:
            await asyncio.wait((task,), timeout=seconds)
            if task.cancelled() and attempt.stop.is_requested:
                return self._stopped(attempt, RunCancelledError("The run was cancelled."))
            if task.done():
                return _outcome(task)
            task.cancel()
            await asyncio.wait((task,), timeout=_LAST_WORDS_SECONDS)
            error = RunTimedOutError(f"Agent {self._name!r} ran longer than its {seconds:g} s and was stopped.")
            return self._stopped(attempt, error)
        except (StaleAttemptError, LogUnavailableError):
            raise
        except HostingError as error:
            logger.exception("Run %s of agent %s cannot be kept.", attempt.run_id, self._name)
            return Broke(error)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if unreached := _unreached(error):
                logger.error("Run %s of agent %s failed: %s", attempt.run_id, self._name, unreached)
            else:
                logger.exception("Run %s of agent %s failed.", attempt.run_id, self._name)
            return Broke(RunFailedError(f"Agent {self._name!r} failed; its log has the cause at run {attempt.run_id}."))
        finally:
            task.cancel()

    def _stopped(self, attempt: Attempt, error: HostingError) -> Broke:
        working = self._loop.tools_at_work(attempt.run_id)
        if working:
            logger.warning(
                "Run %s of agent %s was stopped and %d of its synchronous tools still work: no thread can be stopped, "
                "so they end by themselves and their results are dropped.",
                attempt.run_id,
                self._name,
                working,
            )
        return Broke(error)

    async def _answer(self, attempt: Attempt) -> Outcome:
        for agent in self._opened:
            await self._loop.lifespans.open(agent)
        session = _restore(attempt.thread_id, attempt.session)
        messages = list(attempt.messages)
        if self._takes_history:
            session.history = attempt.history
        else:
            messages = [*attempt.history, *messages]
        compaction = run_compaction(self._agent, attempt.history, self._context_tokens)
        response = uncompacted(await self._run(messages, session, attempt, compaction))
        if attempt.request.response_format is not None and not approval_requests(response):
            try:
                response = await _with_value(response, attempt.request.response_format)
            except InvalidOutputError as error:
                logger.warning("Run %s of agent %s: %s", attempt.run_id, self._name, error.detail)
                return Broke(error)
        return Answered(response, _session_values(session), compaction.summary if compaction else None)

    async def _run(
        self, messages: list[Message], session: ThreadSession, attempt: Attempt, compaction: RunCompaction | None
    ) -> AgentResponse[Any]:
        """Run the agent; what took the attempt out of it is raised, whatever the agent's code made of that."""
        try:
            chosen = self._choices(attempt, compaction)
            if attempt.speech is not None or attempt.listener is not None:
                return await _spoken(self._agent.run(messages, stream=True, session=session, **chosen), attempt)
            response: AgentResponse[Any] = await self._agent.run(messages, session=session, **chosen)
            return response
        finally:
            if attempt.journaled is not None and attempt.journaled.cause is not None:
                raise attempt.journaled.cause

    def _choices(self, attempt: Attempt, compaction: RunCompaction | None) -> dict[str, Any]:
        request, options = attempt.request, dict(self._options)
        middleware = _middleware(self._agent, attempt)
        if request.response_format is not None:
            options["response_format"] = request.response_format.envelope()
        if not request.enable_tool_calls:
            options["tool_choice"] = "none"
        chosen = {"options": options, "middleware": middleware, "compaction_strategy": compaction}
        return {name: value for name, value in chosen.items() if value}


def _middleware(agent: SupportsAgentRun, attempt: Attempt) -> list[Any]:
    """Return what goes around the run's model and tool calls; only the framework's `Agent` takes any."""
    if not isinstance(agent, Agent):
        return []
    told = [RefusedCalls(attempt.refusals)] if attempt.refusals and keeps_journal(agent) else []
    if not attempt.request.enable_tool_calls:
        return [*told, ToolsOff()]
    return [*told, *(attempt.journaled.middleware if attempt.journaled is not None else ())]


async def _spoken(said: AsyncIterable[AgentResponseUpdate], attempt: Attempt) -> AgentResponse[Any]:
    """Return the answer, every word of which was heard as it came; what an earlier attempt said, is known."""
    updates = []
    async for update in said:
        is_known = attempt.journaled is not None and attempt.journaled.gives_again
        if attempt.speech is not None:
            attempt.speech.hear(update, is_known=is_known)
        if attempt.listener is not None and not is_known:
            attempt.listener.hear(update)
        updates.append(update)
    if isinstance(said, ResponseStream):
        response: AgentResponse[Any] = await said.get_final_response()
        return response
    return AgentResponse.from_updates(updates)


def _outcome(task: asyncio.Task[Outcome]) -> Outcome:
    try:
        return task.result()
    except asyncio.CancelledError as error:  # nobody cancelled the attempt: the agent's own code did
        raise RuntimeError("The agent's code cancelled its own run.") from error


async def _with_value(response: AgentResponse[Any], wanted: ResponseFormat) -> AgentResponse[Any]:
    """Return the response with the value of its last text; raises `InvalidOutputError` when that is not as wanted."""
    said = (message.text for message in reversed(response.messages) if message.role == "assistant")
    value = await asyncio.to_thread(structured_value, wanted, next((text for text in said if text.strip()), ""))
    return with_value(response, value)


def _unreached(error: BaseException) -> str:
    """Return which address could not be reached and why, when that is the error; else nothing.

    Clients for HTTP name the request on what they raise, and its last cause is the system's. The frames between are
    theirs, a hundred lines that say no more than this.
    """
    causes = [error]
    while (inner := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(inner)
    named = (str(getattr(getattr(one, "request", None), "url", "")) for one in causes)
    address, cause = urlsplit(next(filter(None, named), "")), causes[-1]
    if not address.hostname or not isinstance(cause, OSError):
        return ""
    shown = f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"
    return f"{shown} cannot be reached: {cause}. Is its address right, and does a server run there?"


def _standing_options(agent: SupportsAgentRun) -> dict[str, Any]:
    """Return `store=False` for a client that would keep the conversation itself, unless the agent's author chose."""
    chosen = getattr(agent, "default_options", {})
    stores = getattr(getattr(agent, "client", None), "STORES_BY_DEFAULT", False)
    return {"store": False} if stores and "store" not in chosen else {}


def _restore(thread_id: str, stored: dict[str, Any] | None) -> ThreadSession:
    session = ThreadSession.from_dict({**(stored or {}), "session_id": thread_id})
    assert isinstance(session, ThreadSession)
    return session


def _session_values(session: ThreadSession) -> dict[str, Any] | None:
    """Return the session as plain JSON values, or None when no provider keeps anything."""
    kept = {source: value for source, value in session.state.items() if value and source != SOURCE_ID}
    if not kept and session.service_session_id is None:
        return None
    session.state = kept
    try:
        values: dict[str, Any] = json.loads(json.dumps(session.to_dict(), allow_nan=False, default=_refuse_type))
    except (TypeError, ValueError) as error:
        raise UnstorableAnswerError("The agent's session holds a value that is not JSON. Keep plain values.") from error
    return values


def _refuse_type(value: object) -> Any:
    raise UnstorableAnswerError(
        f"The agent's session holds a {type(value).__name__}, which is not JSON. Register that type with "
        "agent-framework (register_state_type), or keep plain values."
    )
