"""Rows of the table that together have each two choices of different dimensions that go together, in some row."""

from __future__ import annotations

import random
from collections.abc import Sequence

from allpairspy import AllPairs

from tests.fidelity.features import DIMENSIONS, Row, allowed


def rows(seed: int) -> list[Row]:
    """Return the rows of a seed: another one crosses other choices beyond the pairs."""
    chance = random.Random(seed)
    names = chance.sample(list(DIMENSIONS), len(DIMENSIONS))
    choices = [chance.sample(DIMENSIONS[name], len(DIMENSIONS[name])) for name in names]

    def goes_together(values: Sequence[str]) -> bool:
        return allowed(dict(zip(names, values, strict=False)))

    return [
        {name: dict(zip(names, values, strict=True))[name] for name in DIMENSIONS}
        for values in AllPairs(choices, filter_func=goes_together)
    ]
