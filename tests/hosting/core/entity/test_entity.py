"""The entity's operations over the thread's log: deliveries twice, commits that are lost, bad data."""

from __future__ import annotations

import pytest
from agent_framework import AgentResponse, Content, Message

from hosting.core.thread.commands import DescribeThread
from hosting.core.thread.events import Completed, Failed
from state.codec import read
from state.extension import host_of
from tests.support.cluster.cluster import ADDRESS, INSTANCE, AppProcess, Cluster, EchoAgent

pytestmark = pytest.mark.moved_time


@pytest.mark.behaviour("turn.duplicate-delivery")
@pytest.mark.behaviour("turn.applied-once")
@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_run_delivered_again_is_answered_from_its_log(
    two: tuple[AppProcess, AppProcess], is_committed: bool
) -> None:
    """Also where its process died before the commit: the answer is written then, and the agent not run again."""
    one, other = two
    run_id = await one.open("hi")
    await one.deliver(run_id, commit=is_committed)
    state = one.cluster.engine.documents.get(INSTANCE)

    await other.deliver(run_id)

    assert (len(one.agent.turns), other.agent.turns, other.places()) == (1, [], [run_id])
    assert await other.kinds() == ["accepted", "claimed", "completed"]
    assert state == (one.cluster.engine.documents[INSTANCE] if is_committed else None)


@pytest.mark.behaviour("turn.claims")
async def test_the_claim_stands_in_the_log_before_the_agent_runs(app: AppProcess) -> None:
    run_id = await app.open("hi")
    app.agent.gate.clear()
    delivery = app.cluster.loop.create_task(app.deliver(run_id))
    await app.cluster.sleep(1)
    during = await app.kinds()
    app.agent.gate.set()
    await delivery

    claim = (await app.find_run(run_id)).claim
    assert (during, len(app.agent.turns)) == (["accepted", "claimed"], 1)
    assert claim is not None
    assert (claim.attempt, claim.holder, round(claim.deadline - claim.at)) == (1, "entity", 300)


@pytest.mark.behaviour("orchestrations.run-id-reused")
@pytest.mark.parametrize("has_ended", [True, False])
@pytest.mark.parametrize("by_signal", [True, False])
async def test_a_known_run_id_with_another_request_is_refused(
    app: AppProcess, caplog: pytest.LogCaptureFixture, by_signal: bool, has_ended: bool
) -> None:
    """At once, whether that run has ended or waits; a signal has nobody who is told but the log."""
    if has_ended:
        await app.operate({"message": "hi", "run_id": "r-1"}, is_signal=False)
    else:
        await app.open("hi", "r-1")
    before = await app.kinds(), app.entries()

    result = await app.operate({"message": "other", "run_id": "r-1"}, is_signal=by_signal)

    lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    if by_signal:
        assert (result, len(lines)) == (None, 1)
        assert all(named in lines[0] for named in ("Echo", "thread t1 ", "r-1", "run_id_reused"))
    else:
        assert (result["status"], result["error"]["code"], lines) == ("failed", "run_id_reused", [])
    assert (await app.kinds(), app.entries()) == before
    assert (await app.find_run("r-1")).accepted.request.message == "hi"


@pytest.mark.behaviour("turn.duplicate-delivery")
async def test_an_operation_that_names_no_run_begins_the_same_one_when_it_is_delivered_again(app: AppProcess) -> None:
    """Named by the engine's id of it: its commit was lost, or its host. Another operation is another run."""
    operation = "dc1e8877-57c1-5c34-9762-94777fda926c"
    for commit in (False, True):
        await app.operate({"message": "hi"}, commit=commit, operation_id=operation)
    await app.operate({"message": "hi"})

    assert len(app.agent.turns) == 2
    assert app.places()[0] == operation.replace("-", "")


@pytest.mark.behaviour("turn.unreadable-state")
@pytest.mark.parametrize("state", ["not json", "[]", '{"schemaVersion": "9.0.0", "data": {}}', '{"data": {}}'])
async def test_a_conversation_that_cannot_be_read_stays_byte_for_byte(app: AppProcess, state: str) -> None:
    """The run fails and says why; the agent is not run on half a conversation."""
    app.cluster.engine.documents[INSTANCE] = state

    ending = await app.terminal(await app.run("hi"))

    assert isinstance(ending, Failed)
    assert ending.code == "unreadable_state"
    assert ending.detail.startswith("The stored conversation cannot be read:")
    assert (app.cluster.engine.documents[INSTANCE], app.agent.turns) == (state, [])


@pytest.mark.behaviour("turn.never-raises")
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("explode", {}, "The operation 'explode' is not known. Known: run, store, reset, delete, expire, trim."),
        ("run", None, "takes an object"),
        ("run", {}, "There is no message"),
        ("run", {"message": " "}, "blank"),
        ("run", {"message": "\ud800"}, "surrogate"),
        ("run", {"message": "hi", "run_id": "a/b"}, "'a/b' is not valid"),
        ("run", {"message": "hi", "orchestrationId": 7}, "'orchestrationId'"),
        ("reset", {"position": "7"}, "The operation 'reset' takes an object with"),
        ("delete", {"logged": 1}, "The operation 'delete' takes an object with"),
    ],
)
async def test_an_operation_that_cannot_be_done_is_refused_by_a_sentence(
    app: AppProcess, name: str, value: object, says: str
) -> None:
    """The batch is answered, the state stays, the agent rests."""
    result = await app.operate(value, name, is_signal=False)

    assert says in result["refused"]
    assert (app.entries(), app.agent.turns) == ([], [])


class Halving(EchoAgent):
    """Says half of a character last."""

    async def _answer(self, texts: list[str]) -> AgentResponse[None]:
        return AgentResponse(messages=[Message("assistant", [Content.from_text(texts[-1] + "\ud83d")])])


@pytest.mark.behaviour("turn.never-raises")
async def test_an_answer_with_half_of_a_character_is_kept_with_its_replacement() -> None:
    """In the log and in the document alike: no other reader takes a half."""
    app = Cluster(Halving).process()

    ending = await app.terminal(await app.run("half of a pair: "))

    assert isinstance(ending, Completed)
    assert ending.entry == app.entries()[1]
    assert app.entries()[1]["messages"][0]["contents"][0]["text"] == "half of a pair: \ufffd"


@pytest.mark.behaviour("turn.store")
async def test_a_document_is_stored_while_runs_of_its_thread_are_open(app: AppProcess) -> None:
    """The operation ends none of them, and is not kept waiting by one whose id is what anything is called."""
    begun = await app.run("one")
    run_id = await app.open("two", run_id="described")
    described = await app.log.execute(ADDRESS, DescribeThread(app.cluster.wall(), 0, {"for": "a test"}))

    await app.operate({"position": described.head.described}, "store")

    mark = host_of(read(app.cluster.engine.documents[INSTANCE])).log_mark
    assert mark is not None
    assert (mark.position, app.places(), app.agent.turns) == (described.head.position, [begun], [["one"]])
    await app.deliver(run_id)
    assert app.places() == [begun, run_id]
