"""A caller's request, parsed and checked at the border (http-api.md sections 1 and 2). Nothing is started here."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hosting.errors import (
    BodyTooLargeError,
    ConflictingThreadIdsError,
    InvalidBodyError,
    InvalidFieldError,
    InvalidIdempotencyKeyError,
    InvalidWaitError,
    UnknownFieldError,
)
from hosting.identity import check_thread_id
from hosting.request.limits import Limits
from hosting.request.negotiation import Form, answer_form, body_form
from hosting.request.run_request import REQUEST_FIELDS, read_run_request
from hosting.request.strict_json import decode_utf8, json_type, parse_json
from hosting.requests import RunRequest

THREAD_ID_FIELDS = ("thread_id", "session_id", "sessionId")
THREAD_ID_HEADERS = ("x-ms-thread-id", "x-ms-session-id")
WAIT_FIELDS = ("wait_for_response", "waitForResponse")
WAIT_HEADER = "x-ms-wait-for-response"
PREFER = "prefer"
STREAM = "stream"
FIELDS = frozenset({*REQUEST_FIELDS, *THREAD_ID_FIELDS, *WAIT_FIELDS, STREAM})

TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
IDEMPOTENCY_KEY = "idempotency-key"
IDEMPOTENCY_KEY_PATTERN = r"[\x21-\x7e]{1,255}"
_KEY = re.compile(IDEMPOTENCY_KEY_PATTERN)


@dataclass(frozen=True)
class Call:
    """One HTTP request, free of any web framework. Header names are lower case; `base_url` ends before `/agents/`."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    base_url: str


@dataclass(frozen=True)
class Wait:
    """Whether and how long the caller waits; `applied` is the `Preference-Applied` header, if a preference decided."""

    seconds: float | None = None
    answer: bool = True
    applied: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """What the answer says of the caller's preference."""
        return {"Preference-Applied": self.applied} if self.applied else {}


@dataclass(frozen=True)
class RunCall:
    """What a caller asked for: the request itself and how the answer is to be given.

    `streams`: the run's log gets what the agent says as it says it, whoever reads that.
    """

    request: RunRequest
    thread_id: str | None
    wait: Wait
    form: Form
    idempotency_key: str | None
    traceparent: str | None = None
    streams: bool = False

    def fingerprint(self, agent: str) -> str:
        """Return the digest of what makes two requests the same: agent, thread named, request; not Accept, not wait."""
        return fingerprint(agent, self.thread_id, self.request)


def fingerprint(agent: str, thread_id: str | None, request: RunRequest) -> str:
    """Return the digest of a request to an agent and the thread that it named.

    Members at their defaults are left out, so that a member added later changes no digest that a receipt keeps.
    """
    identity = [agent, thread_id, request.model_dump(mode="json", exclude_defaults=True)]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def parse_run(call: Call, agent: str, limits: Limits) -> RunCall:
    """Return the run that a request asks of `agent`; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    check_size(call.body, limits.body_bytes)
    form = body_form(call.headers.get("content-type", ""))
    fields = json_fields(call.body, FIELDS) if form == "json" else {"message": decode_utf8(call.body)}
    streams = _streams(fields)
    answer = answer_form(call.headers.get("accept", ""), "events" if streams else form)
    thread_id = _thread_id(fields, call)
    return RunCall(
        request=read_run_request(fields, limits),
        thread_id=None if thread_id is None else check_thread_id(thread_id, agent),
        wait=read_wait(fields, call),
        form=answer,
        idempotency_key=_idempotency_key(call),
        traceparent=call.headers.get("traceparent"),
        streams=streams or answer == "events",
    )


def check_size(body: bytes, most: int) -> None:
    """Refuse a body of more than so many bytes."""
    if len(body) > most:
        raise BodyTooLargeError(f"The body has {len(body)} bytes; the limit is {most}. Send less.")


def json_fields(body: bytes, known: Collection[str]) -> dict[str, Any]:
    """Return the members of a body that is one strict JSON object of known fields; else raise a `HostingError`."""
    fields = parse_json(body)
    if not isinstance(fields, dict):
        raise InvalidBodyError(f"The body is a JSON {json_type(fields)}. Send an object of these: {_listed(known)}.")
    for name in fields:
        if name not in known:
            raise UnknownFieldError(f"The field {name[:80]!r} is not known. {_nearest(name, known)}")
    return fields


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name[:80], known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known fields: {_listed(known)}."


def _listed(known: Collection[str]) -> str:
    return ", ".join(sorted(known))


def _thread_id(fields: Mapping[str, Any], call: Call) -> str | None:
    given = [_text_id(name, fields[name]) for name in THREAD_ID_FIELDS if name in fields]
    given += [call.query[name] for name in THREAD_ID_FIELDS if name in call.query]
    given += [call.headers[name] for name in THREAD_ID_HEADERS if name in call.headers]
    return one_thread_id(given)


def one_thread_id(given: list[str]) -> str | None:
    """Return the one thread id among all spellings, blanks left out; refuse two different ones."""
    named = {value for value in given if value.strip()}
    if len(named) > 1:
        shown = " and ".join(repr(value[:80]) for value in sorted(named)[:2])
        raise ConflictingThreadIdsError(f"The request names two threads, {shown}. Send one.")
    return next(iter(named), None)


def _text_id(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidFieldError(f"The field {name!r} is a JSON {json_type(value)}. Send a string.")
    return value


def _streams(fields: Mapping[str, Any]) -> bool:
    wish = fields.get(STREAM)
    if wish is not None and not isinstance(wish, bool):
        raise InvalidFieldError(f"The field {STREAM!r} is a JSON {json_type(wish)}. Send true or false.")
    return wish is True


def read_wait(fields: Mapping[str, Any], call: Call) -> Wait:
    """Return the wait of the first place that names one; what the others say must be understood too."""
    places = [(WAIT_HEADER, call.headers), *((name, source) for source in (call.query, fields) for name in WAIT_FIELDS)]
    said = [_truth(name, source[name]) for name, source in places if source.get(name) is not None]
    preferred = _preferred(call.headers.get(PREFER, ""))
    return Wait(answer=said[0]) if said else preferred


def _preferred(prefer: str) -> Wait:
    """Return what `Prefer` asks for; `wait` decides beside `respond-async`: so long, and not longer (RFC 7240, 4.3)."""
    given = dict(_preferences(prefer))
    applied = ", ".join(f"wait={given[name]}" if name == "wait" else name for name in given)
    if "wait" in given:
        return Wait(seconds=float(given["wait"]), applied=applied)
    return Wait(answer=False, applied=applied) if given else Wait()


def _preferences(prefer: str) -> Iterator[tuple[str, str]]:
    for item in prefer.split(","):
        name, _, value = item.partition(";")[0].partition("=")
        name, value = name.strip().lower(), value.strip().strip('"')
        if name == "respond-async":
            yield name, ""
        elif name == "wait":
            if not value.isascii() or not value.isdigit():
                raise InvalidWaitError(
                    f"The preference wait={value[:80]!r} is not a number of seconds. Send Prefer: wait=30."
                )
            yield name, value[:9]


def _truth(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    if text not in TRUTH:
        raise InvalidWaitError(f"{name} is {str(value)[:80]!r}. Send true, false, 1, 0, yes or no.")
    return TRUTH[text]


def _idempotency_key(call: Call) -> str | None:
    key = call.headers.get(IDEMPOTENCY_KEY)
    if key is not None and not _KEY.fullmatch(key):
        raise InvalidIdempotencyKeyError(
            "The Idempotency-Key must be 1 to 255 visible ASCII characters without blanks."
        )
    return key
