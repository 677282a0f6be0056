"""Runs that the conformance suite can write: it makes its streams by PUT and POST, which runs have not.

A writer in front of the app. What the suite appends becomes the words of a run, in the file of the threads' log, as
another process writes it; what it reads is asked of the app, whose status, headers and place go through as they are. Of
the messages only the words are handed on, as the text or JSON that was appended: the suite compares them with that.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hosting.core.thread.commands import AcceptRun, AttachToRun, Change, ClaimTerms, Command, EndRun, RecordSteps
from hosting.core.thread.events import Accepted, Completed, Delta
from hosting.core.thread.head import Head
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread_log import ThreadLog
from hosting.http.parameters import BEGINNING, offset_of
from hosting.names import Address, new_id

FAR_SECONDS = 3600.0
EVENTS = "/api/agents/Joker/threads/{thread_id}/runs/{run_id}/events"
ENTRY = {"$type": "response", "createdAt": "2027-01-15T08:00:00Z", "messages": []}
_DROPPED = ("content-length", "transfer-encoding", "content-type", "date", "server")


@dataclass
class WrittenStream:
    """One run under the path that the suite chose. `begins` is the position before its first words."""

    run_id: str
    media_type: str
    position: int = 0
    begins: int = 0
    length: int = 0
    is_closed: bool = False
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def address(self) -> Address:
        """The run's thread, which has no other."""
        return Address.of("Joker", self.run_id)

    @property
    def is_json(self) -> bool:
        return self.media_type.startswith("application/json")

    def place(self) -> dict[str, str]:
        closed = {"stream-closed": "true"} if self.is_closed else {}
        return {"stream-next-offset": offset_of(self.position), **closed}


class Writer:
    """The writer, as an ASGI app over the app at `reads`."""

    def __init__(self, log: ThreadLog, reads: httpx.AsyncClient) -> None:
        self._log = log
        self._reads = reads
        self._streams: dict[str, WrittenStream] = {}
        self.asgi = Starlette(
            routes=[
                Route("/{path:path}", self._create, methods=["PUT"]),
                Route("/{path:path}", self._append, methods=["POST"]),
                Route("/{path:path}", self._read, methods=["GET", "HEAD"]),
            ]
        )

    async def _create(self, request: Request) -> Response:
        media_type = request.headers.get("content-type", "application/octet-stream")
        stream = self._streams[request.url.path] = WrittenStream(new_id(), media_type)
        now = time.time()
        accepted = Accepted(
            at=now,
            run_id=stream.run_id,
            agent="Joker",
            thread_id=stream.run_id,
            fingerprint="",
            request=RunRequest(message="written"),
        )
        terms = ClaimTerms(stream.run_id, "caller", FAR_SECONDS, now + FAR_SECONDS)
        await self._ask(stream, AcceptRun(accepted, 1, terms))
        # What the app appends for its first reader stands before the words, so that no place moves behind them.
        stream.begins = stream.position = (await self._ask(stream, AttachToRun(now, stream.run_id))).position
        await self._write(stream, request)
        return Response(None, 201, {**stream.place(), "location": str(request.url)}, media_type)

    async def _append(self, request: Request) -> Response:
        stream = self._streams[request.url.path]
        async with stream.writing:
            await self._write(stream, request)
        return Response(None, 204, stream.place())

    async def _write(self, stream: WrittenStream, request: Request) -> None:
        words = []
        for text in _messages(stream, await request.body()):
            words.append(Delta(at=0.0, run_id=stream.run_id, offset=stream.length, text=text))
            stream.length += len(text)
        if request.headers.get("stream-closed", "").lower() == "true":
            ended = Completed(at=0.0, run_id=stream.run_id, entry=ENTRY, message_count=2)
            stream.position = (await self._ask(stream, EndRun(stream.run_id, ended, tuple(words)))).position
            stream.is_closed = True
        elif words:
            stream.position = (await self._ask(stream, RecordSteps(stream.run_id, tuple(words)))).position

    async def _ask(self, stream: WrittenStream, command: Command) -> Head:
        decided = await self._log.execute(stream.address, command)
        assert isinstance(decided.outcome, Change)
        return decided.head

    async def _read(self, request: Request) -> Response:
        stream = self._streams.get(request.url.path) or WrittenStream("none", "text/plain")
        url = EVENTS.format(thread_id=stream.run_id, run_id=stream.run_id)
        query = request.query_params.multi_items()
        if not query and request.method == "GET":
            query = [("offset", BEGINNING)]  # without one the app answers what a browser's EventSource reads
        first = [(name, offset_of(stream.begins) if value == BEGINNING else value) for name, value in query]
        received = {name: value for name, value in request.headers.items() if name == "if-none-match"}
        sent = self._reads.build_request(request.method, url, params=first, headers=received)
        answer = await self._reads.send(sent, stream=True)
        headers = {name: value for name, value in answer.headers.items() if name not in _DROPPED}
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            headers["content-type"] = answer.headers["content-type"]
            return StreamingResponse(_events(stream, answer), answer.status_code, headers)
        body = await answer.aread()
        await answer.aclose()
        if answer.headers.get("content-type") != "application/json":
            return Response(body, answer.status_code, headers, answer.headers.get("content-type"))
        output = _text(stream, json.loads(body)) if body else ""
        return Response(output, answer.status_code, {**headers, "content-type": stream.media_type})


def _messages(stream: WrittenStream, body: bytes) -> list[str]:
    if not body:
        return []
    if not stream.is_json:
        return [body.decode()]
    value = json.loads(body)
    return [json.dumps(each) for each in value] if isinstance(value, list) else [json.dumps(value)]


def _text(stream: WrittenStream, messages: list[dict[str, Any]]) -> str:
    words = [message["data"]["text"] for message in messages if message["event"] == "delta"]
    return f"[{','.join(words)}]" if stream.is_json else "".join(words)


async def _events(stream: WrittenStream, answer: httpx.Response) -> AsyncIterator[str]:
    """Yield what the app sends, piece by piece as it does."""
    held = ""
    async for piece in answer.aiter_text():
        *blocks, held = (held + piece).split("\n\n")
        yield "".join(_block(stream, block) for block in blocks)
    await answer.aclose()


def _block(stream: WrittenStream, block: str) -> str:
    """Return one event with the words that were appended in place of the messages; none for those without words."""
    name, _, data = block.partition("\ndata:")
    if name != "event: data":
        return f"{block}\n\n"
    output = _text(stream, json.loads(data)).replace("\r\n", "\n").replace("\r", "\n")
    if output in ("", "[]"):
        return ""
    return "\n".join([name, *(f"data:{line}" for line in output.split("\n"))]) + "\n\n"
