"""The document: a conversation, its entries and their messages. Values, never changed after they were read or made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Discriminator, Field, Tag

from state.contents import AnyContent, Stored, Usage


class Message(Stored):
    """One message of an entry. `role` is the stored one; `created_at` is text and never rewritten."""

    role: str | None = None
    contents: list[AnyContent] = Field(default_factory=list)
    author_name: str | None = None
    created_at: str | None = None


_EntryT = TypeVar("_EntryT", bound="_Entry")
_T = TypeVar("_T")


class _Entry(Stored):
    """What all entries share: results of work on the entry are remembered with it.

    An entry never changes and conversations share it, so what was made of it once stays right. `$type` comes first in
    every object that has one: .NET's reader wants it there.
    """

    type: Any = Field(default=None, alias="$type")

    @cached_property  # pydantic's private attributes cost ten times as much to read
    def made(self) -> dict[Callable[[Any], Any], Any]:
        """What was made of the entry, by the function that made it. Not part of the stored value."""
        return {}

    def once(self: _EntryT, make: Callable[[_EntryT], _T]) -> _T:
        """Return what `make` gives for this entry, made at the first call and remembered."""
        made = self.made
        if make not in made:
            made[make] = make(self)
        remembered: _T = made[make]
        return remembered


class _Exchange(_Entry):
    """What requests and responses share. `correlation_id` is the run id."""

    correlation_id: str | None = None
    created_at: str | None = None
    messages: list[Message] = Field(default_factory=list)


class RequestEntry(_Exchange):
    """What was asked of the agent in one run."""

    type: Literal["request"] = Field(alias="$type")
    orchestration_id: str | None = None
    response_type: str | None = None
    response_schema: Any = None


class ResponseEntry(_Exchange):
    """What came of one run. `status` is ours: absent for an answer, else failed, timed_out or cancelled."""

    type: Literal["response"] = Field(alias="$type")
    usage: Usage | None = None
    status: str | None = None


class UnknownEntry(_Entry):
    """An entry whose `$type` is missing or newer than this code: kept whole, skipped for the model."""


_ENTRY_KINDS: Final = ("request", "response")
_UNKNOWN: Final = "(unknown)"


def _entry_tag(value: Any) -> str:
    kind = value.get("$type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind if kind in _ENTRY_KINDS else _UNKNOWN


Entry = Annotated[
    Annotated[RequestEntry, Tag("request")]
    | Annotated[ResponseEntry, Tag("response")]
    | Annotated[UnknownEntry, Tag(_UNKNOWN)],
    Discriminator(_entry_tag),
]


class ConversationData(Stored):
    """The conversation's entries in their order, and what programs keep beside them."""

    conversation_history: list[Entry] = Field(default_factory=list)
    extension_data: dict[str, Any] | None = None
    expiration_time_utc: str | None = None


class Conversation(Stored):
    """A whole stored document."""

    schema_version: str
    data: ConversationData
