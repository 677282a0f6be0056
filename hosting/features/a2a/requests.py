"""A JSON-RPC request of the protocol, parsed and checked before anything is started.

The protocol's JSON is that of protobuf: a member goes by either of its names, null is absent, and what is not known is
ignored.
"""

from __future__ import annotations

import json
import math
import mimetypes
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from hosting.core.request.contents import Limits, checked_media_type
from hosting.core.request.fields import LONGEST_REASON, THREAD_METADATA, read_decision, read_text
from hosting.core.runs import PROTOCOL_WAIT_SECONDS
from hosting.core.thread.run_request import Decision, UserMessage
from hosting.errors import HostingError, InvalidFieldError
from hosting.features.a2a import names
from hosting.features.a2a.names import STATES
from hosting.http.json_rpc import RequestId, read_rpc
from hosting.http.protobuf_json import member_flag, member_number, member_object, member_text
from hosting.http.run_call import IDEMPOTENCY_KEY, RawRequest, read_idempotency_key
from hosting.http.verbs import NotifiesReceivers, Receiver
from hosting.http.wire import Schema, WireDocument, WireOperation, object_schema
from hosting.http.wire_requests import chosen_within, inline_file, linked_file, message_of_contents
from hosting.metadata import Value, read_metadata
from hosting.model_options import IGNORED, ChosenOptions
from hosting.ports import Wait, read_utc

MOST_TASKS = 100
_DEFAULT_TASKS = 50
_APPROVES = ("approve", "approved", "yes")
_RECEIVER = "taskPushNotificationConfig"
_PART_KINDS = ("text", "raw", "url", "data")


class Answer(Struct, frozen=True):
    """A message's decisions on the tool calls that a task waits for: by their ids, or one for all."""

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    approves_all: bool = False
    reason: str | None = None

    def on(self, approval_id: str) -> Decision | None:
        """Return the decision on an approval, None if it is missing."""
        if self.decisions:
            return self.decisions.get(approval_id)
        return Decision(id=approval_id, approved=self.approves_all, reason=self.reason)


class Send(Struct, frozen=True):
    """A message: a new task of its context, or an `answer` to the task `task_id` if that is not empty.

    `kept` is for the task's history, and `receiver` is to be notified of the task. `chosen` are the model's options,
    for a new task, and so is the change of the `thread_metadata`.
    """

    message_id: str
    context_id: str | None
    task_id: str
    message: UserMessage | None
    answer: Answer | None
    wait: Wait
    streams: bool
    wants_json: bool
    history_length: int | None
    kept: Mapping[str, Any]
    traceparent: str | None
    receiver: Receiver | None
    chosen: ChosenOptions
    thread_metadata: dict[str, Value | None] = {}

    @property
    def is_followed(self) -> bool:
        """Whether readers may follow its run before the message is answered."""
        return self.streams or not self.wait.answer

    @property
    def text_of_both(self) -> str:
        """The id and the message in one text, the same whenever both come again; how they are answered is not in it."""
        sent = None if self.message is None else self.message.model_dump(mode="json", exclude_defaults=True)
        return json.dumps([self.message_id, sent], sort_keys=True)


class OfTask(Struct, frozen=True):
    """A request about one task, or about its receivers: a new `receiver`, one by its id, or all."""

    task_id: str
    history_length: int | None = None
    receiver: Receiver | None = None
    receiver_id: str = ""


class Listing(Struct, frozen=True):
    """Which tasks are listed: times are seconds since 1970."""

    context_id: str | None
    state: str | None
    page_size: int
    page_token: str
    history_length: int | None
    since: float | None
    with_artifacts: bool


Params = Send | OfTask | Listing


class Call(Struct, frozen=True):
    """A JSON-RPC request: its call, or the reason of its refusal."""

    id: RequestId
    method: str
    params: Params | HostingError


