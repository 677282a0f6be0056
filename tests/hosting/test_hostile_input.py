"""What foreign bytes cost: twice the input at most three times, for each parser of ours that they reach.

Foreign is what a caller, a model, another package's stored document or an orchestration sends. Each parser gets long
runs of every character that means something to it, behind what makes it begin and before what makes it fail.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import pytest
import re2
from agent_framework import Content, Message, tool
from msgspec.structs import replace
from starlette.requests import Request

from hosting.authorizations import challenge_of
from hosting.bearer import bearer_token
from hosting.core.entity.batch import parse_batch
from hosting.core.request.contents import Limits, ModelInputs, read_contents
from hosting.core.request.fields import carried_request
from hosting.core.request.response_format import read_response_format, structured_value
from hosting.core.telemetry import carried_traceparent
from hosting.core.thread.run_request import ResponseFormat
from hosting.entra import _token_of, entra
from hosting.errors import HostingError
from hosting.exchange import MOST_HEAD_BYTES, UnreadableAnswerError, _chunks, _head
from hosting.features.approvals.http import parse_decision
from hosting.features.chat_completions.calls import read_results
from hosting.features.feedback.http import read_label
from hosting.features.instances.requests import parse_instance
from hosting.features.mcp_endpoint.names import session_traits
from hosting.features.mcp_endpoint.questions import read_question_id
from hosting.features.mcp_endpoint.requests import read_client_message, read_completion, read_event_id
from hosting.features.mcp_endpoint.resources import Resources
from hosting.features.metadata.routes import IF_MATCH
from hosting.features.overview.filters import read_filter
from hosting.features.overview.routes import AGENT_FILTER, SEARCH, SORT, STATUS, THREADS
from hosting.features.owners.sharing import grant_parts
from hosting.features.schedules.times import read_times
from hosting.features.search.phrases import searched_text
from hosting.features.search.words import searched_words
from hosting.features.thread_state.requests import parse_messages, parse_state_patch
from hosting.features.thread_state.session import patched
from hosting.features.uploads.multipart import FileForm
from hosting.features.uploads.names import disposition, read_media_type, read_name, read_range, served_type
from hosting.features.uploads.openai import own_id
from hosting.features.uploads.search.provider import annotate
from hosting.features.uploads.search.texts.child import _cleaned
from hosting.features.uploads.search.texts.chunking import chunked
from hosting.features.uploads.search.texts.limits import Order, TextLimits, TextPiece
from hosting.features.uploads.search.texts.readers.html import html_pieces
from hosting.features.uploads.search.texts.readers.plain import encoding_of, markdown_pieces
from hosting.features.uploads.search.texts.refusals import UnreadableFileError
from hosting.features.webhooks.http import OF_RUN
from hosting.features.webhooks.rules import WebhookRules
from hosting.http.client_tools import read_client_tools
from hosting.http.json_patch import shorter_patch
from hosting.http.mcp_tool import parse_call
from hosting.http.parameters import OWNER, read_cursor, read_resume_position, read_stream_query, read_window
from hosting.http.request import HttpRequest, Received, joined
from hosting.http.routes import RUN
from hosting.http.run_call import RawRequest, parse_run
from hosting.names import APP, Address
from hosting.offline.model import answer_contents
from hosting.plan import Plan
from hosting.ports import read_utc
from hosting.principal import Caller, Principal, PrincipalRequest, PrincipalResolver, easy_auth
from hosting.strict_json.json_schema import BadSchemaError, check_schema, compiled_pattern
from hosting.user_tokens import OnBehalfOf, UserTokenError
from hosting.visible import visible
from hosting.words import words_of
from hosting.workflows import WorkflowInput
from state.attachments import references
from state.codec import parse_entry, read
from state.errors import UnreadableDocumentError
from state.json_values import PYTHON_KINDS, WrittenNumber, dump, from_json_value
from state.models import RequestEntry
from state.portable import portable_text
from tests.support.growth import MOST_GROWTH, growth

LARGEST = 1_048_576
ENOUGH = 32_768
"""What takes no time to be told of at this size takes little more at the largest, if it grows with its square."""
LARGEST_SCHEMA = 32_000
LIMITS = Limits(LARGEST, LARGEST, ("user",), ModelInputs(("*/*", "hostedFile")))
OF_WORKFLOW = replace(LIMITS, workflow=WorkflowInput(takes_messages=True, takes_text=True, types=()))
CHARACTERS = " \t\n/;,.:=&%+-_\"'\\[]{}()<>@?*0aZ\x00\u00e9\u2028"
NUMBERS = count()
NO_CLIENT: Any = None
RESOURCES = Resources(*[NO_CLIENT] * 4, {"joker": cast(Any, SimpleNamespace(name="Joker"))})
REFUSALS = (HostingError, UnreadableDocumentError, BadSchemaError, UnreadableAnswerError, EOFError)

Inputs = Mapping[str, Callable[[int], Any]]


@dataclass(frozen=True)
class Parser:
    """A parser by its public door, and what is sent there."""

    read: Callable[[Any], object]
    inputs: Inputs
    largest: int = ENOUGH

    def __call__(self, given: Any) -> None:
        """Read it, or refuse it as a caller is refused."""
        with suppress(*REFUSALS):
            self.read(given)


def runs(*beginnings: str) -> Inputs:
    """Return a run of each character behind each beginning, alone and before what does not belong there."""
    return {
        f"{begin!r}, {character!r} and {end!r}": lambda size, b=begin, c=character, e=end: b + c * size + e  # type: ignore[misc]
        for begin in ("", *beginnings)
        for character in CHARACTERS
        for end in ("", "\x00")
    }


def repeated(*pieces: str, begin: str = "", end: str = "") -> Inputs:
    """Return each piece repeated between a beginning and an end; `#` in it is a number that never comes twice."""

    def of(piece: str) -> Callable[[int], str]:
        parts = piece.split("#")
        return lambda size: begin + "".join(str(n).join(parts) for n in range(size // len(piece))) + end

    return {f"{begin!r}, {piece!r} and {end!r}": of(piece) for piece in pieces}


@tool
def find_order(number: str) -> str:
    """Look up an order by its number."""
    return number


def call(body: bytes = b"hi", content_type: str = "text/plain") -> RawRequest:
    """Return a request."""
    return RawRequest({"content-type": content_type}, {}, body)


def run(raw: RawRequest) -> object:
    """Read a request for a run."""
    return parse_run(raw, "Joker", LIMITS)


def header(name: str) -> Callable[[str], object]:
    """Return what reads a request with this header."""
    return lambda value: run(RawRequest({"content-type": "text/plain", name: value}, {}, b"hi"))


def waited_for(text: str) -> object:
    """Read a request that waits for a workflow's end."""
    return parse_instance(RawRequest({"content-type": "text/plain"}, {"timeoutSeconds": text}, b"hi"), "a", OF_WORKFLOW)


