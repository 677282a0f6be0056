"""A caller's HTTP request, parsed and checked before anything is started.

`parse_run` reads the body, the query and the headers together: which form the body has and which the answer gets, the
thread, and whether the caller waits. What it refuses raises a `HostingError` of `errors.REQUEST_ERRORS`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, cast
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from hosting.core.request.contents import Limits
from hosting.core.request.fields import (
    CONTEXT,
    METADATA,
    REQUEST_FIELDS,
    THREAD_METADATA,
    TRUTH_SCHEMA,
    TRUTH_WORD,
    WEBHOOK,
    read_flag,
    read_members,
    read_text,
    read_truth,
)
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.errors import (
    BodyTooLargeError,
    ConflictingThreadIdsError,
    InvalidBodyError,
    InvalidFieldError,
    InvalidIdempotencyKeyError,
    InvalidWaitError,
    RequestError,
    UnknownFieldError,
    UnsupportedMediaTypeError,
)
from hosting.http.answer_form import Form, answer_form, media_parameter
from hosting.http.client_tools import CLIENT_TOOLS, read_client_tools
from hosting.http.parameters import Parameter
from hosting.model_options import OPTIONS, ChosenOptions, read_chosen
from hosting.names import APP, BUSY, BUSY_POLICIES, Busy, check_thread_id
from hosting.ports import Wait
from hosting.strict_json.parsing import Schema, decode_utf8, json_type, parse_json, refuse_lone_surrogates
from hosting.workflows import WorkflowInput, json_text

THREAD_ID_FIELDS = ("thread_id", "session_id", "sessionId")
THREAD_ID_HEADERS = ("x-ms-thread-id", "x-ms-session-id")
WAIT_FIELDS = ("wait_for_response", "waitForResponse")
WAIT_HEADER = "x-ms-wait-for-response"
PREFER = "prefer"
STREAM = "stream"
IGNORED_HEADER = "x-ms-ignored"
INPUT = "input"
CONTENTS = "contents"
FIELDS = frozenset({*REQUEST_FIELDS, *THREAD_ID_FIELDS, *WAIT_FIELDS, STREAM, BUSY, CLIENT_TOOLS, OPTIONS})
WORKFLOW_FIELDS = (FIELDS - REQUEST_FIELDS.keys() - {CLIENT_TOOLS, OPTIONS}) | {
    "message",
    CONTENTS,
    "role",
    INPUT,
    WEBHOOK,
    METADATA,
    THREAD_METADATA,
    CONTEXT,
}
"""The fields of an agent's run, and those of a workflow's."""

IDEMPOTENCY_KEY = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_WAIT_TEXT = "false: answer 202 at once."
WAIT_PARAMETERS = (
    *(Parameter(name, "query", _WAIT_TEXT, TRUTH_WORD) for name in WAIT_FIELDS),
    Parameter(WAIT_HEADER, "header", _WAIT_TEXT, TRUTH_WORD),
    Parameter(PREFER, "header", "respond-async, or wait=SECONDS.", {"type": "string"}),
)
_BUSY_TEXT = "What to do while another run of the thread is in progress. Default: the agent's own policy."
_BUSY_WORD: Schema = {"type": "string", "enum": list(BUSY_POLICIES)}
KEY_PARAMETER = Parameter(
    IDEMPOTENCY_KEY,
    "header",
    "Makes the request safe to send again.",
    {"type": "string", "pattern": f"^{_KEY.pattern}$"},
)
RUN_PARAMETERS = (
    *WAIT_PARAMETERS,
    Parameter(BUSY, "query", _BUSY_TEXT, _BUSY_WORD),
    Parameter("traceparent", "header", "W3C trace context, carried into the run.", {"type": "string"}),
    KEY_PARAMETER,
)
_WAIT_MEMBER: Schema = {"anyOf": [TRUTH_SCHEMA, {"type": "null"}], "description": _WAIT_TEXT}
WAIT_MEMBERS = dict.fromkeys(WAIT_FIELDS, _WAIT_MEMBER)
STREAM_MEMBER: Schema = {
    "anyOf": [{"type": "boolean"}, {"type": "null"}],
    "description": "true: stream the response, unless Accept asks for another form.",
}
BUSY_MEMBER: Schema = {"anyOf": [_BUSY_WORD, {"type": "null"}], "description": _BUSY_TEXT}
"""The members of a body in the OpenAPI document besides the fields of the request itself."""

_OPAQUE = ("multipart/", "image/", "audio/", "video/")
_UTF8 = ("utf-8", "utf8", "us-ascii", "ascii", "")


class RawRequest(Struct, frozen=True):
    """One HTTP request, free of any web framework. Header names are lower case."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes


