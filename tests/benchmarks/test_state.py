"""The measure of the stored conversation: what it reads and writes, and that a wrong document gives no figure."""

import pytest

from benchmarks.measures import state
from benchmarks.turns import WrongAnswerError


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
def test_a_conversation_that_comes_back_changed_gives_no_figure() -> None:
    """A reader that loses something is not fast."""
    with pytest.raises(WrongAnswerError, match="did not come back"):
        state.require_same("{}", "{ }")
