"""One model call of a run: the messages that the model was sent in this run, and its answer.

Theory. No event has the messages of a call. They are put together again from the run's request and what came of the
calls before, and compared with the digest that the call's event has: so the answer says whether the model was sent
these. The call that gave the answer has no event and no digest. Instructions, tools and options are not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired

from agent_framework import ChatResponse, Content, Message
from typing_extensions import TypedDict

from hosting.core.agent.recorded import digest, digest_of_message
from hosting.core.outcome import RunIds
from hosting.core.thread.events import Completed, ModelResult, ToolResult, ToolStarted
from hosting.core.thread.messages import APPROVALS, request_messages
from hosting.core.thread.run import Open, Run
from hosting.errors import UnknownModelCallError
from hosting.http.replies import thread_ids
from hosting.plan import AgentPlan
from state.convert import agent_response
from state.extension import host_of
from state.models import Conversation, RequestEntry, ResponseEntry
from state.portable import data_uri_parts

Kept = Literal["whole", "changed", "unchecked", "partly"]
LONGEST_TEXT = 8192
"""Characters of a text that are shown: its beginning."""
_FAILED = "Error: Function failed."
_REFUSED = "Error: Argument parsing failed."
"""The framework's words for the model about a call that raised, and about one whose arguments do not fit."""
_KINDS: Mapping[str, Any] = {
    "text": "text",
    "text_reasoning": "reasoning",
    "function_call": "tool_call",
    "function_result": "tool_result",
    "data": "data",
    "uri": "uri",
}


class CallContent(TypedDict):
    """A content of a message. Of `other` kinds `name` alone is shown.

    `text` is the text, the arguments of a tool call, or its result. Of a longer one than 8,192 characters that is the
    beginning, and `characters` says how many it has. `name` is that of a called tool. Of `data` there are only
    `media_type` and size.
    """

    type: Literal["text", "reasoning", "tool_call", "tool_result", "data", "uri", "other"]
    text: NotRequired[str]
    characters: NotRequired[int]
    name: NotRequired[str]
    call_id: NotRequired[str]
    media_type: NotRequired[str]
    bytes: NotRequired[int]


class CallMessage(TypedDict):
    """A message that a model was sent, or answered with."""

    role: str
    contents: list[CallContent]


class SentMessages(TypedDict):
    """The `messages` of the run that the model was sent, the oldest first; those of the thread are at `earlier_url`.

    `kept`: `whole`, the model was sent these. `changed`: it was sent others too, or in their place, from middleware,
    context providers or the framework, which are not kept. `unchecked`: no record shows whether it was.
    `partly`: the input of a workflow's executor is not kept.
    """

    kept: Kept
    messages: list[CallMessage]
    earlier_url: str | None


class ModelCall(RunIds):
    """A model call of a run: what was `sent`, and what was `received`.

    Instructions, tools and options of the call are not kept.
    """

    id: str
    sent: SentMessages
    received: list[CallMessage]


def model_call(run: Run, call_id: str, earlier_url: str | None, agent: AgentPlan) -> ModelCall:
    """Return that call of a run of the agent or workflow; raises `UnknownModelCallError` if it has none.

    `earlier_url` is where the thread's messages before the run are. An agent's calls within another have none.
    """
    calls = _Calls(run, is_workflow=agent.workflow is not None)
    if (answer := calls.answers.get(call_id)) is not None:
        kept, sent, received = calls.recorded(answer)
    elif isinstance(run.end, Completed) and call_id == calls.last_key:
        kept, sent, received = calls.last(run.end)
    else:
        raise UnknownModelCallError(
            f"Run {run.run_id!r} has no model call {call_id[:80]!r}. Send the id of a model_call in its timeline."
        )
    is_inner = answer is not None and answer.within != ""
    return {
        **thread_ids(run.accepted.thread_id),
        "run_id": run.run_id,
        "correlation_id": run.run_id,
        "id": call_id,
        "sent": {"kept": kept, "messages": _shown(sent, agent), "earlier_url": None if is_inner else earlier_url},
        "received": _shown(received, agent),
    }


def first_position(conversation: Conversation, run: Run) -> int | None:
    """Return the position in the conversation at which the run begins, or will begin.

    None for a run that left nothing there, and for one that is in the archive.
    """
    entries, archived = conversation.data.conversation_history, host_of(conversation).archived.entries
    for position, entry in enumerate(entries, start=archived + 1):
        if isinstance(entry, RequestEntry | ResponseEntry) and entry.correlation_id == run.run_id:
            return position
    return archived + len(entries) + 1 if isinstance(run.state, Open) else None


