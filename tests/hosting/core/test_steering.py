"""A message that joins the run at work, in one process and in two."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from hosting.core.thread.events import Completed, Joined
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import ResponseFormat, RunRequest
from hosting.principal import Caller, Principal
from state.codec import read
from state.conversation import response_text
from state.models import ResponseEntry
from tests.support.cluster.cluster import INSTANCE, AppProcess, Cluster, call
from tests.support.state_documents import history_messages
from tests.support.steered import Working, said

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("service.steering")]

SHOWN = ["user: first", "call", "tool", "user: and this", "call", "tool"]
APPENDS = 5
"""The tool's result, the message that joins, the model's answer, the tool's second result, the end."""


class Two:
    """Two processes of one agent, each with its own model and tool."""

    def __init__(self) -> None:
        self.works: list[Working] = []
        self.cluster = Cluster(self._agent)
        self.one, self.other = self.cluster.process(), self.cluster.process()

    def _agent(self) -> Any:
        self.works.append(Working(gate=asyncio.Event))
        return self.works[-1].agent

    async def steered(self, *, by: AppProcess | None = None, streams: bool = False, **members: Any) -> Run:
        """Begin a run, and send a message that is to join it, `word`, while its tool is at work."""
        run = await self.one.start(call("first", streams=streams))
        await asyncio.sleep(0.1)
        self.word = await (by or self.one).start(call("and this", busy="steer", waits=False, **members))
        return run

    async def ended(self, run: Run, process: AppProcess | None = None) -> Run:
        process = process or self.one
        return await process.runs.wait(run, process.engine, 60.0)

    async def shown(self, run: Run, process: AppProcess | None = None) -> list[str]:
        """Return what the model of a run says at its end that it was shown."""
        end = (await self.ended(run, process)).end
        assert isinstance(end, Completed)
        assert isinstance(end.response, ResponseEntry)
        return list(json.loads(response_text(end.response)))


@pytest.fixture
async def two() -> AsyncIterator[Two]:
    processes = Two()
    yield processes
    await processes.cluster.close()


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("in_two", [False, True], ids=["one process", "two"])
async def test_a_message_joins_the_run_at_work_at_its_next_model_call(two: Two, in_two: bool, streams: bool) -> None:
    """Behind the tools' results, where it stays; who waits for it, or repeats its key, gets the run that took it."""
    first = await two.steered(by=two.other if in_two else two.one, streams=streams, key="k")
    waiting = asyncio.ensure_future(two.other.runs.wait_as(call().wait, two.word, two.other.engine))

    two.works[0].gate.set()
    shown, first, word = await two.shown(first), await two.ended(first), await two.ended(two.word, two.other)
    again = await two.other.start(call("and this", key="k", busy="queue"))

    assert shown == SHOWN
    assert two.works[0].client.shown == [SHOWN[:1], SHOWN[:4], SHOWN]
    assert isinstance(word.end, Joined)
    assert (word.end.into, [joined.run_id for joined in first.joined]) == (first.run_id, [word.run_id])
    assert (again.run_id, two.works[1].client.shown) == (word.run_id, [])
    for answer in (await waiting, await two.other.runs.wait_as(call().wait, again, two.other.engine)):
        assert answer.run_id == first.run_id


async def test_a_message_that_joined_stands_at_its_place_in_the_next_turn_and_in_the_document(two: Two) -> None:
    """The next run's model gets it where the run's own model got it."""
    first = await two.steered()
    two.works[0].gate.set()
    await two.ended(first)
    await two.one.deliver(first.run_id)

    following = await two.one.start(call("next"))

    whole = [*SHOWN, f"assistant: {json.dumps(SHOWN)}", "user: next"]
    assert (await two.shown(following))[: len(whole)] == whole == two.works[0].client.shown[3]
    document = read(two.cluster.engine.documents[INSTANCE])
    assert [*map(said, history_messages(document))] == whole[:-1]
    assert [entry["correlationId"] for entry in two.one.entries()] == [first.run_id] * 2


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streamed"])
async def test_another_process_that_takes_the_run_over_shows_the_message_at_the_same_call(
    two: Two, streams: bool
) -> None:
    """The first one recorded that it joined, and died in the model call after that. What came since joins behind it."""
    first = await two.steered(streams=streams)
    two.works[0].client.gate.clear()
    two.works[0].gate.set()
    await asyncio.sleep(1.0)
    two.one.die()
    two.works[1].gate.set()

    later = await two.other.start(call("later", busy="steer", waits=False))
    await two.other.deliver(first.run_id)
    first = await two.ended(first, two.other)

    assert two.works[0].client.shown[1] == SHOWN[:4]
    assert two.works[1].client.shown[0] == [*SHOWN[:4], "user: later"]
    assert await two.shown(first, two.other) == [*SHOWN[:4], "user: later", *SHOWN[4:]]
    assert [joined.run_id for joined in first.joined] == [two.word.run_id, later.run_id]


@pytest.mark.parametrize("is_done", [False, True], ids=["before an append", "behind it"])
@pytest.mark.parametrize("number", range(1, APPENDS + 1))
async def test_a_message_is_given_once_wherever_the_process_dies(two: Two, number: int, *, is_done: bool) -> None:
    """Another process goes on, with the message at the call at which it was recorded."""
    first, left = await two.steered(by=two.other), number

    async def append() -> None:
        nonlocal left
        left, two.one.store.before_append = left - 1, append
        if not left:
            two.one.life.end()
            two.one.store.is_away = not is_done

    two.one.store.before_append = append
    for working in two.works:
        working.gate.set()
    await two.other.deliver(first.run_id)
    first, word = await two.ended(first, two.other), await two.ended(two.word, two.other)

    assert left == 0
    assert await two.shown(first, two.other) == SHOWN
    assert isinstance(word.end, Joined)
    assert (word.end.into, [joined.run_id for joined in first.joined]) == (first.run_id, [word.run_id])
    assert (await two.other.kinds()).count("joined") == 1
    assert all(shown.count("user: and this") <= 1 for working in two.works for shown in working.client.shown)


@pytest.mark.behaviour("options.alone")
async def test_a_message_with_a_form_or_options_of_its_own_or_another_s_gets_a_run_of_its_own(two: Two) -> None:
    """The run at work answers as its own caller asked, and its tools work in the name of that caller."""
    first = await two.one.start(call("first"))
    await asyncio.sleep(0.1)
    own: list[dict[str, Any]] = [{"response_format": ResponseFormat()}, {"options": {"temperature": 0.0}}]
    asked = [replace(call(busy="steer"), request=RunRequest(message="and this", **members)) for members in own]
    guest = Caller(two.one.engine, Principal("https://issuer", "guest"), grant="g1")
    words = [await two.one.start(each) for each in asked] + [await two.one.start(call("guest", busy="steer"), guest)]

    two.works[0].gate.set()
    ends = [(await two.ended(run)).end for run in (first, *words)]

    assert (await two.ended(first)).joined == ()
    assert [isinstance(end, Joined) for end in ends] == [False] * 4
