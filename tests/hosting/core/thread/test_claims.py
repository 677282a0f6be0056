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
from hosting.ports import MOST_ROWS
from tests.hosting.core.thread.played import after
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

HELD = accept("r1", claimed=True)
RESULT = ToolResult(at=NOW, run_id="r1", key="1.call", text="done")


def take(thread: Thread, token: str, **members: object) -> Outcome:
    """Have the entity claim the run whose turn it is, under a token."""
    return thread.do(ClaimRun(NOW, terms(token, "entity"), **members))  # type: ignore[arg-type]


def lose(thread: Thread, *tokens: str) -> None:
    """Have the run's holder lost, and the run taken over under each of these tokens."""
    for token in tokens:
        take(thread, token, idle_append=thread.head.append_id)


@pytest.mark.behaviour("thread.claims")
def test_a_claim_says_who_holds_the_run_and_until_when() -> None:
    """And which words are void: those behind the newest model result."""
    thread = after(HELD, RecordSteps("token-r1", (model_result(),)), ReleaseRun(NOW, "token-r1", signalled=True))

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
def test_one_run_is_claimed_at_a_time_and_in_the_order_of_acceptance() -> None:
    thread = after(accept("r1"), accept("r2"))

    assert take(thread, "t", run_id="r2") == Unchanged("r1")
    take(thread, "t", run_id="r1")
    assert thread.last(1) == [("claimed", "r1")]
    assert take(thread, "e1") == Unchanged("r1")
    assert thread.head.is_held_by("t")
    assert take(Thread(), "e1") == Unchanged()


@pytest.mark.behaviour("thread.lost-holders")
def test_a_holder_that_appended_nothing_for_its_lease_is_taken_over() -> None:
    """The watcher names the append behind which it saw none; a renewal since then keeps the claim."""
    thread = after(HELD)
    seen = thread.head.append_id
    thread.do(RecordSteps("token-r1", (model_result(),)))

    assert take(thread, "e1", idle_append=seen) == Unchanged("r1")
    take(thread, "e1", idle_append=thread.head.append_id)
    assert thread.head.is_held_by("e1")
    assert thread.head.runs[0].lost == 1


@pytest.mark.behaviour("thread.lost-holders")
def test_a_run_that_lost_three_processes_has_crashed() -> None:
    """It is not tried again: it may be what ends them. A release after two is no third loss."""
    thread, released = after(HELD), after(HELD)
    lose(thread, "e1", "e2", "e3")
    lose(released, "e1", "e2")
    released.do(ReleaseRun(NOW, "e2", signalled=True))
    take(released, "e3")

    assert thread.kinds() == ["accepted", "claimed", "claimed", "claimed", "failed"]
    assert "ended its process 3 times" in thread.events[-1].detail  # type: ignore[union-attr]
    assert thread.events[-1].code == "run_crashed"  # type: ignore[union-attr]
    assert released.head.is_held_by("e3")
    assert (released.head.runs[0].attempts, released.head.runs[0].lost) == (4, 2)


@pytest.mark.behaviour("thread.lost-holders")
def test_a_run_of_hours_survives_a_lost_process_at_each_of_its_steps() -> None:
    """Three are too many at one step only: with a result, a model's or a tool's, the run has gone on."""
    thread = after(HELD)
    for number, step in enumerate([model_result(), RESULT] * 10):
        lose(thread, f"a{number}", f"b{number}")
        thread.do(RecordSteps(f"b{number}", (step,)))

    assert (thread.head.runs[0].lost, thread.head.runs[0].fruitless) == (40, 0)


@pytest.mark.behaviour("run.attempts")
def test_a_later_attempt_has_what_earlier_ones_left_of_the_runs_time() -> None:
    """Taken over, after a failure or released: each claim says how long processes had the run before it."""
    thread = after(HELD, RecordSteps("token-r1", (tool_started(),), worked=40))
    limited = replace(terms("e1", "entity"), run_seconds=100.0, deadline=NOW + 300)

    thread.do(ClaimRun(NOW, limited, idle_append=thread.head.append_id))
    thread.do(RetryRun(NOW, "e1", "e2", "run_failed", worked=55))
    thread.do(ReleaseRun(NOW, "e2", signalled=True, worked=70))
    thread.do(ClaimRun(NOW, replace(limited, token="e3")))
    thread.do(RecordSteps("e3", worked=130))  # renews the lease alone
    thread.do(ClaimRun(NOW, replace(limited, token="e4"), idle_append=thread.head.append_id))

    claims = [event for event in thread.events if isinstance(event, Claimed)]
    assert [claim.worked for claim in claims] == [0, 40, 55, 70, 130]
    assert [claim.deadline - NOW for claim in claims[1:]] == [60.0, 60.0, 30.0, 0.0]


