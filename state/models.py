"""The document: a conversation, its entries and their messages. Values, never changed after they were read or made.

Nearly every entry of a long conversation is plain: text messages, token counts, no property that this version does not
know. Such an entry is read into a `PlainEntry`, at a tenth of a model's cost. A model accepts it too and gives it the
same meaning; what no plain entry accepts is the models' to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar, overload

import msgspec
from pydantic import Discriminator, Field, GetCoreSchemaHandler, Tag, TypeAdapter
from pydantic_core import CoreSchema, PydanticSerializationError, core_schema

from state.contents import AnyContent, Stored, Usage
from state.json_values import dump, parse

_SelfT = TypeVar("_SelfT", bound="Remembering")
_T = TypeVar("_T")
_MADE: Final = "made"

OURS: Final = "agentFramework"
"""The property with what the schema has none for, of contents, messages and entries."""

UNSENT: Final = "messages"
"""What it holds of a request: messages that are shown, and that no model is sent."""


class Remembering:
    """A value that never changes, so that what was made of it once stays right and is shared with it."""

    @property
    def made(self) -> dict[Callable[[Any], Any], Any]:
        """What was made of the value, by the function that made it. Not part of the stored value."""
        # Pydantic's private attributes, and a `cached_property` with its lock, cost ten times as much.
        remembered: dict[Callable[[Any], Any], Any] = self.__dict__.setdefault(_MADE, {})
        return remembered

    def once(self: _SelfT, make: Callable[[_SelfT], _T]) -> _T:
        """Return what `make` gives for this value, made at the first call and remembered."""
        made = self.__dict__.get(_MADE)
        if made is None or make not in made:
            self.made[make] = make(self)
        remembered: _T = self.__dict__[_MADE][make]
        return remembered


_Count = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # longer ones are the strict parser's to judge


class _Plain(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Any object of a plain entry. Those with `gc=False` can be part of no cycle and are not looked through for any."""


class PlainText(_Plain, tag_field="$type", tag="text", gc=False):
    """A text content."""

    text: str


class PlainMessage(_Plain, gc=False):
    """A message of texts."""

    role: str
    contents: list[PlainText]
    author_name: str | None = None


class PlainUsage(_Plain, gc=False):
    """Token counts, known by their three names only."""

    input_token_count: _Count | None = None
    output_token_count: _Count | None = None
    total_token_count: _Count | None = None


class _PlainExchange(_Plain, Remembering, dict=True, tag_field="$type"):
    """What plain requests and responses share, by the names that the models have for it."""

    correlation_id: str
    created_at: str
    messages: list[PlainMessage]


class PlainRequest(_PlainExchange, tag="request"):
    """A request of text."""

    response_type: str | None = None


class PlainResponse(_PlainExchange, tag="response"):
    """An answer of text: a run without an answer has a `status` or an error content, and is not plain."""

    usage: PlainUsage | None = None


PlainEntry = PlainRequest | PlainResponse
PLAIN: Final = (PlainRequest, PlainResponse)
_DECODER: Final[msgspec.json.Decoder[PlainEntry]] = msgspec.json.Decoder(PlainEntry)


def plain_entry(text: str) -> PlainEntry | None:
    """Return the entry of a text that is one plain entry and nothing else, or None."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):  # the second: a lone surrogate in the text itself
        return None


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
    """What came of one run. `status` is ours: absent for an answer, else failed, timed_out or cancelled.

    An `errorResponse` is a failed run, as drafts of version 1.2 have it; we write none.
    """

    type: Literal["response", "errorResponse"] = Field(alias="$type")
    usage: Usage | None = None
    status: str | None = None


class UnknownEntry(_Entry):
    """An entry whose `$type` is missing or newer than this code: kept whole, skipped for the model."""


_ENTRY_KINDS: Final = {"request": "request", "response": "response", "errorResponse": "response"}
_UNKNOWN: Final = "(unknown)"


def _entry_tag(value: Any) -> str:
    kind = value.get("$type") if isinstance(value, dict) else getattr(value, "type", None)
    return _ENTRY_KINDS.get(kind, _UNKNOWN) if isinstance(kind, str) else _UNKNOWN


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


class Entries(Sequence[Entry]):
    """The entries of a conversation, in their order and never changed.

    Plain entries are held as they were read, with their text, and become models when they are looked at: a turn looks
    at few of them. `held` is for those who can do without the models.
    """

    def __init__(self, entries: Iterable[Entry | PlainEntry] = (), message_count: int | None = None) -> None:
        self._entries = list(entries)
        self._message_count = message_count
        self._made: dict[Callable[[Any], Any], list[Any]] = {}

    @property
    def held(self) -> Sequence[Entry | PlainEntry]:
        """The entries, models or not."""
        return self._entries

    def with_entries(self, *entries: Entry) -> Entries:
        """Return the history that continues with these; the entries so far are shared."""
        longer = Entries([*self._entries, *entries], self.message_count + _count_messages(entries))
        longer._made = dict(self._made)
        return longer

    def each(self, make: Callable[[Any], _T]) -> Sequence[_T]:
        """Return what `make` gives for each entry as it is held; a longer history makes it of its new entries only."""
        known: list[_T] = self._made.get(make, [])
        if len(known) < len(self._entries):
            self._made[make] = known = [*known, *(entry.once(make) for entry in self._entries[len(known) :])]
        return known

    @property
    def message_count(self) -> int:
        """How many messages requests and responses have: counted once, and gone on with in a longer history."""
        if self._message_count is None:
            self._message_count = _count_messages(self._entries)
        return self._message_count

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            return [self[at] for at in range(len(self))[index]]
        entry = self._entries[index]
        if isinstance(entry, PLAIN):
            entry = self._entries[index] = _model(entry)
        return entry

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entries) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Entries], tuple[list[Entry]]]:
        return Entries, (list(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls, handler(list[Entry]))


def unsent_messages(entry: Entry | PlainEntry) -> list[Any]:
    """Return the messages of a request that are no part of its `messages`, in stored form."""
    ours = entry.unknown_properties().get(OURS) if type(entry) is RequestEntry else None
    unsent = ours.get(UNSENT) if isinstance(ours, dict) else None
    return unsent if isinstance(unsent, list) else []


def _count_messages(entries: Iterable[Entry | PlainEntry]) -> int:
    known = (entry for entry in entries if not isinstance(entry, UnknownEntry))
    return sum(len(entry.messages) + len(unsent_messages(entry)) for entry in known)


def _model(plain: PlainEntry) -> Entry:
    entry = validated_entry(parse(plain.made[entry_text]))
    entry.made.update(plain.made)
    return entry


class ConversationData(Stored):
    """The conversation's entries in their order, and what programs keep next to them."""

    conversation_history: Entries = Field(default_factory=Entries)
    extension_data: dict[str, Any] | None = None
    expiration_time_utc: str | None = None


class Conversation(Stored):
    """A whole stored document."""

    schema_version: str
    data: ConversationData
