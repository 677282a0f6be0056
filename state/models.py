"""The document: a conversation, its entries and their messages. Values, never changed after they were read or made.

Nearly every entry of a long conversation is plain: text messages, token counts, no property that this version does not
know. Such an entry is read into a `PlainEntry`, at a tenth of a model's cost. A model accepts it too and gives it the
same meaning; what no plain entry accepts is the models' to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeVar, overload

import msgspec
from pydantic import BaseModel, Discriminator, Field, GetCoreSchemaHandler, Tag, TypeAdapter
from pydantic_core import CoreSchema, PydanticSerializationError, core_schema

from state.contents import AnyContent, Stored, Usage
from state.json_values import dump, parse

_SelfT = TypeVar("_SelfT", bound="Remembering")
_T = TypeVar("_T")
_DERIVED: Final = "derived_values"
_TEXT: Final = "json_text"

OURS: Final = "agentFramework"
"""The property for data without a property in the schema, of contents, messages and entries."""

UNSENT: Final = "messages"
"""Its member of a request: messages that are shown, and not sent to a model."""

HISTORY: Final = "history"
"""Its member of a response: the messages for a model, instead of those of the run's entries."""

ITEMS: Final = "items"
"""Its member of a tool's result: the contents, in the framework's own form."""


class Remembering:
    """An immutable value, so that values derived from it stay right and are shared with it.

    The remembered results are no part of the stored value.
    """

    def derived(self: _SelfT, make: Callable[[_SelfT], _T]) -> _T:
        """Return the result of `make` for this value, made at the first call and remembered."""
        # Pydantic's private attributes, and a `cached_property` with its lock, cost ten times as much.
        remembered: dict[Callable[[Any], Any], Any] = self.__dict__.setdefault(_DERIVED, {})
        if make not in remembered:
            remembered[make] = make(self)
        result: _T = remembered[make]
        return result


class RememberingModel(Remembering, BaseModel):
    """A model of which the same holds."""

    def __copy__(self) -> Self:
        """Return a copy that remembers nothing, because its maker changes it."""
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


_Count = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # longer ones are the strict parser's to judge


class _Plain(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Any object of a plain entry. Those with `gc=False` can be part of no cycle and are not searched for one."""


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
    """The common fields of plain requests and responses, by the names of the models."""

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
        entry = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):  # the second: a lone surrogate in the text itself
        return None
    entry.__dict__[_TEXT] = text
    return entry


class Message(Stored):
    """One message of an entry. `role` is the stored one; `created_at` is text and never rewritten."""

    role: str | None = None
    contents: list[AnyContent] = Field(default_factory=list)
    author_name: str | None = None
    created_at: str | None = None


class _Entry(Stored, RememberingModel):
    """The common fields of all entries. `$type` comes first in every object: .NET's reader needs it there."""

    type: Any = Field(default=None, alias="$type")


class _Exchange(_Entry):
    """The common fields of requests and responses. `correlation_id` is the run id."""

    correlation_id: str | None = None
    created_at: str | None = None
    messages: list[Message] = Field(default_factory=list)


class RequestEntry(_Exchange):
    """The request of one run."""

    type: Literal["request"] = Field(alias="$type")
    orchestration_id: str | None = None
    response_type: str | None = None
    response_schema: Any = None


class ResponseEntry(_Exchange):
    """The result of one run. `status` is ours: absent for an answer, else failed, timed_out or cancelled.

    An `errorResponse` is a failed run, as drafts of version 1.2 have it; we write none.
    """

    type: Literal["response", "errorResponse"] = Field(alias="$type")
    usage: Usage | None = None
    status: str | None = None


class UnknownEntry(_Entry):
    """An entry with no `$type`, or one newer than this code: kept whole, skipped for the model, of no known run."""

    correlation_id: ClassVar[None] = None


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


def validated_entry(value: object, text: str | None = None) -> Entry:
    """Return the entry of a JSON value, which keeps its `text`, if it has one. Raises `pydantic.ValidationError`."""
    entry = _ENTRY.validate_python(value)
    if text is not None:
        entry.__dict__[_TEXT] = text
    return entry


def entry_text(entry: Entry | PlainEntry) -> str:
    """Return the JSON text of an entry: the text that it was read from, or a compact one, written once."""
    text: str | None = entry.__dict__.get(_TEXT)
    if text is None:
        assert not isinstance(entry, PLAIN), "a plain entry has the text that it was read from"
        try:
            text = entry.model_dump_json(by_alias=True, exclude_unset=True)
        except (PydanticSerializationError, UnicodeEncodeError):  # lone surrogates: only the escaping writer can
            text = dump(entry.model_dump(by_alias=True, exclude_unset=True))
        entry.__dict__[_TEXT] = text
    return text


class Entries(Sequence[Entry]):
    """The entries of a conversation, in their order and never changed.

    Plain entries are held as they were read, with their text, and become models when they are read by index: a
    turn reads few of them. `stored` is for callers that can do without the models.
    """

    def __init__(self, entries: Iterable[Entry | PlainEntry] = ()) -> None:
        self.stored: list[Entry | PlainEntry] = list(entries)
        self._derived: dict[Callable[[Any], Any], list[Any]] = {}

    def with_entries(self, *entries: Entry) -> Entries:
        """Return the history that continues with these; the entries so far are shared."""
        longer = Entries([*self.stored, *entries])
        longer._derived = dict(self._derived)
        return longer

    def derived(self, make: Callable[[Any], _T]) -> Sequence[_T]:
        """Return the result of `make` for each entry; a longer history calls it for new entries only."""
        results: list[_T] = self._derived.get(make, [])
        if len(results) < len(self.stored):
            self._derived[make] = results = [*results, *(entry.derived(make) for entry in self.stored[len(results) :])]
        return results

    @property
    def message_count(self) -> int:
        """How many messages requests and responses have."""
        return sum(self.derived(_message_count))

    def __len__(self) -> int:
        return len(self.stored)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        entry = self.stored[index]
        if isinstance(entry, PLAIN):
            text = entry_text(entry)
            entry = self.stored[index] = validated_entry(parse(text), text)
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


def _message_count(entry: Entry | PlainEntry) -> int:
    return 0 if isinstance(entry, UnknownEntry) else len(entry.messages) + len(unsent_messages(entry))


class ConversationData(Stored):
    """The conversation's entries in their order, and the programs' data next to them."""

    conversation_history: Entries = Field(default_factory=Entries)
    extension_data: dict[str, Any] | None = None
    expiration_time_utc: str | None = None


class Conversation(Stored, RememberingModel):
    """A whole stored document."""

    schema_version: str
    data: ConversationData
