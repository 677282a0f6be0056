"""Unknown properties that are called what a model's field is called in Python.

`{"created_at": 1}` has an unknown property and no `createdAt`; pydantic keeps the first and then takes the field
`created_at` for given, so that a null `createdAt` would be written. Nothing in pydantic's settings tells the two apart.
"""

from __future__ import annotations

from typing import Any

from state.contents import Stored
from state.models import History


def unset_namesakes(stored: Stored, value: dict[str, Any]) -> None:
    """Mark the fields of a model just validated from `value` as absent where `value` lacks them, at every level."""
    for name, field in type(stored).model_fields.items():
        alias = field.alias or name
        if alias in value:
            _unset_within(getattr(stored, name), value[alias])
        else:
            stored.model_fields_set.discard(name)


def _unset_within(stored: Any, value: Any) -> None:
    if isinstance(stored, Stored):
        unset_namesakes(stored, value)
    elif isinstance(stored, list | History):
        for item, item_value in zip(stored, value, strict=True):
            if isinstance(item, Stored):
                unset_namesakes(item, item_value)
