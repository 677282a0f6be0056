"""A run's events as a stream: while it runs, again, and from wherever a reader left off."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.event_stream import parse, words

EVENTS = {"accept": "text/event-stream"}


async def streamed(direct: Api, message: str, **fields: object) -> str:
    """Return the whole stream that answers a message."""
    body = {"message": message, **fields}
    answer = await direct.http.post("/api/agents/Joker/run", json=body, headers=EVENTS)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return answer.text


@pytest.mark.behaviour("streams.run")
async def test_an_answer_is_streamed_from_its_request_to_its_end(direct: Api) -> None:
    """The deltas are the answer, and the last frame is the 200 body."""
    frames = parse(await streamed(direct, "say one two\nthree"))

    assert [frame.event for frame in frames][:2] == ["accepted", "started"]
    assert words(frames) == "one two\nthree"
    assert frames[-1].event == "completed"
    assert frames[-1].fields["response"] == "one two\nthree"
    ids = [tuple(map(int, str(frame.id).split("."))) for frame in frames]
    assert (ids[:2], ids) == ([(1,), (2,)], sorted(ids))


@pytest.mark.slow
@pytest.mark.behaviour("streams.resume")
async def test_a_stream_cut_at_any_byte_and_resumed_is_the_same_answer(direct: Api) -> None:
    """A reader knows the last whole frame, and gets the rest; deltas perhaps again, at their offset."""
    whole = await direct.http.post("/api/agents/Joker/run", json={"message": "say one ü 😀 two"}, headers=EVENTS)
    url, raw = whole.headers["content-location"], whole.content
    steps = [frame for frame in parse(whole.text) if frame.event != "delta"]

    for cut in range(len(raw) + 1):
        kept = raw[: raw.rfind(b"\n\n", 0, cut) + 2] if b"\n\n" in raw[:cut] else b""
        seen = parse(kept.decode())
        after = str(seen[-1].id) if seen else "0"
        rest = await direct.http.get(url, headers={"last-event-id": after})
        frames = [*seen, *parse(rest.text)]
        assert [frame for frame in frames if frame.event != "delta"] == steps, cut
        assert words(frames) == "one ü 😀 two", cut
        assert rest.status_code == (204 if kept == raw else 200)


@pytest.mark.behaviour("streams.resume")
async def test_the_last_event_id_goes_before_the_query(direct: Api) -> None:
    """A browser repeats the address as it was and adds the header."""
    await streamed(direct, "say hello", thread_id="cursor")
    run = (await direct.http.get("/api/agents/Joker/threads/cursor/runs")).json()["runs"][0]["run_id"]
    url = f"/api/agents/Joker/threads/cursor/runs/{run}/events"

    by_query = parse((await direct.http.get(f"{url}?after=2")).text)
    by_both = parse((await direct.http.get(f"{url}?after=2", headers={"last-event-id": "3"})).text)

    assert [by_query[0].id, by_both[0].id] == ["3", "4"]


@pytest.mark.behaviour("streams.cursor")
@pytest.mark.parametrize("cursor", ["-1", "1.", ".5", "1.2.3", "1,2", "x", "9" * 10, f"1.{'9' * 10}", "\u0663"])
async def test_a_cursor_that_is_none_is_refused(direct: Api, cursor: str) -> None:
    await streamed(direct, "say hello", thread_id="bad")
    run = (await direct.http.get("/api/agents/Joker/threads/bad/runs")).json()["runs"][0]["run_id"]

    refused = await direct.http.get(f"/api/agents/Joker/threads/bad/runs/{run}/events", params={"after": cursor})

    assert refused.status_code == 400
    assert refused.json()["code"] == "invalid_field"


@pytest.mark.behaviour("streams.failed")
async def test_a_run_that_fails_ends_its_stream_with_the_problem(direct: Api) -> None:
    """It is not run again, and the model's own error stays in the log."""
    frames = parse(await streamed(direct, "fail please"))

    assert [frame.event for frame in frames] == ["accepted", "started", "failed"]
    assert frames[-1].fields["code"] == "run_failed"
    assert "secret" not in str(frames)


@pytest.mark.behaviour("streams.deleted")
async def test_a_run_whose_thread_is_deleted_ends_its_stream_as_cancelled(direct: Api) -> None:
    """It goes no further, and cannot be read again."""
    accepted = await direct.ask("sleep 60", thread_id="streamed-away", wait_for_response=False)
    url = accepted.headers["location"] + "/events"
    following = await direct.begin(url)
    assert (await direct.http.get(accepted.headers["location"])).status_code == 202  # read behind the follower

    await asyncio.wait_for(direct.http.delete("/api/agents/Joker/threads/streamed-away"), GUARD_SECONDS)

    last = parse((await asyncio.wait_for(following, GUARD_SECONDS)).text)[-1]
    assert (last.id, last.event, last.fields["code"]) == (None, "cancelled", "thread_deleted")
    assert last.fields["run_id"] == accepted.json()["run_id"]
    assert (await direct.http.get(url)).status_code == 410


@pytest.mark.behaviour("streams.attach")
async def test_a_run_that_was_not_waited_for_is_followed(direct: Api) -> None:
    """`stream` in the body has the deltas logged for readers that come later; EventSource sends GET only."""
    accepted = await direct.ask("say later words", stream=True, wait_for_response=False)

    followed = await asyncio.wait_for(direct.http.get(accepted.headers["location"] + "/events"), GUARD_SECONDS)

    frames = parse(followed.text)
    assert (accepted.status_code, words(frames), frames[-1].event) == (202, "later words", "completed")
