"""The batches of an entity in the protocol of 1.7: the texts that the entities read and write."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")

ENTITY_MARK: dict[str, Any] = {}
"""What an entity's trigger has besides its name."""


def of_texts(answer: T) -> T:
    """Return what answers the trigger's text, given what answers the entity's."""
    return answer
