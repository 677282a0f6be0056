"""JSON values that nobody meant, of the names and texts that a protocol knows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AnyJson:
    """What values are made of: `texts` beside numbers, flags and null, and the `names` of members."""

    texts: Sequence[str]
    names: Sequence[str]

    def value(self, chance: random.Random, depth: int = 0) -> Any:
        """Return any value, the smaller the deeper it is."""
        kind = chance.random()
        if depth > 3 or kind < 0.5:
            return chance.choice((None, True, False, 0, 1, -1, 1.5, 10**30, *self.texts))
        if kind < 0.7:
            return [self.value(chance, depth + 1) for _ in range(chance.randrange(3))]
        return self.members(chance, chance.randrange(4), depth + 1)

    def members(self, chance: random.Random, count: int, depth: int = 0) -> dict[str, Any]:
        """Return up to so many members with any values."""
        return {chance.choice(self.names): self.value(chance, depth) for _ in range(count)}
