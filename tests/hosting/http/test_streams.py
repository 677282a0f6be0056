"""The bytes of a run's stream: from its beginning or a reader's position to its end, or to what broke it off."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator

import pytest

from hosting.http.replies import Streamed
from hosting.http.streams import Streams
from tests.hosting.http.scripted_following import BEGUN, DELTA, END, NO_CLIENT, ScriptedFollowing, run_after
from tests.support.event_stream import parse
from tests.support.threads import NOW


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
