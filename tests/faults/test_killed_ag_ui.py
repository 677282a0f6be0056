"""AG-UI under SIGKILL: a real host killed while runs that it streams stand around each record.

A client that sends its run again, with what it has of it, gets the rest, and then has what somebody has who reads it
all anew: the same messages under the same ids, each word once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.faults.planned_app import Note, PlannedApp, points
from tests.support.ag_ui import Events, events_of, folded, states, wanted
from tests.support.kept_in import over
from tests.support.planned import ALL_SAID
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("ag-ui.killed"), over("log_settings", "redis")]

GUARD_SECONDS = 20.0
# The first words, three begins of tools with words before them, five results, the end with the last words.
APPENDS = 1 + 3 + 5 + 1
RUN = "/api/ag-ui/Speaker"
SHOWING = "/api/ag-ui/Steered"
CONTEXT = [{"description": "The open order.", "value": "A-17"}]
PAINTING = "/api/ag-ui/Painter"
RED, BLUE = ({"color": color, "shapes": [*range(20)]} for color in ("red", "blue"))
# The first answer with its tool's begin, the result, the same of the second round, the end.
APPENDS_OF_ROUNDS = 5


@dataclass(frozen=True)
class Seen:
    """What a client had at the kill, what it got for the run sent again, and what one gets who has nothing of it."""

    had: Events
    again: Events
    anew: Events


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Each run by the point at which its process was killed."""
    settings = {**log_settings, "AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"}
    return asyncio.run(killed_and_sent_again(PlannedApp(tmp_path_factory.mktemp("ag-ui"), settings)))


async def killed_and_sent_again(app: PlannedApp) -> dict[str, Seen]:
    """Have a run stand at each point, kill the process, and send the run again at another one."""
    asked = {point: first(point) for point in points(APPENDS)}
    with app.host(stands=True) as host:
        before = await streamed_until_killed(app, host, asked)
    had = {point: folded(before[point], fields["messages"]) for point, fields in asked.items()}
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with_it = [sent(http, {**asked[point], "messages": messages}) for point, messages in had.items()]
            again = await asyncio.gather(*with_it)
            anew = await asyncio.gather(*(sent(http, fields) for fields in asked.values()))
    return {point: Seen(had[point], *each) for point, *each in zip(asked, again, anew, strict=True)}


@pytest.fixture(scope="module")
def told(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[Note]:
    """What models were shown in runs with context, whose first process was killed at a point."""
    settings = {**log_settings, "LEASE_SECONDS": "1"}
    return asyncio.run(killed_with_context(PlannedApp(tmp_path_factory.mktemp("context"), settings)))


async def killed_with_context(app: PlannedApp) -> list[Note]:
    """Have a run stand at each point, kill the process, and follow the run at another one."""
    asked = {point: {**first(point), "context": CONTEXT} for point in points(APPENDS_OF_ROUNDS)}
    with app.host(stands=True) as host:
        await streamed_until_killed(app, host, asked, SHOWING)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            ends = await asyncio.gather(*(sent(http, {**fields, "context": []}, SHOWING) for fields in asked.values()))
    assert [events[-1].get("outcome") for events in ends] == [{"type": "success"}] * len(asked)
    return [note for note in app.notes() if note.what.startswith("model ")]


@pytest.fixture(scope="module")
def painted(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Events, Events]]:
    """The events of runs with a shared state whose process was killed, sent again, and those of the next run."""
    settings = {**log_settings, "LEASE_SECONDS": "1"}
    return asyncio.run(killed_with_state(PlannedApp(tmp_path_factory.mktemp("state"), settings)))


