"""One run as its events tell it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hosting.core.thread import events
from hosting.core.thread.commands import (
    AcceptRun,
    CancelRun,
    ClaimRun,
    DeleteThread,
    EndRun,
    FinishDelete,
    JoinRuns,
    RecordSteps,
    ResetThread,
    SetReceiver,
    Unchanged,
)
from hosting.core.thread.events import ApprovalAnswered, CancelRequested, Checkpointed, Delta
from hosting.core.thread.messages import expiry
from hosting.core.thread.run import Cancelling, Ended, Gone, Open, Run, end_by_joining, unanswered, under_way
from hosting.core.thread.run_request import OF_TASK, Decision, PendingApproval, RunRequest, Superstep
from hosting.errors import RunFailedError
from tests.hosting.core.thread.played import ADDRESS, after, run_of
from tests.support.threads import (
    NOW,
    Thread,
    accept,
    accepted,
    completed,
    end,
    model_result,
    refusal,
    terms,
    tool_started,
)

SUPERSTEP = Checkpointed(at=NOW, run_id="r1", superstep=1, framework="", graph="", checkpoint="", updates=[], values=[])


def words(offset: int, text: str) -> Delta:
    return Delta(at=NOW, run_id="r1", offset=offset, text=text)


@pytest.mark.behaviour("thread.run")
def test_words_stand_where_their_offset_says() -> None:
    thread = after(
        accept("r1", claimed=True),
        RecordSteps("token-r1", (words(0, "Good "), words(5, "mourning"), words(7, "rning"))),
    )

    assert run_of(thread).text == "Good morning"


@pytest.mark.behaviour("thread.run")
def test_a_later_attempt_keeps_the_words_of_recorded_model_answers_only() -> None:
    thread = after(
        accept("r1", claimed=True),
        RecordSteps("token-r1", (words(0, "Let me see. "), model_result(), words(12, "It is"))),
    )

    thread.do(ClaimRun(NOW, terms("e1", "entity"), idle_append=thread.head.append_id))

    assert run_of(thread).text == "Let me see. "


@pytest.mark.behaviour("thread.run")
def test_a_later_attempt_of_a_workflow_keeps_the_words_up_to_its_newest_checkpoint() -> None:
    """An executor's model answers are replayed, and it says what follows them anew."""
    inner = model_result().model_copy(update={"within": "2.1/writer"})
    thread = after(
        accept("r1", claimed=True), RecordSteps("token-r1", (words(0, "One."), SUPERSTEP, words(4, "\n\nTw"), inner))
    )

    thread.do(ClaimRun(NOW, terms("e1", "entity"), idle_append=thread.head.append_id))

    assert run_of(thread).text == "One."


@pytest.mark.behaviour("thread.run")
def test_a_run_is_told_by_its_steps_its_claim_and_its_answers() -> None:
    """All that a later attempt is given again, and whoever asks is answered."""
    thread = after(accept("r1", claimed=True))
    begun = run_of(thread)
    steps = (model_result(), tool_started())
    thread.do(RecordSteps("token-r1", steps))
    thread.do(end("r1", "a1"))
    yes = Decision(id="a1", approved=True)
    thread.do(accept("r2", decisions=(yes,)))

    assert begun == Run(ADDRESS, accepted("r1"), 1, 2, claim=thread.events[1])  # type: ignore[arg-type]
    assert (begun.state, begun.stable) == (Open(), 0)
    assert run_of(thread) == Run(
        ADDRESS,
        accepted=accepted("r1"),
        first=1,
        last=6,
        claim=thread.events[1],
        steps=steps,  # type: ignore[arg-type]
        state=Ended(5, completed("r1", "a1")),
        answers=(ApprovalAnswered(at=NOW, run_id="r1", decision=yes),),
    )


@pytest.mark.behaviour("thread.run")
@pytest.mark.parametrize("is_claimed", [True, False])
def test_the_end_of_a_cancelled_run_is_certain_unless_a_holder_has_yet_to_end_it(is_claimed: bool) -> None:
    """A later request changes neither the reason nor the end."""
    thread = after(
        accept("r0", claimed=True),
        end("r0") if is_claimed else RecordSteps("token-r0", (tool_started(),)),
        accept("r1", claimed=is_claimed),
        CancelRun(NOW, "r1"),
    )
    run = run_of(thread)
    again = run.after(9, CancelRequested(at=NOW + 9, run_id="r1", reason="queue_time"))

    codes = [getattr(run.end, "code", None), getattr(again.end, "code", None)]
    assert (codes, again.state) == ([None if is_claimed else "run_cancelled"] * 2, run.state)
    assert (run.state == Cancelling("asked", None), run.end_position) == (is_claimed, 0)


