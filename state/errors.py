"""The faults of a stored document, or of contents for one: a class, a stable code, a sentence."""

from __future__ import annotations

from typing import ClassVar


class UnreadableDocumentError(Exception):
    """A stored document that this version must not interpret. Its bytes stay as they are.

    `code` is stable and says which rule was broken; `str(error)` is one sentence for the operator.
    """

    code: ClassVar[str]

    def __init_subclass__(cls, *, code: str) -> None:
        cls.code = code


class NotJsonError(UnreadableDocumentError, code="not_json"):
    """The text is not JSON (NaN and Infinity are not JSON either)."""


class NestedTooDeepError(UnreadableDocumentError, code="nested_too_deep"):
    """The document nests deeper than any reader can be expected to follow."""


class NumberOutOfRangeError(UnreadableDocumentError, code="number_out_of_range"):
    """A number cannot be held without changing it, so it could not be written back."""


class NotAnObjectError(UnreadableDocumentError, code="not_an_object"):
    """The document is JSON, but not an object."""


class NoVersionError(UnreadableDocumentError, code="no_version"):
    """The document has no `schemaVersion`."""


class NotAVersionError(UnreadableDocumentError, code="not_a_version"):
    """`schemaVersion` is not three numbers with dots between them."""


class UnsupportedVersionError(UnreadableDocumentError, code="unsupported_version"):
    """`schemaVersion` has another major number than the documents that this version understands."""


class NoDataError(UnreadableDocumentError, code="no_data"):
    """The document has no `data`."""


class MalformedError(UnreadableDocumentError, code="malformed"):
    """A property that this version knows holds a value of another kind."""


class BadContentError(ValueError):
    """One of the contents for a new message cannot be accepted; nothing was stored.

    `index` is its number in the list, from 0; `field` the property at fault, "" for the content as a whole;
    `str(error)` has both and what to do.
    """

    code: ClassVar[str] = "invalid_contents"

    def __init__(self, index: int, field: str, reason: str) -> None:
        location = f"contents[{index}].{field}" if field else f"contents[{index}]"
        super().__init__(f"{location} {reason}")
        self.index = index
        self.field = field
