"""The contents of a message: one table from `$type` to model. Every model keeps the properties it does not know.

A caller may give contents of a few kinds for a new message; each property is checked, and a refusal names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import Struct
from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel

from state.errors import BadContentError
from state.json_values import WrittenNumber
from state.portable import data_uri_parts, is_address, is_base64


class Stored(BaseModel):
    """Any object of the document: camelCase on the wire, strict about kinds, unknown properties kept, never changed.

    Scalars may be null where the schema wants them absent, because other packages write null.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, alias_generator=to_camel)

    def unknown_properties(self) -> dict[str, Any]:
        """Return the properties that the model does not know, by their stored names."""
        return self.__pydantic_extra__ or {}


def _float_of(value: object) -> object:
    return float(value) if isinstance(value, WrittenNumber) else value


Count = Annotated[int | float | None, BeforeValidator(_float_of)]
"""A float only where another writer wrote 5.0, which JSON Schema calls an integer."""


class Usage(Stored):
    """Token counts; counts without a property of their own are under `extensionData`, as other packages do it."""

    input_token_count: Count = None
    output_token_count: Count = None
    total_token_count: Count = None
    extension_data: dict[str, Any] | None = None


TOKEN_COUNTS: Final = {
    "inputTokenCount": "input_token_count",
    "outputTokenCount": "output_token_count",
    "totalTokenCount": "total_token_count",
}
"""The counts of `Usage` that have a property of their own: stored name -> field."""


ATTACHMENT: Final = "attachment"
"""The property of a text that stands for bytes which are kept elsewhere (`state.attachments`)."""


class StoredContent(Stored):
    """A content with a `$type` that the schema knows."""

    replayed: ClassVar[bool] = True  # False: kept and shown, never sent to the model again


class TextContent(StoredContent):
    """Plain text."""

    type: Literal["text"] = Field(alias="$type")
    text: str | None = None


class DataContent(StoredContent):
    """Bytes inside a `data:` URI. `name` is the file's, which some models want to know."""

    type: Literal["data"] = Field(alias="$type")
    uri: str | None = None
    media_type: str | None = None
    name: str | None = None


class UriContent(StoredContent):
    """A reference to something outside, and its file's `name`."""

    type: Literal["uri"] = Field(alias="$type")
    uri: str | None = None
    media_type: str | None = None
    name: str | None = None


class FunctionCallContent(StoredContent):
    """A tool call that the model requested."""

    type: Literal["functionCall"] = Field(alias="$type")
    call_id: str | None = None
    name: str | None = None
    arguments: dict[str, Any] | None = None
    arguments_kind: str | None = None  # ours: "object" when the framework held an object and not text


class FunctionResultContent(StoredContent):
    """A tool's result."""

    type: Literal["functionResult"] = Field(alias="$type")
    call_id: str | None = None
    result: Any = None


class HostedFileContent(StoredContent):
    """A file kept by the model's provider."""

    type: Literal["hostedFile"] = Field(alias="$type")
    file_id: str | None = None


class HostedVectorStoreContent(StoredContent):
    """A vector store kept by the model's provider."""

    type: Literal["hostedVectorStore"] = Field(alias="$type")
    vector_store_id: str | None = None


class ErrorContent(StoredContent):
    """Why a run has no answer."""

    replayed = False
    type: Literal["error"] = Field(alias="$type")
    message: str | None = None
    error_code: str | None = None
    details: Any = None


class ReasoningContent(StoredContent):
    """The model's thoughts."""

    type: Literal["reasoning"] = Field(alias="$type")
    text: str | None = None


class UsageContent(StoredContent):
    """Token counts instead of a content."""

    replayed = False
    type: Literal["usage"] = Field(alias="$type")
    usage: Usage | None = None


class UnknownContent(StoredContent):
    """A content without a type in the schema, serialized by its writer."""

    type: Literal["unknown"] = Field(alias="$type")
    content: Any = None


class UnrecognizedContent(StoredContent):
    """An object with no `$type`, or one newer than this code: kept whole, skipped for the model."""

    replayed = False
    type: Any = Field(default=None, alias="$type")


