"""Between the stored conversation and agent-framework's objects. The only module that knows the framework's types.

A content is stored under the properties that the schema has for it. Whatever else the framework's object holds is put
next to them under `agentFramework`: exactly the difference between the object and what reading the schema's properties
alone would give, in the framework's own names. Content that the schema has no type for is stored as `unknown`, with the
framework's serialized form inside. The framework never serializes the text of exceptions, and neither do we.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

from agent_framework import AgentResponse, Content, Message, UsageDetails
from agent_framework.exceptions import AgentFrameworkException
from pydantic import TypeAdapter, ValidationError

from state import models
from state.codec import read_entry
from state.contents import (
    AnyContent,
    ReasoningContent,
    Stored,
    StoredContent,
    TextContent,
    UnknownContent,
    checked_content,
    is_exchange,
    without_unknown,
)
from state.conversation import INTERRUPTED, UNANSWERED, is_unanswered
from state.extension import Position, host_of
from state.json_values import dump, from_json_value, to_json_value
from state.models import HISTORY, OURS, PLAIN, UNSENT, PlainEntry, PlainMessage
from state.portable import moment, portable_text
from state.shapes import FRAMEWORK, STORED, usage_details, usage_value

_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool", "developer": "system"}
_UNSENDABLE: Final = frozenset({"unknown", "error", "reasoning", "usage"})
_RESPONSE_FIELDS: Final = ("response_id", "agent_id", "created_at", "finish_reason", "continuation_token")
_MODEL_OF: Final[TypeAdapter[AnyContent]] = TypeAdapter(AnyContent)
_MESSAGE_OF: Final[TypeAdapter[models.Message]] = TypeAdapter(models.Message)
_TEXT: Final = vars(Content.from_text(""))
_MessageT = TypeVar("_MessageT", bound=Message)
_UNREADABLE: Final = (TypeError, ValueError, KeyError, AttributeError, AgentFrameworkException)


class _HistoryMessage(Message):
    """A message of the history: to every reader the framework's own, but copied at once.

    A run copies each message of its thread at least twice, and the framework copies attribute by attribute: at a
    hundred turns that was half of what the thread's length cost.
    """

    TYPE = "message"

    def __copy__(self) -> _HistoryMessage:
        copied = object.__new__(_HistoryMessage)
        copied.__dict__ = self.__dict__.copy()
        return copied

    def fresh(self) -> _HistoryMessage:
        """Return a copy with lists and properties that a run may change."""
        copied = object.__new__(_HistoryMessage)
        copied.__dict__ = own = self.__dict__.copy()
        own["contents"] = own["contents"].copy()
        own["additional_properties"] = own["additional_properties"].copy()
        return copied


_MESSAGE: Final = vars(_HistoryMessage("user", []))


def placed_messages(conversation: models.Conversation) -> list[tuple[Position, Message]]:
    """Return the model's view of the conversation, each message with its position: for one reader alone.

    Runs without an answer are left out with their requests; so are errors, usage, thoughts that no provider sealed,
    and contents that the framework does not know.
    """
    return [
        ((position, number), message.fresh())
        for position, messages in _answered(conversation)
        for number, message in enumerate(messages)
        if message.contents
    ]


def _answered(conversation: models.Conversation) -> Iterator[tuple[int, Sequence[_HistoryMessage]]]:
    """Iterate over the messages that are sent again, with their entry's position; of runs with an answer only.

    A run with a history of its own has that at the position of its response.
    """
    replays = conversation.data.conversation_history.derived(_replay)
    unanswered = {replay.run_id for replay in replays if replay.messages is None} - {None}
    requests = {replay.run_id: replay.messages for replay in replays if replay.is_request}
    own = {replay.run_id for replay in replays if replay.history is not None}
    for position, replay in enumerate(replays, start=host_of(conversation).archived.entries + 1):
        if replay.messages is None or replay.run_id in unanswered or (replay.is_request and replay.run_id in own):
            continue
        if replay.history is None:
            yield position, replay.messages
        else:
            yield position, list(_history(replay.history, requests.get(replay.run_id) or [], replay.messages))


def _history(
    items: Sequence[Any], request: Sequence[_HistoryMessage], response: Sequence[_HistoryMessage]
) -> Iterator[_HistoryMessage]:
    """Iterate over a run's own history: messages, and those of its entries by number; others are left out."""
    for item in items:
        match item:
            case {"request": int(number)} if 0 <= number < len(request):
                yield request[number]
            case {"response": int(number)} if 0 <= number < len(response):
                yield response[number]
            case {"role": _}:
                with contextlib.suppress(ValidationError):
                    stored = _MESSAGE_OF.validate_python(item)
                    yield _framework_message(_HistoryMessage, stored, _sent_again(stored, is_ours=True))


