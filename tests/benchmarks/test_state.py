"""The measure of the stored conversation: what it reads and writes, and that a wrong document gives no figure."""

import json

import pytest

from benchmarks.measures import state
from benchmarks.sizes import QUICK
from benchmarks.turns import WrongAnswerError


def test_the_measured_document_is_a_long_thread_of_800_characters_a_message() -> None:
    """Of the size that is asked for, and not much more."""
    document = state.document(20_000)
    entries = json.loads(document)["data"]["conversationHistory"]

    assert 20_000 <= len(document) < 23_000
    assert {len(entry["messages"][0]["contents"][0]["text"]) for entry in entries} == {800}


@pytest.mark.slow
async def test_the_quick_measure_gives_every_figure() -> None:
    """Times and ratios are above nothing."""
    result = await state.measure(QUICK)

    assert all(figure.value > 0 for figure in result.figures)
    assert [figure.name for figure in result.figures][2:] == ["over json", "per byte, 1 MiB/128 KiB"]


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
def test_a_conversation_that_comes_back_changed_gives_no_figure() -> None:
    """A reader that loses something is not fast."""
    with pytest.raises(WrongAnswerError, match="did not come back"):
        state.require_same("{}", "{ }")
