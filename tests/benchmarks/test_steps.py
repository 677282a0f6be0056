"""The measure of recorded steps: only turns that took them are figures, and its two agents differ in the journal."""

import pytest

from benchmarks.app.stepping_model import stepping_agents
from benchmarks.measures.steps import paired_medians
from benchmarks.turns import WrongAnswerError
from hosting.core.agent.framework import keeps_journal
from tests.benchmarks.stand_in import answering, turn


async def test_both_agents_take_the_same_turns() -> None:
    """Each time is above nothing."""
    async with answering(lambda path, body: turn("Took 10.")) as (connection,):
        recorded, unrecorded = await paired_medians(connection, calls=10, turns=3)

    assert min(recorded, unrecorded) > 0


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
async def test_a_turn_without_its_tool_calls_is_no_figure() -> None:
    """Fewer steps would look like cheaper ones."""
    async with answering(lambda path, body: turn("Took 9.")) as (connection,):
        with pytest.raises(WrongAnswerError, match=r"A turn of 10 tool calls was answered 'Took 9\.'"):
            await paired_medians(connection, calls=10, turns=1)


def test_one_agent_keeps_a_journal_and_the_other_none() -> None:
    """What is between them is what recording costs."""
    assert {agent.name: keeps_journal(agent) for agent in stepping_agents()} == {"recorded": True, "unrecorded": False}
