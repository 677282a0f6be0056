"""A long stored conversation: read, made into messages and written back, beside the same bytes through plain JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import cast

from agent_framework import AgentResponse, Message, UsageDetails

from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from state.codec import read, read_entry, write
from state.conversation import append_turn
from state.convert import placed_messages, request_entry, stored_response
from state.models import Conversation, ResponseEntry

SHORT, STORED, LONG = 128 * 1024, 512 * 1024, 1024 * 1024
MESSAGE = ("The quick brown fox jumps over the lazy dog, and the dog asks it for the weather in Paris. " * 9)[:800]
USAGE = UsageDetails(input_token_count=200, output_token_count=200, total_token_count=400)


async def measure(sizes: Sizes) -> Result:
    """In this process, without a host; both sides of a ratio take turns, so that a busy moment meets both.

    Raises WrongAnswerError when a document does not come back as it was.
    """
    short, stored, long = (document(size) for size in (SHORT, STORED, LONG))
    require_same(stored, through_state(stored))
    ours, plain = paired_medians(lambda: through_state(stored), lambda: through_json(stored), sizes.state_rounds)
    short_seconds, long_seconds = paired_medians(
        lambda: through_state(short), lambda: through_state(long), sizes.state_rounds
    )
    figures = (
        milliseconds("512 KiB there and back", ours),
        milliseconds("the same through json", plain),
        Figure("over json", ours / plain),
        Figure("per byte, 1 MiB/128 KiB", long_seconds / len(long) / (short_seconds / len(short))),
    )
    return Result(figures)


def document(size: int) -> str:
    """Return a stored conversation of at least that many bytes, in messages of 800 characters."""
    conversation = read(None)
    turns = 0
    while len(text := write(conversation)) < size:
        turns += 1
        conversation = with_turn(conversation, f"{turns:032x}")
    return text


def with_turn(conversation: Conversation, run_id: str) -> Conversation:
    at = "2026-01-02T12:00:00.000000+00:00"
    request = request_entry(run_id=run_id, created_at=at, messages=[Message("user", [MESSAGE])])
    answer = AgentResponse(messages=[Message("assistant", [MESSAGE], author_name="assistant")], usage_details=USAGE)
    response = read_entry(stored_response(run_id=run_id, created_at=at, response=answer))
    return append_turn(conversation, request, cast(ResponseEntry, response))


def require_same(stored: str, written: str) -> None:
    if written != stored:
        raise WrongAnswerError("A stored conversation did not come back as it was.")


def through_state(text: str) -> str:
    conversation = read(text)
    placed_messages(conversation)
    return write(conversation)


def through_json(text: str) -> str:
    return json.dumps(json.loads(text))


def paired_medians(one: Callable[[], object], other: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the p50 of each, in seconds."""
    samples = [(seconds_of(one), seconds_of(other)) for _ in range(rounds)]
    first, second = zip(*samples, strict=True)
    return median(first), median(second)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
