"""The document: a conversation, its entries and their messages. Values, never changed after they were read or made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Literal, overload

from pydantic import Discriminator, Field, GetCoreSchemaHandler, Tag, TypeAdapter
from pydantic_core import CoreSchema, PydanticSerializationError, core_schema

from state.contents import AnyContent, Stored, Usage
from state.json_text import dump, parse
from state.plain import PLAIN, PlainEntry
from state.remembering import Remembering


class Message(Stored):
    """One message of an entry. `role` is the stored one; `created_at` is text and never rewritten."""

    role: str | None = None
    contents: list[AnyContent] = Field(default_factory=list)
    author_name: str | None = None
    created_at: str | None = None


class _Entry(Stored, Remembering):
    """What all entries share. `$type` comes first in every object that has one: .NET's reader wants it there."""

    type: Any = Field(default=None, alias="$type")


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


_ENTRY: Final[TypeAdapter[Entry]] = TypeAdapter(Entry)


def validated_entry(value: object) -> Entry:
    """Return the entry of a JSON value. Raises `pydantic.ValidationError`."""
    return _ENTRY.validate_python(value)


def entry_text(entry: Entry | PlainEntry) -> str:
    """Return the compact JSON text of an entry. Who reads one lets it remember its text as made by this function."""
    assert not isinstance(entry, PLAIN), "a plain entry has its text from the document that it was read from"
    try:
        return entry.model_dump_json(by_alias=True, exclude_unset=True)
    except (PydanticSerializationError, UnicodeEncodeError):  # lone surrogates: only the escaping writer can
        return dump(entry.model_dump(by_alias=True, exclude_unset=True))


class History(Sequence[Entry]):
    """The entries of a conversation, in their order and never changed.

    Plain entries are held as they were read, with their text, and become models when they are looked at: a turn looks
    at few of them. `held` is for those who can do without the models.
    """

    def __init__(self, entries: Iterable[Entry | PlainEntry] = ()) -> None:
        self._entries = list(entries)

    @property
    def held(self) -> Sequence[Entry | PlainEntry]:
        """The entries, models or not."""
        return self._entries

    def with_entries(self, *entries: Entry) -> History:
        """Return the history that goes on with these; the entries so far are shared."""
        return History([*self._entries, *entries])

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        if isinstance(place, slice):
            return [self[index] for index in range(len(self))[place]]
        entry = self._entries[place]
        if isinstance(entry, PLAIN):
            entry = self._entries[place] = _model(entry)
        return entry

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[History], tuple[list[Entry]]]:
        return History, (list(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls, handler(list[Entry]))


def _model(plain: PlainEntry) -> Entry:
    entry = validated_entry(parse(plain.made[entry_text]))
    entry.made.update(plain.made)
    return entry


class ConversationData(Stored):
    """The conversation's entries in their order, and what programs keep beside them."""

    conversation_history: History = Field(default_factory=History)
    extension_data: dict[str, Any] | None = None
    expiration_time_utc: str | None = None


class Conversation(Stored):
    """A whole stored document."""

    schema_version: str
    data: ConversationData
