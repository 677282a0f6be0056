"""A message that joins the run at work, in one process and in two."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from hosting.core.stores.contract import Append, AppendOutcome, StoredHead, Unknown
from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.events import Completed, Joined
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import ResponseFormat, RunRequest
from hosting.names import Address
from hosting.principal import Caller, Principal
from state.codec import read
from state.conversation import response_text
from state.models import ResponseEntry
from tests.support.process import Engine, Process, call
from tests.support.state_documents import history_messages
from tests.support.steered import Working, said, until

GUARD_SECONDS = 5.0
pytestmark = pytest.mark.behaviour("service.steering")


class Two:
    """Two processes of one agent, each with its own model and tool."""

    def __init__(self, **options: Any) -> None:
        shared, attachments, self.engine = SharedMemory(), MemoryObjects(), Engine()
        self.works = Working(**options), Working(**options)
        self.one, self.other = (Process(shared, attachments, self.engine, run=working.agent) for working in self.works)

    async def steered(self, message: str = "and this", *, by: Process | None = None, streams: bool = False) -> Run:
        run = await self.one.start(call("first", streams=streams))
        await self.works[0].at_work()
        self.run, self.word = run, await (by or self.one).start(call(message, busy="steer", waits=False))
        return run

    async def ended(self, run: Run, process: Process | None = None) -> Run:
        process = process or self.one
        return await process.runs.wait(run, process.engine, GUARD_SECONDS)

    def close(self) -> None:
        for process, working in zip((self.one, self.other), self.works, strict=True):
            working.open()
            process.loop.close()


@pytest.fixture
def two() -> Iterator[Two]:
    processes = Two()
    yield processes
    processes.close()


def answer(run: Run) -> list[str]:
    assert isinstance(run.end, Completed)
    assert isinstance(run.end.response, ResponseEntry)
    shown: list[str] = json.loads(response_text(run.end.response))
    return shown


SHOWN = ["user: first", "call", "tool", "user: and this", "call", "tool"]


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("in_two", [False, True], ids=["one process", "two"])
async def test_a_message_joins_the_run_at_work_at_its_next_model_call(two: Two, in_two: bool, streams: bool) -> None:
    """Behind the results of tools that the model gets then, and there it stays in each later call."""
    first = await two.steered(by=two.other if in_two else two.one, streams=streams)

    two.works[0].gate.set()
    first, word = await two.ended(first), await two.ended(two.word, two.other)

    assert answer(first) == SHOWN
    assert two.works[0].client.shown == [SHOWN[:1], SHOWN[:4], SHOWN]
    assert isinstance(word.end, Joined)
    assert (word.end.into, [joined.run_id for joined in first.joined]) == (first.run_id, [word.run_id])
    assert two.works[1].client.shown == []


async def test_who_waits_for_a_message_that_joins_gets_the_answer_of_the_run_that_took_it(two: Two) -> None:
    first = await two.steered()
    waiting = asyncio.ensure_future(two.other.runs.wait_as(call().wait, two.word, two.engine))

    two.works[0].gate.set()

    assert (await waiting).run_id == first.run_id


async def test_a_message_that_joined_stands_at_its_place_in_the_next_turn_and_in_the_document(two: Two) -> None:
    """The next run's model gets it where the run's own model got it."""
    first = await two.steered()
    two.works[0].gate.set()
    first = await two.ended(first)
    await two.one.deliver(first.run_id)

    following = await two.ended(await two.one.start(call("next")))

    whole = [*SHOWN, f"assistant: {json.dumps(SHOWN)}", "user: next"]
    assert two.works[0].client.shown[3] == whole
    assert answer(following)[: len(whole)] == whole
    document = read(two.engine.documents["t1"])
    assert [*map(said, history_messages(document))] == whole[:-1]
    assert first.end is not None
    entries = document.data.conversation_history
    assert [entry.correlation_id for entry in entries] == [first.run_id] * 2  # type: ignore[union-attr]


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streamed"])
async def test_another_process_that_takes_the_run_over_shows_the_message_at_the_same_call(
    two: Two, streams: bool
) -> None:
    """The first one recorded that it joined, and died in the model call after that. What came since joins behind it."""
    first = await two.steered(streams=streams)
    two.works[0].client.gate.clear()
    two.works[0].gate.set()
    await until(lambda: len(two.works[0].client.shown) == 2)
    two.one.die()
    two.works[1].gate.set()

    later = await two.other.start(call("later", busy="steer", waits=False))
    await two.other.deliver(first.run_id)
    first = await two.ended(first, two.other)

    assert two.works[0].client.shown[1] == SHOWN[:4]
    assert two.works[1].client.shown[0] == [*SHOWN[:4], "user: later"]
    assert answer(first) == [*SHOWN[:4], "user: later", *SHOWN[4:]]
    assert [joined.run_id for joined in first.joined] == [two.word.run_id, later.run_id]


async def test_a_process_that_dies_before_it_recorded_a_message_leaves_it_to_the_next(two: Two) -> None:
    """The other one has it join where it makes its first call that is not replayed."""
    first = await two.steered()
    two.one.die()
    two.works[1].gate.set()

    await two.other.deliver(first.run_id)
    first = await two.ended(first, two.other)

    assert answer(first) == SHOWN
    assert [joined.run_id for joined in first.joined] == [two.word.run_id]


@pytest.mark.behaviour("options.alone")
@pytest.mark.parametrize(
    "own", [{"response_format": ResponseFormat()}, {"options": {"temperature": 0.0}}], ids=["format", "options"]
)
async def test_a_message_with_a_form_or_options_of_its_own_gets_a_run_of_its_own(two: Two, own: dict[str, Any]) -> None:
    """The run at work answers in the form, and with the options, that its own caller asked for."""
    first = await two.one.start(call("first"))
    await two.works[0].at_work()
    request = RunRequest(message="and this", **own)
    word = await two.one.start(replace(call(busy="steer"), request=request))

    two.works[0].gate.set()
    first, word = await two.ended(first), await two.ended(word)

    assert (first.joined, isinstance(word.end, Joined)) == ((), False)


async def test_what_another_person_says_does_not_join(two: Two) -> None:
    """The tools of the run work in the name of its own caller."""
    first = await two.one.start(call("first"))
    await two.works[0].at_work()
    guest = Caller(two.engine, Principal("https://issuer", "guest"), grant="g1")
    word = (await two.one.runs.start("Echo", call("and this", busy="steer"), guest)).run

    two.works[0].gate.set()
    first, word = await two.ended(first), await two.ended(word)

    assert (first.joined, answer(word)[-5]) == ((), "user: and this")


async def test_a_repeated_key_finds_the_run_that_joined_and_gets_the_answer_of_the_other(two: Two) -> None:
    """It joins once, whatever the repeat says of a busy thread."""
    first = await two.one.start(call("first"))
    await two.works[0].at_work()
    word = await two.one.start(call("and this", key="k", busy="steer", waits=False))
    two.works[0].gate.set()
    first = await two.ended(first)

    again = (await two.other.runs.start("Echo", call("and this", key="k", busy="queue"), two.other.caller)).run

    assert again.run_id == word.run_id
    assert (await two.other.runs.wait_as(call().wait, again, two.engine)).run_id == first.run_id


class DyingStore:
    """The store of a process that dies at an append of events: `before` it was carried out, or `after` that."""

    def __init__(self, process: Process, point: str) -> None:
        self._store, self._process = process.store._store, process
        self._when, number = point.split()
        self._left = int(number)
        process.store._store = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        self._left -= bool(append.events)
        if self._left or not append.events:
            return await self._store.append(address, known, append)
        if self._when == "after":
            await self._store.append(address, known, append)
        self._process.die()
        return Unknown()


APPENDS = 5  # the tool's result, the message that joins, the model's answer, the tool's second result, the end
POINTS = [f"{when} {number}" for number in range(1, APPENDS + 1) for when in ("before", "after")]


@pytest.mark.parametrize("point", POINTS)
async def test_a_message_is_given_once_wherever_the_process_dies(two: Two, point: str) -> None:
    """Another process goes on, with the message at the call at which it was recorded."""
    first = await two.steered(by=two.other)
    DyingStore(two.one, point)
    two.works[1].gate.set()

    two.works[0].gate.set()
    while not two.one.store.is_away:  # noqa: ASYNC110 - under the guard of the test
        await asyncio.sleep(0.005)
    await two.other.deliver(first.run_id)
    first, word = await two.ended(first, two.other), await two.ended(two.word, two.other)

    assert answer(first) == SHOWN
    assert isinstance(word.end, Joined)
    assert (word.end.into, [joined.run_id for joined in first.joined]) == (first.run_id, [word.run_id])
    assert (await two.other.kinds()).count("joined") == 1
    assert all(shown.count("user: and this") <= 1 for working in two.works for shown in working.client.shown)
