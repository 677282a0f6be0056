"""What is said of many measured times."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least `percent` of 100 samples do not exceed (nearest rank): always one that was."""
    if not samples:
        raise ValueError("No samples: nothing was measured.")
    rank = max(1, math.ceil(len(samples) * percent / 100))
    return sorted(samples)[rank - 1]


def median(samples: Sequence[float]) -> float:
    return percentile(samples, 50)
