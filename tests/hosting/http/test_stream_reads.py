"""A run's events by the read half of the Durable Streams protocol: offsets are positions of the thread's log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hosting.core.broadcast import LoggedEvent, Update
from hosting.core.thread.events import ApprovalAnswered
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision
from hosting.errors import LogUnavailableError
from hosting.http.parameters import StreamQuery
from hosting.http.replies import Reply, Streamed
from hosting.http.streams import Streams
from tests.hosting.http.scripted_following import BEGUN, END, ENDED, LOGGED, NO_CLIENT, ScriptedFollowing, run_after
from tests.support.threads import NOW

ALL = [*BEGUN, LOGGED, END]
ANSWERED = LoggedEvent(9, ApprovalAnswered(at=NOW, run_id="r1", decision=Decision(id="a1", approved=True)))


async def read(
    following: ScriptedFollowing, run: Run, after: int | None = 0, known_tags: str = "", **query: Any
) -> tuple[int, Any, dict[str, str]]:
    """Return an answer's status, its messages and the headers that name its offset and tag."""
    answer = await Streams(following, lambda: NOW).read(run, NO_CLIENT, StreamQuery(after, **query), known_tags)
    assert isinstance(answer, Reply)
    headers = {name: value for name, value in answer.headers.items() if name.startswith(("stream-", "etag"))}
    return answer.status, json.loads(answer.body or "null"), headers


async def streamed(following: ScriptedFollowing) -> str:
    answer = await Streams(following, lambda: NOW).read(run_after(), NO_CLIENT, StreamQuery(0, "sse"), "")
    assert isinstance(answer, Streamed)
    return b"".join([piece async for piece in answer.frames]).decode()


@pytest.mark.behaviour("streams.offsets")
async def test_an_answer_to_an_approval_behind_the_end_moves_no_offset() -> None:
    run = run_after(LOGGED, END, ANSWERED)

    tail = Streams(ScriptedFollowing(), lambda: NOW).tail(run)
    _, messages, headers = await read(ScriptedFollowing(ALL), run, None)

    assert run.last == ANSWERED.position
    assert (tail.headers["stream-next-offset"], tail.headers["stream-closed"]) == (f"{ENDED:09d}", "true")
    assert (messages, headers["stream-next-offset"], headers["stream-closed"]) == ([], f"{ENDED:09d}", "true")


@pytest.mark.behaviour("streams.long-poll")
@pytest.mark.parametrize(
    ("news", "status", "events"),
    [([BEGUN, [LOGGED], [END]], 200, ["delta"]), ([BEGUN, []], 204, None)],
    ids=["news", "silence"],
)
async def test_a_poll_waits_for_news_or_the_first_silence(
    news: list[list[Update]], status: int, events: list[str] | None
) -> None:
    got, messages, headers = await read(ScriptedFollowing(*news), run_after(), 5, live="long-poll")

    assert (got, messages and [message["event"] for message in messages]) == (status, events)
    assert "stream-closed" not in headers


@pytest.mark.behaviour("streams.sse-mode")
async def test_a_stream_of_batches_that_breaks_off_just_ends() -> None:
    """The reader comes back with its offset, and that read says why."""
    text = await streamed(ScriptedFollowing(BEGUN, breaks=LogUnavailableError()))

    blocks = [block.split("\n")[0] for block in text.split("\n\n")[:-1]]
    assert blocks == ["event: data", "event: control"]
    assert "streamClosed" not in text
