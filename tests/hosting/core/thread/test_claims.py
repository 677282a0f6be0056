"""Who runs the agent: claims, leases, lost holders, and the order of runs."""

import pytest
from msgspec.structs import replace

from hosting.core.thread.commands import (
    CancelRun,
    ClaimRun,
    Command,
    DeleteThread,
    EndRun,
    ExpireRun,
    Outcome,
    RecordSteps,
    ReleaseRun,
    RetryRun,
    Stale,
    Unchanged,
)
from hosting.core.thread.events import Claimed, Delta, ToolResult
from hosting.core.thread.versions import NEWEST_VERSION
from hosting.ports import MOST_ROWS
from tests.support.threads import (
    DEADLINE,
    LEASE_SECONDS,
    NOW,
    Thread,
    accept,
    completed,
    end,
    model_result,
    terms,
    tool_started,
)

RESULT = ToolResult(at=NOW, run_id="r1", key="1.call", text="done")


def take(thread: Thread, token: str, **members: object) -> Outcome:
    """Have the entity claim the run whose turn it is, under a token."""
    return thread.do(ClaimRun(NOW, terms(token, "entity"), **members))  # type: ignore[arg-type]


@pytest.mark.behaviour("thread.claims")
def test_a_claim_says_who_holds_the_run_and_until_when() -> None:
    """And which words are void: those behind the newest model result."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(RecordSteps("token-r1", (model_result(),)))
    thread.do(ReleaseRun(NOW, "token-r1", signalled=True))

    take(thread, "e1")

    assert thread.events[-1] == Claimed(
        at=NOW,
        run_id="r1",
        attempt=2,
        token="e1",
        holder="entity",
        lease_seconds=LEASE_SECONDS,
        deadline=DEADLINE,
        void_after=3,
    )


@pytest.mark.behaviour("thread.claims")
def test_a_run_that_is_held_is_not_claimed() -> None:
    """One run at a time, by one holder."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    assert take(thread, "e1") == Unchanged("r1")
    assert thread.head.is_held_by("token-r1")


@pytest.mark.behaviour("thread.claims")
def test_a_run_whose_turn_it_is_not_is_not_claimed_for_its_caller() -> None:
    """Runs have their turn in the order in which they were accepted."""
    thread = Thread()
    thread.do(accept("r1"))
    thread.do(accept("r2"))

    assert take(thread, "t", run_id="r2") == Unchanged("r1")
    take(thread, "t", run_id="r1")
    assert thread.last(1) == [("claimed", "r1")]


@pytest.mark.behaviour("thread.claims")
def test_a_thread_without_open_runs_has_nothing_to_claim() -> None:
    """An operation that is delivered late finds nothing to do."""
    assert take(Thread(), "e1") == Unchanged()


@pytest.mark.behaviour("thread.lost-holders")
def test_a_holder_that_appended_nothing_for_its_lease_is_taken_over() -> None:
    """The watcher names the append behind which it saw none."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    take(thread, "e1", idle_append=thread.head.append_id)

    assert thread.head.is_held_by("e1")
    assert thread.head.runs[0].lost == 1


@pytest.mark.behaviour("thread.lost-holders")
def test_a_holder_that_renewed_its_lease_meanwhile_is_not_taken_over() -> None:
    """What the watcher saw is no longer so."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    seen = thread.head.append_id
    thread.do(RecordSteps("token-r1", (model_result(),)))

    assert take(thread, "e1", idle_append=seen) == Unchanged("r1")


@pytest.mark.behaviour("thread.lost-holders")
def test_an_operation_takes_over_the_entitys_claim_that_stood_when_it_began() -> None:
    """The engine runs one operation at a time: the one before is gone, or about to be."""
    thread = Thread()
    thread.do(accept("r1"))
    take(thread, "e1")

    take(thread, "e2", since=thread.head.position)

    assert thread.head.is_held_by("e2")


@pytest.mark.behaviour("thread.lost-holders")
def test_an_operation_does_not_take_over_an_entitys_claim_that_came_after_it() -> None:
    """Two executions can overlap: the later one holds the run."""
    thread = Thread()
    thread.do(accept("r1"))
    began = thread.head.position
    take(thread, "e2", since=began)

    assert take(thread, "e1", since=began) == Unchanged("r1")


@pytest.mark.behaviour("thread.lost-holders")
def test_a_run_that_lost_three_processes_has_crashed() -> None:
    """It is not tried again: it may be what ends them."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    for token in ("e1", "e2", "e3"):
        take(thread, token, idle_append=thread.head.append_id)

    assert thread.kinds() == ["accepted", "claimed", "claimed", "claimed", "failed"]
    assert "ended its process 3 times" in thread.events[-1].detail  # type: ignore[union-attr]
    assert thread.events[-1].code == "run_crashed"  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.lost-holders")
def test_a_run_of_hours_survives_a_lost_process_at_each_of_its_steps() -> None:
    """Three are too many at one step only: with a result, a model's or a tool's, the run has gone on."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    for number, step in enumerate([model_result(), RESULT] * 10):
        take(thread, f"a{number}", idle_append=thread.head.append_id)
        take(thread, f"b{number}", idle_append=thread.head.append_id)
        thread.do(RecordSteps(f"b{number}", (step,)))

    assert (thread.head.runs[0].lost, thread.head.runs[0].fruitless) == (40, 0)


