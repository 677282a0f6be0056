"""Entries that are nothing but text, in a form that is had at a tenth of a model's cost.

Nearly every entry of a long conversation is of this shape: text messages, token counts, no property that this version
does not know. What is accepted here would be accepted by the models in `state.models`, and means the same there; the
opposite is not so, and whatever is not accepted here is the models' to judge.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from state.remembering import Remembering

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