def http_request(query: str = "", **headers: str) -> HttpRequest:
    """Return a request as the web framework gives it."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/api/x", "scheme": "http", "server": ("a", 80), "headers": raw}
    sent = Request({**scope, "query_string": query.encode()})
    headers_of, query_of = joined(sent.headers.items()), joined(sent.query_params.multi_items())
    received = Received("http", "/api/x", headers_of, query_of, {}, sent.body)
    return HttpRequest(received, RUN, Plan(), Caller(NO_CLIENT))


def answered(text: str, read: Callable[[asyncio.StreamReader], Awaitable[object]]) -> None:
    """Read a receiver's answer, of which a connection hands on no longer line than this."""

    async def read_all() -> None:
        reader = asyncio.StreamReader(limit=MOST_HEAD_BYTES)
        reader.feed_data(text.encode()[: MOST_HEAD_BYTES - 1] + b"\n")
        reader.feed_eof()
        await read(reader)

    asyncio.run(read_all())


def content(kind: str, name: str, **more: str) -> Callable[[str], object]:
    """Return what reads a content with this property."""
    return lambda value: read_contents([{"$type": kind, name: value, **more}], LIMITS)


def signed_in(resolver: PrincipalResolver, name: str) -> Callable[[str], object]:
    """Return what asks who sent a request with this header; none of these leads to the network."""

    def read(value: str) -> object:
        found = resolver(PrincipalRequest({name: value}, "GET /agents"))
        with suppress(StopIteration):
            return found.send(None) if asyncio.iscoroutine(found) else found

    return read