def request_entry(
    *,
    run_id: str,
    created_at: str,
    messages: Sequence[Message],
    response_type: str = "text",
    response_schema: dict[str, Any] | None = None,
    orchestration_id: str | None = None,
) -> models.RequestEntry:
    """Return the entry of one run's request. `created_at` is RFC 3339 text.

    Messages that other packages could send to no model, such as decisions on approvals, are kept next to `messages`:
    they would replay them as empty ones, which models refuse.
    """
    sent: list[dict[str, Any]] = []
    unsent: list[dict[str, Any]] = []
    for message in messages:
        stored = _message_value(message)
        is_sendable = any(content["$type"] not in _UNSENDABLE for content in stored["contents"])
        (sent if is_sendable else unsent).append(stored)
    value = _entry_value("request", run_id, created_at, sent)
    if orchestration_id is not None:
        value["orchestrationId"] = orchestration_id
    value["responseType"] = response_type
    if response_schema is not None:
        value["responseSchema"] = to_json_value(response_schema)
    if unsent:
        value[OURS] = {UNSENT: unsent}
    return cast(models.RequestEntry, read_entry(value))


def stored_response(
    *,
    run_id: str,
    created_at: str,
    response: AgentResponse[Any],
    request: Sequence[Message] = (),
    history: Sequence[Message] = (),
) -> dict[str, Any]:
    """Return the entry of one run's answer in stored form.

    A `value` that cannot be parsed from the answer is left out. `history` are the messages that the run added to its
    own history; they are kept beside the answer where they are others than those of `request` and answer.
    """
    value = _entry_value("response", run_id, created_at, [_message_value(message) for message in response.messages])
    if response.usage_details is not None:
        value["usage"] = to_json_value(usage_value(response.usage_details))
    extras = {name: getattr(response, name) for name in _RESPONSE_FIELDS if getattr(response, name) is not None}
    if response.additional_properties:
        extras["additional_properties"] = response.additional_properties
    try:
        parsed = response.value
    except ValueError:  # the framework parses on first access; the answer's text is kept in any case
        parsed = None
    if parsed is not None:
        extras["value"] = parsed
    own = list(map(_history_items(request, response.messages), history))
    usual = [{"request": number} for number in range(len(request))]
    if history and own != [*usual, *({"response": number} for number in range(len(response.messages)))]:
        extras[HISTORY] = own
    if extras:
        value[OURS] = to_json_value(extras)
    return value


def _history_items(request: Sequence[Message], response: Sequence[Message]) -> Callable[[Message], dict[str, Any]]:
    """Return a function from a message of a run's history to its number in the run's entries, or its stored form."""
    numbers: dict[int, dict[str, Any]] = {id(message): {"request": number} for number, message in enumerate(request)}
    numbers |= {id(message): {"response": number} for number, message in enumerate(response)}
    return lambda message: numbers.get(id(message)) or _message_value(message)


def stored_failure(*, run_id: str, created_at: str, status: str, code: str, message: str) -> dict[str, Any]:
    """Return the entry of a run without an answer in stored form.

    `status` is failed, timed_out or cancelled, else ValueError.
    """
    if status not in UNANSWERED:
        raise ValueError(f"status is {status!r}. Use one of {', '.join(sorted(UNANSWERED))}.")
    error = {"$type": "error", "message": portable_text(message), "errorCode": code}
    value = _entry_value("response", run_id, created_at, [{"role": "assistant", "contents": [error]}])
    return {**value, "status": status}


