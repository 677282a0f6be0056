"""A tool that asks a person, under SIGKILL: its app killed around each record of it, and over each log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hosting.client.connection import RemoteAgentError
from hosting.testing.asking import RunAnswer
from tests.support.kept_in import KINDS, over
from tests.support.marked_app import Notes, cuts_off, source_of

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("asks.survives-kill")]

SOURCE = source_of("asker", "asker")
Asks = Callable[..., RunAnswer]


def check_both_questions(ask: Asks, approve: Asks, notes: Notes) -> None:
    """Each is asked once, and the step before them is made once."""
    number = approve(ask("call ship 5"), value="Elm")
    assert [asked["question"] for asked in number.pending_approvals] == ["Which number in Elm?"]
    answer = approve(number, value=3)

    assert (answer.text, notes.lines) == ("told: 5 from shelf of 5 to Elm 3", ["reserve 5"])


@pytest.mark.killed_at("each step")
def test_a_host_killed_around_a_question_asks_once_and_makes_the_step_once(
    ask: Asks, approve: Asks, notes: Notes, request: pytest.FixtureRequest
) -> None:
    """A step that was cut off is not made again, and the run ends by it: nobody knows whether it did its work."""
    if not cuts_off(request, "reserve"):
        check_both_questions(ask, approve, notes)
        return
    with pytest.raises(RemoteAgentError) as ended:
        ask("call ship 5")

    assert ended.value.code == "run_interrupted"
    assert notes.lines in ([], ["reserve 5"])


@pytest.mark.killed_at("after the decision was recorded")
@over("kept", *KINDS[1:])
def test_the_answer_to_a_question_outlives_a_kill_over_each_store(ask: Asks, approve: Asks, notes: Notes) -> None:
    """The answer is recorded, and the run that goes on with it is begun by another process."""
    check_both_questions(ask, approve, notes)


@pytest.mark.killed_at("before the result of 'reserve' was recorded")
@over("kept", "redis")
def test_a_step_that_was_cut_off_ends_its_run_over_each_store(
    ask: Asks, approve: Asks, notes: Notes, request: pytest.FixtureRequest
) -> None:
    """It did its work, and is not made again."""
    if not cuts_off(request, "reserve"):
        check_both_questions(ask, approve, notes)
        return
    with pytest.raises(RemoteAgentError) as ended:
        ask("call ship 5")

    assert (ended.value.code, notes.lines) == ("run_interrupted", ["reserve 5"])
