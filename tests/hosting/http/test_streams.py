"""A run's stream where no app is asked: the ids of its frames, new attempts, ends without an event, signs of life."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from hosting.core.broadcast import DeltaText, LoggedEvent, News, UnderWay, Update
from hosting.core.following import Following
from hosting.core.thread.events import Claimed, Delta, Released
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import ExecutorCall, Superstep
from hosting.errors import HostingError, InternalError, LogUnavailableError, ThreadDeletedError
from hosting.http.parameters import StreamQuery
from hosting.http.pings import PING, with_pings
from hosting.http.replies import Streamed
from hosting.http.streams import Frame, Frames, Streams, broken
from hosting.names import Address
from hosting.ports import EntityClient, iso
from tests.support.event_stream import parse
from tests.support.threads import NOW, accepted, completed

AT = iso(NOW)
IDS = {"thread_id": "t1", "session_id": "t1", "run_id": "r1", "correlation_id": "r1"}
ACCEPTED = Frame("4", "accepted", {"status": "accepted", **IDS, "at": AT})
RUN = Run(Address.of("Helper", "t1"), accepted(), 4, 4)
NO_CLIENT: Any = None


def claimed(attempt: int = 1) -> Claimed:
    return Claimed(
        at=NOW, run_id="r1", attempt=attempt, token="t", holder="caller", lease_seconds=20.0, deadline=NOW + 300
    )


def frames_of(*news: News) -> list[Frame]:
    """Return the frames of a run that was accepted at position 4."""
    frames = Frames(RUN, 0, lambda: NOW)
    return [frame for one in (LoggedEvent(4, accepted()), *news) for frame in frames.next(one)]


@pytest.mark.behaviour("streams.ids")
@pytest.mark.behaviour("streams.offset")
def test_an_event_s_id_is_its_position_and_deltas_are_numbered_behind_the_last_one() -> None:
    """Each delta has its offset and its time, whether it comes from the log or from whoever says it."""
    logged = Delta(at=NOW, run_id="r1", offset=0, text="Good ")
    said = [DeltaText("r1", 5, "day", after=5), DeltaText("r1", 8, ", Ada", after=5), DeltaText("r1", 13, ".", after=6)]

    *frames, end = frames_of(LoggedEvent(5, logged), *said, LoggedEvent(8, completed()))

    assert frames == [
        ACCEPTED,
        Frame("5", "delta", {"text": "Good ", "offset": 0, "at": AT}),
        Frame("5.1", "delta", {"text": "day", "offset": 5, "at": AT}),
        Frame("5.2", "delta", {"text": ", Ada", "offset": 8, "at": AT}),
        Frame("6.1", "delta", {"text": ".", "offset": 13, "at": AT}),
    ]
    assert (end.id, end.event) == ("8", "completed")


@pytest.mark.behaviour("streams.restart")
def test_every_claim_but_the_first_is_a_restart() -> None:
    """After a lost process, a failure that is tried again, or a holder that let go."""
    let_go = Released(at=NOW, run_id="r1", signalled=True)

    frames = frames_of(LoggedEvent(5, claimed()), LoggedEvent(6, let_go), LoggedEvent(7, claimed(2)))

    assert frames[1:] == [
        Frame("5", "started", {"attempt": 1, "at": AT}),
        Frame("7", "restarted", {"attempt": 2, "at": AT}),
    ]


@pytest.mark.behaviour("workflows.at-work")
def test_the_executors_of_another_attempt_begin_again() -> None:
    """In the same superstep; the one that failed in the attempt before does so once."""
    failed = ExecutorCall(executor="a", began_at=NOW, ended_at=NOW + 1, failed=True)
    works = ExecutorCall(executor="a", began_at=NOW, ended_at=0.0, failed=False)
    before, after = [UnderWay("r1", Superstep(number=3, calls=(call,))) for call in (failed, works)]

    frames = frames_of(LoggedEvent(5, claimed()), before, LoggedEvent(6, claimed(2)), after)

    heard = [(frame.event, frame.fields["executor"]) for frame in frames if frame.event.startswith("executor_")]
    assert heard == [("executor_invoked", "a"), ("executor_failed", "a"), ("executor_invoked", "a")]


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
    frame = broken(error, RUN, NOW)

    assert (frame.id, frame.event) == (None, event)
    assert frame.fields.items() >= {"code": error.code, "detail": error.detail, **IDS, "at": AT}.items()


class BreakingOff(Following):
    """Tells of the run's begin, and raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def follow(
        self, run: Run, client: EntityClient, *, logged_only: bool = False, with_executors: bool = False
    ) -> AsyncGenerator[list[Update], None]:
        yield [LoggedEvent(4, accepted())]
        raise self._error


async def text_of(answer: Any) -> str:
    assert isinstance(answer, Streamed)
    return b"".join([piece async for piece in answer.frames]).decode()


async def test_a_defect_ends_a_stream_without_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    streams = Streams(BreakingOff(KeyError("secret")), lambda: NOW)
    with caplog.at_level(logging.ERROR):
        text = await text_of(streams.reply(RUN, NO_CLIENT, "http://a/api/agents/Helper/threads/t1", 0))

    last = parse(text)[-1]
    assert (last.event, last.fields["code"]) == ("failed", "internal_error")
    assert ("secret" in text, "secret" in caplog.text) == (False, True)


@pytest.mark.behaviour("streams.sse-mode")
async def test_a_stream_of_batches_that_breaks_off_just_ends() -> None:
    """The reader comes back with its offset, and that read says why."""
    streams = Streams(BreakingOff(LogUnavailableError()), lambda: NOW)
    text = await text_of(await streams.read(RUN, NO_CLIENT, StreamQuery(0, "sse"), ""))

    assert [block.split("\n")[0] for block in text.split("\n\n")[:-1]] == ["event: data", "event: control"]
    assert "streamClosed" not in text


@pytest.mark.behaviour("streams.pings")
async def test_a_silence_is_filled_with_pings_and_no_frame_is_lost() -> None:
    allowed, sent = asyncio.Event(), list[bytes]()

    async def frames() -> AsyncGenerator[bytes, None]:
        await allowed.wait()
        yield b"one"
        yield b"two"

    async for piece in with_pings(frames(), 0.01):
        sent.append(piece)
        if sent == [PING, PING]:
            allowed.set()

    assert sent[:2] == [PING, PING]
    assert [piece for piece in sent if piece != PING] == [b"one", b"two"]
