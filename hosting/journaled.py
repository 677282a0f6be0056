"""agent-framework's own middleware, as the run's journal: what is recorded is given again, what is not is done once.

Theory. A later attempt runs the same code from the start. Its n-th model call gets the n-th recorded answer, if the
messages that this run has added since are those of then; its tool calls, known by the model call that asked for them
and the call's id, get their recorded results. A tool call that began and has no result is not made again unless its
tool is idempotent. A model's answer is written together with the begin of the first tool call that it asks for; an
answer without tool calls is not recorded here: the run's terminal record follows it.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    Message,
    MiddlewareFailure,
    MiddlewareTermination,
    ResponseStream,
    SupportsAgentRun,
    UserInputRequiredException,
)

from hosting.errors import RunDivergedError, RunInterruptedError
from hosting.events import ModelResult, ToolResult, ToolStarted
from hosting.history import SOURCE_ID
from hosting.journal import Journal
from hosting.made_tools import server_behind
from hosting.ports import Clock
from hosting.tools import MCP_CALL_KEY, ToolCall, enter, is_idempotent

logger = logging.getLogger(__name__)

_OUTCOME_UNKNOWN = (
    "The process ended while this tool ran. Whether it did its work is unknown, and it is not called again."
)
# They end the framework's loop, or hand on what somebody is asked; a tool that raised one cannot be replayed.
_NO_RESULT = (MiddlewareFailure, MiddlewareTermination, UserInputRequiredException)
_Next = Callable[[], Awaitable[None]]


class ReplayedToolError(Exception):
    """The error that the tool raised in an earlier attempt, in its own words."""


class _AttemptEndedError(MiddlewareFailure):
    """Takes an attempt out of the framework's loop; `JournaledRun.cause` has the reason."""


class JournaledRun:
    """The middleware of one attempt, and why it was ended, if it was; `gives_again` while answers are recorded ones."""

    def __init__(self, journal: Journal, clock: Clock, *, tells_unknown_outcomes: bool) -> None:
        self.cause: Exception | None = None
        self.gives_again = False
        self.journal = journal
        self._clock = clock
        self._tells = tells_unknown_outcomes
        self._model_calls = 0
        self._unwritten: list[ModelResult] = []
        self._tool_calls: Counter[str] = Counter()

    @property
    def middleware(self) -> list[ChatMiddleware | FunctionMiddleware]:
        """What `Agent.run` takes."""
        return [_Models(self), _Tools(self)]

    async def model_call(self, context: ChatContext, call_next: _Next) -> None:
        """Give the recorded answer, or have the model asked and record what it says if tool calls follow."""
        await self._append()
        self._model_calls += 1
        number = self._model_calls
        recorded = self.journal.model(number)
        self.gives_again = recorded is not None
        if recorded is not None:
            if recorded.digest != _digest_of(context.messages):
                raise self._ended(_diverged(f"model call {number}"))
            response = ChatResponse.from_dict(recorded.response)
            context.result = _streamed(response) if context.stream else response
            return
        messages = list(context.messages)
        if context.stream:
            context.stream_result_transforms.append(lambda response: self._answered(number, messages, response))
        await call_next()
        if isinstance(context.result, ChatResponse):
            self._answered(number, messages, context.result)

    def _answered(self, number: int, messages: Sequence[Message], response: ChatResponse[Any]) -> None:
        """Keep what the model said, to be written with the first tool call that it asks for."""
        if _calls_tools(response):
            said, digest = _plain(response), _digest_of(messages)
            self._unwritten.append(ModelResult(at=self._clock(), number=number, digest=digest, response=said))

    async def tool_call(self, context: FunctionInvocationContext, call_next: _Next) -> None:
        """Give the recorded result, or have the tool called and record how it ended."""
        key = self._key_of(context)
        digest = _digest(_arguments(context.arguments))
        name = context.function.name
        started, result = self.journal.started(key), self.journal.result(key)
        if started is not None and (started.name, started.digest) != (name, digest):
            raise self._ended(_diverged(f"call {key} of tool {name!r}"))
        if result is not None and not result.called:
            await call_next()  # the framework refuses those arguments again
            return
        if result is not None:
            context.result = _given_again(result)
            return
        if started is not None and not is_idempotent(context.function):
            self._interrupted(context, name)
            return
        if started is None:
            await self._append(ToolStarted(at=self._clock(), key=key, name=name, digest=digest))
        await self._call(context, call_next, key)

    async def _call(self, context: FunctionInvocationContext, call_next: _Next, key: str) -> None:
        run = self.journal.record.accepted
        call = ToolCall(run.agent, run.thread_id, run.run_id, call_key=f"{run.run_id}-{key}")
        enter(call)
        if server_behind(context.function) is not None:
            context.kwargs["_meta"] = {**(context.kwargs.get("_meta") or {}), MCP_CALL_KEY: call.call_key}
        try:
            await call_next()
        except _NO_RESULT:
            raise
        except Exception as error:
            await self._append(ToolResult(at=self._clock(), key=key, error=str(error), called=not _is_refusal(error)))
            raise
        await self._append(_tool_result(self._clock(), key, context.result))

    def _interrupted(self, context: FunctionInvocationContext, name: str) -> None:
        if not self._tells:
            raise self._ended(
                RunInterruptedError(
                    f"The process ended while tool {name!r} ran, and a tool is called at most once. "
                    "Whether it did its work is unknown."
                )
            )
        context.result = _OUTCOME_UNKNOWN

    def _key_of(self, context: FunctionInvocationContext) -> str:
        """Return `<model call>.<call id>`, and a number behind it where a model gave one id to several calls."""
        key = f"{self._model_calls}.{context.metadata.get('call_id')}"
        self._tool_calls[key] += 1
        return key if self._tool_calls[key] == 1 else f"{key}.{self._tool_calls[key]}"

    async def _append(self, *steps: ToolStarted | ToolResult) -> None:
        """Append the steps, behind a model's answer that waits for them: between the two nothing happens."""
        waiting, self._unwritten = self._unwritten, []
        if not waiting and not steps:
            return
        try:
            await self.journal.append(*waiting, *steps)
        except Exception as error:
            raise self._ended(error) from error

    def _ended(self, cause: Exception) -> _AttemptEndedError:
        self.cause = self.cause or cause
        return _AttemptEndedError("The attempt is over.")


