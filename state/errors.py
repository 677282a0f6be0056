"""What can be wrong with a stored document, or with contents given for one: a class, a stable code, a sentence."""

from __future__ import annotations

from typing import ClassVar


class UnreadableDocumentError(Exception):
    """A stored document that this version must not interpret. Its bytes stay as they are.

    `code` is stable and says which rule was broken; `str(error)` is one sentence for the operator.
    """

    code: ClassVar[str]


class NotJsonError(UnreadableDocumentError):
    """The text is not JSON (NaN and Infinity are not JSON either)."""

    code = "not_json"


class NestedTooDeepError(UnreadableDocumentError):
    """The document nests deeper than any reader can be expected to follow."""

    code = "nested_too_deep"


class NumberOutOfRangeError(UnreadableDocumentError):
    """A number cannot be held without changing it, so it could not be written back."""

    code = "number_out_of_range"


class NotAnObjectError(UnreadableDocumentError):
    """The document is JSON, but not an object."""

    code = "not_an_object"


class NoVersionError(UnreadableDocumentError):
    """The document has no `schemaVersion`."""

    code = "no_version"


class NotAVersionError(UnreadableDocumentError):
    """`schemaVersion` is not three numbers with dots between them."""

    code = "not_a_version"


class UnsupportedVersionError(UnreadableDocumentError):
    """`schemaVersion` has another major number than the documents that this version understands."""

    code = "unsupported_version"


class NoDataError(UnreadableDocumentError):
    """The document has no `data`."""

    code = "no_data"


class MalformedError(UnreadableDocumentError):
    """A property that this version knows holds a value of another kind."""

    code = "malformed"


class BadContentError(ValueError):
    """One of the contents given for a new message cannot be accepted; nothing was stored.

    `index` is its place in the list, from 0; `field` the property at fault, "" for the content as a whole;
    `str(error)` says both and what to do.
    """

    code: ClassVar[str] = "invalid_contents"

    def __init__(self, index: int, field: str, reason: str) -> None:
        at = f"contents[{index}].{field}" if field else f"contents[{index}]"
        super().__init__(f"{at} {reason}")
        self.index = index
        self.field = field
