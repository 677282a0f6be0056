"""The end of a called run: the text that the entity answers, and the value that the caller gets of it.

The caller gets the whole response, contents, usage and finish reason, or the error that names agent, run and cause. The
text is JSON within the result's own JSON: the durable SDKs make Python objects of objects, and a model wrote these.

What Python code says to an agent, as the fields of a run request: the counterpart of `core.thread.messages`.

`response_format` as Python code gives it: a pydantic model, or one of the forms that HTTP takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from agent_framework import AgentResponse, Content, Message
from msgspec import Struct
from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from hosting.core.agent.agent_runner import with_value
from hosting.core.outcome import ids, outcome_fields, problem
from hosting.core.request.fields import ARGUMENTS, check_message, read_decisions
from hosting.core.request.response_format import read_response_format
from hosting.core.thread.events import Accepted, Completed, Terminal
from hosting.core.thread.messages import call_id, waiting_calls
from hosting.core.thread.run import Run
from hosting.errors import HostingError, InvalidFieldError, InvalidOutputError, MissingMessageError
from hosting.model_options import IGNORED, ignored_member
from hosting.names import Address
from hosting.principal import Principal, owner_of
from state.codec import read_entry
from state.contents import checked_content
from state.convert import agent_response, content_value
from state.errors import BadContentError, MalformedError
from state.models import ResponseEntry


class ResultFormat(Struct, frozen=True):
    """The format sent with the request, and the model of its value (None: the JSON value itself)."""

    sent: dict[str, Any] | None = None
    model: type[BaseModel] | None = None

    def value(self, plain: Any) -> Any:
        """Return the value of an answer that fits the schema; `InvalidOutputError` when the model takes less."""
        if self.model is None:
            return plain
        try:
            return self.model.model_validate_json(json.dumps(plain))
        except ValidationError as error:
            paths = ", ".join(sorted({".".join(map(str, fault["loc"])) or "the value" for fault in error.errors()}))
            raise InvalidOutputError(f"The answer fits the schema and not {self.model.__name__}: {paths}.") from None


def result_format(response_format: object) -> ResultFormat:
    """Return the format; raise `InvalidFieldError` if it is invalid or cannot be sent."""
    if response_format is None:
        return ResultFormat()
    if isinstance(response_format, type) and issubclass(response_format, BaseModel):
        return ResultFormat(_checked_schema(_schema(response_format)), response_format)
    if isinstance(response_format, Mapping):
        return ResultFormat(_checked_schema(dict(response_format)))
    raise InvalidFieldError(
        f"response_format is {response_format!r:.80}. Give a pydantic model class, a JSON Schema, or "
        "{'type': 'json_object'}."
    )


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema()
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise InvalidFieldError(
            f"response_format {model.__name__} has no JSON Schema: {error.message} Give a model of plain fields."
        ) from None


def _checked_schema(value: dict[str, Any]) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidFieldError(
            f"response_format cannot be sent as JSON: {error}. Give a JSON Schema of plain values."
        ) from None
    read_response_format(plain)
    return plain


class AgentCall(Struct, frozen=True):
    """One run that Python code asks for, on a thread of that owner."""

    agent: str
    thread_id: str
    run_id: str
    answer_format: ResultFormat
    owner: Principal | None = None

    @property
    def address(self) -> Address:
        """The thread's address."""
        return Address.of(self.agent, self.thread_id, owner_of(self.owner))


class AgentRunError(Exception):
    """A run that was called for ended without an answer.

    `code` is one of the run's codes (http-errors.md), or `refused` for a request that the entity did not take.
    """

    def __init__(self, call: AgentCall, code: str, detail: str) -> None:
        super().__init__(f"Agent {call.agent!r}, run {call.run_id} on thread {call.thread_id}: {detail} ({code})")
        self.agent = call.agent
        self.thread_id = call.thread_id
        self.run_id = call.run_id
        self.code = code
        self.detail = detail


def answer_text(run: Run, terminal: Terminal, sent_options: object = None) -> str:
    """Return a run's end as text: the answer's fields and its response entry, or the problem.

    Of the options that were sent with the call, it names those without an effect.
    """
    fields = {**outcome_fields(run, terminal), **ignored_member(sent_options, run.accepted.request.options)}
    return json.dumps({**fields, "entry": terminal.entry} if isinstance(terminal, Completed) else fields)


def refusal_text(accepted: Accepted, error: HostingError) -> str:
    """Return as text why a run was not begun: the problem, with the ids that it would have had."""
    return json.dumps({"status": "failed", "error": {**problem(error, None), **ids(accepted)}})


