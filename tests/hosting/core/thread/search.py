"""A breadth-first search of every state that steps lead to: the first one that breaks a promise, by the shortest way.

A step is fair if it comes about by itself when nothing fails any more. The search also tells whether, from every state,
fair steps alone can lead to one that is settled: whatever went wrong before, what was promised can still be kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

StateT = TypeVar("StateT", bound=Hashable)
Step = tuple[str, StateT, bool, str | None]
"""What happens, the state behind it, whether that is fair, and the promise that it breaks."""

MOST_STATES = 3_000_000


@dataclass(frozen=True)
class Searched:
    """How many states and steps there are; and if one breaks a promise which, and the steps that lead there."""

    states: int
    steps: int
    broken: str | None = None
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return one line, and behind a broken promise one for each step that leads there."""
        counts = f"{self.states:,} states, {self.steps:,} steps"
        return counts if self.broken is None else "\n  ".join([f"{counts}: {self.broken}", *self.trace])


class Search(Generic[StateT]):
    """All states that can be reached from one, in the order in which they were first reached."""

    def __init__(self, first: StateT, steps: Callable[[StateT], Iterable[Step[StateT]]]) -> None:
        self._steps = steps
        self._states = [first]
        self._index = {first: 0}
        self._parent = array("i", [-1])
        self._fair = (array("i"), array("i"))
        self._count = 0

    def run(self, is_over_now: Callable[[StateT], bool]) -> Searched:
        """Search until a promise is broken or nothing new is found; raises `MemoryError` beyond `MOST_STATES`."""
        position = 0
        while position < len(self._states):
            broken = self._look(position)
            if broken is not None:
                label, promise = broken
                return Searched(len(self._states), self._count, promise, (*self._trace(position), label))
            position += 1
        stuck = self._first_stuck(is_over_now)
        if stuck is None:
            return Searched(len(self._states), self._count)
        trace = (*self._trace(stuck), f"stuck: {self._states[stuck]}")
        return Searched(len(self._states), self._count, "what was promised cannot come about any more", trace)

    def _look(self, position: int) -> tuple[str, str] | None:
        states, index = self._states, self._index
        sources, targets = self._fair
        for label, state, is_fair, broken in self._steps(states[position]):
            self._count += 1
            if broken is not None:
                return label, broken
            found = index.setdefault(state, len(states))
            if found == len(states):
                if found >= MOST_STATES:
                    raise MemoryError(f"more than {MOST_STATES:,} states")
                states.append(state)
                self._parent.append(position)
            if is_fair and found != position:
                sources.append(position)
                targets.append(found)
        return None

    def _first_stuck(self, is_over_now: Callable[[StateT], bool]) -> int | None:
        """Return the first state from which no fair steps lead to a settled one."""
        before: list[list[int]] = [[] for _ in self._states]
        for source, target in zip(*self._fair, strict=True):
            before[target].append(source)
        reached = bytearray(len(self._states))
        waiting = [at for at, state in enumerate(self._states) if is_over_now(state)]
        for at in waiting:
            reached[at] = 1
        while waiting:
            for at in before[waiting.pop()]:
                if not reached[at]:
                    reached[at] = 1
                    waiting.append(at)
        stuck = reached.find(0)
        return None if stuck < 0 else stuck

    def _trace(self, at: int) -> list[str]:
        """Return what happened on the shortest way to a state: its steps are made once more, for their names."""
        labels: list[str] = []
        while (parent := self._parent[at]) >= 0:
            state = self._states[at]
            labels.append(next(step[0] for step in self._steps(self._states[parent]) if step[1] == state))
            at = parent
        return labels[::-1]
