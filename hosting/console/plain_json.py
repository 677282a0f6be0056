"""What crosses to the SDK and back as plain JSON values, whatever a message looks like.

Asked for no type, the SDK makes an object of each JSON object that carries a mark of its own; asked for this one it
hands over what was parsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PlainJson:
    """A JSON value; the two methods are the SDK's hooks."""

    value: Any

    @classmethod
    def from_json(cls, value: Any) -> PlainJson:
        """Return the value as it was parsed."""
        return cls(value)

    def to_json(self) -> Any:
        """Return the value as it is to be written."""
        return self.value