def read_answer(call: AgentCall, result: object) -> AgentResponse[Any]:
    """Return the response that a call's result holds; raise `AgentRunError` for every other end."""
    if isinstance(result, Exception):
        raise AgentRunError(call, "refused", str(result))
    answer = _answer(result)
    if answer is None:
        raise AgentRunError(call, "refused", f"The entity answered {result!r:.80}, which is not the end of a run.")
    if "error" in answer:
        raise AgentRunError(call, answer["error"]["code"], answer["error"]["detail"])
    try:
        return _response(call, answer)
    except MalformedError as error:
        raise AgentRunError(call, "refused", str(error)) from error
    except HostingError as error:
        raise AgentRunError(call, error.code, error.detail) from None


def _answer(result: object) -> Mapping[str, Any] | None:
    """Return the JSON object that a result's text holds."""
    try:
        answer = json.loads(result) if isinstance(result, str) else None
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and ("entry" in answer or "error" in answer) else None


def _response(call: AgentCall, answer: Mapping[str, Any]) -> AgentResponse[Any]:
    entry = read_entry(answer["entry"])
    if not isinstance(entry, ResponseEntry):
        raise MalformedError("The answer's entry is not a response.")
    value = call.answer_format.value(answer["value"]) if "value" in answer else None
    response = agent_response(entry)
    if IGNORED in answer:
        response.additional_properties[IGNORED] = answer[IGNORED]
    for request in waiting_calls(response):
        request.id = call_id(call.run_id, request)  # as it is listed and answered over HTTP too
        if request.type == "function_call":
            request.call_id = request.id  # by which the caller's code answers it
    return with_value(response, value, {"run_id": call.run_id, "thread_id": call.thread_id})


_ANSWERS = ("function_approval_response", "function_result")
MessageInput = str | Content | Message | Sequence[str | Content | Message] | None


def message_fields(message_input: MessageInput) -> dict[str, Any]:
    """Return `message`, `contents` and `role` of the last message that is given, and those before it as `earlier`.

    Texts and contents that stand next to each other are one message of the user. Of the framework's responses to
    approval requests, which stand alone, return the `decisions` that they hold.

    Raises `HostingError`s of the request for no message, and for contents that no request can hold. Sizes, roles and
    what the model takes are settings, which may change between two replays: the entity checks those.
    """
    if isinstance(message_input, str):
        return {"message": check_message(message_input)}
    messages = _messages(message_input) or [Message("user", [])]
    contents = [content for message in messages for content in message.contents]
    if any(content.type in _ANSWERS for content in contents):
        return {"decisions": [_decision(content) for content in contents]}
    *earlier, last = [_fields(message) for message in messages]
    return {**last, "earlier": earlier} if earlier else last


def _decision(content: Content) -> dict[str, Any]:
    """Return the decision in a response to an approval request; its reason and `always` are properties.

    Arguments among the properties are refused: left out without a word, the call would be made with the model's.
    """
    if content.type == "function_result":
        return {"id": content.call_id, "value": content.result}
    if content.type not in _ANSWERS:
        raise InvalidFieldError("Answers to approvals and a message need two runs. Send the answers first.")
    properties = content.additional_properties
    standing = properties.get("tool_approval")
    always = standing.get("always_approve") if isinstance(standing, Mapping) else None
    reason = properties.get("reason") or (standing.get("reason") if isinstance(standing, Mapping) else None)
    decision = {"id": content.id, "approved": content.approved, "reason": reason, "always": always}
    (read,) = read_decisions([{**decision, ARGUMENTS: properties.get(ARGUMENTS)}])
    return read.model_dump(exclude_none=True)


def _messages(message_input: Content | Message | Sequence[str | Content | Message] | None) -> list[Message]:
    items = [message_input] if isinstance(message_input, Content | Message) else list(message_input or ())
    for item in items:
        if not isinstance(item, str | Content | Message):
            raise InvalidFieldError(f"A message is a {type(item).__name__}. Give a text, a Content or a Message.")
    messages: list[Message] = []
    for is_message, run in groupby(items, lambda item: isinstance(item, Message)):
        group: list[Any] = list(run)
        messages += map(_checked, group) if is_message else [Message("user", group)]
    return messages


def _fields(message: Message) -> dict[str, Any]:
    contents = _stored(message.contents)
    if not contents:
        raise MissingMessageError("The message has no contents. Give it a text.")
    fields = {} if message.role == "user" else {"role": str(message.role)}
    if contents[0]["$type"] == "text":
        fields["message"] = check_message(contents.pop(0)["text"])
    return {**fields, "contents": contents} if contents else fields


def _checked(message: Message) -> Message:
    if message.author_name is not None:
        raise InvalidFieldError(
            f"The message has the author {message.author_name!r:.80}, which is not served. Say it in the text."
        )
    return message


def _stored(contents: Sequence[Content]) -> list[dict[str, Any]]:
    try:
        return [checked_content(index, content_value(content)) for index, content in enumerate(contents)]
    except BadContentError as error:
        raise InvalidFieldError(f"The message cannot be sent: {error}") from None