def parse_a2a_call(raw: RawRequest, limits: Limits, receivers: NotifiesReceivers | None) -> Call:
    """Return the request in a body; raises `HostingError`s for a body that is not a JSON-RPC request.

    Without `receivers` the app notifies nobody of a task.
    """
    request = read_rpc(raw, limits.body_bytes)
    try:
        _check_version(raw)
        read = request.reader(METHODS)
        params = member_object("params", {} if request.params is None else request.params)
        return Call(request.id, request.method, read(_Reader(raw, limits, receivers), params))
    except HostingError as error:
        return Call(request.id, request.method, error)


def _check_version(raw: RawRequest) -> None:
    version = raw.headers.get("a2a-version") or raw.query.get("A2A-Version", "")
    if ".".join(version.strip().split(".")[:2]) != names.VERSION:
        sent = f"is {version[:40]!r}" if version.strip() else "is absent, which means 0.3"
        raise names.VersionNotSupportedError(f"The header A2A-Version {sent}. Send A2A-Version: {names.VERSION}.")


class _Reader(Struct, frozen=True):
    """Reads the parameters of a request's method; each of its methods raises `HostingError`s that name the member."""

    raw: RawRequest
    limits: Limits
    receivers: NotifiesReceivers | None

    def message(self, params: Mapping[str, Any], *, streams: bool = False) -> Send:
        message = member_object("message", params.get("message"))
        configuration = member_object("configuration", params.get("configuration", {}))
        if message.get("role") not in ("ROLE_USER", 1):
            raise InvalidFieldError(f"message.role is {str(message.get('role'))[:80]!r}. Send 'ROLE_USER'.")
        message_id = _message_id(message.get("messageId"))
        parts = message.get("parts")
        if not isinstance(parts, list) or not parts:
            raise InvalidFieldError("message.parts must be a list of at least one part.")
        places = [f"message.parts[{number}]" for number in range(len(parts))]
        members = {place: member_object(place, part) for place, part in zip(places, parts, strict=True)}
        task_id = member_text(message, "message", "taskId") or ""
        kept: dict[str, Any] = {"message_id": message_id}
        if not isinstance(message.get("metadata", {}), dict):
            raise InvalidFieldError("message.metadata must be an object.")
        if "metadata" in message:
            kept["metadata"] = message["metadata"]
        if task_id:
            kept["parts"] = [
                {name: part[name] for name in ("text", "data") if name in part} for part in members.values()
            ]
        metadata = {"metadata": params.get("metadata"), "message.metadata": message.get("metadata")}
        chosen = chosen_within(metadata, self.limits.options)
        if chosen.ignored and not task_id:
            kept[IGNORED] = [*chosen.ignored]
        returns_at_once = member_flag(configuration, "returnImmediately")
        return Send(
            message_id,
            member_text(message, "message", "contextId"),
            task_id,
            message=None if task_id else _message(members, self.limits),
            answer=_answer(members) if task_id else None,
            wait=Wait(math.inf if streams else PROTOCOL_WAIT_SECONDS, answer=streams or not returns_at_once),
            streams=streams,
            wants_json=_wants_json(configuration.get("acceptedOutputModes", [])),
            history_length=member_number(configuration, "historyLength"),
            kept=kept,
            traceparent=self.raw.headers.get("traceparent"),
            receiver=self._receiver(f"{_RECEIVER}.", configuration[_RECEIVER]) if _RECEIVER in configuration else None,
            chosen=chosen,
            thread_metadata=_thread_metadata(metadata, is_new=not task_id),
        )

    def streamed_message(self, params: Mapping[str, Any]) -> Send:
        return self.message(params, streams=True)

    def task(self, params: Mapping[str, Any]) -> OfTask:
        return OfTask(read_text("id", params.get("id")), member_number(params, "historyLength"))

    def listing(self, params: Mapping[str, Any]) -> Listing:
        state, timestamp = params.get("status"), member_text(params, "params", "statusTimestampAfter")
        if isinstance(state, int) and not isinstance(state, bool) and 0 <= state <= len(STATES):
            state = STATES[state - 1] if state else None
        if state is not None and state != "TASK_STATE_UNSPECIFIED" and state not in STATES:
            raise InvalidFieldError(f"status is {str(state)[:80]!r}. Send one of {', '.join(STATES)}.")
        since = None if timestamp is None else read_utc(timestamp)
        if timestamp is not None and since is None:
            example = "2026-01-31T12:00:00Z"
            raise InvalidFieldError(f"statusTimestampAfter is {timestamp[:80]!r}. Send a time such as {example}.")
        size = member_number(params, "pageSize", 1, MOST_TASKS)
        return Listing(
            member_text(params, "params", "contextId"),
            state if state in STATES else None,
            _DEFAULT_TASKS if size is None else size,
            member_text(params, "params", "pageToken") or "",
            member_number(params, "historyLength"),
            since,
            member_flag(params, "includeArtifacts"),
        )

    def new_receiver(self, params: Mapping[str, Any]) -> OfTask:
        receiver = self._receiver("", params)
        return OfTask(read_text("taskId", params.get("taskId")), receiver=receiver)

    def of_receivers(self, params: Mapping[str, Any]) -> OfTask:
        self._served_receivers()
        return OfTask(read_text("taskId", params.get("taskId")), receiver_id=read_text("id", params.get("id", "")))

    def extended_card(self, params: Mapping[str, Any]) -> OfTask:
        raise names.UnsupportedOperationError("This agent has no extended card. Read its public card.")

    def _receiver(self, where: str, value: object) -> Receiver:
        fields = member_object(where.removesuffix("."), value)
        authentication = member_object(f"{where}authentication", fields.get("authentication", {}))
        members = {name: fields.get(name, "") for name in ("id", "url", "token")}
        secrets = {f"authentication.{name}": authentication.get(name, "") for name in ("scheme", "credentials")}
        return self._served_receivers().read(where, {**members, **secrets})

    def _served_receivers(self) -> NotifiesReceivers:
        """Return the receivers; raises `PushNotificationNotSupportedError` in an app that notifies nobody."""
        if self.receivers is None:
            raise names.PushNotificationNotSupportedError(
                "Push notifications are not served. Follow the task with SubscribeToTask."
            )
        return self.receivers


