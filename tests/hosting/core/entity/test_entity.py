"""The entity's operations over the thread's log: deliveries twice, crashes, a log that is away, bad data."""

import asyncio
import time
from typing import Any

import pytest
from agent_framework import AgentResponse, Content, Message

from hosting.core.thread.commands import DescribeThread
from hosting.core.thread.events import Completed, Failed
from state.codec import read
from state.extension import host_of
from tests.support.bench import ADDRESS, Bench


@pytest.mark.behaviour("turn.duplicate-delivery")
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_run_delivered_again_is_answered_from_its_log(bench: Bench, restarted: bool) -> None:
    """The agent ran once, and the state is what it was."""
    run_id = await bench.run("hi")
    state = bench.state
    if restarted:
        bench.restart()

    await bench.signal(run_id)

    assert len(bench.agent.seen) == 1
    assert bench.state == state


@pytest.mark.behaviour("turn.applied-once")
async def test_an_answer_recorded_before_a_crash_is_applied_by_the_next_delivery(bench: Bench) -> None:
    """Dead after the terminal record and before the commit: the recorded answer is written, and the agent not run."""
    run_id = await bench.open("hi")
    await bench.signal(run_id, commit=False)
    bench.restart()

    await bench.signal(run_id)

    assert len(bench.agent.seen) == 1
    assert bench.places() == [run_id]
    assert await bench.kinds(run_id) == ["accepted", "claimed", "completed"]


@pytest.mark.behaviour("turn.claims")
async def test_the_claim_stands_in_the_log_before_the_agent_runs(bench: Bench) -> None:
    run_id = await bench.open("hi")
    during: list[list[str]] = []
    here = asyncio.get_running_loop()

    async def look(text: str) -> AgentResponse[Any]:
        during.append(await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(bench.kinds(run_id), here)))
        return AgentResponse(messages=[])

    bench.agent.work = look
    await bench.signal(run_id)

    claim = (await bench.find_run(run_id)).claim
    assert during == [["accepted", "claimed"]]
    assert claim is not None
    assert (claim.attempt, claim.holder, round(claim.deadline - claim.at)) == (1, "entity", 300)


@pytest.mark.behaviour("orchestrations.run-id-reused")
@pytest.mark.parametrize("has_ended", [True, False])
@pytest.mark.parametrize("by_signal", [True, False])
async def test_a_known_run_id_with_another_request_is_refused(
    bench: Bench, caplog: pytest.LogCaptureFixture, by_signal: bool, has_ended: bool
) -> None:
    """At once, whether that run has ended or waits; a signal has nobody who is told but the log."""
    first = {"message": "hi", "run_id": "r-1"}
    opened = None if has_ended else await bench.open("elsewhere", "r-1")
    if has_ended:
        await bench.deliver(first, signal=False)
    kinds, state = await bench.kinds("r-1"), bench.state

    result = await bench.deliver({"message": "other", "run_id": "r-1"}, signal=by_signal)

    lines = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    if by_signal:
        assert (result, len(lines)) == (None, 1)
        assert all(named in lines[0] for named in ("Joker", "thread t ", "r-1", "run_id_reused"))
    else:
        assert (result["status"], result["error"]["code"], lines) == ("failed", "run_id_reused", [])
    assert (await bench.kinds("r-1"), bench.state) == (kinds, state)
    assert (await bench.find_run("r-1")).accepted.request.message == ("hi" if opened is None else "elsewhere")


@pytest.mark.behaviour("turn.duplicate-delivery")
async def test_an_operation_that_names_no_run_begins_the_same_one_when_it_is_delivered_again(bench: Bench) -> None:
    """Named by the engine's id of it: its commit was lost, or its host. Another operation is another run."""
    operation = "dc1e8877-57c1-5c34-9762-94777fda926c"
    for commit in (False, True):
        await bench.deliver({"message": "hi"}, commit=commit, operation_id=operation)
    await bench.deliver({"message": "hi"})

    assert len(bench.agent.seen) == 2
    assert bench.places()[0] == operation.replace("-", "")


@pytest.mark.behaviour("turn.unreadable-state")
@pytest.mark.parametrize("state", ["not json", "[]", '{"schemaVersion": "9.0.0", "data": {}}', '{"data": {}}'])
async def test_a_conversation_that_cannot_be_read_stays_byte_for_byte(bench: Bench, state: str) -> None:
    """The run fails and says why; the agent is not run on half a conversation."""
    bench.state = state

    run_id = await bench.run("hi")

    ending = await bench.terminal(run_id)
    assert isinstance(ending, Failed)
    assert (ending.code, ending.detail.partition(":")[0]) == (
        "unreadable_state",
        "The stored conversation cannot be read",
    )
    assert bench.state == state
    assert bench.agent.seen == []


@pytest.mark.behaviour("turn.never-raises")
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("explode", {}, "The operation 'explode' is not known. Known: run, store, reset, delete, expire, trim."),
        ("", {}, "The operation '' is not known."),
        ("run", None, "takes an object"),
        ("run", "hi", "takes an object"),
        ("run", {}, "There is no message"),
        ("run", {"message": " "}, "blank"),
        ("run", {"message": "\ud800"}, "surrogate"),
        ("run", {"message": "hi", "run_id": "a/b"}, "'a/b' is not valid"),
        ("run", {"message": "hi", "run_id": 7}, "'7' is not valid"),
        ("run", {"message": "hi", "orchestrationId": 7}, "'orchestrationId'"),
    ],
)
async def test_an_operation_that_cannot_be_done_is_refused_by_a_sentence(
    bench: Bench, name: str, value: object, says: str
) -> None:
    """The batch is answered, the state stays, the agent rests."""
    result = await bench.deliver(value, name=name, signal=False)

    assert says in result["refused"]
    assert (bench.state, bench.agent.seen) == (None, [])


@pytest.mark.behaviour("turn.never-raises")
@pytest.mark.parametrize("text", ["half of a pair: \ud83d", "\udc00"])
async def test_an_answer_with_half_of_a_character_is_kept_with_its_replacement(bench: Bench, text: str) -> None:
    """In the log and in the document alike: no other reader takes a half."""

    async def speak(requested: str) -> AgentResponse[Any]:
        return AgentResponse(messages=[Message("assistant", [Content.from_text(text)])])

    bench.agent.work = speak
    run_id = await bench.run("hi")

    ending = await bench.terminal(run_id)
    assert isinstance(ending, Completed)
    assert ending.entry == bench.entries()[1]
    assert bench.entries()[1]["messages"][0]["contents"][0]["text"] == text[:-1] + "\ufffd"


@pytest.mark.behaviour("turn.store")
async def test_a_document_is_stored_while_runs_of_its_thread_are_open(bench: Bench) -> None:
    """The operation ends none of them, and is not kept waiting by one whose id is what anything is called."""
    begun = await bench.run("one")
    run_id = await bench.open("two", run_id="described")
    described = await bench.services.log.execute(ADDRESS, DescribeThread(time.time(), 0, {"for": "a test"}))

    await bench.deliver({"position": described.head.described}, name="store")

    mark = host_of(read(bench.state or "")).log_mark
    assert mark is not None
    assert (mark.position, bench.places(), bench.agent.seen) == (described.head.position, [begun], [["one"]])
    await bench.signal(run_id)
    assert bench.places() == [begun, run_id]
