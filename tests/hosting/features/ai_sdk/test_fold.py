"""The fold of a run into chunks: the same for every reader, and text that stands no more is taken back."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from hosting.core.broadcast import Update
from hosting.features.ai_sdk.fold import AnswerFold
from hosting.features.ai_sdk.messages import assembled
from hosting.http.wire_runs import RewrittenError
from tests.support.ai_sdk import Chunk, texts
from tests.support.run_events import RUNS, THOUGHT, TOOLS, completed, logged, run_of, updates

SAID = {
    "tools": "One moment.Done.",
    "lost": "Another",
    "unlogged": "Two",
    "behind": "One.Three",
    "again": "One.Two",
    "changed": "One three",
    "thought": "See.On\n\ne",
    "workflow": "One.\n\nThree",
}


def chunks_of(given: Iterable[Update]) -> list[Chunk]:
    known = list(given)
    fold = AnswerFold(run_of(known), "m", {}, names_causes=False)
    return [*fold.start(), *(chunk for update in known for chunk in fold.next(update))]


@pytest.mark.behaviour("ai-sdk.stream")
@pytest.mark.parametrize("name", RUNS)
def test_a_client_has_each_word_that_stands_once(name: str) -> None:
    given = updates(RUNS[name])
    live, replay = (texts(assembled(chunks_of(each))) for each in (given, logged(given)))

    assert live == replay == SAID[name]


@pytest.mark.behaviour("ai-sdk.stream")
@pytest.mark.parametrize("name", RUNS)
def test_whatever_happens_no_text_goes_on_that_is_not_open(name: str) -> None:
    """The client raises for one; a step that begins anew has none that is open."""
    is_open: set[str] = set()
    for chunk in chunks_of(updates(RUNS[name])):
        match chunk["type"]:
            case "text-start":
                assert chunk["id"] not in is_open
                is_open.add(chunk["id"])
            case "text-delta":
                assert chunk["id"] in is_open
            case "text-end":
                is_open.remove(chunk["id"])
            case "reset-step":
                is_open.clear()
            case "finish-step":
                assert not is_open


@pytest.mark.behaviour("ai-sdk.stream")
def test_a_changed_text_of_a_step_that_has_ended_ends_the_stream() -> None:
    """No chunk takes that step back; whoever follows the run again gets the text as it stands."""
    *before, _ = TOOLS

    with pytest.raises(RewrittenError, match="Follow the run again"):
        chunks_of(updates([*before, completed("Another moment.", "Done.")]))


@pytest.mark.behaviour("ai-sdk.stream")
def test_thoughts_stand_where_the_model_had_them_and_lost_ones_are_taken_back() -> None:
    given = updates(THOUGHT)
    live, replay = (assembled(chunks_of(each))["parts"] for each in (given, logged(given)))
    written = [(part["type"], part["text"], part["state"]) for part in live if "text" in part]

    assert live == replay
    assert [text for kind, text, _ in written if kind == "reasoning"] == ["Let me.", "It is.", "Go on."]
    assert {state for _, _, state in written} == {"done"}
