"""What a scripted model answers, whatever the wire on which it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Finish = Literal["stop", "length", "content_filter"]


@dataclass(frozen=True)
class Call:
    """A tool call of the model; without an `id` the server makes one."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True)
class Answer:
    """One answer of the model: text or calls, after its thinking.

    `is_cut` ends a stream without the event that ends it. `status` other than 200 is an error of the server. `hosted`
    are calls that the provider made by itself: names of its tools.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    finish: Finish = "stop"
    is_cut: bool = False
    status: int = 200
    hosted: tuple[str, ...] = ()
