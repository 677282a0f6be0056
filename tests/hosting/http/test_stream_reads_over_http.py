"""A run's events by the read half of the Durable Streams protocol."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.event_stream import Frame, parse

POLL_SECONDS = 20


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


async def behind_the_start(direct: Api, url: str) -> str:
    """Return the offset behind the event that says the run goes on: for a while there is none behind it."""
    while True:
        answer = await read(direct, url, "-1")
        if "started" in {message["event"] for message in answer.json()}:
            return str(answer.headers["stream-next-offset"])
        await asyncio.sleep(0.01)


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
        "offset=7",
        "offset=0,1",
        "offset=000000001&offset=000000002",
        "offset=-2",
        "offset=NOW",
        "live=sse",
        "live=long-poll",
        "offset=-1&live=true",
        "offset=-1&cursor=x",
        "cursor=",
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


@pytest.mark.slow
@pytest.mark.behaviour("streams.long-poll")
async def test_a_poll_that_nothing_comes_for_is_answered_204(direct: Api) -> None:
    url = await open_run(direct, POLL_SECONDS)
    offset = await asyncio.wait_for(behind_the_start(direct, url), GUARD_SECONDS)

    answer = await direct.http.get(url, params={"offset": offset, "live": "long-poll"}, timeout=2 * POLL_SECONDS)

    assert answer.status_code == 204
    assert answer.headers["stream-up-to-date"] == "true"
    assert answer.headers["stream-next-offset"] >= offset
    assert answer.headers["stream-cursor"].isdigit()
    assert "stream-closed" not in answer.headers
    await direct.http.post(url.removesuffix("/events") + "/cancel")


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
