"""OpenAI Responses under SIGKILL: a real host killed while responses that it streams stand around each record.

A reader that comes back with the last number that it has gets the rest. What it has then is what somebody gets who
reads it all anew: the same events under the same numbers, and the same text once deltas are joined.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.faults.planned_app import PlannedApp, points
from tests.support.kept_in import over
from tests.support.planned import ALL_SAID
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("responses.killed"), over("log_settings", "redis")]

GUARD_SECONDS = 20.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1
RESPONSES = "/api/openai/v1/responses"
DELTA = "response.output_text.delta"

Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Seen:
    """What a reader had at the kill, what it got when it came back, and what one who reads it all anew gets."""

    before: Events
    after: Events
    anew: Events


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Each response by the point at which its process was killed."""
    settings = {**log_settings, "AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
    return asyncio.run(killed_and_resumed(PlannedApp(tmp_path_factory.mktemp("responses"), settings)))


async def killed_and_resumed(app: PlannedApp) -> dict[str, Seen]:
    """Have a streamed response stand at each point, kill the process, and follow on at another one."""
    with app.host(stands=True) as host:
        before = await streamed_until_killed(app, host)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            after = await asyncio.gather(*(followed(http, events, resumes=True) for events in before.values()))
            anew = await asyncio.gather(*(followed(http, events, resumes=False) for events in before.values()))
    return {point: Seen(*each) for point, *each in zip(before, before.values(), after, anew, strict=True)}


async def streamed_until_killed(app: PlannedApp, host: RunningHost) -> dict[str, Events]:
    """Return what the reader of each response got until the host died under it."""
    got = {point: bytearray() for point in points(APPENDS)}
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        readers = [asyncio.ensure_future(stream(http, point, received)) for point, received in got.items()]
        await app.until_standing(len(got))
        host.process.kill()
        await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
    return {point: parse(bytes(received)) for point, received in got.items()}


async def stream(http: httpx.AsyncClient, point: str, got: bytearray) -> None:
    """Have the agent run to the point, and read what it says until the stream breaks."""
    body = {"model": "Speaker", "input": point, "stream": True}
    with contextlib.suppress(httpx.TransportError):
        async with http.stream("POST", RESPONSES, json=body) as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


def parse(received: bytes) -> Events:
    """Return the events that came whole."""
    whole = received.decode(errors="replace").rpartition("\n\n")[0]
    return [json.loads(line[6:]) for line in whole.splitlines() if line.startswith("data: ")]


async def followed(http: httpx.AsyncClient, before: Events, *, resumes: bool) -> Events:
    """Return the rest of a response to its end, or all of it."""
    behind = {"starting_after": str(before[-1]["sequence_number"])} if resumes else {}
    answer = await http.get(f"{RESPONSES}/{before[0]['response']['id']}", params={"stream": "true", **behind})
    return parse(answer.content)


def texts(events: Events) -> dict[str, str]:
    """Return what was said of each item."""
    said: dict[str, str] = {}
    for event in events:
        if event["type"] == DELTA:
            said[event["item_id"]] = said.get(event["item_id"], "") + event["delta"]
    return said


@pytest.mark.parametrize("point", points(APPENDS))
def test_a_response_of_a_killed_host_goes_on_where_it_broke_off(seen: dict[str, Seen], point: str) -> None:
    """At every record: each event once, and the words of each item that stands are whole."""
    one = seen[point]
    both = [*one.before, *one.after]
    final = one.anew[-1]["response"]
    standing = {item["id"]: item["content"][0]["text"] for item in final["output"] if item["type"] == "message"}

    assert final["status"] == "completed"
    assert "\n\n".join(standing.values()) == ALL_SAID
    assert [event for event in both if event["type"] != DELTA] == [
        event for event in one.anew if event["type"] != DELTA
    ]
    for said in (texts(both), texts(one.anew)):
        assert {item: said[item] for item in standing} == standing


@pytest.mark.parametrize("point", points(APPENDS))
def test_the_words_of_the_attempt_that_was_killed_are_no_output(seen: dict[str, Seen], point: str) -> None:
    """Where a model call had not ended; each tool's call is there once."""
    anew = seen[point].anew
    done = [event["item"] for event in anew if event["type"] == "response.output_item.done"]
    output = anew[-1]["response"]["output"]

    def by_id(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(items, key=lambda item: str(item["id"]))

    assert by_id([item for item in done if item["status"] != "incomplete"]) == by_id(output)
    assert sum(item["type"] == "mcp_call" for item in output) == 5
