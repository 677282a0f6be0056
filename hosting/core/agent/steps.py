"""The journal of a run, as agent-framework's own middleware: a recorded step is replayed, any other is done once.

Theory. A later attempt runs the same code from the start. Its n-th model call gets the n-th recorded answer, if the
messages that this run has added since are the same as then. Its tool calls get their recorded results; a tool call is
known by the model call that asked for it and by its call id. A tool call that began and has no result is not made again
unless its tool is idempotent. A model's answer is appended together with the start of the tool calls that it asks for.
An answer without tool calls is not recorded here: the event that follows it holds it, the run's end or a tool's result.

Of a client without chat middleware only the tool calls are recorded. A later attempt calls its model again. If it asks
for other calls then, or in another order, the run ends, and nothing is done twice.

An agent that is the tool of another has steps of its own, known by the key of the call that runs it. That call is made
again after a crash, because its own steps are replayed too. The framework hands no middleware on to such an agent. So
it gets its middleware once, for good, which finds its steps by the call around it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from operator import is_
from typing import Any, TypeVar

from agent_framework import (
    Agent,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    FunctionInvocationContext,
    FunctionMiddleware,
    Message,
    MiddlewareFailure,
    MiddlewareTermination,
    UserInputRequiredException,
)
from msgspec import Struct, field

from hosting.core.agent.asks import CallAsks, paused
from hosting.core.agent.calls_not_made import diverged, interrupted
from hosting.core.agent.connections import connected
from hosting.core.agent.finish_reasons import FinishReasons
from hosting.core.agent.format_fallback import own_format_fallback
from hosting.core.agent.framework import (
    agent_of_tool,
    answer_from_record,
    is_idempotent,
    keeps_journal,
    refuses_arguments,
    server_of_tool,
)
from hosting.core.agent.history import is_of_thread
from hosting.core.agent.recorded import (
    RunningDigest,
    digest,
    digest_of_message,
    recorded_answer,
    replayed_result,
    text_of_arguments,
    tool_result,
)
from hosting.core.agent.session_changes import SessionChanges
from hosting.core.agent.steering import JoinedMessages
from hosting.core.agent.step_recorder import StepRecorder, cut_short
from hosting.core.thread.events import ModelResult, ToolResult, ToolStarted
from hosting.core.thread.versions import VERSION
from hosting.errors import HostingError
from hosting.names import model_call_key
from hosting.skills import skill_call
from hosting.tools import MCP_CALL_KEY, ToolCall, enter
from hosting.visible import visible_line
from state.portable import portable_text

logger = logging.getLogger(__name__)

Next = Callable[[], Awaitable[None]]
T = TypeVar("T")

# They end the framework's loop, or hand on a question to a person; a tool that raised one cannot be replayed.
_NO_RESULT = (MiddlewareFailure, MiddlewareTermination, UserInputRequiredException)


class AgentSteps(Struct, eq=False):
    """The model and tool calls of one agent in one attempt.

    `within` is the key of the call that runs the agent as a tool, empty for the agent that runs. `is_replaying`: the
    newest answer of the model is a recorded one.
    """

    agent: Agent[Any]
    recorder: StepRecorder
    within: str = ""
    is_replaying: bool = False
    model_calls: int = 0
    keeps_answers: bool = False
    joined: JoinedMessages = field(default_factory=JoinedMessages)
    _tool_calls: Counter[str] = field(default_factory=Counter)
    _digests: dict[int, tuple[Message, str]] = field(default_factory=dict)
    _known: list[Message] = field(default_factory=list)
    _digest: RunningDigest = field(default_factory=RunningDigest)

    def digest(self, messages: Sequence[Message]) -> str:
        """Return the digest of the messages that this run added; each is digested once, when it is first there.

        The thread's history is left out: it is the same for every attempt.
        """
        known = self._known
        if not (len(known) <= len(messages) and all(map(is_, known, messages))):
            known, self._digest = [], RunningDigest()
        for message in messages[len(known) :]:
            if not is_of_thread(message):
                if id(message) not in self._digests:  # the message is kept too, so that its id stays its own
                    self._digests[id(message)] = (message, digest_of_message(message))
                self._digest.add(self._digests[id(message)][1])
        self._known = list(messages)
        return self._digest.value()

    def key_of(self, context: FunctionInvocationContext) -> str:
        """Return `<model call>.<call id>`, and a number after it where a model gave one id to several calls.

        A model that is called again makes new ids: its tool calls are known by their order in the run.
        """
        if not isinstance(self.agent.client, ChatMiddlewareLayer):
            self._tool_calls[""] += 1
            return f"{model_call_key(self.within, 0)}.{self._tool_calls['']}"
        call_id = portable_text(str(context.metadata.get("call_id")))
        key = f"{model_call_key(self.within, self.model_calls)}.{call_id}"
        self._tool_calls[key] += 1
        return key if self._tool_calls[key] == 1 else f"{key}.{self._tool_calls[key]}"

    def of(self, agent: Agent[Any]) -> AgentSteps | None:
        """Return these steps if they are this agent's."""
        return self if self.agent is agent else None


