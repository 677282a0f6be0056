"""Between the stored conversation and agent-framework's objects. The only module that knows the framework's types.

A content is stored under the properties that the schema has for it. Whatever else the framework's object holds is put
beside them under `agentFramework`: exactly the difference between the object and what reading the schema's properties
alone would give, in the framework's own names. Content that the schema has no type for is stored as `unknown`, with the
framework's serialized form inside. The framework never serializes the text of exceptions, and neither do we.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from agent_framework import AgentResponse, Content, Message, UsageDetails
from agent_framework.exceptions import AgentFrameworkException
from pydantic import TypeAdapter

from state import models
from state.archived import archived
from state.codec import read_entry
from state.contents import AnyContent, Stored, StoredContent, TextContent, UnknownContent
from state.conversation import UNANSWERED, is_unanswered
from state.given import checked_content
from state.json_text import dump
from state.plain import PLAIN, PlainEntry, PlainMessage
from state.python_values import from_json_value, to_json_value
from state.shapes import FRAMEWORK, STORED, usage_details, usage_value
from state.summary import Place

_OURS: Final = "agentFramework"
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool", "developer": "system"}
_RESPONSE_FIELDS: Final = ("response_id", "agent_id", "created_at", "finish_reason", "continuation_token")
_MODEL_OF: Final[TypeAdapter[AnyContent]] = TypeAdapter(AnyContent)
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
        copied.__dict__.update(self.__dict__)
        return copied

    def fresh(self) -> _HistoryMessage:
        """Return a copy whose lists and properties a run may change."""
        copied = self.__copy__()
        copied.contents = list(self.contents)
        copied.additional_properties = dict(self.additional_properties)
        return copied


_MESSAGE: Final = vars(_HistoryMessage("user", []))


def history_messages(conversation: models.Conversation) -> list[Message]:
    """Return what the model may see of the conversation, as new messages around shared contents.

    Runs without an answer are left out with their requests; so are reasoning, errors, usage and unknown contents.
    """
    return [message for _, message in placed_messages(conversation)]


def placed_messages(conversation: models.Conversation) -> list[tuple[Place, Message]]:
    """Return the same messages, each with its place."""
    first = archived(conversation).entries + 1
    replays = [
        (position, entry.correlation_id, entry.once(_replay))
        for position, entry in enumerate(conversation.data.conversation_history.held, start=first)
        if not isinstance(entry, models.UnknownEntry)
    ]
    unanswered = {run_id for _, run_id, messages in replays if messages is None and run_id is not None}
    return [
        ((position, number), message.fresh())
        for position, run_id, messages in replays
        if messages is not None and run_id not in unanswered
        for number, message in enumerate(messages)
    ]


def request_entry(
    *,
    run_id: str,
    created_at: str,
    messages: Sequence[Message],
    response_type: str = "text",
    response_schema: dict[str, Any] | None = None,
    orchestration_id: str | None = None,
) -> models.RequestEntry:
    """Return the entry of one run's request. `created_at` is RFC 3339 text, stored as given."""
    value = _entry_value("request", run_id, created_at, [_message_value(message) for message in messages])
    value |= {"orchestrationId": orchestration_id} if orchestration_id is not None else {}
    value |= {"responseType": response_type}
    value |= {"responseSchema": to_json_value(response_schema)} if response_schema is not None else {}
    return cast(models.RequestEntry, read_entry(value))


def response_entry(*, run_id: str, created_at: str, response: AgentResponse[Any]) -> models.ResponseEntry:
    """Return the entry of one run's answer. A `value` that cannot be parsed from the answer is left out."""
    value = _entry_value("response", run_id, created_at, [_message_value(message) for message in response.messages])
    if response.usage_details is not None:
        value["usage"] = to_json_value(usage_value(response.usage_details))
    return cast(models.ResponseEntry, read_entry(_with_ours(value, _response_extras(response))))


def failure_entry(*, run_id: str, created_at: str, status: str, code: str, message: str) -> models.ResponseEntry:
    """Return the entry of a run without an answer. `status` is failed, timed_out or cancelled, else ValueError."""
    if status not in UNANSWERED:
        raise ValueError(f"status is {status!r}. Use one of {', '.join(sorted(UNANSWERED))}.")
    error = {"$type": "error", "message": message, "errorCode": code}
    value = _entry_value("response", run_id, created_at, [{"role": "assistant", "contents": [error]}])
    return cast(models.ResponseEntry, read_entry({**value, "status": status}))


def agent_response(entry: models.ResponseEntry) -> AgentResponse[Any]:
    """Return the response as the framework gave it; without a time of its own it has the entry's.

    Contents of kinds that the framework does not know are left out.
    """
    ours = _ours(entry)
    return AgentResponse(
        messages=[
            _framework_message(Message, message, _framework_contents(message.contents)) for message in entry.messages
        ],
        usage_details=None if entry.usage is None else cast(UsageDetails, usage_details(entry.usage)),
        value=ours.get("value"),
        additional_properties=_mapping(ours.get("additional_properties")),
        **{"created_at": entry.created_at, **{name: ours[name] for name in _RESPONSE_FIELDS if name in ours}},
    )


