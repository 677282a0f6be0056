"""A model's server that records what it is sent, answers by a script, and refuses what the real servers refuse.

A wire reads a request and encodes an answer. The server knows the order of the answers alone: each request gets the
next one of its turn's script, or the last one again. A process that dies at a request has got none. It is asked on any
loop.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.fidelity.script import Answer

_MADE_ANEW = re.compile(r"\b(af-call-)?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\b")
"""Ids that the framework makes, which are others in each process."""
_OF_STREAMS = frozenset({"stream", "stream_options"})


class Wire(Protocol):
    """How one provider's API is spoken."""

    path: str

    def problems(self, body: dict[str, Any], kept: Sequence[dict[str, Any]]) -> list[str]:
        """Return what the provider's published rules refuse in a request.

        `kept` are the items of the conversation that the service itself keeps and the request continues.
        """
        ...

    def items(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the conversation that the request sends."""
        ...

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        """Return the body of an answer that is not streamed."""
        ...

    def events(self, answer: Answer, number: int) -> list[str]:
        """Return the same answer as events of a stream."""
        ...

    def kept(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what a service that keeps the conversation has of an answer."""
        ...


@dataclass(frozen=True)
class Received:
    """One request, and what was wrong with it."""

    body: dict[str, Any]
    problems: tuple[str, ...]


class StrictModel:
    """The server. `turns` has the requests of each turn in the order in which they came."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.turns: list[list[Received]] = []
        self.before_answer: Callable[[], asyncio.Future[None] | None] = lambda: None
        self._asked: Future[None] = Future()
        self._script: list[Answer] = []
        self._answers: dict[str, tuple[Answer, int]] = {}
        self._kept: dict[str, list[dict[str, Any]]] = {}
        self.asgi = Starlette(routes=[Route(wire.path, self._answer, methods=["POST"])])

    def begin_turn(self, script: Sequence[Answer]) -> None:
        """Answer by this script from now on."""
        self.turns.append([])
        self._script, self._answers = list(script), {}
        self._asked = Future()

    async def is_asked(self, running: asyncio.Future[object]) -> None:
        """Return once this turn's first request has come, or the run that was to send it is over."""
        asked = asyncio.wrap_future(self._asked)
        await asyncio.wait((asked, running), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        conversation = body.get("conversation")
        kept = self._kept.get(str(conversation or body.get("previous_response_id")), [])
        problems = self.wire.problems(body, kept)
        self.turns[-1].append(Received(body, tuple(problems)))
        if not self._asked.done():
            self._asked.set_result(None)
        pause = self.before_answer()
        if pause is not None:
            await pause
        if problems:
            error = {"type": "invalid_request_error", "message": "; ".join(problems)}
            return JSONResponse({"type": "error", "error": error}, 400)
        answer, number = self._answer_to(body)
        if answer.status != 200:
            error = {"type": "server_error", "message": "the script says so"}
            return JSONResponse({"type": "error", "error": error}, answer.status)
        reply = self.wire.reply(answer, number)
        if "id" in reply:
            self._kept[str(conversation or reply["id"])] = [*kept, *self.wire.items(body), *self.wire.kept(reply)]
        if not body.get("stream"):
            return JSONResponse(reply)
        return StreamingResponse(iter(self.wire.events(answer, number)), media_type="text/event-stream")

    def _answer_to(self, body: dict[str, Any]) -> tuple[Answer, int]:
        """Return the next answer of the script, and a number that no other one has.

        The same request in the same turn has the same answer: a process that takes a run over may send one again.
        """
        text = same_text(body)
        if text not in self._answers:
            answer = self._script.pop(0) if len(self._script) > 1 else self._script[0]
            self._answers[text] = (answer, 100 * len(self.turns) + len(self._answers) + 1)
        return self._answers[text]


def same_text(body: dict[str, Any]) -> str:
    """Return a request as text that is the same in each process: without the framework's ids, streamed or not."""
    text = json.dumps({name: value for name, value in body.items() if name not in _OF_STREAMS}, sort_keys=True)
    return _MADE_ANEW.sub("(id)", text)
