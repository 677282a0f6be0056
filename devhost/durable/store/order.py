"""The order in which the messages of one target are handled."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

_TimeT = TypeVar("_TimeT", str, datetime)  # a text of fixed width, or the moment itself
_MessageT = TypeVar("_MessageT")
_Timed = tuple[_TimeT, _MessageT]


def merge_by_time(
    sent: Sequence[_Timed[_TimeT, _MessageT]], delayed: Iterable[_Timed[_TimeT, _MessageT]]
) -> Iterator[_MessageT]:
    """Return the messages that were `sent` to be handled at once, those that were `delayed` in between by their times.

    Each comes with its time, when it was sent or when it was due. What was sent keeps its order, whatever the clock did
    meanwhile; a delayed one comes before the first that was sent behind its time, so that none waits for ever.
    """
    later = deque(delayed)
    for moment, message in sent:
        while later and later[0][0] < moment:
            yield later.popleft()[1]
        yield message
    for _, message in later:
        yield message