_RECOGNIZED: Final = frozenset(
    (
        *("text", "data", "uri", "functionCall", "functionResult", "hostedFile", "hostedVectorStore"),
        *("error", "reasoning", "usage", "unknown"),
    )
)
_UNRECOGNIZED: Final = "(unrecognized)"


def _content_tag(value: Any) -> str:
    kind = value.get("$type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind if isinstance(kind, str) and kind in _RECOGNIZED else _UNRECOGNIZED


AnyContent = Annotated[
    Annotated[TextContent, Tag("text")]
    | Annotated[DataContent, Tag("data")]
    | Annotated[UriContent, Tag("uri")]
    | Annotated[FunctionCallContent, Tag("functionCall")]
    | Annotated[FunctionResultContent, Tag("functionResult")]
    | Annotated[HostedFileContent, Tag("hostedFile")]
    | Annotated[HostedVectorStoreContent, Tag("hostedVectorStore")]
    | Annotated[ErrorContent, Tag("error")]
    | Annotated[ReasoningContent, Tag("reasoning")]
    | Annotated[UsageContent, Tag("usage")]
    | Annotated[UnknownContent, Tag("unknown")]
    | Annotated[UnrecognizedContent, Tag(_UNRECOGNIZED)],
    Discriminator(_content_tag),
]


class GivenKind(Struct, frozen=True):
    """The properties of one kind of content, and the rule of its main property beyond being a string."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    check: Callable[[str], str | None]  # the main (first) property's value -> its fault


def checked_content(index: int, value: object) -> dict[str, Any]:
    """Return the content in stored form, `mediaType` filled in from a data URI.

    Raises `BadContentError`, which names `index`, the property and what to do.
    """
    if not isinstance(value, dict):
        raise BadContentError(index, "", 'must be an object like {"$type": "text", "text": "..."}.')
    type_name = value.get("$type")
    if not isinstance(type_name, str) or type_name not in GIVEN_KINDS:
        raise BadContentError(index, "$type", f"is {type_name!r:.60}. Use one of {', '.join(GIVEN_KINDS)}.")
    kind, names = GIVEN_KINDS[type_name], _known_names(type_name)
    for name in value:
        if name not in names:
            raise BadContentError(index, name[:60], f"is not known for {type_name}. Use {', '.join(names)}.")
    for name in (*kind.required, *(name for name in kind.optional if name in value)):
        if not isinstance(value.get(name), str) or not value[name].strip():
            raise BadContentError(index, name, "must be a string that is not blank.")
    main = kind.required[0]
    if fault := kind.check(value[main]):
        raise BadContentError(index, main, fault)
    parts = data_uri_parts(value[main]) if type_name == "data" else None
    return value if parts is None else {"mediaType": parts[0], **value}


def is_exchange(value: object) -> bool:
    """Return whether a content is a tool call or the result of one."""
    return isinstance(value, dict) and value.get("$type") in ("functionCall", "functionResult")


def without_unknown(value: object) -> object:
    """Return a given content without the properties that this version does not know: a later one may have kept it."""
    type_name = value.get("$type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(type_name, str) or type_name not in GIVEN_KINDS:
        return value
    return {name: value[name] for name in _known_names(type_name) if name in value}


def _known_names(type_name: str) -> tuple[str, ...]:
    return ("$type", *GIVEN_KINDS[type_name].required, *GIVEN_KINDS[type_name].optional)


def _fault_of_data_uri(uri: str) -> str | None:
    parts = data_uri_parts(uri)
    if parts is None:
        return "must look like data:image/png;base64,iVBOR..."
    return None if is_base64(parts[1]) else "is not valid base64 after the comma."


def _fault_of_uri(uri: str) -> str | None:
    if uri.startswith("data:"):
        return 'is a data URI. Give it with "$type": "data".'
    return None if is_address(uri) else "must be an absolute URI such as https://example.com/image.png."


GIVEN_KINDS: Final[Mapping[str, GivenKind]] = {
    "text": GivenKind(("text",), (), lambda _: None),
    "data": GivenKind(("uri",), ("mediaType", "name"), _fault_of_data_uri),
    "uri": GivenKind(("uri", "mediaType"), ("name",), _fault_of_uri),
    "hostedFile": GivenKind(("fileId",), (), lambda _: None),
}