class _Models(ChatMiddleware):
    def __init__(self, run: JournaledRun) -> None:
        self._run = run

    async def process(self, context: ChatContext, call_next: _Next) -> None:
        await self._run.model_call(context, call_next)


class _Tools(FunctionMiddleware):
    def __init__(self, run: JournaledRun) -> None:
        self._run = run

    async def process(self, context: FunctionInvocationContext, call_next: _Next) -> None:
        await self._run.tool_call(context, call_next)


def keeps_journal(agent: SupportsAgentRun) -> bool:
    """Tell whether the agent's steps can be recorded: the framework's `Agent` over a client with chat middleware."""
    return isinstance(agent, Agent) and isinstance(agent.client, ChatMiddlewareLayer)


def _calls_tools(response: ChatResponse[Any]) -> bool:
    return any(content.type == "function_call" for message in response.messages for content in message.contents)


def _streamed(response: ChatResponse[Any]) -> ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
    """Return the answer as a stream that ends as itself."""

    async def updates() -> AsyncIterator[ChatResponseUpdate]:
        for update in response.to_updates():
            yield update

    return ResponseStream(updates(), finalizer=lambda _: response)


def _digest_of(messages: Sequence[Message]) -> str:
    """Return the digest of what this run said so far; what its thread said before is the same for every attempt."""
    return _digest([_said(message) for message in messages if not _is_history(message)])


def _is_history(message: Message) -> bool:
    attribution = message.additional_properties.get("_attribution")
    return isinstance(attribution, dict) and attribution.get("source_id") == SOURCE_ID


def _said(message: Message) -> list[Any]:
    """Return a message's role and contents as the model is shown them.

    Without the ids that the framework makes anew for each occurrence, and without what it keeps beside contents for the
    host: the whole answer of an MCP server, which is not there again when a result is given again.
    """
    unsaid = {"id", "additional_properties"}
    return [message.role, [content.to_dict(exclude=unsaid, exclude_none=True) for content in message.contents]]


def _is_refusal(error: Exception) -> bool:
    """Tell whether agent-framework refused the arguments, which it does before the tool's own code begins."""
    return isinstance(error, TypeError) and type(error).__module__.startswith("agent_framework.")


def _arguments(arguments: Any) -> Any:
    return dict(arguments) if isinstance(arguments, Mapping) else arguments


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode(errors="surrogatepass")).hexdigest()


def _tool_result(at: float, key: str, result: Any) -> ToolResult:
    """Return the record of what a tool gave: contents, or its text, as the framework itself would make of it."""
    if isinstance(result, list) and all(isinstance(item, Content) for item in result):
        return ToolResult(at=at, key=key, contents=[_plain(item) for item in result])
    return ToolResult(at=at, key=key, text=str(result))


def _plain(given: ChatResponse[Any] | Content) -> dict[str, Any]:
    """Return the framework's own form as JSON values, so that what is recorded is what is read again."""
    values: dict[str, Any] = json.loads(json.dumps(given.to_dict(exclude_none=True), default=str))
    return values


def _given_again(result: ToolResult) -> Any:
    if result.error is not None:
        raise ReplayedToolError(result.error)
    if result.contents is not None:
        return [Content.from_dict(item) for item in result.contents]
    return result.text


def _diverged(step: str) -> RunDivergedError:
    return RunDivergedError(
        f"The attempt before this one recorded something else at {step}: the agent's code changed, or it does not do "
        "the same twice. Nothing was done again; send the message once more."
    )
