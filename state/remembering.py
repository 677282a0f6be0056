"""Values that remember what was made of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

_SelfT = TypeVar("_SelfT", bound="Remembering")
_T = TypeVar("_T")


class Remembering:
    """A value that never changes, so that what was made of it once stays right and is shared with it."""

    @cached_property  # pydantic's private attributes cost ten times as much to read
    def made(self) -> dict[Callable[[Any], Any], Any]:
        """What was made of the value, by the function that made it. Not part of the stored value."""
        return {}

    def once(self: _SelfT, make: Callable[[_SelfT], _T]) -> _T:
        """Return what `make` gives for this value, made at the first call and remembered."""
        made = self.made
        if make not in made:
            made[make] = make(self)
        remembered: _T = made[make]
        return remembered
