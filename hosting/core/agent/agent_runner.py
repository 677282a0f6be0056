"""One attempt of one run: the agent, once, with its thread's messages, within its time."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterable, Mapping, Sequence
from typing import Any, cast

from agent_framework import (
    Agent,
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    ChatMiddlewareLayer,
    Message,
    ResponseStream,
    SupportsAgentRun,
    ToolApprovalMiddleware,
)
from msgspec import Struct, field

from hosting.client_tools import declarations
from hosting.core.agent.agent_loop import RUN, AgentLoop, Stop
from hosting.core.agent.calls_not_made import RefusedCalls, ToolsOff
from hosting.core.agent.causes import named_cause, unreached_address
from hosting.core.agent.changed_calls import ChangedCalls
from hosting.core.agent.connections import UnreachableError
from hosting.core.agent.deltas import DeltaWriter
from hosting.core.agent.finish_reasons import FinishReasons, reason_of_no_answer
from hosting.core.agent.format_fallback import FormatFallback, SchemaInInstructions
from hosting.core.agent.framework import agents_within, clear_session, keeps_journal
from hosting.core.agent.held_run import StaleTokenError
from hosting.core.agent.history import SessionHistory, history_source, uncompacted
from hosting.core.agent.pairs import WholeCalls, whole, whole_before_open
from hosting.core.agent.room import RoomForCalls, leaves_out, without_room
from hosting.core.agent.session_changes import refuse_type
from hosting.core.agent.steering import JoinedMessages
from hosting.core.agent.step_recorder import StepRecorder
from hosting.core.agent.steps import AgentSteps
from hosting.core.agent.steps import middleware as steps_middleware
from hosting.core.agent.time_limits import STOPPING_SECONDS
from hosting.core.hooks import UpdateListener
from hosting.core.request.response_format import agents_own_format, structured_value
from hosting.core.thread.finish import is_cut
from hosting.core.thread.messages import CallNotes, waiting_calls
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, PendingApproval, RunRequest
from hosting.errors import (
    BudgetExceededError,
    HostingError,
    InvalidInputError,
    InvalidOutputError,
    LogUnavailableError,
    NewerVersionError,
    NoAnswerError,
    RunCancelledError,
    RunFailedError,
    RunTimedOutError,
    UnstorableAnswerError,
)
from hosting.model_options import chat_options
from hosting.names import Address, thread_key
from hosting.page_context import WithPageContext
from hosting.shared_state import with_shared
from hosting.visible import visible_line
from state.json_values import portable_value

logger = logging.getLogger(__name__)

CONTEXT_TOKENS = 100_000


class AgentAnswer(Struct, frozen=True):
    """The agent answered. `session` is the state of its context providers, as plain JSON values.

    `added` are the messages that the run added to its own history; none where nothing was kept there. `joined` are
    those of runs that joined it. `requests` are those that a workflow waits for; None of an agent, because its response
    has its own.
    """

    response: AgentResponse[Any]
    session: dict[str, Any] | None
    added: tuple[Message, ...] = ()
    joined: tuple[Message, ...] = ()
    requests: tuple[PendingApproval, ...] | None = None


class AgentFailure(Struct, frozen=True):
    """The attempt ended without an answer, for the reason of `error`, which callers may read."""

    error: HostingError


AttemptOutcome = AgentAnswer | AgentFailure


class Attempt(Struct, frozen=True):
    """The input of one attempt: the request, its messages, and the thread before them.

    `session_id` is the framework's id of the thread. `call_notes` is what the model gets about tool calls that a person
    refused or changed. Without `steps` nothing is recorded. The agent runs as a stream where
    `deltas` or a `listener` takes its updates.
    """

    run_id: str
    session_id: str
    request: RunRequest
    messages: Sequence[Message]
    history: list[Message]
    session: dict[str, Any] | None
    call_notes: CallNotes = CallNotes()
    stop: Stop = field(default_factory=Stop)
    steps: AgentSteps | None = None
    deltas: DeltaWriter | None = None
    listener: UpdateListener | None = None
    recorder: StepRecorder | None = None


class AgentRunner:
    """Runs one agent on the agent loop. `journaled` is the agent where its steps can be recorded, else None."""

    kind = "Agent"

    def __init__(
        self, agent: SupportsAgentRun, name: str, loop: AgentLoop, context_tokens: int = CONTEXT_TOKENS
    ) -> None:
        """`context_tokens` is how much is sent to the model of an agent that has no compaction of its own."""
        self._context_tokens = context_tokens
        self._agent = agent
        self._opened = agents_within(agent)
        self.name = name
        self._loop = loop
        self._history_source = history_source(agent, name)
        self._leaves_out = leaves_out(agent)
        self._has_layer = isinstance(agent, Agent) and isinstance(agent.client, ChatMiddlewareLayer)
        # An agent that loads its history for each call does so behind all middleware: it is whole before the run.
        self._loads_each_call = getattr(agent, "require_per_service_call_history_persistence", False)
        self._mends_calls = self._has_layer and not self._loads_each_call
        self.journaled: Agent[Any] | None = agent if keeps_journal(agent) else None
        # A client that would keep the conversation itself does not, unless the agent's author chose.
        stores = getattr(getattr(agent, "client", None), "STORES_BY_DEFAULT", False)
        chosen = {"store", "conversation_id"} & {*getattr(agent, "default_options", {})}
        self._options: dict[str, Any] = {"store": False} if stores and not chosen else {}
        self._own_format = agents_own_format(agent)
        self._fallback = FormatFallback(name)

    def check_answer(self, requested: Run, decision: Decision) -> None:
        """Raise `InvalidInputError` for an answer that the agent, or the executor that asked, does not accept."""
        middleware = getattr(self._agent, "middleware", None) or ()
        if decision.always is not None and not any(isinstance(item, ToolApprovalMiddleware) for item in middleware):
            raise InvalidInputError(
                f"Agent {self.name!r} has no ToolApprovalMiddleware, which standing approvals need. Leave 'always' out."
            )

    async def clear(self, address: Address, epoch: int) -> None:
        """Have context providers erase their data of that life of a thread; raises as `clear_session` does."""
        await self._loop.run(clear_session([self._agent], thread_key(address, epoch)))

    async def run(self, attempt: Attempt, limit_seconds: float, used_seconds: float = 0.0) -> AttemptOutcome:
        """Return the agent's outcome for the request, within the rest of the run's limit.

        Raises when the wait itself is cancelled (the host stops), and what ends an attempt without ending its run:
        `StaleTokenError`, and `LogUnavailableError` or `NewerVersionError` when a step could not be recorded.
        """
        return await self._loop.run(self._within(attempt, limit_seconds, max(0.0, limit_seconds - used_seconds)))

    async def _within(self, attempt: Attempt, limit_seconds: float, seconds: float) -> AttemptOutcome:
        RUN.set(attempt.run_id)
        task = asyncio.ensure_future(self._opened_answer(attempt))
        attempt.stop.bind(task)
        try:
            await asyncio.wait((task,), timeout=seconds)
            if task.cancelled() and attempt.stop.is_requested:
                return self._stopped(attempt, RunCancelledError("The run was cancelled."))
            if task.done():
                try:
                    return task.result()
                except asyncio.CancelledError as error:  # the agent's own code did, and not the attempt's holder
                    raise RuntimeError("The agent's code cancelled its own run.") from error
            task.cancel()
            await asyncio.wait((task,), timeout=STOPPING_SECONDS)
            limit = f"{self.kind} {self.name!r} ran longer than its {limit_seconds:g} s and was stopped."
            return self._stopped(attempt, RunTimedOutError(limit))
        except (StaleTokenError, LogUnavailableError, NewerVersionError, asyncio.CancelledError, GeneratorExit):
            raise
        except BudgetExceededError as error:
            logger.info("Run %s of agent %s ends: %s", attempt.run_id, self.name, error.detail)
            return AgentFailure(error)
        except HostingError as error:  # its cause is shown nowhere else
            level, traced = (logging.WARNING, None) if error.__cause__ is None else (logging.ERROR, error)
            logger.log(level, "Run %s of agent %s ends: %s", attempt.run_id, self.name, error.detail, exc_info=traced)
            return AgentFailure(error)
        except BaseException as error:  # some libraries' errors are no `Exception`, groups of them among those
            if unreached := unreached_address(error):
                logger.error("Run %s of agent %s failed: %s", attempt.run_id, self.name, unreached)
            else:
                logger.exception("Run %s of agent %s failed.", attempt.run_id, self.name)
            cause = unreached or named_cause(error) if self._loop.names_causes else ""
            sentence = f" failed: {cause} The log has more" if cause else " failed; the log has the cause"
            return AgentFailure(RunFailedError(f"{self.kind} {self.name!r}{sentence} at run {attempt.run_id}."))
        finally:
            task.cancel()

    def _stopped(self, attempt: Attempt, error: HostingError) -> AgentFailure:
        if at_work := self._loop.tools_at_work(attempt.run_id):
            logger.warning(
                "Run %s of agent %s was stopped, and %d of its synchronous tools still run: threads cannot be "
                "stopped. Their results are dropped.",
                attempt.run_id,
                self.name,
                at_work,
            )
        return AgentFailure(error)

    async def _opened_answer(self, attempt: Attempt) -> AttemptOutcome:
        """Return the agent's answer, once it and the servers of its tools are open."""
        try:
            async with self._loop.lifespans.use(self._opened):
                return await self._answer(attempt)
        except UnreachableError as error:
            again = "Send the message again when it is available."
            raise RunFailedError(f"{error} {again} The log has the cause at run {attempt.run_id}.") from error

    async def _answer(self, attempt: Attempt) -> AttemptOutcome:
        session, messages, history = self._begin(attempt)
        options = self._run_options(attempt, history)
        recorder = None if attempt.steps is None else attempt.steps.recorder
        try:
            if attempt.deltas is None and attempt.listener is None:
                response: AgentResponse[Any] | None = await self._agent.run(messages, session=session, **options)
            else:
                updates = self._agent.run(messages, stream=True, session=session, **options)
                response = await _streamed(updates, attempt)
        except BaseException:
            if recorder is None or recorder.cause is None:
                raise
        # What took the attempt out of the agent is raised, whatever the agent's code made of that. Raised above, it
        # would get the error that was made from it as its context: a circle.
        if recorder is not None and recorder.cause is not None:
            raise recorder.cause
        if not isinstance(response, AgentResponse):
            logger.info("Run %s of agent %s ends: its middleware returned no answer.", attempt.run_id, self.name)
            return AgentFailure(NoAnswerError(f"{self.kind} {self.name!r} ended the run without an answer."))
        added = [] if history is None else history.end()
        joined = JoinedMessages() if attempt.steps is None else attempt.steps.joined
        if joined.messages and not self._loads_each_call:  # else it has kept them
            added = joined.within(added)
        response.messages = uncompacted(response.messages)
        response.finish_reason = reason_of_no_answer(response.messages[-1:]) or response.finish_reason
        try:
            response = await self._with_value(attempt, response)
        except InvalidOutputError as error:
            error.detail = f"{_why_no_value(response)}{error.detail}"
            logger.warning("Run %s of agent %s: %s", attempt.run_id, self.name, error.detail)
            return AgentFailure(error)
        return AgentAnswer(response, _session_values(session), tuple(added), tuple(joined.messages))

    def _begin(self, attempt: Attempt) -> tuple[AgentSession, list[Message], SessionHistory | None]:
        """Return the session of the attempt, its messages, and the history in the session where the agent has one."""
        stored = AgentSession.from_dict({**(attempt.session or {}), "session_id": attempt.session_id})
        session, messages = with_shared(stored, attempt.request.state), list(attempt.messages)
        goes_on = bool(attempt.request.decisions)
        thread: Sequence[Message] = attempt.history
        if not self._mends_calls:
            thread = whole_before_open(thread) if goes_on else whole(thread)
        if self._leaves_out:
            excluded = set(map(id, without_room(thread, messages, self._context_tokens, keeps_newest=goes_on)))
            thread = [message for message in thread if id(message) not in excluded]
        if self._history_source is None:
            return session, [*thread, *messages], None
        history = SessionHistory(session, self._history_source)
        history.begin(thread)
        return session, messages, history

    async def _with_value(self, attempt: Attempt, response: AgentResponse[Any]) -> AgentResponse[Any]:
        """Return the response with its value, where one is wanted. Raises `InvalidOutputError`."""
        response_format = attempt.request.response_format or self._own_format
        if response_format is None or _ends_with_calls(response):
            return response
        texts = (message.text for message in reversed(response.messages) if message.role == "assistant")
        text = next((text for text in texts if text.strip()), "")
        return with_value(response, await asyncio.to_thread(structured_value, response_format, text))

    def _run_options(self, attempt: Attempt, history: SessionHistory | None) -> dict[str, Any]:
        """Return the other arguments of `Agent.run`: options, and middleware around model and tool calls.

        Only the framework's `Agent` takes middleware.
        """
        request, notes = attempt.request, attempt.call_notes
        options = self._options | chat_options(request.options, self._agent)
        if request.response_format is not None:
            options["response_format"] = request.response_format.envelope()
        if not request.enable_tool_calls:
            options["tool_choice"] = "none"
        middleware: list[Any] = []
        if isinstance(self._agent, Agent):
            own: Any = {
                RefusedCalls: notes.refusals,
                ChangedCalls: notes.changes,
                WithPageContext: request.page_context,
            }
            middleware += [kind(value) for kind, value in own.items() if value and self._has_layer]
            if not request.enable_tool_calls:
                middleware.append(ToolsOff())
            if attempt.steps is not None:
                middleware += steps_middleware(self._agent, attempt.steps)
            elif self._has_layer:
                middleware.append(FinishReasons())
            if history is not None and self._leaves_out and self._has_layer:
                middleware.append(RoomForCalls(history, self._context_tokens, keeps_newest=bool(request.decisions)))
            if self._mends_calls:
                middleware.append(WholeCalls())
            response_format = request.response_format or self._own_format
            if response_format is not None and response_format.json_schema is not None and self._has_layer:
                middleware.append(SchemaInInstructions(self._fallback, response_format))
        offers = bool(request.client_tools) and request.enable_tool_calls
        tools = declarations(request.client_tools, self._agent) if offers else []
        chosen = {"options": options, "middleware": middleware, "tools": tools}
        return {name: value for name, value in chosen.items() if value}


