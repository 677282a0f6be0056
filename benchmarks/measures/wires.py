"""First words over each wire, beside those of our own stream: how much later a client of another protocol has them.

Rounds of one stream each, so that whatever the machine does meanwhile is done to all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.connection import Answer, Connection
from benchmarks.figures import Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from benchmarks.warm_up import warm_host

WORD = "speak 1 50"


@dataclass(frozen=True)
class Wire:
    """How a stream of one word is begun, the nth of the measure, and what a message of it says."""

    path: str
    body: Callable[[int], dict[str, Any]]
    text: Callable[[dict[str, Any]], str]


def _parts(message: dict[str, Any]) -> str:
    parts = message.get("result", {}).get("artifactUpdate", {}).get("artifact", {}).get("parts", ())
    return "".join(part.get("text", "") for part in parts)


OWN = Wire("/api/agents/timed/run", lambda _: {"message": WORD, "stream": True}, lambda event: event.get("text", ""))
WIRES: Mapping[str, Wire] = {
    "responses": Wire(
        "/api/openai/v1/responses",
        lambda _: {"model": "timed", "input": WORD, "stream": True},
        lambda event: event["delta"] if event["type"] == "response.output_text.delta" else "",
    ),
    "ag-ui": Wire(
        "/api/ag-ui/timed",
        lambda number: {
            "threadId": f"word-{number}",
            "runId": f"word-{number}",
            "messages": [{"id": "u", "role": "user", "content": WORD}],
        },
        lambda event: event["delta"] if event["type"] == "TEXT_MESSAGE_CONTENT" else "",
    ),
    "a2a": Wire(
        "/api/a2a/timed?A2A-Version=1.0",
        lambda number: {
            "jsonrpc": "2.0",
            "id": number,
            "method": "SendStreamingMessage",
            "params": {"message": {"messageId": f"word-{number}", "role": "ROLE_USER", "parts": [{"text": WORD}]}},
        },
        _parts,
    ),
}


async def measure(sizes: Sizes) -> Result:
    """One stream after the other, of each kind in turn."""
    own: list[float] = []
    delays: dict[str, list[float]] = {name: [] for name in WIRES}
    async with warm_host(sizes, {"WIRES": " ".join(WIRES)}) as host, host.process.connection() as connection:
        for number in range(sizes.streamed_runs):
            own.append(await first_word(connection, OWN, number))
            for name, wire in WIRES.items():
                delays[name].append(await first_word(connection, wire, number))
    figures = [milliseconds("our own, first word p50", median(own))]
    figures += [milliseconds(f"{name}, later", median(each) - median(own)) for name, each in delays.items()]
    return Result(tuple(figures), host.empty_route_seconds)


async def first_word(connection: Connection, wire: Wire, number: int) -> float:
    """Return the seconds between a word's being said and its being here; raises `WrongAnswerError` without one."""
    answer = await connection.request(
        "POST", wire.path, json.dumps(wire.body(number)).encode(), accept="text/event-stream"
    )
    delay = delay_in(answer, wire.text)
    if delay is None:
        raise WrongAnswerError(f"A stream of {wire.path} had no word: {answer.body[-300:].decode()}")
    return delay


def delay_in(answer: Answer, text: Callable[[dict[str, Any]], str]) -> float | None:
    """Return how long after it was said the first word of a stream came."""
    left = b""
    for came_at, piece in answer.pieces:
        *frames, left = (left + piece).split(b"\n\n")
        for frame in frames:
            sent = [line.partition(b"data:")[2] for line in frame.splitlines() if line.startswith(b"data:")]
            if sent and (word := text(json.loads(b"".join(sent)))):
                return came_at - float(word.split()[0])
    return None