@pytest.mark.behaviour("run.attempts")
def test_a_later_attempt_has_what_earlier_ones_left_of_the_runs_time() -> None:
    """Released, taken over or after a failure: each claim says how long processes had the run before it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(RecordSteps("token-r1", (tool_started(),), worked=40))
    limited = replace(terms("e1", "entity"), run_seconds=100.0, deadline=NOW + 300)

    thread.do(ClaimRun(NOW, limited, idle_append=thread.head.append_id))
    thread.do(RetryRun(NOW, "e1", "e2", "run_failed", worked=55))
    thread.do(ReleaseRun(NOW, "e2", signalled=True, worked=70))
    thread.do(ClaimRun(NOW, replace(limited, token="e3")))
    thread.do(ReleaseRun(NOW, "e3", signalled=True, worked=130))
    thread.do(ClaimRun(NOW, replace(limited, token="e4")))

    claims = [event for event in thread.events if isinstance(event, Claimed)]
    assert [claim.worked for claim in claims] == [0, 40, 55, 70, 130]
    assert [claim.deadline - NOW for claim in claims[1:]] == [60.0, 60.0, 30.0, 0.0]


@pytest.mark.behaviour("run.attempts")
def test_the_time_of_a_lost_attempt_counts_up_to_its_last_append() -> None:
    """Also where that renewed the lease alone."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(RecordSteps("token-r1", worked=15))

    take(thread, "e1", idle_append=thread.head.append_id)

    assert thread.events[-1].worked == 15  # type: ignore[union-attr]


@pytest.mark.behaviour("groups.versions")
def test_an_older_release_keeps_its_hands_off_a_run_of_several_attempts() -> None:
    """It would end the run with the first of them: the thread is read by no version below 12."""
    thread = Thread()
    thread.do(accept("r1"))

    thread.do(ClaimRun(NOW, replace(terms("e1", "entity"), v=NEWEST_VERSION)))

    assert (thread.events[-1].v, thread.head.v) == (12, 12)


@pytest.mark.behaviour("thread.lost-holders")
def test_a_cancelled_run_that_lost_three_processes_was_cancelled() -> None:
    """That comes first; and those behind it that may not be claimed end with it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(accept("r2"))
    for token in ("e1", "e2"):
        take(thread, token, idle_append=thread.head.append_id)
    thread.do(CancelRun(NOW, "r1"))
    thread.do(CancelRun(NOW, "r2"))

    take(thread, "e3", idle_append=thread.head.append_id)

    assert thread.last(2) == [("cancelled", "r1"), ("cancelled", "r2")]


@pytest.mark.behaviour("thread.lost-holders")
def test_a_run_that_was_released_after_two_losses_is_claimed_again() -> None:
    """Nobody was lost a third time."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    for token in ("e1", "e2"):
        take(thread, token, idle_append=thread.head.append_id)
    thread.do(ReleaseRun(NOW, "e2", signalled=True))

    take(thread, "e3")

    assert thread.head.is_held_by("e3")


@pytest.mark.behaviour("thread.lost-holders")
def test_a_release_is_no_lost_process() -> None:
    """A holder that is told to stop hands its run on."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    for token in ("t1", "t2", "t3"):
        thread.do(ReleaseRun(NOW, thread.head.claim.token, signalled=True))  # type: ignore[union-attr]
        take(thread, token)

    assert (thread.head.runs[0].attempts, thread.head.runs[0].lost) == (4, 0)


@pytest.mark.behaviour("thread.lost-holders")
def test_a_run_past_its_deadline_whose_holder_is_gone_is_lost() -> None:
    """Whoever reads it may end it: nothing waits for ever."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(accept("r2"))

    assert thread.do(ExpireRun(DEADLINE + 1, "r1", "another append")) == Unchanged("r1")
    thread.do(ExpireRun(DEADLINE + 1, "r1", thread.head.append_id))

    assert thread.events[-1].code == "run_lost"  # type: ignore[union-attr]
    assert [run.id for run in thread.head.runs] == ["r2"]
    assert thread.do(ExpireRun(DEADLINE + 1, "r2", thread.head.append_id)) == Unchanged("r2")


@pytest.mark.behaviour("thread.cancel")
def test_a_cancelled_run_whose_holder_is_gone_past_its_deadline_was_cancelled() -> None:
    """As it would be if somebody took it over: whoever cancelled it was told so."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(CancelRun(NOW, "r1"))

    thread.do(ExpireRun(DEADLINE + 1, "r1", thread.head.append_id))

    assert thread.last(1) == [("cancelled", "r1")]


@pytest.mark.behaviour("thread.order")
def test_a_cancelled_run_behind_one_that_is_given_up_ends_with_it() -> None:
    """As behind every other end."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(accept("r2"))
    thread.do(CancelRun(NOW, "r2"))

    assert thread.do(ExpireRun(DEADLINE + 1, "r2", thread.head.append_id)) == Unchanged("r2")
    thread.do(ExpireRun(DEADLINE + 1, "r1", thread.head.append_id))

    assert thread.last(2) == [("failed", "r1"), ("cancelled", "r2")]


