"""The types of answers to questions as a checkpoint has them: Python's own form of a choice of types is no plain value.

Theory. The framework reads no more of a checkpoint than classes. `int | None` is a call of a function there, and so is
`Literal["yes", "no"]`. In a checkpoint each is a generic type of a mark of ours instead: `AnyOf[int, None]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from agent_framework import WorkflowEvent

Events = Mapping[str, WorkflowEvent[Any]]


class AnyOf:
    """Marks a choice of types: `int | None`."""


class OneOf:
    """Marks a choice of values: `Literal["yes", "no"]`."""


class Nothing:
    """Marks the type of None."""


MARKS = frozenset(f"{mark.__module__}:{mark.__qualname__}" for mark in (AnyOf, OneOf, Nothing))
"""The names of the marks, for the reader of a checkpoint."""


def storable(events: Events) -> dict[str, WorkflowEvent[Any]]:
    """Return questions with the types of their answers in the form for a checkpoint."""
    return _changed(events, _marked)


def original(events: Events) -> dict[str, WorkflowEvent[Any]]:
    """Return questions with the types of their answers as they were before `storable`."""
    return _changed(events, _unmarked)


def _changed(events: Events, change: Callable[[Any], Any]) -> dict[str, WorkflowEvent[Any]]:
    changed = {}
    for request_id, event in events.items():
        kind: Any = change(event.response_type)
        changed[request_id] = event
        if kind is not event.response_type:
            changed[request_id] = WorkflowEvent.request_info(
                request_id=request_id,
                source_executor_id=event.source_executor_id,
                request_data=event.data,
                response_type=kind,
            )
    return changed


def _marked(kind: Any) -> Any:
    origin, members = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return GenericAlias(AnyOf, tuple(map(_marked, members)))
    if origin is Literal:
        return GenericAlias(OneOf, members)
    if isinstance(origin, type) and members:
        return GenericAlias(origin, tuple(map(_marked, members)))
    return Nothing if kind is NoneType else kind


def _unmarked(kind: Any) -> Any:
    origin, members = get_origin(kind), get_args(kind)
    if origin is AnyOf:
        return reduce(or_, map(_unmarked, members))
    if origin is OneOf:
        return Literal.__getitem__(members)
    if isinstance(origin, type) and members:
        return GenericAlias(origin, tuple(map(_unmarked, members)))
    return None if kind is Nothing else kind
