"""Answers as they are made, at a running host: through whatever stands between, and resumed on another connection."""

from __future__ import annotations

import httpx

from tests.support.event_stream import Frame, frames, words

STREAM = {"accept": "text/event-stream"}


async def followed(client: httpx.AsyncClient, method: str, url: str, **request: object) -> tuple[list[Frame], str]:
    """Return the events of a stream, to its end, and its address."""
    async with client.stream(method, url, **request) as response:  # type: ignore[arg-type]
        assert (response.status_code, response.headers["content-type"].partition(";")[0]) == (200, STREAM["accept"])
        return [received async for received in frames(response)], str(response.headers["content-location"])


async def test_a_stream_is_the_answer_in_pieces(client: httpx.AsyncClient, agent: str, thread: str) -> None:
    """From the request to the end, which holds what the pieces make."""
    body = {"message": "Say hello.", "thread_id": thread}
    received, _ = await followed(client, "POST", f"/api/agents/{agent}/run", json=body, headers=STREAM)

    assert (received[0].event, received[-1].event) == ("accepted", "completed")
    assert words(received) == received[-1].fields["response"]


async def test_a_stream_goes_on_behind_the_last_event_that_came(
    client: httpx.AsyncClient, agent: str, thread: str
) -> None:
    """At the address that the first answer gave; behind the last one there is nothing more."""
    body = {"message": "Say hello.", "thread_id": thread}
    received, address = await followed(client, "POST", f"/api/agents/{agent}/run", json=body, headers=STREAM)
    rest, _ = await followed(client, "GET", address, headers={**STREAM, "last-event-id": str(received[1].id)})
    after = await client.get(address, headers={**STREAM, "last-event-id": str(received[-1].id)})

    assert [frame for frame in rest if frame.event != "delta"] == [
        frame for frame in received[2:] if frame.event != "delta"
    ]
    assert words([*received[:2], *rest]) == words(received)
    assert after.status_code == 204
