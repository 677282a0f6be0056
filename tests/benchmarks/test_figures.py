"""The figures of the benchmarks: what is counted, what is none, and where they are shown."""

import re
from pathlib import Path

import pytest

from benchmarks.bars import BARS
from benchmarks.catalogue import MEASURES
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.measures.crowd import CROWD, one_round
from benchmarks.table import render
from benchmarks.turns import WrongAnswerError, take_turn
from benchmarks.warm_up import request_empty_route
from tests.benchmarks.stand_in import CrowdedThread, answering, http


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


PAGE = (Path(__file__).parents[2] / "docs" / "contributing" / "benchmarks.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("benchmarks.documented")
def test_the_page_describes_every_measure_and_no_other() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(MEASURES)


@pytest.mark.behaviour("benchmarks.documented")
def test_the_page_shows_every_bar_beside_a_figure_that_was_measured() -> None:
    """In the printed tables, which the page shows as they came."""
    rows = [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in PAGE.splitlines()]
    for measured, bar in BARS.items():
        shown = [row[3] for row in rows if tuple(row[:2]) == measured]

        assert shown, measured
        assert all(text.startswith(str(bar)) for text in shown), measured


@pytest.mark.behaviour("benchmarks.bar-beside-figure")
@pytest.mark.behaviour("benchmarks.calibrated")
def test_the_table_shows_figure_bar_verdict_and_calibration() -> None:
    """A start has no warm host, so no empty route stands beside it."""
    fresh = Result((milliseconds("p50", 0.0061), milliseconds("p95", 0.0123)), empty_route_seconds=0.00042)
    start = Result((Figure("p50", 1.5, "s"),))
    clients = Result((Figure("throughput", 1234.5, "turns/s"),), empty_route_seconds=0.0005)

    assert render({"start": start, "fresh": fresh, "clients": clients}) == (
        "| measure | figure     |        value | bar                  | reached | empty route p50 |\n"
        "| ------- | ---------- | -----------: | -------------------- | ------- | --------------: |\n"
        "| start   | p50        |       1.50 s | at most 2 s          | yes     |                 |\n"
        "| fresh   | p50        |      6.10 ms | at most 6 ms         | NO      |         0.42 ms |\n"
        "| fresh   | p95        |      12.3 ms |                      |         |         0.42 ms |\n"
        "| clients | throughput | 1234 turns/s | at least 250 turns/s | yes     |         0.50 ms |"
    )


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
