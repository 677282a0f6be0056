"""How the cost of a piece of work grows with its input: a ratio of two timings, taken side by side in one run.

For work that is done inside of one call of a library, where nothing can be counted. It says nothing of how long
anything takes: a machine that is slow or busy is so for both.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

MOST_GROWTH = 3.0
"""Of twice the input. What grows with it takes 2 times as much, up to 2.5 where memory is had in steps, as by a dict.
What grows with its square takes 4 times as much."""

SQUARE = 3.6
"""From here on it is the square, and no larger size is tried."""

SMALLEST = 256
TOLD_SECONDS = 0.002
"""Work that takes less cannot be told from none: it is given more, up to the most that a caller may send."""

LOOKS = 3
"""At a size, before it is taken for large enough: what slowed a single one down may have been the machine."""

ROUNDS = 24
"""At most. A busy machine only adds, so more rounds bring both timings nearer to what the work costs."""

InputT = TypeVar("InputT")


def growth(input_of: Callable[[int], InputT], work: Callable[[InputT], object], largest: int) -> float:
    """Return how many times more processor time of its thread the work takes for an input of twice the size.

    Taken at about the smallest size at which it can be told, so that not even what grows without bounds takes long; 0
    for work that takes no time at `largest` either. Where that is too much, the least of some sizes counts: memory is
    had in steps, and one of them may be just there. What grows with the square does so at each. The making of the input
    is not counted.
    """
    size = SMALLEST
    while any(_spent(work, input_of(size)) < TOLD_SECONDS for _ in range(LOOKS)):
        size *= 4
        if size > largest:
            return 0.0
    grown = _ratio(work, input_of(size), input_of(2 * size))
    for larger in (2 * size, 4 * size, 8 * size):
        if grown <= MOST_GROWTH or (larger > 2 * size and grown > SQUARE):
            break
        grown = min(grown, _ratio(work, input_of(larger), input_of(2 * larger)))
    return grown


def _ratio(work: Callable[[InputT], object], given: InputT, doubled: InputT) -> float:
    once, twice = _spent(work, given), _spent(work, doubled)
    for _ in range(ROUNDS):
        if twice <= MOST_GROWTH * once:
            break
        once, twice = min(once, _spent(work, given)), min(twice, _spent(work, doubled))
    return twice / once


def _spent(work: Callable[[InputT], object], given: InputT) -> float:
    """Collections of garbage are left out: they look through all that the process holds, whatever the work is."""
    gc.disable()
    try:
        began = time.thread_time()
        work(given)
        return time.thread_time() - began
    finally:
        gc.enable()
