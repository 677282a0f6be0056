"""The scripted model and the count of tool calls, in the app's process: around the clients and tools of its agents.

Theory. An agent gets its answers from the script of the present case, in the order of the script. A question is known
by its run, its agent and the conversation before it. Its answer is noted before the model says it: asked again by a
process that took the run over, it gets the same answer. An answer that was recorded is not asked for again, because
the app replays it. In a test without a script the app's own model answers.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FinishReason,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    RawAgent,
    ResponseStream,
)
from agent_framework.exceptions import ChatClientException
from agent_framework.observability import ChatTelemetryLayer
from msgspec.structs import replace

from hosting.core.agent.framework import agent_of_tool, is_idempotent
from hosting.core.agent.steps import WITHIN
from hosting.testing.case import AnswerGiven, AppCase, CallMade, Cases, ScriptedAnswer
from hosting.tools import current

_WORD = re.compile(r"\s*\S+")
_MADE_AGAIN = re.compile(r"(\.call_\d{3}(?:_\d+)?)\.\d+$")
"""What the key of a call has where the app's code makes the call a second time."""
_COPIED = ("STORES_BY_DEFAULT", "compaction_strategy", "function_invocation_configuration", "tokenizer")
_answering = threading.Lock()


class _ScriptedModel(BaseChatClient[Any]):
    """One model call: the next answer of the script, or what the app's own client says."""

    OTEL_PROVIDER_NAME = "scripted"

    def __init__(self, own: BaseChatClient[Any], cases: Cases, **named: Any) -> None:
        super().__init__(**named)
        self._own, self._cases = own, cases
        self.agent_name = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        case = self._cases.present
        if case is None or not case.script.is_there:
            return self._own._inner_get_response(messages=messages, stream=stream, options=options, **kwargs)
        if stream:
            return self._build_response_stream(self._updates(case, messages))
        return self._answer(case, messages)

    async def _answer(self, case: AppCase, messages: Sequence[Message]) -> ChatResponse[Any]:
        contents = await self._contents(case, messages)
        text = "".join(content.text or "" for content in contents if content.type == "text")
        calls = [content for content in contents if content.type != "text"]
        message = Message("assistant", [*([Content.from_text(text)] if text or not calls else []), *calls])
        return ChatResponse(messages=message, model="scripted", finish_reason=_finish_reason(contents))

    async def _updates(self, case: AppCase, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        contents = await self._contents(case, messages)
        for content in contents:
            yield ChatResponseUpdate(role="assistant", contents=[content], model="scripted")
        reason = _finish_reason(contents)
        yield ChatResponseUpdate(role="assistant", contents=[], model="scripted", finish_reason=reason)

    async def _contents(self, case: AppCase, messages: Sequence[Message]) -> list[Content]:
        """Return the pieces of the next answer; raise `ChatClientException` for one that fails."""
        question = _question(self.agent_name, messages)
        place, answer = _answer_to(case, question, self.agent_name)
        if answer.seconds:
            await asyncio.sleep(answer.seconds)
        if answer.kind == "fails":
            case.answers.add(AnswerGiven(question, self.agent_name, place, is_over=True))
            raise ChatClientException(answer.text)
        pieces = answer.pieces if len(answer.pieces) != 1 else _WORD.findall(answer.text)
        calls = [
            Content.from_function_call(_call_id(place, number), call.tool, arguments=dict(call.arguments))
            for number, call in enumerate(answer.calls)
        ]
        return [*(Content.from_text(piece) for piece in pieces), *calls] or [Content.from_text("")]


class ScriptedChatClient(
    FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ChatTelemetryLayer[Any], _ScriptedModel
):
    """The scripted model with the layers of agent-framework's clients."""


def _answer_to(case: AppCase, question: str, agent: str) -> tuple[int, ScriptedAnswer]:
    """Return the answer to a question and its place in the script, the same for as long as it is not over.

    Raises `ChatClientException` where none is left for the agent, and notes that for the test.
    """
    with _answering:
        script, given = _whole(case.script.read()), case.answers.read()
        over = {answer.place for answer in given if answer.is_over}
        for answer in given:
            if answer.question == question and answer.place is not None and answer.place not in over:
                return answer.place, script[answer.place]
        taken = {answer.place for answer in given}
        for place, scripted in enumerate(script):
            if place not in taken and scripted.agent in ("", agent):
                case.answers.add(AnswerGiven(question, agent, place))
                return place, scripted
        case.answers.add(AnswerGiven(question, agent, None))
    raise ChatClientException("The script of the model has no answer left.")


def _whole(lines: Sequence[ScriptedAnswer]) -> list[ScriptedAnswer]:
    """Return the answers, each with the calls that the lines which go on with it add."""
    answers: list[ScriptedAnswer] = []
    for line in lines:
        if not line.goes_on:
            answers.append(line)
            continue
        place = max(place for place, answer in enumerate(answers) if answer.agent == line.agent)
        answers[place] = replace(answers[place], calls=(*answers[place].calls, *line.calls))
    return answers


def _call_id(place: int, number: int) -> str:
    """Return the id of a call by the place of its answer in the script, and its number in that, if not the first."""
    return f"call_{place:03}_{number}" if number else f"call_{place:03}"


def _question(agent: str, messages: Sequence[Message]) -> str:
    """Return the digest of a question: the run, the call within it that runs the agent, and the conversation."""
    try:
        run_id = current().run_id
    except LookupError:
        run_id = ""
    within = getattr(WITHIN.get(), "within", "")
    conversation = [
        [
            message.role,
            *([part.type, part.text, part.name, str(part.arguments), str(part.result)] for part in message.contents),
        ]
        for message in messages
        if message.role != "system"
    ]
    return hashlib.sha256(
        json.dumps([run_id, within, agent, conversation], default=str).encode(errors="surrogatepass")
    ).hexdigest()


def _finish_reason(contents: Sequence[Content]) -> FinishReason:
    return FinishReason("tool_calls" if contents[-1].type == "function_call" else "stop")


def script_models(cases: Cases) -> None:
    """Have each agent that is made from now on ask the scripted model, if its client is one of agent-framework."""
    begin = RawAgent.__init__

    @functools.wraps(begin)
    def scripted(self: RawAgent[Any], client: Any, *arguments: Any, **named: Any) -> None:
        if isinstance(client, BaseChatClient) and isinstance(client, FunctionInvocationLayer):
            client = _scripted_client(client, cases)
        begin(self, client, *arguments, **named)
        if isinstance(client, ScriptedChatClient):
            client.agent_name = self.name or ""

    RawAgent.__init__ = scripted  # type: ignore[method-assign]


def _scripted_client(own: BaseChatClient[Any], cases: Cases) -> ScriptedChatClient:
    client = ScriptedChatClient(own=own._own if isinstance(own, ScriptedChatClient) else own, cases=cases)
    for name in _COPIED:
        setattr(client, name, getattr(own, name))
    return client


def count_calls(cases: Cases) -> None:
    """Note each call of a tool of an agent before it is made. An agent that is a tool is left out: it has steps."""
    invoke = FunctionTool.invoke

    @functools.wraps(invoke)
    async def counted(self: FunctionTool, **named: Any) -> Any:
        case = cases.present
        if case is not None and agent_of_tool(self) is None:
            case.calls.add(_call_made(self, named.get("arguments"), named.get("context")))
        return await invoke(self, **named)

    FunctionTool.invoke = counted  # type: ignore[method-assign]


def _call_made(tool: FunctionTool, arguments: Any, context: Any) -> CallMade:
    given: Any = arguments if arguments is not None else getattr(context, "arguments", None)
    values = dict(given or {})  # a model of pydantic is iterated over as pairs
    try:
        key = _MADE_AGAIN.sub(r"\1", current().call_key)
    except LookupError:
        key = ""
    return CallMade(tool.name, json.dumps(values, default=str), key, is_idempotent(tool))