@pytest.mark.behaviour("thread.stale-tokens")
@pytest.mark.parametrize(
    "command",
    [
        RecordSteps("token-r1", (tool_started(),)),
        RecordSteps("token-r1"),
        ReleaseRun(NOW, "token-r1", signalled=True),
        RetryRun(NOW, "token-r1", "t", "run_failed"),
        end("r1"),
    ],
    ids=lambda command: type(command).__name__,
)
@pytest.mark.parametrize("how", ["taken over", "released", "ended", "deleted"])
def test_a_stale_token_appends_nothing(command: Command, how: str) -> None:
    """However the claim was lost: what its holder did since is dropped."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    if how == "taken over":
        take(thread, "e1", idle_append=thread.head.append_id)
    elif how == "released":
        thread.do(ReleaseRun(NOW, "token-r1", signalled=True))
    elif how == "ended":
        thread.do(end("r1"))
    else:
        thread.do(DeleteThread(NOW))
    before = thread.head

    assert thread.do(command) == Stale()
    assert thread.head == before


@pytest.mark.behaviour("thread.claims")
def test_another_try_after_a_failure_is_a_claim_of_its_own() -> None:
    """It keeps the deadline, counts as a failure and not as a lost process, and voids what was said since a result."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(RecordSteps("token-r1", (model_result(),)))

    thread.do(RetryRun(NOW + 1, "token-r1", "t2", "run_failed"))

    run, claim = thread.head.runs[0], thread.head.claim
    assert (run.attempts, run.failures, run.lost) == (2, 1, 0)
    assert claim is not None
    assert (claim.token, claim.deadline, claim.void_after) == ("t2", DEADLINE, 3)


@pytest.mark.behaviour("thread.claims")
def test_a_lease_is_renewed_by_an_append_without_events() -> None:
    """It replaces the head, and a watcher sees that."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    outcome = thread.do(RecordSteps("token-r1"))

    assert (outcome.events, outcome.head) == ((), thread.head.model_copy(update={"append_id": "append-2"}))  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.order")
def test_whoever_ends_a_run_claims_the_next_one_whose_caller_it_holds() -> None:
    """In the same append."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(accept("r2"))

    thread.do(end("r1", callers={"r2": terms("t2"), "r3": terms("t3")}))

    assert thread.last(2) == [("completed", "r1"), ("claimed", "r2")]
    assert thread.head.is_held_by("t2")


@pytest.mark.behaviour("thread.order")
def test_the_last_words_of_a_run_stand_before_its_end() -> None:
    """In the same append, so a reader has all of the answer when it ends."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    words = Delta(at=NOW, run_id="r1", offset=0, text="Bye")

    thread.do(EndRun("token-r1", completed("r1"), (words,)))

    assert thread.events[2:] == [words, completed("r1")]


@pytest.mark.behaviour("thread.order")
def test_the_next_run_of_another_process_is_left_to_it() -> None:
    """Its caller waits there."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(accept("r2"))

    thread.do(end("r1", callers={"r3": terms("t3")}))

    assert (thread.last(1), thread.head.claim) == ([("completed", "r1")], None)


@pytest.mark.behaviour("thread.order")
def test_a_run_that_was_cancelled_while_it_waited_gets_its_end_in_its_turn() -> None:
    """With the append that makes it the first, so ends stand in the order of acceptance."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    for run_id in ("r2", "r3", "r4"):
        thread.do(accept(run_id))
    thread.do(CancelRun(NOW, "r2"))
    thread.do(CancelRun(NOW, "r3", "queue_time"))

    thread.do(end("r1", callers={"r4": terms("t4")}))

    assert thread.last(4) == [("completed", "r1"), ("cancelled", "r2"), ("failed", "r3"), ("claimed", "r4")]
    assert thread.events[-2].code == "run_lost"  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.order")
def test_more_ends_than_one_append_takes_are_in_the_next_ones() -> None:
    """No run in between is claimed, whoever holds its caller."""
    thread, last = Thread(), MOST_ROWS + 5
    thread.do(accept("r0", claimed=True))
    for number in range(1, last + 1):
        thread.do(accept(f"r{number}", queue_limit=200))
        thread.do(CancelRun(NOW, f"r{number}"))

    ended = thread.do(end("r0", callers={f"r{number}": terms("t") for number in range(last + 1)}))
    first_left = thread.head.next_run
    next_ended = take(thread, "e1")

    assert [len(change.rows) for change in (ended, next_ended)] == [MOST_ROWS, 6]  # type: ignore[union-attr]
    assert first_left is not None
    assert (first_left.id, thread.head.runs, thread.kinds().count("cancelled")) == (f"r{MOST_ROWS}", (), last)