def challenged(value: str) -> None:
    """Have a text read as what a sign-in must give, and as a name and a value within that."""
    for text in (value, json.dumps({"access_token": {value: {"value": value}}})):
        challenge_of(text)


async def drained(pieces: AsyncIterator[bytes]) -> None:
    """Read all of a body."""
    async for _ in pieces:
        pass


def answered_by_entra(value: str) -> None:
    """Have what the identity provider says read as a token, and as the reason for none."""
    for answer in ({"access_token": value, "token_type": "Bearer"}, {"error_description": value}):
        with suppress(UserTokenError):
            _token_of(answer)


def claims_of(value: str) -> str:
    """Return what App Service Authentication says of somebody of this tenant, by this provider's token."""
    claims = [{"typ": kind, "val": value} for kind in ("tid", "iss", "oid", "name", "roles")]
    return base64.b64encode(json.dumps({"auth_typ": "aad", "claims": claims}).encode()).decode()


FORM_HEAD = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"'


def read_form(text: str) -> None:
    """Read a form with a file, as it comes."""

    async def chunks() -> AsyncIterator[bytes]:
        body = text.encode()
        for start in range(0, len(body), ENOUGH):
            yield body[start : start + ENOUGH]

    async def read() -> None:
        form = FileForm({"content-type": "multipart/form-data; boundary=x"}, chunks(), "file")
        await form.open()
        async for _ in form.body():
            pass

    asyncio.run(read())


def read_ids(text: str) -> None:
    """Read a text as each of the ids."""
    for kind in ("file", "upload", "part"):
        with suppress(HostingError):
            own_id(kind, text)


def batch_of(text: str) -> str:
    """Return what the host hands to the entity with this input."""
    item = {"name": "run", "input": text, "isSignal": True}
    return json.dumps({"self": {"name": "dafx-joker", "key": "K"}, "exists": False, "state": None, "batch": [item]})


def document_of(entry: str, begin: str = "", end: str = "") -> Inputs:
    """Return stored documents of many such entries."""
    history = '{"schemaVersion":"1.1.0","data":{"conversationHistory":['
    return repeated(f"{entry},", begin=history + begin, end=f'{{"$type":"x"}}]}}}}{end}')


ADA = Principal("https://login.example", "ada")
ENTRA = entra(
    "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000000", sign_in_url="https://app.example"
)
SIGNED_IN = signed_in(easy_auth({"WEBSITE_AUTH_ENABLED": "True"}), "x-ms-client-principal")

BODIES = {
    **repeated("[", "]", "[]", "{", '"', '""', '\\"', "\\", "1", " ", "\n", "{}", "1e", "-"),
    **repeated("[],", "{},", "0,", '"",', '{"a":0},', '{"$type":"text","text":"a"},', begin='{"contents":[', end="0]}"),
    **repeated('\\"', "\\\\", "\\u0041", "\\ud83d\\ude00", "a", "[", begin='{"message":"', end='"}'),
    **repeated('\\"', "\\", "a", begin='"'),
    **repeated('"#":0,', '"#":{},', begin="{", end='"a":1,"a":2}'),
    **repeated('"#":0,', '"a#":"\\u0041",', begin="{", end='"a":1}'),
    **repeated("1", begin='{"message":1.', end="}"),
    **repeated("0", begin='{"message":1e-', end="1}"),
    **repeated("[" * 60 + "]" * 60 + ",", begin='{"contents":[', end="0]}"),
}
SCHEMAS = {
    **repeated(
        "{},", "true,", '{"minimum":#},', '{"pattern":"\\\\pL{9}#"},', '{"allOf":[{}]},', begin='{"allOf":[', end="{}]}"
    ),
    **repeated('{"#":1},', "[#],", '"#",', "#,", begin='{"type":[', end="0]}"),
    **repeated('{"#":1},', "[#],", '"#",', "#,", begin='{"required":[', end="0]}"),
    **repeated('{"#":1},', "[#],", '"#",', begin='{"dependencies":{"a":[', end="0]}}"),
    **repeated('{"#":1},', "[#],", "#,", begin='{"enum":[', end="0]}"),
    **repeated('"#":{},', '"#":true,', '"#":{"$ref":"#/$defs/1"},', begin='{"$defs":{', end='"a":{}}}'),
    **repeated(".", "(", "(a|b|)", "a{9}", "\\\\pL", "[^a]", begin='{"pattern":"', end='"}'),
    **repeated("~", "/", "a", begin='{"properties":{"', end='":{"properties":{"a":{},"b":{},"c":{}}}}}'),
}
DOCUMENTS = {
    **document_of('{"$type":"x"}'),
    **document_of('{"$type":"request","correlationId":"a","createdAt":"b","messages":[],"x":1}'),
    **document_of('{"$type":"response","correlationId":"a","createdAt":"b","messages":[]}'),
    **document_of('{"$type":"y","a":[{},{"$type":"request"}]}'),
    **document_of("{}", end='"data'),
    **document_of('{"$type":"x"}', end="}"),
    **BODIES,
    **runs('{"schemaVersion":"1', '{"schemaVersion":"1.0.'),
}
MARKED = {
    f"{kind} of {name}": lambda size, k=kind, of=of: {"$python": k, "value": of(size)}
    for kind in sorted(PYTHON_KINDS)
    for name, of in {**repeated("1", "-", "0:", " 1", "[", "A"), **repeated("0", begin="1e", end="1")}.items()
}


