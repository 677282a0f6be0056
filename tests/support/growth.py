"""How the cost of a piece of work grows with its input: a ratio of two timings, taken side by side in one run.

For work that is done inside of one call of a library, where nothing can be counted. It says nothing of how long
anything takes: a machine that is slow or busy is so for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable

ROUNDS = 3
UNTOLD_SECONDS = 0.001
"""Work that takes less cannot be told from none."""

MOST_GROWTH = 9.0
"""Of four times the input: what grows with it takes 4 times as much, what grows with its square 16 times."""


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times more processor time the work takes for four times the size: by the least of some rounds."""
    rounds = [(_spent(work, size), _spent(work, 4 * size)) for _ in range(ROUNDS)]
    return max(UNTOLD_SECONDS, min(more for _, more in rounds)) / max(UNTOLD_SECONDS, min(once for once, _ in rounds))


def _spent(work: Callable[[int], object], size: int) -> float:
    began = time.process_time()
    work(size)
    return time.process_time() - began