class Wanted(Struct, frozen=True):
    """The answer that a caller wants: its form, the wait for it, and the headers that name the applied preferences.

    The form is `events` only for a caller that waits: the others are answered at once.
    """

    form: Form
    wait: Wait
    headers: Mapping[str, str] = field(default_factory=dict)


class RunCall(Struct, frozen=True):
    """A caller's request to run an agent, and the answer that the caller wants."""

    start: StartRun
    wanted: Wanted


def parse_run(call: RawRequest, agent: str, limits: Limits, owner: str = APP, busy: Busy = "queue") -> RunCall:
    """Return the run of `agent` that a request starts; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise.

    How long a thread id may be depends on the owner. One that only a thread of another package can have is returned.
    `busy` is the agent's policy, for a request that names none.
    """
    form = body_form(call, limits.body_bytes)
    known = FIELDS if limits.workflow is None else WORKFLOW_FIELDS
    fields = json_fields(call.body, known) if form == "json" else {"message": decode_utf8(call.body)}
    if form == "text" and fields["message"].lstrip().startswith("{"):
        refuse_unsaid_json(call)
    streams = fields.get(STREAM) is not None and read_flag(STREAM, fields[STREAM])
    answer = answer_form(call.headers.get("accept", ""), "events" if streams else form)
    for name in THREAD_ID_FIELDS:
        if fields.get(name) is not None:
            read_text(name, fields[name])
    sources, headers = ((fields, THREAD_ID_FIELDS), (call.query, THREAD_ID_FIELDS)), call.headers
    named = [source[name] for source, names in sources for name in names if source.get(name)]
    thread_id = one_thread_id([*named, *(unquote(headers[name]) for name in THREAD_ID_HEADERS if headers.get(name))])
    chosen = ChosenOptions()
    if limits.workflow is None:
        tools = fields.get(CLIENT_TOOLS)
        tools = () if tools is None else read_client_tools(tools, limits)
        chosen = read_chosen(fields.get(OPTIONS), limits.options)
        request = RunRequest(**{**read_members(fields, limits), **chosen.members}, client_tools=tools)
    else:
        request = workflow_request(fields, limits, limits.workflow)
    if thread_id is not None:
        thread_id = check_thread_id(thread_id, agent, owner, is_stored=True)
    wanted = read_wanted(fields, call, answer)
    if chosen.ignored:
        wanted = replace(wanted, headers={**wanted.headers, **ignored_headers(chosen.ignored)})
    key = read_idempotency_key(call.headers)
    traceparent = call.headers.get("traceparent")
    if BUSY in call.query or fields.get(BUSY) is not None:
        busy = read_busy(fields, call.query)
    streams = streams or answer == "events"
    return RunCall(StartRun(request, thread_id, wanted.wait, key, traceparent, streams=streams, busy=busy), wanted)


def ignored_headers(ignored: Sequence[str]) -> dict[str, str]:
    """Return the header that names the parts of a request that have no effect; none where all have one."""
    return {IGNORED_HEADER: ", ".join(ignored)} if ignored else {}


def read_busy(fields: Mapping[str, Any], query: Mapping[str, str]) -> Busy:
    """Return the policy of the query, else of the body; refuse an invalid one, also if it does not decide."""
    given = [source[BUSY] for source in (query, fields) if source.get(BUSY) is not None]
    for value in given:
        if value not in BUSY_POLICIES:
            allowed = f"{', '.join(map(repr, BUSY_POLICIES[:-1]))} or {BUSY_POLICIES[-1]!r}"
            raise InvalidFieldError(f"The field 'busy' is {str(value)[:80]!r}. Send {allowed}.")
    return cast(Busy, given[0])