@pytest.mark.behaviour("thread.delete")
def test_a_run_whose_thread_is_deleted_is_over() -> None:
    thread = after(accept("r1", claimed=True), DeleteThread(NOW))

    run = run_of(thread)

    assert (run.state, run.end, run.last) == (Gone(3), None, 3)


SET = SetReceiver(NOW, 0)


def asking(webhook: str, run_id: str = "r1") -> AcceptRun:
    """Return the command that begins a run whose request has that webhook."""
    command = accept(run_id, claimed=True)
    request = command.accepted.request.model_copy(update={"webhook": webhook})
    return replace(command, accepted=command.accepted.model_copy(update={"request": request}))


def notified(thread: Thread) -> list[bool]:
    """Return of each end whether it says so."""
    return [event.notifies for event in thread.events if isinstance(event, events.TERMINALS)]


@pytest.mark.behaviour("thread.fold")
def test_of_a_run_with_an_address_somebody_is_notified_however_it_ends() -> None:
    """Also behind a reset, and of one that never began; of a run without a webhook nobody."""
    thread = after(
        asking("https://example.com/"),
        accept("r2"),
        asking("https://example.com/", "r3"),
        CancelRun(NOW, "r3"),
        ResetThread(NOW),
        EndRun("token-r1", unanswered("r1", NOW, RunFailedError("It failed."))),
        CancelRun(NOW, "r2"),
    )

    assert notified(thread) == [True, False, True]
    assert b"notifies" not in events.encode(next(one for one in thread.events if isinstance(one, events.Cancelled)))


@pytest.mark.behaviour("thread.fold")
def test_of_a_run_of_a_task_somebody_is_once_its_thread_has_a_receiver() -> None:
    """That was recorded before the end. The second one changes nothing; a deleted thread has none any more."""
    thread = after(asking(OF_TASK), end(), asking(OF_TASK, "r2"))
    first, second = thread.do(SET), thread.do(SET)
    thread.do(end("r2"))
    thread.do(accept("r3", claimed=True))
    thread.do(end("r3"))
    thread.do(DeleteThread(NOW))
    gone = [refusal(thread.do(SET))]
    thread.do(FinishDelete(NOW, {}))
    gone.append(refusal(thread.do(SET)))
    thread.do(asking(OF_TASK, "r4"))
    thread.do(end("r4"))

    assert notified(thread) == [False, True, False, False]
    assert (type(first).__name__, second) == ("Change", Unchanged())
    assert [one and one.code for one in gone] == ["thread_deleting", "thread_deleted"]


@pytest.mark.behaviour("thread.run")
def test_a_message_that_joined_is_of_the_run_that_took_it() -> None:
    joined = end_by_joining(accepted("r2"), "r1", 2, NOW)
    thread = after(
        accept("r1", claimed=True), accept("r2", steers=True), accept("r3"), JoinRuns("token-r1", (joined,)), end("r1")
    )

    assert [run_of(thread, run_id).joined for run_id in ("r1", "r2", "r3")] == [(joined,), (), ()]


@pytest.mark.behaviour("thread.run")
def test_a_superstep_is_under_way_until_its_checkpoint_or_the_end_of_its_run() -> None:
    first, second = (Superstep(number=number, calls=()) for number in (1, 2))
    thread = after(accept("r1", claimed=True), RecordSteps("token-r1", (SUPERSTEP,)))
    steps = (None, first, second)

    assert [under_way(run_of(thread), step) for step in steps] == [None, None, second]
    thread.do(end("r1"))
    assert under_way(run_of(thread), second) is None


@pytest.mark.behaviour("thread.run")
@pytest.mark.parametrize(
    ("webhook", "run_id"), [(None, None), ("https://example.com/", None), (OF_TASK, "r1"), (f"{OF_TASK}r0", "r0")]
)
def test_a_run_is_of_the_task_that_its_webhook_names(webhook: str | None, run_id: str | None) -> None:
    assert RunRequest(webhook=webhook).task_run("r1") == run_id


@pytest.mark.behaviour("thread.approvals")
@pytest.mark.parametrize(
    ("given", "seconds", "expires"),
    [((), 0, None), ((), 60, None), ((None,), 0, None), ((None,), 60, NOW + 60), ((NOW + 90, NOW + 70), 60, NOW + 70)],
)
def test_a_run_waits_until_the_first_of_its_approvals_expires(
    given: tuple[float | None, ...], seconds: float, expires: float | None
) -> None:
    """One with a default keeps nobody waiting."""
    approvals = [PendingApproval(id=str(at), tool="pay", arguments={}, expires_at=at) for at in given]
    soon = PendingApproval(id="soon", tool="pay", arguments={}, expires_at=NOW + 1, default="reject")

    assert expiry([*approvals, soon], NOW, seconds) == expires