class _Calls:
    """The run's model calls, and what came between them."""

    def __init__(self, run: Run, *, is_workflow: bool) -> None:
        self._request, self._is_workflow = run.accepted.request, is_workflow
        self.answers = {step.key: step for step in run.steps if isinstance(step, ModelResult)}
        starts = (step.key for step in run.steps if isinstance(step, ToolStarted))
        self._decided = list(dict.fromkeys(key for key in starts if key.startswith("0.")))
        self._results = {step.key: step for step in run.steps if isinstance(step, ToolResult)}

    @property
    def last_key(self) -> str:
        """The key of the call that gave the run's answer."""
        return str(max((answer.number for answer in self.answers.values() if not answer.within), default=0) + 1)

    def recorded(self, answer: ModelResult) -> tuple[Kept, list[Message], list[Message]]:
        """Return what is known of the messages before the recorded answer, and the answer."""
        received, before = _messages(answer), self._between(answer)
        question = self._question(answer.within) if answer.within else None
        if answer.within and question is None:
            return "partly", before, received
        sent = [*(self._requested() if question is None else [Message("user", [question])]), *before]
        is_same = digest([digest_of_message(message) for message in sent]) == answer.digest
        return "whole" if is_same else "changed", sent, received

    def last(self, end: Completed) -> tuple[Kept, list[Message], list[Message]]:
        """Return the messages before the answer of the run, and that answer: the end has both."""
        messages = agent_response(end.response).messages if isinstance(end.response, ResponseEntry) else []
        first = max((number for number, message in enumerate(messages, start=1) if message.role == "tool"), default=0)
        if self._is_workflow:
            return "partly", [], messages[first:]
        return "unchecked", [*self._requested(), *messages[:first]], messages[first:]

    def _requested(self) -> list[Message]:
        """Return the messages of the request; decisions on calls are none, for the model gets their results."""
        return [] if self._request.decisions else request_messages(self._request)

    def _between(self, answer: ModelResult) -> list[Message]:
        """Return the answers before this one of the same agent, each with the results of its calls."""
        decided = [self._result(key, key.removeprefix("0.")) for key in self._decided]
        messages = [] if answer.within or not decided else [Message("tool", decided)]
        for earlier in self.answers.values():
            if earlier.within == answer.within and earlier.number < answer.number:
                asked = _messages(earlier)
                messages += [*asked, Message("tool", self._results_of(earlier, asked))]
        return messages

    def _results_of(self, answer: ModelResult, messages: Sequence[Message]) -> list[Content]:
        keys: list[str] = []
        results = []
        for call_id in (content.call_id for content in _contents(messages) if content.type == "function_call"):
            key = f"{answer.key}.{call_id}"
            keys.append(key)
            again = keys.count(key)
            results.append(self._result(key if again == 1 else f"{key}.{again}", str(call_id)))
        return results

    def _result(self, key: str, call_id: str) -> Content:
        """Return a call's result as the framework gives it to the model."""
        result = self._results.get(key)
        if result is None:
            return Content.from_function_result(call_id, result="Its result is not recorded.")
        if result.error is not None:
            error = _FAILED if result.called else _REFUSED
            return Content.from_function_result(call_id, result=error, exception=error)
        if result.contents is None:
            return Content.from_function_result(call_id, result=result.text)
        return Content.from_function_result(call_id, result=list(map(Content.from_dict, result.contents)))

    def _question(self, key: str) -> str | None:
        """Return what the call with this key, which ran the agent, asked it; None where no tool call did."""
        for answer in self.answers.values():
            for content in _contents(_messages(answer)):
                if content.type == "function_call" and f"{answer.key}.{content.call_id}" == key:
                    texts = [value for value in (content.parse_arguments() or {}).values() if isinstance(value, str)]
                    return texts[0] if texts else None
        return None


def _messages(answer: ModelResult) -> list[Message]:
    return ChatResponse.from_dict(answer.response).messages


def _contents(messages: Iterable[Message]) -> Iterable[Content]:
    return (content for message in messages for content in message.contents)


def _shown(messages: Iterable[Message], agent: AgentPlan) -> list[CallMessage]:
    """Return the messages as a reader sees them: with the model's thoughts where the agent shows them."""
    shown: list[CallMessage] = []
    for message in messages:
        contents = [item for content in message.contents for item in _shown_content(content)]
        if not agent.options.shows_thoughts:
            contents = [item for item in contents if item["type"] != "reasoning"]
        if contents:
            shown.append({"role": str(message.role), "contents": contents})
    return shown


def _shown_content(content: Content) -> Iterable[CallContent]:
    """Return the content as a reader sees it; a tool's result may have pictures and files beside its text."""
    if content.type in APPROVALS or content.type == "usage":
        return
    shown: CallContent = {"type": _KINDS.get(content.type, "other")}
    match shown["type"]:
        case "text" | "reasoning":
            _put(shown, content.text)
        case "tool_call":
            shown["name"], shown["call_id"] = str(content.name), str(content.call_id)
            _put(shown, content.arguments)
        case "tool_result":
            shown["call_id"] = str(content.call_id)
            _put(shown, content.result)
        case "data":
            _, encoded = data_uri_parts(content.uri or "") or ("", "")
            shown["bytes"] = len(encoded) * 3 // 4 - encoded[-2:].count("=")
            shown["media_type"] = str(content.media_type)
        case "uri":
            shown["media_type"] = str(content.media_type)
            _put(shown, content.uri)
        case _:
            shown["name"] = content.type
    yield shown
    for item in content.items or ():
        if item.type != "text":
            yield from _shown_content(item)


def _put(shown: CallContent, value: Any) -> None:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    shown["text"] = text[:LONGEST_TEXT]
    if len(text) > LONGEST_TEXT:
        shown["characters"] = len(text)
