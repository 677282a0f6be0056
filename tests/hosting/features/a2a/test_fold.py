"""The fold of a task's runs into the protocol's task and events: the same for every reader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from hosting.core.broadcast import DeltaText, LoggedEvent
from hosting.core.thread.events import Accepted, Cancelled, CancelRequested, Event
from hosting.core.thread.run import Run, unanswered
from hosting.core.thread.run_request import PendingApproval
from hosting.core.thread.thread_events import Reset
from hosting.errors import RunCancelledError, RunFailedError
from hosting.features.a2a.fold import TaskFold
from hosting.names import Address
from tests.support.a2a import taken
from tests.support.run_events import AT, RUNS, accepted, claimed, completed, delta, logged, updates, words

ADDRESS = Address.of("Joker", "t")
WAITS = PendingApproval(id="p", tool="refund", arguments={"n": "7"})


def of(event: Any, **fields: Any) -> Any:
    return event.model_copy(update=fields)


SHORTER = (accepted(), claimed(), words(0, "One two"), claimed(2), words(0, "One"), completed("One"))
EMPTY = (accepted(), claimed(), words(0, "One"), claimed(2), completed(""))
FAILED = (
    *(accepted(), claimed(), words(0, "One"), delta(0, "One"), words(3, " mom"), words(3, "")),
    unanswered("r", AT + 1, RunFailedError("The agent failed.")),
)
ASKED = (accepted(), claimed(), of(completed("", approvals=(WAITS,)), at=AT + 1, expires_at=AT + 100))


def folded(run: Iterable[Event | DeltaText]) -> TaskFold:
    first, *_ = told = logged(updates(run))
    assert isinstance(first, LoggedEvent)
    fold = task_of(first.event)
    for update in told:
        fold.next(update)
    return fold


def task_of(first: Event | DeltaText) -> TaskFold:
    assert isinstance(first, Accepted)
    return TaskFold(Run(ADDRESS, first, 1, 1))


@pytest.mark.behaviour("a2a.same")
@pytest.mark.parametrize("run", [*RUNS.values(), SHORTER, EMPTY, FAILED], ids=[*RUNS, "shorter", "empty", "failed"])
def test_who_follows_a_task_has_what_is_read_of_it(run: tuple[Event | DeltaText, ...]) -> None:
    """Also of an attempt that was lost, whose words are replaced: from the beginning, and from any place."""
    given = updates(run)
    final = folded(run).task()
    for begin in range(1, len(given)):
        fold, stream = task_of(run[0]), list[dict[str, Any]]()
        for update in given[:begin]:
            fold.next(update)
        stream.append(fold.snapshot())
        for update in given[begin:]:
            stream += fold.next(update)
        assert {**taken(stream), "texts": without_empty(taken(stream))} == taken([{"task": final}]), begin


def without_empty(task: dict[str, Any]) -> dict[str, str]:
    """Return a reader's artifacts; one that was emptied is none."""
    return {name: text for name, text in task["texts"].items() if text}


LATE = "Nobody answered in time."


@pytest.mark.behaviour("a2a.approvals")
@pytest.mark.parametrize(
    ("then", "now", "at", "said"),
    [
        ((), AT + 99, AT + 1, None),
        ((), AT + 100, AT + 100, LATE),
        ((Reset(at=AT + 50),), AT + 200, AT + 50, "The conversation was reset."),
        ((Reset(at=AT + 150),), AT + 200, AT + 100, LATE),
        ((of(accepted(), run_id="u", at=AT + 150),), AT + 200, AT + 100, LATE),
    ],
)
def test_a_task_fails_whose_approvals_cannot_come_any_more(
    then: tuple[Event, ...], now: float, at: float, said: str | None
) -> None:
    fold = folded((*ASKED, *then))
    fold.expire(now)

    assert (fold.state, fold.since) == ("TASK_STATE_INPUT_REQUIRED" if said is None else "TASK_STATE_FAILED", at)
    if said is not None:
        assert fold.task()["status"]["message"]["parts"] == [{"text": said}]


@pytest.mark.behaviour("a2a.cancel")
def test_a_task_that_was_canceled_in_the_queue_is_canceled_at_once() -> None:
    queued = (accepted(), CancelRequested(at=AT + 1, run_id="r"))
    end = unanswered("r", AT + 9, RunCancelledError("The run was cancelled."))
    assert isinstance(end, Cancelled)

    assert folded(queued).task() == folded((*queued, end)).task()
    assert folded(queued).state == "TASK_STATE_CANCELED"
