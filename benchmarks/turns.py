"""One turn with an agent over HTTP, timed as a client sees it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from benchmarks.connection import Answer, Connection


class WrongAnswerError(Exception):
    """The host answered other than a turn must be answered; no figure can be had from it."""


@dataclass(frozen=True)
class Turn:
    """A finished turn: how long it took, its answer, and where it stands in its conversation."""

    seconds: float
    text: str
    run_id: str
    message_count: int


async def take_turn(connection: Connection, agent: str, message: str, thread_id: str | None = None) -> Turn:
    """Return a turn on the thread, on a fresh one without; raises WrongAnswerError unless it was answered 200."""
    place = {} if thread_id is None else {"thread_id": thread_id}
    body = json.dumps({"message": message, **place}).encode()
    began = time.perf_counter()
    answer = await connection.request("POST", f"/api/agents/{agent}/run", body)
    return parse_turn(answer, time.perf_counter() - began)


def parse_turn(answer: Answer, seconds: float) -> Turn:
    if answer.status != 200:
        raise WrongAnswerError(f"A turn was answered {answer.status}: {answer.body[:300].decode(errors='replace')}")
    fields = json.loads(answer.body)
    return Turn(seconds, fields["response"], fields["run_id"], fields["message_count"])
