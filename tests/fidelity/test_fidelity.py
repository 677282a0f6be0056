"""Hosted is plain: each agent of the table is sent to its model, tells its caller and does the same, hosted and plain.

A covering array has each pair of choices in some row; `--explore` crosses more with other seeds. A failure names the
rows that differ, each with its first difference.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from tests.fidelity.compare import differences
from tests.fidelity.features import Row, row, rows, title
from tests.fidelity.known import UNFINISHED, WANTED, Difference, unexplained

pytestmark = [
    pytest.mark.behaviour("hosting.is-plain"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*experimental"),
]

SEED = 1
EXPLORED = (2, 3, 4, 5)
PARTS = 16
MOST_STEPS = 4


def cases() -> Iterator[object]:
    """Yield the parts of the gate's rows, and those of other seeds for a run that explores."""
    for seed, part in product((SEED, *EXPLORED), range(PARTS)):
        marks = [pytest.mark.slow] if seed == SEED else [pytest.mark.slow, pytest.mark.explore]
        yield pytest.param(seed, part, id=f"{seed}: part {part + 1} of {PARTS}", marks=marks)


@pytest.mark.parametrize(("seed", "part"), [*cases()])
async def test_a_hosted_agent_is_its_plain_one(seed: int, part: int) -> None:
    """Message by message and turn by turn; killed at a step where the row says so."""
    found: dict[str, list[str]] = {}
    for number, of in [*enumerate(rows(seed))][part::PARTS]:
        left = unexplained(of, await differences(of, random.Random(number).randint(1, MOST_STEPS)))
        found |= {title(of): left} if left else {}

    assert found == {}


APART = [
    row(carrier=carrier, **choices)
    for carrier in ("streamed", "killed")
    for choices in (
        {"middleware": "injection", "tools": "one"},
        {"middleware": "injection", "tools": "rounds", "client": "anthropic"},
        {"within": "workflow"},
        {"within": "workflow", "tools": "rounds", "client": "responses"},
        {"within": "workflow", "tools": "parallel", "client": "anthropic"},
        {"within": "workflow", "tools": "agent", "provider": "todo"},
    )
]
"""What the table does not cross with all the rest. Plain, a workflow's agent takes no approval in a session."""


@pytest.mark.slow
@pytest.mark.parametrize("of", APART, ids=title)
async def test_what_stands_apart_of_the_table_is_plain_too(of: Row) -> None:
    """Messages that a tool adds, and agents that are workflows; killed at the second step of each turn."""
    assert await differences(of, 2) == []


async def test_a_plain_agent_is_compared_in_the_quick_tests_too() -> None:
    """So that the comparison itself is never broken for long."""
    assert await differences(row(tools="rounds")) == []


@pytest.mark.slow
@pytest.mark.parametrize("known", [*WANTED, *UNFINISHED], ids=lambda known: known.title)
async def test_what_is_on_the_lists_still_differs(known: Difference) -> None:
    found = await differences(known.shown_by)

    assert found
    assert known.explains(known.shown_by, found[0]), found