METHODS: Mapping[str, Callable[[_Reader, Mapping[str, Any]], Params]] = {
    "SendMessage": _Reader.message,
    "SendStreamingMessage": _Reader.streamed_message,
    "GetTask": _Reader.task,
    "ListTasks": _Reader.listing,
    "CancelTask": _Reader.task,
    "SubscribeToTask": _Reader.task,
    "CreateTaskPushNotificationConfig": _Reader.new_receiver,
    "GetTaskPushNotificationConfig": _Reader.of_receivers,
    "ListTaskPushNotificationConfigs": _Reader.of_receivers,
    "DeleteTaskPushNotificationConfig": _Reader.of_receivers,
    "GetExtendedAgentCard": _Reader.extended_card,
}


def _thread_metadata(places: Mapping[str, object], *, is_new: bool) -> dict[str, Value | None]:
    """Return the change of the thread's metadata, which one of the places may have; raises `InvalidFieldError`."""
    sent = {
        f"{place}.{THREAD_METADATA}": change
        for place, members in places.items()
        if isinstance(members, dict) and (change := members.get(THREAD_METADATA)) is not None
    }
    if sent and not is_new:
        raise InvalidFieldError(f"{next(iter(sent))} is for a message that begins a task. Send it without taskId.")
    if len(sent) > 1:
        raise InvalidFieldError(f"The fields {' and '.join(map(repr, sent))} are both there. Send one.")
    return next((read_metadata(place, change) for place, change in sent.items()), {})


def _wants_json(modes: object) -> bool:
    """Return whether a client takes JSON and no text; raises `InvalidFieldError`."""
    if not isinstance(modes, list) or not all(isinstance(mode, str) for mode in modes):
        raise InvalidFieldError("configuration.acceptedOutputModes must be a list of media types.")
    return "application/json" in modes and not any(mode.startswith(("text/", "*/")) for mode in modes)


