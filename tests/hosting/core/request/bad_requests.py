"""Requests that must be refused at the HTTP door, by name."""

import json
from dataclasses import dataclass, field
from typing import Any

RUN = "/api/agents/Joker/run"
JSON = {"content-type": "application/json"}
TEXT = {"content-type": "text/plain"}
TWO_THREADS = {**TEXT, "x-ms-thread-id": "a", "x-ms-session-id": "b"}


@dataclass(frozen=True)
class Bad:
    """A request that must be refused with this status and code, by a sentence that holds `says`."""

    status: int
    code: str
    says: str
    body: bytes
    headers: dict[str, str] = field(default_factory=lambda: JSON)
    url: str = RUN


def bad_json(status: int, code: str, says: str, /, **fields: Any) -> Bad:
    """Return a refusal of a JSON object of these fields, with a message unless one is given."""
    return Bad(status, code, says, json.dumps({"message": "hi", **fields}).encode())


def bad_header(code: str, says: str, name: str, value: str) -> Bad:
    """Return a refusal of a header's value."""
    return Bad(400, code, says, b'{"message": "hi"}', {**JSON, name: value})


BAD_REQUESTS = {
    "an empty JSON body": Bad(400, "invalid_json", "is not JSON", b""),
    "two JSON values": Bad(400, "invalid_json", "Extra data", b'{"message": "hi"} {}'),
    "Infinity": Bad(400, "invalid_json", "Infinity", b'{"message": "hi", "thread_id": -Infinity}'),
    "a number of 5,000 digits": Bad(400, "invalid_json", "too many digits", b'{"message": ' + b"9" * 5000 + b"}"),
    "65 levels": Bad(400, "invalid_json", "nested deeper than 64", b"[" * 65 + b"]" * 65),
    "bad UTF-8 in text": Bad(400, "invalid_encoding", "at byte 1", b"a\xff", TEXT),
    "half a surrogate pair": Bad(400, "invalid_encoding", "surrogate", b'{"message": "\\ud83d!"}'),
    "no message": Bad(400, "missing_message", "no message", b"{}"),
    "a blank message": bad_json(400, "missing_message", "blank", message=" \n\t"),
    "a blank text": Bad(400, "missing_message", "blank", b"  ", TEXT),
    "a message that is a number": bad_json(400, "invalid_field", "'message' is a JSON number", message=5),
    "an unknown field near a known one": bad_json(400, "unknown_field", "Did you mean 'message'?", mesage="hi"),
    "another role": bad_json(400, "invalid_field", "'system' is not allowed here. Send 'user'", role="system"),
    "a tool switch that is none": bad_json(
        400, "invalid_field", "enable_tool_calls is 'some'", enable_tool_calls="some"
    ),
    "a thread id that is a number": bad_json(400, "invalid_field", "'thread_id' is a JSON number", thread_id=7),
    "a thread id of one dot": bad_json(400, "invalid_thread_id", "'.'", thread_id="."),
    "a thread id with a line end": bad_json(400, "invalid_thread_id", "'a\\n'", thread_id="a\n"),
    "a thread id in another script": bad_json(400, "invalid_thread_id", "'٣'", thread_id="٣"),
    "a bad thread id in the query": Bad(400, "invalid_thread_id", "'a/b'", b"hi", TEXT, f"{RUN}?thread_id=a%2Fb"),
    "a bad thread id in a header": bad_header("invalid_thread_id", "'a b'", "x-ms-thread-id", "a b"),
    "two threads in the body": bad_json(400, "conflicting_thread_ids", "'a' and 'b'", thread_id="a", session_id="b"),
    "two threads in two headers": Bad(400, "conflicting_thread_ids", "'a' and 'b'", b"hi", TWO_THREADS),
    "two threads in query and header": Bad(
        400, "conflicting_thread_ids", "'a' and 'b'", b"hi", {**TEXT, "x-ms-thread-id": "b"}, f"{RUN}?thread_id=a"
    ),
    "one name twice in the query": Bad(
        400, "invalid_thread_id", "'a,b'", b"hi", TEXT, f"{RUN}?thread_id=a&thread_id=b"
    ),
    "a wait that is neither": bad_json(400, "invalid_wait", "'maybe'", wait_for_response="maybe"),
    "a wait header that is neither": bad_header("invalid_wait", "'perhaps'", "x-ms-wait-for-response", "perhaps"),
    "a preferred wait that is no number": bad_header("invalid_wait", "wait='soon'", "prefer", "wait=soon"),
    "a busy policy that is none": bad_json(400, "invalid_field", "'busy' is 'soon'. Send 'queue'", busy="soon"),
    "a busy policy that is a list": bad_json(400, "invalid_field", "'busy' is \"['reject']\"", busy=["reject"]),
    "two busy policies in the query": Bad(
        400, "invalid_field", "'reject,queue'", b"hi", TEXT, f"{RUN}?busy=reject&busy=queue"
    ),
    "a key with a blank": bad_header("invalid_idempotency_key", "Idempotency-Key", "idempotency-key", "a b"),
    "an empty key": bad_header("invalid_idempotency_key", "Idempotency-Key", "idempotency-key", ""),
    "a key of 256 characters": bad_header("invalid_idempotency_key", "1 to 255", "idempotency-key", "k" * 256),
    "a form with files": Bad(
        415, "unsupported_media_type", "multipart/", b"hi", {"content-type": "multipart/form-data"}
    ),
    "a compressed body": Bad(
        415, "unsupported_media_type", "'gzip'", b"\x1f\x8b", {"content-type": "text/plain", "content-encoding": "gzip"}
    ),
    "another charset": Bad(
        415, "unsupported_media_type", "utf-16", b"hi", {"content-type": "text/plain; charset=utf-16"}
    ),
    "JSON as curl's form": Bad(
        415,
        "unsupported_media_type",
        "Content-Type: application/json",
        b' {"message": "hi", "steam": 1}',
        {"content-type": "application/x-www-form-urlencoded"},
    ),
    "JSON as a page's text": Bad(
        415, "unsupported_media_type", "'text/plain'", b'{"contents": [], "thread_id": "a"}', TEXT
    ),
    "JSON without a type": Bad(
        415, "unsupported_media_type", "there is no Content-Type", b'\xef\xbb\xbf{"message": "hi"}', {}
    ),
    "an unknown agent": Bad(404, "unknown_agent", "Agents: Joker.", b"hi", {}, "/api/agents/Nobody/run"),
    "an agent without this door": Bad(404, "unknown_agent", "'quiet'", b"hi", {}, "/api/agents/quiet/run"),
}