class ExecutorSteps(Struct, eq=False):
    """The steps of the agents of one executor of a workflow, while it works on one message."""

    recorder: StepRecorder
    within: str
    _agents: dict[int, AgentSteps] = field(default_factory=dict)

    def of(self, agent: Agent[Any]) -> AgentSteps | None:
        """Return the steps of this agent. Every answer of its model is one: the executor continues behind it."""
        within = f"{self.within}/{agent.name or len(self._agents)}"
        steps = AgentSteps(agent, self.recorder, within=within, keeps_answers=True)
        return self._agents.setdefault(id(agent), steps)


WITHIN: ContextVar[AgentSteps | ExecutorSteps | None] = ContextVar("agent_steps", default=None)
"""The steps of the agent that is the tool of the call around this code, or of the executor; None in any other tool."""


def middleware(agent: Agent[Any], steps: AgentSteps | None = None) -> list[ChatMiddleware | FunctionMiddleware]:
    """Return the agent's middleware for one attempt, or, without its steps, for its calls as another's tool."""
    is_recorded = isinstance(agent.client, ChatMiddlewareLayer)
    return [*([_ModelCalls(agent, steps), FinishReasons()] if is_recorded else []), _ToolCalls(agent, steps)]


def attach_steps(agent: Agent[Any]) -> None:
    """Give an agent its middleware for good, once: it records only calls within other steps."""
    if not any(isinstance(layer, _ToolCalls) for layer in agent.middleware or ()):
        agent.middleware = [*(agent.middleware or ()), *middleware(agent), *own_format_fallback(agent)]


@dataclass(eq=False)
class _Calls:
    """Middleware of an agent, around the calls of these steps; without them, of the steps that it is a tool within."""

    agent: Agent[Any]
    steps: AgentSteps | None

    def steps_within(self) -> AgentSteps | None:
        steps = WITHIN.get()
        return None if steps is None else steps.of(self.agent)


class _ModelCalls(_Calls, ChatMiddleware):
    async def process(self, context: ChatContext, call_next: Next) -> None:
        """Replay the recorded answer, or call the model and record its answer if it asks for tool calls."""
        steps = self.steps or self.steps_within()
        if steps is None:
            await call_next()
            return
        recorder, messages = steps.recorder, list(context.messages)
        await recorder.append()
        recorder.tools = (context.options or {}).get("tools") or ()
        number = steps.model_calls = steps.model_calls + 1
        recorded = recorder.held.models.get((steps.within, number))
        steps.is_replaying = recorded is not None
        if not steps.within:
            messages = await recorder.done(steps.joined.before(context, recorder.held, number, takes=recorded is None))
        if recorded is not None:
            with recorder.writing():
                digest = steps.digest(messages)
            if recorded.digest != digest:
                raise recorder.ended(diverged(f"model call {model_call_key(steps.within, number)}"))
            await answer_from_record(self.agent, context, ChatResponse.from_dict(recorded.response))
            return
        if (meter := recorder.meter) is not None:
            await recorder.done(meter.check(context), HostingError)

        async def record(answer: ChatResponse[Any]) -> None:
            calls = any(content.type == "function_call" for message in answer.messages for content in message.contents)
            cost = 0 if meter is None else await recorder.done(meter.count(context, answer), HostingError)
            if calls or steps.keeps_answers:
                with recorder.writing():
                    result = ModelResult(
                        v=6 if recorder.has_budget else VERSION,
                        at=recorder.held.clocks.wall(),
                        run_id=recorder.held.run_id,
                        number=number,
                        within=steps.within,
                        digest=steps.digest(messages),
                        response=recorded_answer(answer, drops_thoughts=recorder.drops_thoughts),
                        cost=cost,
                    )
                recorder.pending.append(result)
            if steps.keeps_answers and not calls:
                await recorder.append()

        if context.stream:
            context.stream_result_transforms.append(record)
        await call_next()
        if isinstance(context.result, ChatResponse):
            await record(context.result)