def _message_id(value: object) -> str:
    """Return the id, which is the request's idempotency key; raises `InvalidFieldError`."""
    message_id = read_text("message.messageId", value)
    try:
        read_idempotency_key({IDEMPOTENCY_KEY: message_id})
    except HostingError:
        raise InvalidFieldError("message.messageId must be 1 to 255 visible ASCII characters without blanks.") from None
    return message_id


def _content(where: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part in stored form; the reader of the stored form checks it."""
    kind = _kind(where, part)
    if kind == "data":
        return {"$type": "text", "text": json.dumps(part["data"], ensure_ascii=False)}
    text = read_text(f"{where}.{kind}", part[kind])
    if kind == "text":
        return {"$type": "text", "text": text}
    name = member_text(part, where, "filename")
    guessed, _ = mimetypes.guess_type(text.partition("?")[0] if kind == "url" else name or "")
    sent = member_text(part, where, "mediaType") or guessed or "application/octet-stream"
    media_type = checked_media_type(f"{where}.mediaType", sent)
    if kind == "url":
        return linked_file(text, media_type, name)
    encoded = text.replace("-", "+").replace("_", "/")
    padding = "=" * (-len(encoded) % 4)
    return inline_file(f"{encoded}{padding}", media_type, name)


def _message(members: Mapping[str, Mapping[str, Any]], limits: Limits) -> UserMessage:
    contents = [_content(place, part) for place, part in members.items()]
    return message_of_contents("message", contents, None, limits)


def _answer(members: Mapping[str, Mapping[str, Any]]) -> Answer:
    """Return the decision in the parts. A text without a clear yes is a refusal, and the model gets the text."""
    kinds, parts = {_kind(place, part) for place, part in members.items()}, [*members.values()]
    match parts:
        case [{"data": {"approvals": [*decisions]}}]:
            if not decisions or not all(isinstance(decision, dict) for decision in decisions):
                raise InvalidFieldError('data.approvals must be a list of {"id": "...", "approved": true}.')
            return Answer({decision.id: decision for decision in map(read_decision, decisions)})
    if kinds != {"text"}:
        raise InvalidFieldError(
            'The task waits for an approval. Answer with a text, or with one data part {"approvals": [{"id": "...", '
            '"approved": true}]}.'
        )
    text = "\n".join(read_text("text", part["text"]) for part in parts).strip()
    if not text or len(text) > LONGEST_REASON:
        raise InvalidFieldError(f"The answer has {len(text)} characters. Send 1 to {LONGEST_REASON}.")
    approves = text.strip(".! ").lower() in _APPROVES
    return Answer(approves_all=approves, reason=None if approves else text)


def _kind(where: str, part: Mapping[str, Any]) -> str:
    kinds = [kind for kind in _PART_KINDS if kind in part]
    if len(kinds) != 1:
        raise InvalidFieldError(f"{where} must have one of {', '.join(_PART_KINDS)}.")
    return kinds[0]


_JSONRPC: Schema = {"jsonrpc": {"const": "2.0"}}
_CALL: Schema = {
    **_JSONRPC,
    "id": {"type": ["string", "integer", "null"]},
    "method": {"enum": list(METHODS)},
    "params": {"type": "object"},
}
_REFUSED = object_schema({**_JSONRPC, "error": object_schema({"code": {"type": "integer"}}, "code")}, "error")
_OPERATIONS = (
    WireOperation(names.CARD, object_schema({})),
    WireOperation(
        names.RPC,
        object_schema(_JSONRPC, "jsonrpc"),
        object_schema(_CALL, "jsonrpc", "method"),
        streams=True,
        limited=(200,),  # by which it refuses a request too
    ),
)
A2A_DOCUMENT = WireDocument(_REFUSED, lambda agents: _OPERATIONS)
"""The wire in the OpenAPI document: what it takes and answers, in outline."""
