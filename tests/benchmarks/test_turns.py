"""A turn is timed only when it is answered as a turn must be."""

import pytest

from benchmarks.turns import WrongAnswerError, take_turn
from benchmarks.warm_up import request_empty_route
from tests.benchmarks.stand_in import answering, http


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
@pytest.mark.parametrize("status", [202, 429, 500])
async def test_a_turn_that_is_not_finished_is_no_figure(status: int) -> None:
    async with answering(lambda path, body: http(status, b"why")) as (connection,):
        with pytest.raises(WrongAnswerError, match=f"A turn was answered {status}: why"):
            await take_turn(connection, "assistant", "Hi")


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
async def test_an_empty_route_that_is_not_there_is_no_calibration() -> None:
    async with answering(lambda path, body: http(404, b"")) as (connection,):
        with pytest.raises(WrongAnswerError, match=r"The empty route was answered 404\."):
            await request_empty_route(connection, requests=1)