@pytest.mark.behaviour("thread.lost-holders")
def test_a_cancelled_run_that_lost_three_processes_was_cancelled() -> None:
    """That comes first; and those behind it that may not be claimed end with it."""
    thread = after(HELD, accept("r2"))
    lose(thread, "e1", "e2")
    thread.do(CancelRun(NOW, "r1"))
    thread.do(CancelRun(NOW, "r2"))

    lose(thread, "e3")

    assert thread.last(2) == [("cancelled", "r1"), ("cancelled", "r2")]


@pytest.mark.behaviour("thread.lost-holders")
@pytest.mark.behaviour("thread.order")
def test_a_run_past_its_deadline_whose_holder_is_gone_is_lost() -> None:
    """Whoever reads it may end it: nothing waits for ever. A cancelled run behind it ends with it."""
    thread = after(HELD, accept("r2"), accept("r3"), CancelRun(NOW, "r2"))
    late, seen = DEADLINE + 1, thread.head.append_id

    assert thread.do(ExpireRun(late, "r1", "another append")) == Unchanged("r1")
    assert thread.do(ExpireRun(late, "r3", seen)) == Unchanged("r3")
    thread.do(ExpireRun(late, "r1", seen))

    assert thread.last(2) == [("failed", "r1"), ("cancelled", "r2")]
    assert thread.events[-2].code == "run_lost"  # type: ignore[union-attr]
    assert thread.do(ExpireRun(late, "r3", thread.head.append_id)) == Unchanged("r3")


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
    thread = after(HELD)
    lost: dict[str, Command] = {
        "taken over": ClaimRun(NOW, terms("e1", "entity"), idle_append=thread.head.append_id),
        "released": ReleaseRun(NOW, "token-r1", signalled=True),
        "ended": end("r1"),
        "deleted": DeleteThread(NOW),
    }
    thread.do(lost[how])
    before = thread.head

    assert thread.do(command) == Stale()
    assert thread.head == before


@pytest.mark.behaviour("thread.claims")
def test_another_try_after_a_failure_is_a_claim_of_its_own() -> None:
    """It keeps the deadline, counts as a failure and not as a lost process, and voids what was said since a result."""
    thread = after(HELD, RecordSteps("token-r1", (model_result(),)), RetryRun(NOW + 1, "token-r1", "t2", "run_failed"))

    run, claim = thread.head.runs[0], thread.head.claim
    assert (run.attempts, run.failures, run.lost) == (2, 1, 0)
    assert claim is not None
    assert (claim.token, claim.deadline, claim.void_after) == ("t2", DEADLINE, 3)


@pytest.mark.behaviour("thread.claims")
def test_a_lease_is_renewed_by_an_append_without_events() -> None:
    thread = after(HELD)

    outcome = thread.do(RecordSteps("token-r1"))

    assert (outcome.events, outcome.head) == ((), thread.head.model_copy(update={"append_id": "append-2"}))  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.order")
def test_whoever_ends_a_run_claims_the_next_one_whose_caller_it_holds() -> None:
    """In the same append, the last words before the end; the next run of another process is left to it."""
    words = Delta(at=NOW, run_id="r1", offset=0, text="Bye")
    ours, theirs = after(HELD, accept("r2")), after(HELD, accept("r2"))

    ours.do(EndRun("token-r1", completed("r1"), (words,), callers={"r2": terms("t2"), "r3": terms("t3")}))
    theirs.do(end("r1", callers={"r3": terms("t3")}))

    assert ours.events[3:5] == [words, completed("r1")]
    assert (ours.last(1), ours.head.is_held_by("t2")) == ([("claimed", "r2")], True)
    assert (theirs.last(1), theirs.head.claim) == ([("completed", "r1")], None)


@pytest.mark.behaviour("thread.order")
def test_more_ends_than_one_append_takes_are_in_the_next_ones() -> None:
    """No run in between is claimed, whoever holds its caller."""
    thread, last = after(accept("r0", claimed=True)), MOST_ROWS + 5
    for number in range(1, last + 1):
        thread.do(accept(f"r{number}", queue_limit=200))
        thread.do(CancelRun(NOW, f"r{number}"))

    ended = thread.do(end("r0", callers={f"r{number}": terms("t") for number in range(last + 1)}))
    first_left = thread.head.next_run
    next_ended = take(thread, "e1")

    assert [len(change.rows) for change in (ended, next_ended)] == [MOST_ROWS, 6]  # type: ignore[union-attr]
    assert first_left is not None
    assert (first_left.id, thread.head.runs, thread.kinds().count("cancelled")) == (f"r{MOST_ROWS}", (), last)
