"""agent-framework's own middleware, as the run's journal: what is recorded is given again, what is not is done once.

Theory. A later attempt runs the same code from the start. Its n-th model call gets the n-th recorded answer, if the
messages that this run has added since are those of then; its tool calls, known by the model call that asked for them
and the call's id, get their recorded results. A tool call that began and has no result is not made again unless its
tool is idempotent. A model's answer is written together with the begin of the tool calls that it asks for; an
answer without tool calls is not recorded here: what follows it at once holds it, the run's terminal record or a result.

An agent that is the tool of another has steps of its own, known by the key of the call that it works for. When a crash
cut that call short it is made again, since what was done in it is given again too.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from agent_framework import (
    Agent,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    FunctionInvocationContext,
    FunctionMiddleware,
    Message,
    MiddlewareFailure,
    MiddlewareTermination,
    UserInputRequiredException,
)

from hosting.agent.made_tools import server_behind
from hosting.errors import RunDivergedError, RunInterruptedError
from hosting.ports import Clock
from hosting.steps.recorded import (
    SaidSoFar,
    calls_tools,
    digest_of_arguments,
    given_again,
    is_refusal,
    plain,
    streamed,
    tool_result,
)
from hosting.steps.recorder import Recorder
from hosting.steps.step_journal import StepJournal
from hosting.steps.step_middleware import WITHIN, Next, Steps, agent_with_steps, attach, middleware
from hosting.thread.events import ModelResult, ToolResult, ToolStarted, model_call_key
from hosting.tools import MCP_CALL_KEY, ToolCall, enter, is_idempotent

logger = logging.getLogger(__name__)

_OUTCOME_UNKNOWN = (
    "The process ended while this tool ran. Whether it did its work is unknown, and it is not called again."
)
# They end the framework's loop, or hand on what somebody is asked; a tool that raised one cannot be replayed.
_NO_RESULT = (MiddlewareFailure, MiddlewareTermination, UserInputRequiredException)


class JournaledRun:
    """The middleware of one attempt, and why it was ended, if it was."""

    def __init__(self, journal: StepJournal, clock: Clock, *, tells_unknown_outcomes: bool) -> None:
        self._recorder = Recorder(journal, clock)
        self._steps = AgentSteps(self._recorder, tells=tells_unknown_outcomes)

    @property
    def middleware(self) -> list[ChatMiddleware | FunctionMiddleware]:
        """What `Agent.run` takes."""
        return middleware(lambda: self._steps)

    @property
    def cause(self) -> Exception | None:
        """Why the attempt was ended before its agent came to an end."""
        return self._recorder.cause

    @property
    def gives_again(self) -> bool:
        """Tell whether the model's answer that is at hand is a recorded one."""
        return self._steps.gives_again