class _ToolCalls(_Calls, FunctionMiddleware):
    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        """Replay the recorded result, or call the tool and record how that ended."""
        steps = self.steps or self.steps_within()
        if steps is None:
            await call_next()
            return
        recorder, held, name = steps.recorder, steps.recorder.held, context.function.name
        key = steps.key_of(context)
        with recorder.writing():
            identity = digest(dict(context.arguments))
            # Of a call that no answer in this run asked for, no other event has them.
            arguments = "" if steps.model_calls else text_of_arguments(context.arguments)
        started, result = held.started.get(key), held.results.get(key)
        if started is not None and (started.name, started.digest) != (name, identity):
            raise recorder.ended(diverged(f"call {key} of tool {name!r}"))
        agent = agent_of_tool(context.function)
        inner = inner_steps(agent, recorder, key) if agent is not None and keeps_journal(agent) else None
        is_harmless, call_next = await skill_call(context.function, context.arguments, call_next)
        is_harmless = is_harmless or is_idempotent(context.function)
        if started is not None and result is None and inner is None and not is_harmless:
            result = await cut_short(recorder, key, name)
        if result is not None and result.interrupted and not recorder.reports_unknown_outcomes:
            raise recorder.ended(interrupted(name))
        if result is not None:
            recorder.put_session_back(context.session, result)
            if result.called:
                context.result = replayed_result(result)
            else:
                await call_next()  # the framework refuses those arguments again
            return
        # A server is connected to before its call counts as begun: a process that dies meanwhile has called nothing.
        make_call = await connected(server_of_tool(context.function), call_next, is_idempotent=is_harmless)
        # A call that began in an earlier attempt begins again, and a reader of the run sees both.
        started = ToolStarted(
            at=held.clocks.wall(), run_id=held.run_id, key=key, name=name, digest=identity, arguments=arguments
        )
        if inner is None and not is_harmless:
            held.at_most_once.add(key)
        await recorder.start(started)
        if recorder.cause is not None:  # another call of the same moment ended the attempt
            raise recorder.ended(recorder.cause)
        await _call(context, make_call, key, steps, inner)


def inner_steps(agent: Agent[Any], recorder: StepRecorder, key: str) -> AgentSteps:
    """Return the steps of an agent that is the tool of call `key`."""
    return AgentSteps(agent, recorder, within=key, keeps_answers=recorder.has_budget)


async def _call(
    context: FunctionInvocationContext, make_call: Next, key: str, steps: AgentSteps, inner: AgentSteps | None
) -> None:
    """Call the tool and append its result or its error. The tool's code, or its MCP server, can read the call's key."""
    recorder, held, accepted = steps.recorder, steps.recorder.held, steps.recorder.held.run.accepted
    call_key = f"{held.run_id}-{key}"
    ids = (accepted.agent, held.address.thread_id, held.run_id, call_key)
    asks = CallAsks(recorder, context, key, steps.within)
    owned = (accepted.principal, held.address.owner, held.run.thread_key)
    enter(ToolCall(*ids, *owned, asks, accepted.request.context))
    if server_of_tool(context.function) is not None:
        context.kwargs["_meta"] = {**(context.kwargs.get("_meta") or {}), MCP_CALL_KEY: call_key}
    if inner is not None:
        attach_steps(inner.agent)
    changes = SessionChanges(context.session)
    token = WITHIN.set(inner)
    logger.info("Run %s calls tool %s.", accepted.run_id, visible_line(context.function.name))
    try:
        if await paused(make_call, asks):
            context.result = asks.request
            return
    except _NO_RESULT:
        raise
    except Exception as error:
        if called := not refuses_arguments(error):  # the model gets its text, and the log no more than its class
            logger.warning("Tool %s of run %s raised.", visible_line(context.function.name), held.run_id, exc_info=True)
        text, raised = portable_text(str(error)), type(error).__name__ if called else ""
        moment, run_id, session = held.clocks.wall(), held.run_id, changes.since() if called else None
        await recorder.append(
            ToolResult(at=moment, run_id=run_id, key=key, error=text, raised=raised, called=called, session=session)
        )
        raise
    finally:
        asks.is_over = True
        WITHIN.reset(token)
    with recorder.writing():
        result = tool_result(held.run_id, held.clocks.wall(), key, context.result, changes.since())
    await recorder.append(result)
