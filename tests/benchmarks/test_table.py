"""The table: every figure on its line, with its bar and its host's calibration."""

import pytest

from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.table import render


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