class AgentSteps:
    """The calls that one agent makes: the one that runs, or one that is the tool called `within` another's steps.

    `gives_again` while its answers are recorded ones.
    """

    def __init__(self, recorder: Recorder, *, tells: bool, within: str = "", agent: Agent[Any] | None = None) -> None:
        self.agent = agent
        self.gives_again = False
        self._recorder = recorder
        self._tells = tells
        self._within = within
        self._said = SaidSoFar()
        self._model_calls = 0
        self._tool_calls: Counter[str] = Counter()

    async def model_call(self, context: ChatContext, call_next: Next) -> None:
        """Give the recorded answer, or have the model asked and record what it says if tool calls follow."""
        await self._recorder.append()
        self._model_calls += 1
        number = self._model_calls
        recorded = self._recorder.journal.model(number, self._within)
        self.gives_again = recorded is not None
        if recorded is not None:
            if recorded.digest != self._said.digest(context.messages):
                raise self._recorder.ended(_diverged(f"model call {model_call_key(self._within, number)}"))
            response = ChatResponse.from_dict(recorded.response)
            context.result = streamed(response) if context.stream else response
            return
        messages = list(context.messages)
        if context.stream:
            context.stream_result_transforms.append(lambda response: self._answered(number, messages, response))
        await call_next()
        if isinstance(context.result, ChatResponse):
            self._answered(number, messages, context.result)

    def _answered(self, number: int, messages: Sequence[Message], response: ChatResponse[Any]) -> None:
        if calls_tools(response):
            digest, said = self._said.digest(messages), plain(response)
            at = self._recorder.clock()
            self._recorder.keep(
                ModelResult(
                    at=at,
                    run_id=self._recorder.run_id,
                    number=number,
                    within=self._within,
                    digest=digest,
                    response=said,
                )
            )

    async def tool_call(self, context: FunctionInvocationContext, call_next: Next) -> None:
        """Give the recorded result, or have the tool called and record how it ended."""
        key = self._key_of(context)
        digest = digest_of_arguments(context.arguments)
        name = context.function.name
        started, result = self._recorder.journal.started(key), self._recorder.journal.result(key)
        if started is not None and (started.name, started.digest) != (name, digest):
            raise self._recorder.ended(_diverged(f"call {key} of tool {name!r}"))
        if result is not None and not result.called:
            await call_next()  # the framework refuses those arguments again
            return
        if result is not None:
            context.result = given_again(result)
            return
        if started is not None and not _may_be_called_again(context.function):
            self._interrupted(context, name)
            return
        if started is None:
            await self._recorder.begin(
                ToolStarted(at=self._recorder.clock(), run_id=self._recorder.run_id, key=key, name=name, digest=digest)
            )
        await self._call(context, call_next, key)

    async def _call(self, context: FunctionInvocationContext, call_next: Next, key: str) -> None:
        token = WITHIN.set(self._enter(context, key))
        try:
            await call_next()
        except _NO_RESULT:
            raise
        except Exception as error:
            called = not is_refusal(error)
            if called:  # the framework tells the model, and the log no more than the error's class
                tool, run_id = context.function.name, self._recorder.run_id
                logger.warning("Tool %s of run %s raised.", tool, run_id, exc_info=error)
            await self._recorder.append(
                ToolResult(
                    at=self._recorder.clock(), run_id=self._recorder.run_id, key=key, error=str(error), called=called
                )
            )
            raise
        finally:
            WITHIN.reset(token)
        await self._recorder.append(tool_result(self._recorder.run_id, self._recorder.clock(), key, context.result))

    def _enter(self, context: FunctionInvocationContext, key: str) -> Steps | None:
        """Tell the tool's code, or its MCP server, which call it is; return the steps of an agent that is the tool."""
        ids = self._recorder.journal.ids
        call_key = f"{ids.run_id}-{key}"
        enter(ToolCall(ids.agent, ids.thread_id, ids.run_id, call_key))
        if server_behind(context.function) is not None:
            context.kwargs["_meta"] = {**(context.kwargs.get("_meta") or {}), MCP_CALL_KEY: call_key}
        agent = agent_with_steps(context.function)
        if agent is None:
            return None
        attach(agent)
        return AgentSteps(self._recorder, tells=self._tells, within=key, agent=agent)

    def _interrupted(self, context: FunctionInvocationContext, name: str) -> None:
        if not self._tells:
            raise self._recorder.ended(
                RunInterruptedError(
                    f"The process ended while tool {name!r} ran, and a tool is called at most once. "
                    "Whether it did its work is unknown."
                )
            )
        context.result = _OUTCOME_UNKNOWN

    def _key_of(self, context: FunctionInvocationContext) -> str:
        """Return `<model call>.<call id>`, and a number behind it where a model gave one id to several calls."""
        key = f"{model_call_key(self._within, self._model_calls)}.{context.metadata.get('call_id')}"
        self._tool_calls[key] += 1
        return key if self._tool_calls[key] == 1 else f"{key}.{self._tool_calls[key]}"


def _may_be_called_again(tool: Any) -> bool:
    return is_idempotent(tool) or agent_with_steps(tool) is not None


def _diverged(step: str) -> RunDivergedError:
    return RunDivergedError(
        f"The attempt before this one recorded something else at {step}: the agent's code changed, or it does not do "
        "the same twice. Nothing was done again; send the message once more."
    )
