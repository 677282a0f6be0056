"""What is counted after many messages at once on one thread."""

import pytest

from benchmarks.measures.crowd import CROWD, one_round
from tests.benchmarks.stand_in import CrowdedThread, answering


@pytest.mark.behaviour("benchmarks.counted-in-the-conversation")
@pytest.mark.parametrize(
    ("copies", "kept", "doubled"),
    [
        ({}, 16, 0),
        ({"Message 3": 0}, 15, 0),
        ({"Message 3": 2, "Message 5": 3}, 16, 2),
        ({"Message 0": 0, "Message 1": 2}, 15, 1),
    ],
    ids=["whole", "one lost", "two doubled", "one for another"],
)
async def test_lost_and_doubled_messages_show_in_the_count(copies: dict[str, int], kept: int, doubled: int) -> None:
    """Also when as many were lost as were doubled, where a mere number of messages would be right."""
    async with answering(CrowdedThread(copies).reply, connections=CROWD) as connections:
        counted = await one_round(connections, "crowd")

    assert counted[:2] == (kept, doubled)