def content_values_to_framework(values: Sequence[object]) -> list[Content]:
    """Return contents given in stored form. Raises `BadContentError` for the first that cannot be accepted."""
    checked = [checked_content(index, value) for index, value in enumerate(values)]
    return [cast(Content, framework_content(_MODEL_OF.validate_python(value))) for value in checked]


def content_value(content: Content) -> dict[str, Any]:
    """Return the stored form of any content of the framework."""
    own = to_json_value(content.to_dict())
    value = STORED[own["type"]](own) if own.get("type") in STORED else None
    if value is None:
        return {"$type": "unknown", "content": own}
    back = cast(Content, framework_content(_MODEL_OF.validate_python(value)))
    return _with_ours(value, _difference(own, to_json_value(back.to_dict())))


def framework_content(content: StoredContent) -> Content | None:
    """Return the framework's object for a stored content, or None for what the framework does not know."""
    fields_of = FRAMEWORK.get(type(content))
    if fields_of is None:
        return _unknown_content(content)
    if not content.unknown_properties():
        return (
            _plain_text(content.text or "") if type(content) is TextContent else Content.from_dict(fields_of(content))
        )
    fields = fields_of(content)
    try:
        return Content.from_dict({**fields, **_ours(content), "type": fields["type"]})
    except _UNREADABLE:  # another writer's `agentFramework`: what the schema says still holds
        return Content.from_dict(fields)


def _plain_text(text: str) -> Content:
    """Return what `Content.from_text` gives: nearly every content is plain text, and its forty arguments take time."""
    made = object.__new__(Content)
    made.__dict__.update(_TEXT, text=text, additional_properties={})
    return made


def _unknown_content(content: StoredContent) -> Content | None:
    value = from_json_value(content.content) if type(content) is UnknownContent else None
    if not isinstance(value, dict) or "type" not in value:
        return None
    try:
        return Content.from_dict(value)
    except _UNREADABLE:  # another package's serialization, or a newer framework's
        return None


def _replay(entry: models.RequestEntry | models.ResponseEntry | PlainEntry) -> list[_HistoryMessage] | None:
    """Return the messages to send again, or None for a run without an answer."""
    if isinstance(entry, PLAIN):
        return _replay_plain(entry)
    if type(entry) is models.ResponseEntry and is_unanswered(entry):
        return None
    replayed = []
    for message in entry.messages:
        contents = _framework_contents([content for content in message.contents if content.replayed])
        if contents:
            replayed.append(_framework_message(_HistoryMessage, message, contents))
    return replayed


def _replay_plain(entry: PlainEntry) -> list[_HistoryMessage]:
    return [_plain_message(message) for message in entry.messages if message.contents]


def _plain_message(message: PlainMessage) -> _HistoryMessage:
    made = object.__new__(_HistoryMessage)
    contents = [_plain_text(content.text) for content in message.contents]
    made.__dict__.update(
        _MESSAGE,
        role=message.role or "user",
        contents=contents,
        author_name=message.author_name,
        additional_properties={},
    )
    return made


def _framework_message(kind: type[_MessageT], message: models.Message, contents: list[Content]) -> _MessageT:
    ours = _ours(message)
    return kind(
        _text(ours.get("role")) or message.role or "user",
        contents,
        author_name=message.author_name,
        message_id=_text(ours.get("message_id")),
        additional_properties=_mapping(ours.get("additional_properties")),
    )


def _framework_contents(contents: Iterable[StoredContent]) -> list[Content]:
    return [made for content in contents if (made := framework_content(content)) is not None]


def _message_value(message: Message) -> dict[str, Any]:
    role = str(message.role)
    value: dict[str, Any] = {"role": _ROLES.get(role, "user")}
    value["contents"] = [content_value(content) for content in message.contents]
    value |= {"authorName": str(message.author_name)} if message.author_name is not None else {}
    extras = {"role": role} if value["role"] != role else {}
    extras |= {"message_id": message.message_id} if message.message_id is not None else {}
    extras |= _filled("additional_properties", message.additional_properties)
    return _with_ours(value, to_json_value(extras))


def _response_extras(response: AgentResponse[Any]) -> dict[str, Any]:
    extras = {name: getattr(response, name) for name in _RESPONSE_FIELDS if getattr(response, name) is not None}
    extras |= _filled("additional_properties", response.additional_properties)
    extras |= {"value": value} if (value := _value(response)) is not None else {}
    return cast(dict[str, Any], to_json_value(extras))


def _value(response: AgentResponse[Any]) -> Any:
    try:
        return response.value
    except ValueError:  # the framework parses on first access; the answer's text is kept in any case
        return None


def _entry_value(kind: str, run_id: str, created_at: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"$type": kind, "correlationId": run_id, "createdAt": created_at, "messages": messages}


def _difference(own: Mapping[str, Any], back: Mapping[str, Any]) -> dict[str, Any]:
    """Return what turns `back` into `own` when laid over it, compared as JSON text: 1 is neither True nor 1.0."""
    changed = {name: value for name, value in own.items() if name not in back or dump(back[name]) != dump(value)}
    return {**changed, **{name: None for name in back if name not in own}}


def _with_ours(value: dict[str, Any], extras: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, _OURS: extras} if extras else value


def _ours(stored: Stored) -> dict[str, Any]:
    if not stored.unknown_properties():
        return {}
    return _mapping(from_json_value(stored.unknown_properties().get(_OURS)))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _filled(name: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value} if value else {}
