"""The measure of recorded steps: only turns that took them are figures, and its two agents differ in the journal."""

import pytest

from benchmarks.measures.steps import paired_medians
from benchmarks.turns import WrongAnswerError
from tests.benchmarks.stand_in import answering, turn


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
async def test_a_turn_without_its_tool_calls_is_no_figure() -> None:
    """Fewer steps would look like cheaper ones."""
    async with answering(lambda path, body: turn("Took 9.")) as (connection,):
        with pytest.raises(WrongAnswerError, match=r"A turn of 10 tool calls was answered 'Took 9\.'"):
            await paired_medians(connection, calls=10, turns=1)
