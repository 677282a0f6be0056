"""A run's stream, and its reads by the Durable Streams protocol: frames, ids, offsets, ends, signs of life."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from hosting.core.broadcast import DeltaText, LoggedEvent, News, UnderWay, Update
from hosting.core.thread.events import ApprovalAnswered, Claimed, Delta, Released
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, ExecutorCall, Superstep
from hosting.errors import HostingError, InternalError, LogUnavailableError, ThreadDeletedError
from hosting.functions import answering
from hosting.http.parameters import StreamQuery
from hosting.http.pings import PING, with_pings
from hosting.http.replies import Reply, Streamed
from hosting.http.streams import Frame, Frames, Streams, broken
from hosting.names import Address
from hosting.ports import iso
from tests.hosting.http.scripted_following import (
    BEGUN,
    DELTA,
    END,
    ENDED,
    LOGGED,
    NO_CLIENT,
    ScriptedFollowing,
    run_after,
)
from tests.support.carriers import GUARD_SECONDS
from tests.support.event_stream import parse
from tests.support.threads import NOW, accepted, completed

ADDRESS = Address.of("Helper", "t1")
AT = iso(NOW)
IDS = {"thread_id": "t1", "session_id": "t1", "run_id": "r1", "correlation_id": "r1"}
ACCEPTED = Frame("4", "accepted", {"status": "accepted", **IDS, "at": AT})


def claimed(attempt: int = 1) -> Claimed:
    return Claimed(
        at=NOW, run_id="r1", attempt=attempt, token="t", holder="caller", lease_seconds=20.0, deadline=NOW + 300
    )


def delta(offset: int, text: str) -> Delta:
    return Delta(at=NOW, run_id="r1", offset=offset, text=text)


def frames_of(*news: News, after: int = 0) -> list[Frame]:
    """Return the frames of a run that was accepted at position 4."""
    frames = Frames(Run(ADDRESS, accepted(), 4, 4), after, lambda: NOW)
    return [frame for one in (LoggedEvent(4, accepted()), *news) for frame in frames.next(one)]


@pytest.mark.behaviour("streams.ids")
def test_an_event_s_id_is_its_position_and_deltas_are_numbered_behind_the_last_one() -> None:
    deltas = [DeltaText("r1", 0, "a", after=5), DeltaText("r1", 1, "b", after=5), DeltaText("r1", 2, "c", after=6)]

    frames = frames_of(LoggedEvent(5, claimed()), *deltas, LoggedEvent(8, completed()))

    assert [(frame.id, frame.event) for frame in frames] == [
        ("4", "accepted"),
        ("5", "started"),
        ("5.1", "delta"),
        ("5.2", "delta"),
        ("6.1", "delta"),
        ("8", "completed"),
    ]


@pytest.mark.behaviour("streams.offset")
def test_deltas_have_their_offset_and_their_time() -> None:
    """Whether they come from the log or from whoever says them."""
    frames = frames_of(LoggedEvent(5, delta(0, "Good ")), DeltaText("r1", 5, "day", after=5))

    assert frames == [
        ACCEPTED,
        Frame("5", "delta", {"text": "Good ", "offset": 0, "at": AT}),
        Frame("5.1", "delta", {"text": "day", "offset": 5, "at": AT}),
    ]


@pytest.mark.behaviour("streams.restart")
def test_every_claim_but_the_first_is_a_restart() -> None:
    """After a lost process, a failure that is tried again, or a holder that let go."""
    let_go = Released(at=NOW, run_id="r1", signalled=True)

    frames = frames_of(LoggedEvent(5, claimed()), LoggedEvent(6, let_go), LoggedEvent(7, claimed(2)))

    assert frames[1:] == [
        Frame("5", "started", {"attempt": 1, "at": AT}),
        Frame("7", "restarted", {"attempt": 2, "at": AT}),
    ]


@pytest.mark.behaviour("streams.unavailable")
@pytest.mark.parametrize(
    ("error", "event"),
    [
        (ThreadDeletedError("It was deleted."), "cancelled"),
        (LogUnavailableError(), "unavailable"),
        (InternalError("It broke off."), "failed"),
    ],
)
def test_a_stream_that_cannot_go_on_says_why(error: HostingError, event: str) -> None:
    frame = broken(error, Run(ADDRESS, accepted(), 4, 4), NOW)

    assert (frame.id, frame.event) == (None, event)
    assert frame.fields.items() >= {"code": error.code, "detail": error.detail, **IDS, "at": AT}.items()


def at_work(number: int, *calls: tuple[str, str]) -> UnderWay:
    """Return what executors are at: `works`, `ended` or `failed`."""
    calls_now = [
        ExecutorCall(executor=name, began_at=NOW, ended_at=0.0 if how == "works" else NOW + 1, failed=how == "failed")
        for name, how in calls
    ]
    return UnderWay("r1", Superstep(number=number, calls=tuple(calls_now)))


def executors(*news: News) -> list[tuple[str, str]]:
    frames = frames_of(*news)
    return [(frame.event, frame.fields["executor"]) for frame in frames if frame.event.startswith("executor_")]


@pytest.mark.behaviour("workflows.at-work")
def test_the_executors_of_another_attempt_begin_again() -> None:
    """In the same superstep; the one that failed in the attempt before does so once."""
    again = [LoggedEvent(6, claimed(2)), at_work(3, ("a", "works"))]

    heard = executors(LoggedEvent(5, claimed()), at_work(3, ("a", "failed")), *again)

    assert heard == [("executor_invoked", "a"), ("executor_failed", "a"), ("executor_invoked", "a")]


def stream(following: ScriptedFollowing, after: int = 0) -> Streamed:
    return Streams(following, lambda: NOW).reply(run_after(), NO_CLIENT, "http://a/api/agents/Helper/threads/t1", after)


async def pieces(frames: AsyncGenerator[bytes, None]) -> list[bytes]:
    return [piece async for piece in frames]


async def shown(following: ScriptedFollowing, after: int = 0) -> list[tuple[str | None, str]]:
    sent = b"".join(await pieces(stream(following, after).frames))
    return [(frame.id, frame.event) for frame in parse(sent.decode())]


@pytest.mark.behaviour("streams.run")
async def test_what_comes_together_is_sent_together() -> None:
    """And of a silence nothing: its pings are made where the stream is sent."""
    following = ScriptedFollowing(BEGUN, [], [DELTA], [END])

    sent = await pieces(stream(following).frames)

    assert [len(parse(piece.decode())) for piece in sent] == [2, 1, 1]
    assert following.logged_only == [False]


@pytest.mark.behaviour("streams.resume")
async def test_a_stream_behind_a_position_has_the_rest() -> None:
    assert await shown(ScriptedFollowing(BEGUN, [DELTA], [END]), after=5) == [("5.1", "delta"), ("7", "completed")]


async def test_a_defect_ends_a_stream_without_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        sent = await pieces(stream(ScriptedFollowing(BEGUN, breaks=KeyError("secret"))).frames)

    (last,) = parse(sent[-1].decode())
    assert (last.event, last.fields["code"]) == ("failed", "internal_error")
    assert ("secret" in str(last), "secret" in caplog.text) == (False, True)


@pytest.mark.behaviour("streams.slow-readers")
async def test_a_reader_that_goes_away_lets_go_of_the_run() -> None:
    following = ScriptedFollowing(BEGUN, [DELTA], [END])
    frames = stream(following).frames

    await anext(frames)
    await frames.aclose()

    assert following.let_go == 1


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


SOON = 0.01


class HeldFrames:
    """Frames that are made once they are `allowed`; `made` counts them, and `is_closed` once nobody wants more."""

    def __init__(self, *frames: bytes, breaks: Exception | None = None) -> None:
        self._frames = frames
        self._breaks = breaks
        self.allowed = asyncio.Event()
        self.made = 0
        self.is_closed = False

    async def all(self) -> AsyncGenerator[bytes, None]:
        try:
            for frame in self._frames:
                await self.allowed.wait()
                self.made += 1
                yield frame
            if self._breaks is not None:
                raise self._breaks
        finally:
            self.is_closed = True


@pytest.mark.behaviour("streams.pings")
async def test_a_silence_is_filled_with_pings_and_no_frame_is_lost() -> None:
    frames, sent = HeldFrames(b"one", b"two"), list[bytes]()
    async for piece in with_pings(frames.all(), SOON):
        sent.append(piece)
        if sent == [PING, PING]:
            frames.allowed.set()

    assert sent[:2] == [PING, PING]
    assert [piece for piece in sent if piece != PING] == [b"one", b"two"]


@pytest.mark.behaviour("streams.slow-readers")
async def test_a_reader_that_takes_nothing_is_ahead_of_what_is_made_and_one_that_leaves_ends_it() -> None:
    frames = HeldFrames(b"one", b"two", b"three")
    frames.allowed.set()
    pieces = with_pings(frames.all(), 10 * GUARD_SECONDS)

    first = await anext(pieces)
    for _ in range(5):
        await asyncio.sleep(0)
    made = frames.made
    await pieces.aclose()

    assert (first, made, frames.is_closed) == (b"one", 1, True)


@pytest.mark.behaviour("streams.pings")
async def test_no_ping_is_put_into_what_is_no_event_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as an export, whose pieces end within a text."""
    monkeypatch.setattr(answering, "PING_SECONDS", 0.0)
    frames = HeldFrames(b'{"a": "', b'b"}')
    asyncio.get_running_loop().call_later(SOON, frames.allowed.set)

    sent = [piece async for piece in answering._sent(Streamed(frames.all(), {}, "application/json"), None)]

    assert sent == [b'{"a": "', b'b"}']
