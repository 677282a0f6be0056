"""What may go wrong with a storage account, by name: each fault takes one exchange and says what the client sees."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from html import escape, unescape
from http import HTTPStatus
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tests.support.http_messages import Head
from tests.support.relay import Exchange
from tests.support.storage_calls import StorageCall, parse_call
from tests.support.table_limits import Refusal, batch_answer, changes_of

NEXT = ("NextPartitionKey", "NextRowKey")
_CONTINUATION = {f"x-ms-continuation-{name}": name for name in NEXT}
_CODES = {403: "AuthorizationFailure", 429: "TooManyRequests", 500: "InternalError", 503: "ServerBusy"}
_PARTS = {409: "EntityAlreadyExists", 412: "UpdateConditionNotSatisfied", 404: "ResourceNotFound"}
_BLOB = re.compile(r"<Blob>.*?</Blob>", re.DOTALL)
_NAME = re.compile(r"<Name>(.*?)</Name>", re.DOTALL)
_MARKER = re.compile(r"<NextMarker\s*/>|<NextMarker>.*?</NextMarker>", re.DOTALL)


@dataclass
class StorageExchange(Exchange):
    """One request to a storage account; `continued` are the addresses that own continuations stand for."""

    continued: dict[str, str] = field(default_factory=dict)

    @property
    def call(self) -> StorageCall:
        return parse_call(*self.request.first_line[:2])


@dataclass(frozen=True)
class Answer:
    """What the client is sent; None closes the connection. Without `has_failed` it is the answer as it was."""

    sent: bytes | None
    has_failed: bool = True


Effect = Callable[..., Awaitable[Answer]]


async def lose_request(exchange: StorageExchange) -> Answer:
    """Close the connection; nothing was carried out."""
    await exchange.take()
    return Answer(None)


async def drop_answer(exchange: StorageExchange) -> Answer:
    """Carry the request out and close the connection instead of answering."""
    await exchange.carry_out()
    return Answer(None)


async def fail_after(exchange: StorageExchange, status: int = 500) -> Answer:
    """Carry the request out and say that it failed."""
    await exchange.carry_out()
    return Answer(_error(exchange, status))


async def turn_away(exchange: StorageExchange, status: int = 503, retry_after: int | None = None) -> Answer:
    """Refuse, and say when to come again if that is given; nothing was carried out."""
    await exchange.take()
    return Answer(_error(exchange, status, {} if retry_after is None else {"Retry-After": str(retry_after)}))


async def refuse_part(exchange: StorageExchange, status: int = 409, index: int = 0) -> Answer:
    """Answer a batch of changes with 202 whose part says that one failed; none was made."""
    body = await exchange.take()
    if exchange.call.container != "$batch" or index >= len(changes_of(body)):
        return Answer((await exchange.carry_out()).sent, has_failed=False)
    refusal = Refusal(status, _PARTS[status], "The change was refused.", index)
    return refused(refusal, is_batch=True)


async def cut_page(exchange: StorageExchange, entries: int = 1) -> Answer:
    """Answer a list with fewer entries and a continuation that leads to the rest, or with none and one to them all."""
    if exchange.call.kind != "list":
        return Answer((await exchange.carry_out()).sent, has_failed=False)
    return await (_cut_table if exchange.service == "Table" else _cut_blobs)(exchange, entries)


async def answer_late(exchange: StorageExchange, seconds: float) -> Answer:
    """Carry the request out, and answer after so long."""
    response = await exchange.carry_out()
    await asyncio.sleep(seconds)
    return Answer(response.sent)


async def keep_silent(exchange: StorageExchange) -> Answer:
    """Take the request and never answer; nothing was carried out."""
    await exchange.until_left()
    return Answer(None)


FAULTS: dict[str, Effect] = {
    "request lost": lose_request,
    "answer dropped": drop_answer,
    "failed after the commit": fail_after,
    "busy": turn_away,
    "part refused": refuse_part,
    "page cut": cut_page,
    "slow": answer_late,
    "silent": keep_silent,
}


def refused(refusal: Refusal, *, is_batch: bool) -> Answer:
    """Return the table service's answer: a refused change of a batch stands in a part of 202."""
    if is_batch and refusal.index is not None:
        kind, body = batch_answer(refusal)
        return Answer(_response(202, body, {"Content-Type": kind}))
    kind = "application/json;odata=minimalmetadata;charset=utf-8"
    return Answer(_response(refusal.status, refusal.as_json(), {"Content-Type": kind, "x-ms-error-code": refusal.code}))


def own_target(head: Head, continued: Mapping[str, str]) -> Head:
    """Return the request with what an own continuation stands for; tables' signatures do not cover the query."""
    target = head.first_line[1]
    token = next((token for token in continued if token in target), None)
    return head if token is None else head.with_target(continued[token])


async def _cut_table(exchange: StorageExchange, entries: int) -> Answer:
    whole = exchange.request
    asked_for = int(dict(parse_qsl(urlsplit(whole.first_line[1]).query)).get("$top", "1000"))
    if asked_for <= entries:
        return Answer((await exchange.carry_out()).sent, has_failed=False)
    exchange.request = whole.with_target(_with_query(whole.first_line[1], {"$top": str(max(entries, 1))}))
    response = await exchange.carry_out()
    table = json.loads(response.body) if response.head.status == 200 else {}
    has_more = (
        bool(table.get("value")) if entries == 0 else "x-ms-continuation-nextpartitionkey" in response.head.headers
    )
    if not has_more:
        exchange.request = whole
        return Answer((await exchange.carry_out()).sent, has_failed=False)
    if entries:
        return Answer(response.sent)
    token = f"again-{uuid.uuid4().hex}"
    exchange.continued[token] = whole.first_line[1]
    body = json.dumps({**table, "value": []}).encode()
    return Answer(response.with_body(body, dict.fromkeys(_CONTINUATION, token)))


async def _cut_blobs(exchange: StorageExchange, entries: int) -> Answer:
    response = await exchange.carry_out()
    page = response.body.decode()
    found = list(_BLOB.finditer(page))
    if len(found) <= entries or "<BlobPrefix>" in page:
        return Answer(response.sent, has_failed=False)
    names = [unescape(name[1]) for name in map(_NAME.search, (blob[0] for blob in found)) if name]
    marker = names[entries - 1] if entries else _before(names[0])
    kept = page[: found[entries].start()] + page[found[-1].end() :]
    cut = _MARKER.sub(lambda _: f"<NextMarker>{escape(marker)}</NextMarker>", kept)
    return Answer(response.with_body(cut.encode(), {}))


def _before(name: str) -> str:
    """Return a marker behind which the name is the next: Azurite goes on with the names that are greater."""
    return name[:-1] + chr(ord(name[-1]) - 1) + "~"


def _with_query(target: str, changed: Mapping[str, str]) -> str:
    url = urlsplit(target)
    query = {**dict(parse_qsl(url.query, keep_blank_values=True)), **changed}
    return f"{url.path}?{urlencode(query, safe='$', quote_via=quote)}"


def _error(exchange: StorageExchange, status: int, headers: Mapping[str, str] | None = None) -> bytes:
    code = _CODES.get(status, "InternalError")
    message = HTTPStatus(status).phrase
    if exchange.service == "Table":
        kind, body = "application/json;charset=utf-8", Refusal(status, code, message).as_json()
    else:
        xml = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
        kind, body = "application/xml", xml.encode()
    body = b"" if exchange.request.first_line[0] == "HEAD" else body
    return _response(status, body, {"Content-Type": kind, "x-ms-error-code": code, **(headers or {})})


def _response(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body