def checked_anew(text: str) -> None:
    """Check a schema as if it had never been seen: the same one again costs nothing."""
    compiled_pattern.cache_clear()
    re2.purge()
    check_schema({**json.loads(text), "$comment": str(next(NUMBERS))})


def referring(sha256: str) -> object:
    """Look for attachments in a stored entry that refers to this hash."""
    message = {"role": "user", "contents": [{"$type": "text", "text": "a", "attachment": {"sha256": sha256}}]}
    entry = {"$type": "request", "correlationId": "a", "createdAt": "b", "messages": [message]}
    return references(cast(RequestEntry, parse_entry(json.dumps(entry))))


def addressed(text: str) -> str:
    """Return the key of a thread of that id, and have an owner of that name refused or taken."""
    with suppress(ValueError):
        Address.of("a", "t", text)
    return Address("a", text).key


def patched_twice(text: str) -> object:
    """Read a merge patch of that body, and apply it to its own result."""
    changes = parse_state_patch(call(text.encode(), "application/json"), LARGEST).changes
    return patched(patched({}, changes), changes)


def cited(text: str) -> None:
    """Look for marks in an answer, behind a search that gave a passage."""
    passage = {"cite": "【0a1b2c3d】", "file": "a.md", "file_id": "f", "start": 0, "end": 1}
    result = json.dumps({"passages": [passage]})
    called = Content.from_function_call("c", "file_search", arguments={})
    answer = [called, Content.from_function_result("c", result=result), Content.from_text(text)]
    annotate([Message("assistant", answer)])


def read_file(pieces: Callable[[BinaryIO, Order], Iterator[TextPiece]], text: str) -> None:
    """Read the text of an uploaded file, as its own process does."""
    order = Order("a", "text/plain", TextLimits())
    with suppress(UnreadableFileError):
        list(_cleaned(pieces(io.BytesIO(text.encode(errors="replace")), order), order.limits.characters))


