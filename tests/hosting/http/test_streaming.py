"""A run's events over HTTP: while it runs, again, from wherever a reader left off, and in batches."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.event_stream import Frame, parse, words

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


async def ended_run(direct: Api, message: str = "say one two") -> str:
    """Return the address of the events of a run that was streamed and has ended."""
    answer = await direct.ask(message, stream=True)
    return str(httpx.URL(answer.headers["content-location"]).path)


async def open_run(direct: Api, seconds: float) -> str:
    """Return the address of the events of a run that goes on for so long."""
    answer = await direct.ask(f"sleep {seconds}", wait_for_response=False)
    return str(httpx.URL(answer.headers["location"]).path) + "/events"


async def read(direct: Api, url: str, offset: str, **query: str) -> httpx.Response:
    return await asyncio.wait_for(direct.http.get(url, params={"offset": offset, **query}), GUARD_SECONDS)


def frames(messages: list[dict[str, Any]]) -> list[Frame]:
    return [Frame(message["id"], message["event"], message["data"]) for message in messages]


@pytest.mark.behaviour("streams.offsets")
async def test_a_read_behind_any_event_has_the_rest_and_the_same_end(direct: Api) -> None:
    url = await ended_run(direct)
    whole = await read(direct, url, "-1")
    end = whole.headers["stream-next-offset"]

    offsets = [f"{int(message['id']):09d}" for message in whole.json()]
    rests = [await read(direct, url, offset) for offset in offsets]

    assert offsets == sorted(offsets)
    assert offsets[-1] == end
    assert [rest.json() for rest in rests] == [whole.json()[number:] for number in range(1, len(offsets) + 1)]
    assert {rest.headers["stream-next-offset"] for rest in rests} == {end}
    assert {rest.headers["stream-closed"] for rest in rests} == {"true"}


@pytest.mark.behaviour("streams.offset-refused")
@pytest.mark.parametrize(
    "query",
    [
        "offset=",
        "offset=0,1",
        "offset=000000001&offset=000000002",
        "offset=-2",
        "live=sse",
        "offset=-1&live=true",
        "offset=-1&cursor=x",
        "offset=-1&after=2",
        "offset=%D9%A3%D9%A3%D9%A3%D9%A3%D9%A3%D9%A3%D9%A3%D9%A3%D9%A3",
    ],
)
async def test_what_is_no_read_is_refused(direct: Api, query: str) -> None:
    url = await ended_run(direct)

    refused = await direct.http.get(f"{url}?{query}")

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_field")


@pytest.mark.behaviour("streams.long-poll")
async def test_a_poll_has_what_there_is_at_once_and_waits_for_what_comes(direct: Api) -> None:
    """Each answer says from where to ask next, until the run has ended; then nobody waits."""
    url = await open_run(direct, 0.1)
    messages, offset, closed = [], "-1", False

    while not closed:
        answer = await read(direct, url, offset, live="long-poll")
        assert answer.status_code == 200
        messages += answer.json()
        offset, closed = answer.headers["stream-next-offset"], "stream-closed" in answer.headers
        assert closed or answer.headers["stream-cursor"].isdigit()
    after = await read(direct, url, offset, live="long-poll")

    assert frames(messages) == parse((await direct.http.get(url)).text)
    assert (after.status_code, after.headers["stream-closed"]) == (204, "true")
    assert after.headers["stream-next-offset"] == offset


@pytest.mark.behaviour("streams.sse-mode")
@pytest.mark.parametrize("offset", ["-1", "now"])
async def test_a_stream_of_batches_has_the_offset_behind_each_and_closes(direct: Api, offset: str) -> None:
    """No event comes twice, and none is missing behind the offset where the reader began."""
    url = await open_run(direct, 0.1)

    stream = parse_control((await read(direct, url, offset, live="sse")).text)

    everything = (await read(direct, url, "-1")).json()
    messages = [message for name, value in stream if name == "data" for message in value]
    controls = [value for name, value in stream if name == "control"]
    assert messages == everything[len(everything) - len(messages) :]
    assert (len(messages) == len(everything)) is (offset == "-1")
    places = [control["streamNextOffset"] for control in controls]
    assert places == sorted(places)
    assert all(control["upToDate"] for control in controls)
    assert [("streamClosed" in control, "streamCursor" in control) for control in controls] == [
        *[(False, True)] * (len(controls) - 1),
        (True, False),
    ]


@pytest.mark.behaviour("streams.tail")
async def test_head_gives_the_end_of_a_run_without_its_events(direct: Api) -> None:
    url = await ended_run(direct)

    tail = await direct.http.head(url)

    assert (tail.status_code, tail.content) == (200, b"")
    assert tail.headers["content-type"] == "application/json"
    assert tail.headers["stream-next-offset"] == (await read(direct, url, "-1")).headers["stream-next-offset"]
    assert tail.headers["stream-closed"] == "true"
    assert tail.headers["cache-control"] == "no-store"


@pytest.mark.behaviour("streams.etag")
async def test_a_read_of_what_the_reader_has_is_304_until_the_run_has_ended(direct: Api) -> None:
    """The end changes the tag, also of a read that had every event but the last."""
    url = await open_run(direct, 0.1)
    first = await read(direct, url, "-1")
    await read(direct, url, "-1", live="sse")
    last = await read(direct, url, "-1")

    again = await direct.http.get(f"{url}?offset=-1", headers={"if-none-match": last.headers["etag"]})
    changed = await direct.http.get(f"{url}?offset=-1", headers={"if-none-match": first.headers["etag"]})
    other = await direct.http.get(f"{url}?offset=000000001", headers={"if-none-match": last.headers["etag"]})

    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", last.headers["etag"])
    assert changed.json() == last.json()
    assert other.status_code == 200


@pytest.mark.behaviour("streams.cursor-grows")
async def test_a_cursor_that_was_sent_is_answered_by_a_larger_one(direct: Api) -> None:
    url = await open_run(direct, 0.1)

    first = await read(direct, url, "-1", live="long-poll")
    second = await read(direct, url, "-1", live="long-poll", cursor="999999999")

    assert int(first.headers["stream-cursor"]) > 3_000_000
    assert second.headers["stream-cursor"] == "1000000000"


def parse_control(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.split("\n\n")[:-1]]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data:"))) for name, data in blocks]