def stored_words(*, run_id: str, created_at: str, text: str) -> dict[str, Any]:
    """Return the entry of a run that was interrupted, with its text, in stored form; the model gets it again.

    Without a text it has no message, and the model gets the request alone.
    """
    messages = [{"role": "assistant", "contents": [{"$type": "text", "text": portable_text(text)}]}] if text else []
    return {**_entry_value("response", run_id, created_at, messages), "status": INTERRUPTED}


def agent_response(entry: models.ResponseEntry) -> AgentResponse[Any]:
    """Return the response as the framework gave it; without a time of its own it has the entry's.

    Contents of kinds that the framework does not know are left out.
    """
    ours = _ours(entry)
    return AgentResponse(
        messages=[_framework_message(Message, message, message.contents) for message in entry.messages],
        usage_details=None if entry.usage is None else cast(UsageDetails, usage_details(entry.usage)),
        value=ours.get("value"),
        additional_properties=_mapping(ours.get("additional_properties")),
        **{"created_at": entry.created_at, **{name: ours[name] for name in _RESPONSE_FIELDS if name in ours}},
    )


def content_values_to_framework(values: Sequence[object]) -> list[Content]:
    """Return the contents of a stored request, without additions of later versions.

    Calls and results of a caller's own conversation were checked by the wire that took them. Raises `BadContentError`
    for the first that cannot be accepted.
    """
    checked = [
        value if is_exchange(value) else checked_content(index, without_unknown(value))
        for index, value in enumerate(values)
    ]
    return [cast(Content, framework_content(_MODEL_OF.validate_python(value))) for value in checked]


def content_value(content: Content) -> dict[str, Any]:
    """Return the stored form of any content of the framework."""
    # Nearly every content is plain text, and the code below takes time.
    if type(content) is Content and type(content.text) is str and {**vars(content), "text": ""} == _TEXT:
        return {"$type": "text", "text": portable_text(content.text)}
    own = to_json_value(content.to_dict())
    value = STORED[own["type"]](own) if own.get("type") in STORED else None
    if value is None:
        return {"$type": "unknown", "content": own if _is_plain_object(own) else {OURS: own}}
    back = to_json_value(cast(Content, framework_content(_MODEL_OF.validate_python(value))).to_dict())
    # Compared as JSON text: 1 is neither True nor 1.0.
    extras = {name: item for name, item in own.items() if name not in back or dump(back[name]) != dump(item)}
    extras |= {name: None for name in back if name not in own}
    return {**value, OURS: extras} if extras else value


def _is_plain_object(own: dict[str, Any]) -> bool:
    """Return whether .NET reads the object as a content of no known type.

    It takes names that begin with `$` for its own, and reads annotations, which are to be objects without such names.
    """
    annotations = own.get("annotations") or []
    objects = [own, *annotations] if isinstance(annotations, list) else [own, annotations]
    return all(isinstance(item, dict) and not any(name.startswith("$") for name in item) for item in objects)


def framework_content(content: StoredContent) -> Content | None:
    """Return the framework's object for a stored content, or None for an unknown one."""
    if type(content) is TextContent and not content.unknown_properties():
        return _plain_text(content.text or "")
    if type(content) not in FRAMEWORK:
        return _unknown_content(content)
    fields = FRAMEWORK[type(content)](content)
    try:
        return Content.from_dict({**fields, **_ours(content), "type": fields["type"]})
    except _UNREADABLE:  # another writer's `agentFramework`: what the schema has still holds
        return Content.from_dict(fields)


def _plain_text(text: str) -> Content:
    """Return the same as `Content.from_text`, faster: nearly every content is plain text."""
    content = object.__new__(Content)
    content.__dict__.update(_TEXT, text=text, additional_properties={})
    return content