def _ends_with_calls(response: AgentResponse[Any]) -> bool:
    """Return whether the run waits for a person's answer, or for a caller with the called tool."""
    last = response.messages[-1].contents if response.messages else ()
    return bool(waiting_calls(response)) or any(content.type == "function_call" for content in last)


async def _streamed(updates: AsyncIterable[AgentResponseUpdate], attempt: Attempt) -> AgentResponse[Any]:
    """Return the answer, after its updates were passed on as they came; a recorded answer's are known already."""
    answer_updates = []
    async for update in updates:
        is_known = attempt.steps is not None and attempt.steps.is_replaying
        if attempt.deltas is not None:
            attempt.deltas.write(update, is_known=is_known)
        if attempt.listener is not None and not is_known:
            attempt.listener.add(update)
        answer_updates.append(update)
    if isinstance(updates, ResponseStream):
        response: AgentResponse[Any] = await updates.get_final_response()
        return response
    return AgentResponse.from_updates(answer_updates)


def _why_no_value(response: AgentResponse[Any]) -> str:
    """Return why an answer is not in its format, where it is no whole one: a sentence, or nothing."""
    if is_cut(response.finish_reason):
        return f"The answer is incomplete (finish_reason {visible_line(str(response.finish_reason))!r:.80}). "
    return ""


def with_value(
    response: AgentResponse[Any], value: Any, more_properties: Mapping[str, Any] | None = None
) -> AgentResponse[Any]:
    """Return the response with this value, and more additional properties; the framework lets none be set later."""
    return AgentResponse(
        value=value,
        messages=response.messages,
        usage_details=response.usage_details,
        additional_properties={**response.additional_properties, **(more_properties or {})},
        response_id=response.response_id,
        agent_id=response.agent_id,
        created_at=response.created_at,
        finish_reason=response.finish_reason,
        continuation_token=response.continuation_token,
    )


def _session_values(session: AgentSession) -> dict[str, Any] | None:
    """Return the session as plain JSON values, or None when no provider keeps anything."""
    state = {source: value for source, value in session.state.items() if value}
    if not state and session.service_session_id is None:
        return None
    session.state = state
    try:
        values = json.loads(json.dumps(session.to_dict(), allow_nan=False, default=refuse_type))
    except (TypeError, ValueError) as error:
        raise UnstorableAnswerError("The agent's session is not JSON. Store only plain values.") from error
    return cast(dict[str, Any], portable_value(values))