def workflow_request(fields: Mapping[str, Any], limits: Limits, takes: WorkflowInput) -> RunRequest:
    """Return a message, or the `input` as one: a string is a message if the workflow takes any."""
    given = fields.get(INPUT)
    is_json = given is not None and not (isinstance(given, str) and takes.takes_words)
    if given is not None:
        if fields.get("message") is not None or fields.get("contents") is not None:
            raise InvalidFieldError("The body has 'input' and a message. Send one of them.")
        refuse_lone_surrogates(given, INPUT)
        fields = {**fields, "message": json_text(given) if is_json else given}
    request = RunRequest(**read_members(fields, limits), is_json=is_json)
    takes.check(request.message, is_json=is_json, has_contents=bool(request.contents))
    return request


class JsonBody(Struct, frozen=True):
    """A JSON object that a route takes: its members with their JSON Schemas, those that it must have, one to copy.

    And it has exactly one of `either`, with what goes together with that; `together` is what else does, as JSON Schema.
    """

    members: Mapping[str, Schema]
    required: tuple[str, ...]
    example: str
    either: Mapping[str, Schema] = {}
    together: Schema = field(default_factory=dict)

    @property
    def is_optional(self) -> bool:
        """Whether no body at all is the object without members, which the route takes."""
        return not self.required and not self.either

    def described(self, agents: Mapping[str, Limits], owner: str) -> dict[str, Any]:
        """Return the body as the OpenAPI document has it; it is the same for all agents and owners."""
        rules = {**(_exactly_one(self.either) if self.either else {}), **self.together}
        schema = json_object(self.members, required=list(self.required), **rules)
        return {"required": not self.is_optional, "content": {"application/json": {"schema": schema}}}

    def read(self, call: RawRequest, most_bytes: int) -> dict[str, Any]:
        """Return the members that a request sent; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
        if self.is_optional and not call.body:
            return {}
        if body_form(call, most_bytes) != "json":
            raise UnsupportedMediaTypeError(f"The body of this request is JSON. Send application/json: {self.example}.")
        return json_fields(call.body, self.members.keys())


def _exactly_one(either: Mapping[str, Schema]) -> Schema:
    """Return that an object has one of these. Not by `oneOf`: of that, generated clients make several types or none."""
    (name, rules), *rest = either.items()
    if not rest:
        return {"required": [name], **rules}
    others = [{"required": [other]} for other, _ in rest]
    alone = {"not": {"anyOf": others}, **rules}
    return {"if": {"required": [name]}, "then": alone, "else": _exactly_one(dict(rest))}


def body_form(call: RawRequest, most_bytes: int) -> Form:
    """Return how a body is read: JSON for `application/json` and `+json`, text for whatever else may be text.

    Raises `BodyTooLargeError`, and `UnsupportedMediaTypeError` for media that cannot be a message, for a body that
    is compressed and for a charset other than UTF-8.
    """
    if len(call.body) > most_bytes:
        raise BodyTooLargeError(f"The body has {len(call.body)} bytes; the limit is {most_bytes}. Send less.")
    coding = call.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise UnsupportedMediaTypeError(
            f"The body has the Content-Encoding {coding[:80]!r}. Send the body without encoding."
        )
    media, _, parameters = call.headers.get("content-type", "").partition(";")
    media = media.strip().lower()
    if media.startswith(_OPAQUE):
        raise UnsupportedMediaTypeError(
            f"A body of type {media!r} cannot be a message. Send application/json or text/plain."
        )
    charset = media_parameter(parameters, "charset") if parameters else ""
    if charset not in _UTF8:
        raise UnsupportedMediaTypeError(f"The charset {charset!r} is not supported. Send UTF-8.")
    return "json" if media == "application/json" or media.endswith("+json") else "text"


def json_fields(body: bytes, known: Set[str]) -> dict[str, Any]:
    """Return the members of a body that is one strict JSON object of known fields; else raise a `HostingError`."""
    fields = parse_json(body)
    if isinstance(fields, dict) and fields.keys() <= known:
        return fields
    listed = ", ".join(sorted(known))
    if not isinstance(fields, dict):
        raise InvalidBodyError(f"The body is a JSON {json_type(fields)}. Send an object of these: {listed}.")
    unknown = next(name for name in fields if name not in known)[:80]
    near = difflib.get_close_matches(unknown, known, n=1)
    advice = f"Did you mean {near[0]!r}?" if near else f"Known fields: {listed}."
    raise UnknownFieldError(f"The field {unknown!r} is not known. {advice}")


def refuse_unsaid_json(call: RawRequest) -> None:
    """Raise `UnsupportedMediaTypeError` for a text that is one of our JSON objects.

    curl and browsers give a body whose type nobody gave a type of their own, and the model would be asked to
    answer the braces.
    """
    try:
        fields = parse_json(call.body)
    except RequestError:
        return
    if "message" in fields or (fields and fields.keys() <= FIELDS):
        media = call.headers.get("content-type", "").partition(";")[0].strip()[:80]
        raise UnsupportedMediaTypeError(
            "The body is a JSON object with the fields of a request, and "
            f"{f'its Content-Type is {media!r}' if media else 'there is no Content-Type'}. "
            "Send the header Content-Type: application/json."
        )


def read_idempotency_key(headers: Mapping[str, str]) -> str | None:
    """Return the key that makes a request safe to send again, if it has one; raises `InvalidIdempotencyKeyError`."""
    key = headers.get(IDEMPOTENCY_KEY)
    if key is not None and not _KEY.fullmatch(key):
        raise InvalidIdempotencyKeyError(
            "The Idempotency-Key must be 1 to 255 visible ASCII characters without blanks."
        )
    return key


def one_thread_id(names: Iterable[str]) -> str | None:
    """Return the one thread id among all spellings, blanks left out; refuse two different ones."""
    named = {name for name in names if name.strip()}
    if len(named) > 1:
        shown = " and ".join(repr(name[:80]) for name in sorted(named)[:2])
        raise ConflictingThreadIdsError(f"The request names two threads, {shown}. Send one.")
    return next(iter(named), None)


def read_wanted(fields: Mapping[str, Any], call: RawRequest, form: Form) -> Wanted:
    """Return whether the caller waits, by the header, else the query, else the body, else `Prefer`.

    Raises `InvalidWaitError` when any of them cannot be understood, also one that does not decide.
    """
    sources = ((call.headers, (WAIT_HEADER,)), (call.query, WAIT_FIELDS), (fields, WAIT_FIELDS))
    answers = [
        read_truth(name, source[name], InvalidWaitError)
        for source, names in sources
        for name in names
        if source.get(name) is not None
    ]
    preferences: dict[str, str] = {}
    for item in call.headers.get(PREFER, "").split(","):
        name, _, value = item.partition(";")[0].partition("=")
        name, value = name.strip().lower(), value.strip().strip('"')
        if name == "respond-async":
            preferences[name] = name
        elif name == "wait":
            if not value.isascii() or not value.isdigit():
                raise InvalidWaitError(
                    f"The preference wait={value[:80]!r} is not a number of seconds. Send Prefer: wait=30."
                )
            preferences[name] = f"wait={value[:9]}"
    longest, waits = math.inf if form == "events" else None, True
    headers = {}
    if answers:
        waits = answers[0]
    elif preferences:
        # `wait` decides next to `respond-async`: so long, and not longer (RFC 7240, 4.3).
        waits = "wait" in preferences
        if waits and longest is None:
            longest = float(preferences["wait"].partition("=")[2])
        headers = {"Preference-Applied": ", ".join(preferences.values())}
    return Wanted(form if waits or form == "text" else "json", Wait(longest, answer=waits), headers)


def json_object(members: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the schema of an object of these members and no others."""
    return {"type": "object", "properties": dict(members), **more, "additionalProperties": False}