def _unknown_content(content: StoredContent) -> Content | None:
    stored = content.content if type(content) is UnknownContent else None
    value = from_json_value(stored[OURS] if isinstance(stored, dict) and stored.keys() == {OURS} else stored)
    if not isinstance(value, dict) or "type" not in value:
        return None
    try:
        return Content.from_dict(value)
    except _UNREADABLE:  # another package's serialization, or a newer framework's
        return None


class _Replay(NamedTuple):
    """The run of an entry, and its messages to send again, perhaps empty ones: None for a run without an answer.

    `history` is sent of the run instead of the messages of its entries, in stored form.
    """

    run_id: str | None
    messages: list[_HistoryMessage] | None
    is_request: bool
    history: Sequence[Any] | None = None


def _replay(entry: models.Entry | PlainEntry) -> _Replay:
    if isinstance(entry, models.UnknownEntry):
        return _Replay(None, [], is_request=False)
    is_request = isinstance(entry, models.RequestEntry | models.PlainRequest)
    if isinstance(entry, PLAIN):
        return _Replay(entry.correlation_id, [_plain_message(message) for message in entry.messages], is_request)
    if type(entry) is models.ResponseEntry and is_unanswered(entry):
        return _Replay(entry.correlation_id, None, is_request)
    ours = _ours(entry)
    messages = [
        _framework_message(_HistoryMessage, message, _sent_again(message, is_ours=bool(ours)))
        for message in entry.messages
    ]
    history = ours.get(HISTORY)
    return _Replay(entry.correlation_id, messages, is_request, history if isinstance(history, list) else None)


def _sent_again(message: models.Message, *, is_ours: bool) -> Iterator[StoredContent]:
    """Iterate over the contents that the model gets again.

    Its thoughts are among them where we wrote them: the framework keeps them as the provider wants them back, sealed.
    """
    for content in message.contents:
        match content:
            case ReasoningContent():
                is_sent = is_ours or OURS in content.unknown_properties()
            case UnknownContent(content={"type": "error" | "usage"}):
                is_sent = False
            case _:
                is_sent = content.replayed
        if is_sent:
            yield content


def _plain_message(message: PlainMessage) -> _HistoryMessage:
    history_message = object.__new__(_HistoryMessage)
    contents = [_plain_text(content.text) for content in message.contents]
    history_message.__dict__.update(
        _MESSAGE,
        role=message.role or "user",
        contents=contents,
        author_name=message.author_name,
        additional_properties={},
    )
    return history_message


def _framework_message(kind: type[_MessageT], message: models.Message, contents: Iterable[StoredContent]) -> _MessageT:
    """Return the framework's message, without contents of kinds that the framework does not know."""
    ours = _ours(message)
    role, message_id = ours.get("role"), ours.get("message_id")
    return kind(
        role if role and isinstance(role, str) else message.role or "user",
        [counterpart for content in contents if (counterpart := framework_content(content)) is not None],
        author_name=message.author_name,
        message_id=message_id if isinstance(message_id, str) else None,
        additional_properties=_mapping(ours.get("additional_properties")),
    )


def _message_value(message: Message) -> dict[str, Any]:
    role = str(message.role)
    value: dict[str, Any] = {"role": _ROLES.get(role, "user")}
    value["contents"] = [content_value(content) for content in message.contents]
    value |= {"authorName": portable_text(str(message.author_name))} if message.author_name is not None else {}
    extras: dict[str, Any] = {"role": role} if value["role"] != role else {}
    extras |= {"message_id": message.message_id} if message.message_id is not None else {}
    if message.additional_properties:
        extras["additional_properties"] = message.additional_properties
    if extras:
        value[OURS] = to_json_value(extras)
    return value


def _entry_value(kind: str, run_id: str, created_at: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"$type": kind, "correlationId": run_id, "createdAt": moment(created_at), "messages": messages}


def _ours(stored: Stored) -> dict[str, Any]:
    if not stored.unknown_properties():
        return {}
    return _mapping(from_json_value(stored.unknown_properties().get(OURS)))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
