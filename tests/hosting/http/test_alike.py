"""The wires' folds of one run: who followed it has in the end what is read of it afterwards, in every protocol."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from hosting.core.broadcast import Update
from hosting.features.a2a.fold import TaskFold
from hosting.features.ag_ui.fold import RunFold
from hosting.features.ag_ui.requests import RunInput
from hosting.features.responses.fold import ResponseFold
from tests.support import ag_ui
from tests.support.a2a import taken
from tests.support.run_events import any_run, followed, logged, run_of, updates
from tests.support.seeds import repeated


def messages(given: list[Update]) -> Any:
    fold = RunFold(RunInput("t", "r", (), (), (), is_versioned=True), run_of(given), {}, {})
    return ag_ui.folded([*fold.start(), *_told(fold, given)])


def response(given: list[Update]) -> Any:
    """Return the response as a stream's last event has it, under its number."""
    fold = ResponseFold("Joker", run_of(given))
    return list(_told(fold, given))[-1]


def task(given: list[Update]) -> Any:
    """Return the task that a reader of an A2A stream has."""
    return taken(list(_told(TaskFold(run_of(given)), given)))


def _told(fold: Any, given: list[Update]) -> Iterable[Any]:
    return (one for update in given for one in fold.next(update))


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(messages, marks=pytest.mark.behaviour("ag-ui.same")),
        pytest.param(response, marks=pytest.mark.behaviour("responses.same")),
        pytest.param(task, marks=pytest.mark.behaviour("a2a.same")),
    ],
    ids=["ag-ui", "responses", "a2a"],
)
def test_who_followed_a_run_has_what_is_read_of_it_wherever_its_process_was_lost(end: Any, seed: int) -> None:
    """Ids and all; the text that the follower had before the log did is not told again."""
    for number in range(repeated(200, 5000)):
        run = any_run(random.Random(f"{seed}-{number}"))
        assert end(followed(run)) == end(logged(updates(run))), number
