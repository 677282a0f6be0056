"""The contents of a message: one table from `$type` to model. Every model keeps the properties it does not know."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel


class Stored(BaseModel):
    """Any object of the document: camelCase on the wire, strict about kinds, unknown properties kept, never changed.

    Scalars may be null where the schema wants them absent, because other packages write null.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, alias_generator=to_camel)

    def unknown_properties(self) -> dict[str, Any]:
        """Return the properties that the model does not know, by their stored names."""
        return self.__pydantic_extra__ or {}


Count = int | float | None  # a float only where another writer wrote 5.0, which JSON Schema calls an integer


class Usage(Stored):
    """Token counts; counts without a property of their own are under `extensionData`, as other packages do it."""

    input_token_count: Count = None
    output_token_count: Count = None
    total_token_count: Count = None
    extension_data: dict[str, Any] | None = None


class StoredContent(Stored):
    """A content whose `$type` the schema knows."""

    replayed: ClassVar[bool] = True  # False: kept and shown, never sent to the model again


class TextContent(StoredContent):
    """Plain text."""

    type: Literal["text"] = Field(alias="$type")
    text: str | None = None


class DataContent(StoredContent):
    """Bytes inside a `data:` URI."""

    type: Literal["data"] = Field(alias="$type")
    uri: str | None = None
    media_type: str | None = None


class UriContent(StoredContent):
    """A reference to something outside."""

    type: Literal["uri"] = Field(alias="$type")
    uri: str | None = None
    media_type: str | None = None


class FunctionCallContent(StoredContent):
    """A tool call that the model asked for."""

    type: Literal["functionCall"] = Field(alias="$type")
    call_id: str | None = None
    name: str | None = None
    arguments: dict[str, Any] | None = None
    arguments_kind: str | None = None  # ours: "object" when the framework held an object and not text


class FunctionResultContent(StoredContent):
    """What a tool answered."""

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

    replayed = False
    type: Literal["reasoning"] = Field(alias="$type")
    text: str | None = None


class UsageContent(StoredContent):
    """Token counts in the place of a content."""

    replayed = False
    type: Literal["usage"] = Field(alias="$type")
    usage: Usage | None = None


class UnknownContent(StoredContent):
    """A content that the schema has no type for, serialized by whoever wrote it."""

    replayed = False
    type: Literal["unknown"] = Field(alias="$type")
    content: Any = None


class UnrecognizedContent(StoredContent):
    """An object whose `$type` is missing or newer than this code: kept whole, skipped for the model."""

    replayed = False
    type: Any = Field(default=None, alias="$type")


CONTENT_MODELS: Final[dict[str, type[StoredContent]]] = {
    "text": TextContent,
    "data": DataContent,
    "uri": UriContent,
    "functionCall": FunctionCallContent,
    "functionResult": FunctionResultContent,
    "hostedFile": HostedFileContent,
    "hostedVectorStore": HostedVectorStoreContent,
    "error": ErrorContent,
    "reasoning": ReasoningContent,
    "usage": UsageContent,
    "unknown": UnknownContent,
}
UNRECOGNIZED: Final = "(unrecognized)"


def content_tag(value: Any) -> str:
    """Return the key of the model in `CONTENT_MODELS` for an object or a model, else `UNRECOGNIZED`."""
    kind = value.get("$type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind if isinstance(kind, str) and kind in CONTENT_MODELS else UNRECOGNIZED


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
    | Annotated[UnrecognizedContent, Tag(UNRECOGNIZED)],
    Discriminator(content_tag),
]