PARSERS: Mapping[str, Parser] = {
    "the marks of an answer": Parser(
        cited, {**runs("【", "【0a1b2c3d"), **repeated("【", "【0a1b2c3d】", "【0a1b2c3d")}
    ),
    "a file's chunks": Parser(lambda text: list(chunked([TextPiece(text)], 100, 0)), runs("a", "\u4e00")),
    "an uploaded Markdown file": Parser(
        lambda text: read_file(markdown_pieces, text),
        {**runs("# ", "```"), **repeated("# a\n", "```\n", "#", "# #", " ")},
    ),
    "an uploaded page": Parser(
        lambda text: read_file(html_pieces, text),
        {**runs("<meta charset=", "<p>"), **repeated("<p>", "<meta ", "<!--", "&amp;", "<h1>", " ")},
    ),
    "an uploaded file's media type": Parser(
        lambda text: encoding_of(io.BytesIO(b"a"), text),
        {**runs("text/plain; charset="), **repeated("charset=", 'charset="')},
    ),
    "a run's body": Parser(lambda text: run(call(text.encode(), "application/json")), BODIES),
    "a message": Parser(lambda text: run(call(text.encode())), runs()),
    "the head of a receiver's answer": Parser(
        lambda text: answered(text, _head), runs("HTTP/1.1 200", "HTTP/1.1 200 ")
    ),
    "the chunks of a receiver's answer": Parser(
        lambda text: answered(text, lambda reader: drained(_chunks(reader, LARGEST))), runs("0", "0;", "0 ")
    ),
    "an approval's body": Parser(
        lambda text: parse_decision(call(text.encode(), "application/json"), "a", LARGEST), BODIES
    ),
    "messages that are put in": Parser(
        lambda text: parse_messages(call(text.encode(), "application/json"), LIMITS),
        {**BODIES, **repeated('{"message":"a"},', "[],", '{"role":"user"},', begin='{"messages":[', end="0]}")},
    ),
    "a patch of a state": Parser(patched_twice, BODIES),
    "If-Match": Parser(
        lambda text: parse_state_patch(
            replace(
                call(b'{"state":{}}', "application/json"),
                headers={"content-type": "application/json", "if-match": text},
            ),
            LARGEST,
        ),
        runs('"', "0", '"0', ","),
    ),
    "a data URI": Parser(
        content("data", "uri"),
        {**runs("data:", "data:a/b", "data:a/b;x", "data:a/b;base64,"), **repeated(";x", "a/", begin="data:a/b")},
    ),
    "a webhook": Parser(
        lambda text: WebhookRules((), ("localhost",)).refusal(text),
        {
            **runs("https://", "https://[", "https://a.", "https://a.b:1", "https://a.b/"),
            **repeated("a.", begin="https://"),
        },
    ),
    "a media type": Parser(content("hostedFile", "fileId"), runs("a/", "image/")),
    "an address": Parser(
        content("uri", "uri", mediaType="image/png"),
        {**runs("https://", "https://[", "a:", "https://a.b/", "https://a:1@b"), **repeated("a.", begin="https://")},
    ),
    "an address's media type": Parser(
        lambda value: content("uri", "uri", mediaType=value)("https://a.b/c.png"), runs("image/")
    ),
    "a format's name": Parser(
        lambda name: read_response_format({"type": "json_schema", "json_schema": {"name": name, "schema": {}}}),
        runs("a"),
    ),
    "a schema": Parser(checked_anew, SCHEMAS, largest=LARGEST_SCHEMA),
    "a thread's id": Parser(header("x-ms-thread-id"), runs("a")),
    "a thread's address": Parser(addressed, runs("a")),
    "an entity's key": Parser(lambda key: Address.of_entity("Joker", key), runs("a", "abcdefghij234567!")),
    "Idempotency-Key": Parser(header("idempotency-key"), runs("a")),
    "Accept": Parser(header("accept"), {**runs("a/b;q="), **repeated("a/b;q=0.1,", "#/b,", ";q=1", "a/b;a=b;q=1,")}),
    "Prefer": Parser(
        header("prefer"), {**runs("wait=", 'wait="'), **repeated("wait=1,", "respond-async,", "a=b;c=d,")}
    ),
    "Content-Type": Parser(
        lambda value: run(call(content_type=value)), {**runs("text/plain;charset="), **repeated(";a=b", begin="text/x")}
    ),
    "the wish to wait": Parser(header("x-ms-wait-for-response"), runs("tru")),
    "Authorization": Parser(
        signed_in(bearer_token("https://a.b", "me", "https://a.b/keys"), "authorization"),
        runs("Bearer ", "Bearer a.", "Bearer a.b.", "Bearer e30.e30."),
    ),
    "a user's bearer token": Parser(
        signed_in(OnBehalfOf(lambda request: ADA, ENTRA, "authorization"), "authorization"),
        runs("Bearer ", "Bearer a.", "Bearer a.b.", "Bearer e30.e30."),
    ),
    "a user's token": Parser(
        signed_in(OnBehalfOf(lambda request: ADA, ENTRA, "x-token"), "x-token"),
        runs("e30.", "a.b.", "e30.e30.", "e30.W1tb"),
    ),
    "an answer with a token": Parser(answered_by_entra, runs("AADSTS5", "a.b")),
    "a claims challenge": Parser(
        challenged,
        {**runs("acrs", "c1"), **repeated("[", "]", '"', "{", "\\", '{"access_token":', '{"access_token":{"a":')},
    ),
    "X-MS-CLIENT-PRINCIPAL": Parser(SIGNED_IN, {**runs("e30="), **repeated("W1tb", "e30=")}),
    "its claims": Parser(lambda text: SIGNED_IN(claims_of(text)), runs("0", "0a"), largest=32_000),
    "its provider": Parser(
        lambda text: SIGNED_IN(base64.b64encode(json.dumps({"auth_typ": text, "claims": []}).encode()).decode()),
        runs("a"),
        largest=32_000,
    ),
    "traceparent": Parser(carried_traceparent, runs("00-", "00-0af7651916cd43dd8448eb211c80319c-")),
    "X-Forwarded-Host": Parser(lambda host: http_request(x_forwarded_host=host).base_url, runs("a.b")),
    "a query": Parser(
        lambda query: http_request(query).query, {**runs("a="), **repeated("a&", "a=b&", "#=&", "%41&", "a=%&")}
    ),
    "offset": Parser(lambda text: read_stream_query({"offset": text}), runs("0", "-")),
    "a stream's cursor": Parser(lambda text: read_stream_query({"offset": "-1", "cursor": text}), runs("1")),
    "a page's limit": Parser(lambda text: read_window({"limit": text}), runs("1")),
    "an owner": Parser(lambda text: OWNER.read({"owner": text}), runs("a", "app")),
    "a client tool's name": Parser(
        lambda text: read_client_tools([{"name": text}], replace(LIMITS, own_tools=frozenset)), runs("a", "a-")
    ),
    "a call of a chat completion": Parser(
        lambda text: read_results([{"role": "tool", "tool_call_id": text, "content": "x"}]),
        runs("a", f"call_{'0' * 32}~a", "~"),
    ),
    "an MCP session": Parser(session_traits, runs("0" * 32, f"{'0' * 32}-a")),
    "a file's media type": Parser(lambda text: served_type(read_media_type(text, "a")), runs("a/b", "audio/", "text/")),
    "a file's name": Parser(lambda text: disposition(read_name("It", text)), runs("a", "a.", ". ")),
    "a range of a file": Parser(lambda text: read_range(text, 9), runs("bytes=", "bytes=0", "bytes=0-")),
    "a form with a file": Parser(
        read_form,
        {
            **runs("--x", "--x\r\n", f"{FORM_HEAD}\r\n\r\n", f"{FORM_HEAD}; a="),
            **repeated("\r\n--", "\r\n--y", "\r\n--x\r", begin=f"{FORM_HEAD}\r\n\r\n"),
            **repeated("a: b\r\n", begin=f"{FORM_HEAD}\r\n"),
        },
    ),
    "the ids of OpenAI's files": Parser(read_ids, runs("file-", "upload_", "part_", "0")),
    "a label of feedback": Parser(read_label, runs("a", "a ", "a:/")),
    "a grant": Parser(grant_parts, runs("a", "a~app~", "~")),
    "a schedule's time": Parser(
        lambda text: read_times(None, "UTC", text), runs("2026-01-01T00:00:00", "2026-01-01T00:00:00.")
    ),
    "a cron expression": Parser(lambda text: read_times(text, "UTC", None), runs("1", "1,", "*/", "1-", "* * * * ")),
    "a time zone": Parser(lambda text: read_times("* * * * *", text, None), runs("Europe/", "../")),
    "a list's order": Parser(lambda text: read_window({"order": text}), runs("asc")),
    "a list's sort": Parser(lambda text: SORT.read({"sort": text}), runs("changed")),
    "a state of threads": Parser(lambda text: STATUS.read({"status": text}), runs("idle")),
    "a time of a change": Parser(
        lambda text: read_filter(THREADS, {"changed_since": text}), runs("2026-01-01T00:00:00", "0")
    ),
    "a version of metadata": Parser(lambda text: IF_MATCH.read({"if-match": text}), runs('"', '"1')),
    "an agent of a list": Parser(lambda text: AGENT_FILTER.read({"agent": text}), runs("a", " ")),
    "a search": Parser(lambda text: SEARCH.read({"search": text}), runs("a", " ")),
    "the words of a text": Parser(
        lambda text: [*words_of(text), *searched_words(text), searched_text(f'"{text}').fits(text)],
        runs("a", "\u6771", "\u0301", "a\u0301"),
    ),
    "a run of deliveries": Parser(lambda text: OF_RUN.read({"run_id": text}), runs("a-._~", " ")),
    "a live read": Parser(lambda text: read_stream_query({"offset": "-1", "live": text}), runs("sse")),
    "timeoutSeconds": Parser(waited_for, runs("9")),
    "a page's cursor": Parser(lambda text: read_cursor({"cursor": text}), runs("a")),
    "Last-Event-ID": Parser(lambda text: read_resume_position({}, {"last-event-id": text}), runs("1", "1.")),
    "the entity's input": Parser(lambda text: parse_batch(batch_of(text)), {**BODIES, **runs('"')}),
    "a carried request": Parser(
        lambda text: carried_request(
            {"message": "a", "earlier": [{"contents": [{"$type": "data", "uri": text}]}]}, LIMITS
        ),
        runs("data:"),
    ),
    "an MCP tool's arguments": Parser(lambda text: parse_call({"query": text, "threadId": text}, "Joker"), runs("a")),
    "an MCP message": Parser(
        lambda text: read_client_message(call(text.encode(), "application/json"), LARGEST), BODIES
    ),
    "an MCP resource's address": Parser(
        lambda text: RESOURCES.place(text, APP),
        {**runs("thread://", "thread://Joker/", "thread://Joker/t/r/"), **repeated("a/", "%41", begin="thread://")},
    ),
    "the cursor of MCP's resources": Parser(lambda text: RESOURCES.begin_of(text, ["Joker"]), runs("Joker", "Joker:")),
    "an MCP completion": Parser(
        lambda text: read_completion({"ref": {"type": "ref/resource", "uri": text}, "argument": {}}, ("thread://",)),
        runs("thread://"),
    ),
    "a changed state": Parser(
        lambda text: shorter_patch(f'{{"a":{text}}}', f'{{"a":[5,{text[1:]}}}'),
        repeated("[],", "#,", '"a#",', '{"#":0},', "[[[[[[[[0]]]]]]]],", begin="[", end="0]"),
    ),
    "an MCP event's id": Parser(read_event_id, {**runs("WzFd"), **repeated("W1tb", "MDAw")}),
    "the JSON of an MCP event's id": Parser(
        lambda text: read_event_id(base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")), BODIES
    ),
    "the id of an MCP question": Parser(read_question_id, runs("a", "a:b:", "a:")),
    "a model's answer in a format": Parser(lambda text: structured_value(ResponseFormat(), text), BODIES),
    "a stored document": Parser(read, DOCUMENTS),
    "a stored entry": Parser(parse_entry, {**BODIES, **runs('{"$type":"request"')}),
    "a stored time": Parser(read_utc, runs("2026-01-01T00:00:00", "2026-01-01T00:00:00.")),
    "a stored reference": Parser(referring, runs("0" * 64)),
    "a text by which a person decides": Parser(visible, runs("\u202e", "a\u200b")),
    "a stored Python value": Parser(from_json_value, MARKED),
    "a stored number": Parser(lambda text: dump([WrittenNumber("1.10"), text]), runs("1.1")),
    "a text with half a character": Parser(portable_text, runs("\ud800")),
    "a message to the offline model": Parser(
        lambda text: answer_contents([Message("user", [text])], {}),
        {
            **runs("call a with {", "please write about ", "what about", "weather in ", "my name is "),
            **repeated("weather ", "weather in ", " and ", "and a,", begin="what about "),
        },
    ),
    "a message to the offline model, which has a tool": Parser(
        lambda text: answer_contents([Message("user", [text])], {"tools": [find_order]}),
        {**runs("order ", 'order "', "order A"), **repeated("order ", "a-", "A ", "1 ", "1.", '"', "order_", "#a ")},
    ),
}


@pytest.mark.slow
@pytest.mark.behaviour("http.bounded-parsing")
@pytest.mark.parametrize("name", list(PARSERS))
def test_twice_the_input_costs_no_more_than_three_times(name: str) -> None:
    """Whatever it is made of; a ratio of two timings, for what happens inside of a parser cannot be counted."""
    parser = PARSERS[name]

    grown = {given: growth(input_of, parser, parser.largest) for given, input_of in parser.inputs.items()}

    assert {given: ratio for given, ratio in grown.items() if ratio > MOST_GROWTH} == {}