async def killed_with_state(app: PlannedApp) -> dict[str, tuple[Events, Events]]:
    """Have a run stand at each point, kill the process, and follow the run and the next at another one."""
    word = {"id": "u", "role": "user", "content": "paint blue, look"}
    asked = {point: {**first(point), "messages": [word], "state": RED} for point in points(APPENDS_OF_ROUNDS)}
    with app.host(stands=True) as host:
        await streamed_until_killed(app, host, asked, PAINTING)
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            ends = await asyncio.gather(*(sent(http, fields, PAINTING) for fields in asked.values()))
            following = [
                wanted("look", thread=fields["threadId"], run=f"{fields['runId']}-2") for fields in asked.values()
            ]
            after = await asyncio.gather(*(sent(http, fields, PAINTING) for fields in following))
    return dict(zip(asked, zip(ends, after, strict=True), strict=True))


def first(point: str) -> dict[str, Any]:
    """Return the request for a run that stands at the point."""
    name = point.replace(" ", "-")
    return wanted(point, thread=name, run=f"run-{name}")


async def streamed_until_killed(
    app: PlannedApp, host: RunningHost, asked: dict[str, Any], path: str = RUN
) -> dict[str, Events]:
    """Return what each client got until the host died under it."""
    got = {point: bytearray() for point in asked}
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        readers = [asyncio.ensure_future(stream(http, asked[point], received, path)) for point, received in got.items()]
        await app.until_standing(len(got))
        host.process.kill()
        await asyncio.wait_for(asyncio.gather(*readers), GUARD_SECONDS)
    return {point: events_of(bytes(received).decode().rpartition("\n\n")[0]) for point, received in got.items()}


async def stream(http: httpx.AsyncClient, fields: dict[str, Any], got: bytearray, path: str) -> None:
    """Have the agent run to its point, and read what it says until the stream breaks."""
    with contextlib.suppress(httpx.TransportError):
        async with http.stream("POST", path, json=fields) as answer:
            async for piece in answer.aiter_bytes():
                got.extend(piece)


async def sent(http: httpx.AsyncClient, fields: dict[str, Any], path: str = RUN) -> Events:
    """Return the events of a run to its end."""
    answer = await http.post(path, json=fields)
    return events_of(answer.text)


@pytest.mark.parametrize("point", points(APPENDS))
def test_a_client_that_sends_a_killed_run_again_has_each_word_once(seen: dict[str, Seen], point: str) -> None:
    """At every record: all that was said, each tool's call once, with its result."""
    one, user = seen[point], first(point)["messages"]
    messages = folded(one.again, one.had)
    said = [message["content"] for message in messages[1:] if message.get("content") and "toolCallId" not in message]
    calls = [call["id"] for message in messages for call in message.get("toolCalls", ())]
    results = [message["toolCallId"] for message in messages if "toolCallId" in message]

    assert one.again[-1]["outcome"] == {"type": "success"}
    assert messages == folded(one.anew, user)
    assert "\n\n".join(said) == ALL_SAID
    assert (len(calls), sorted(calls)) == (5, sorted(results))
    assert len(set(calls)) == 5


@pytest.mark.behaviour("ag-ui.context")
def test_every_model_call_of_a_killed_run_has_what_the_page_showed(told: list[Note]) -> None:
    """Also in the process that goes on; its client, which shows nothing any more, changes nothing."""
    shown = [json.loads(note.what.removeprefix("model ")) for note in told]

    assert len({note.process for note in told}) == 2
    assert [sum("A-17" in word for word in words) for words in shown] == [1] * len(shown)
    assert all("A-17" in words[0] for words in shown)


@pytest.mark.behaviour("ag-ui.state")
@pytest.mark.parametrize("point", points(APPENDS_OF_ROUNDS))
def test_a_kill_loses_no_change_of_the_shared_state(painted: dict[str, tuple[Events, Events]], point: str) -> None:
    """The tool after the kill sees it, the page gets it once, and the thread keeps it."""
    ended, following = painted[point]

    assert folded(ended)[-1]["content"] == f"painted blue | {json.dumps(BLUE)}"
    assert [event["type"] for event in ended if event["type"].startswith("STATE")] == ["STATE_SNAPSHOT", "STATE_DELTA"]
    assert states(ended) == [RED, BLUE]
    assert states(following) == [BLUE]
