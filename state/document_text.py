"""The text of a stored document, cut where its entries are, so that entries which do not change are not written again.

Documents in the form that `write` gives (and .NET's writer too) begin with the version and the history; the text of
each of their entries is found while it is parsed, at no cost. Any other text is not cut, and is for a reader of the
whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from state.json_text import MAX_DEPTH, parse, parse_from
from state.models import Entry, entry_text, validated_entry
from state.plain import PlainEntry, plain_entry

_BEGINNING: Final = re.compile(r'\{"schemaVersion":"[0-9.]+","data":\{"conversationHistory":\[')
# What must not be in the rest of the text: a second history or data, whose value would count, not the first one's.
_AMBIGUOUS: Final = re.compile(r'"(data|conversationHistory)"|\\u')
_BEFORE_ENTRY: Final = ("[{", ",{")
_EXCHANGE: Final = '{"$type":"re'
_NEXT_EXCHANGE: Final = '},{"$type":"re'  # of requests and responses
_LEVELS_AROUND_ENTRY: Final = 3


@dataclass(frozen=True)
class CutDocument:
    """A parsed document: its value around an empty history, and the entries that belong there, with their texts."""

    value: Any
    entries: list[Entry | PlainEntry]


def cut_document(text: str) -> CutDocument | None:
    """Return the document, or None for a text of another form.

    Raises what `json_text.parse` raises, and `pydantic.ValidationError`.
    """
    beginning = _BEGINNING.match(text)
    if beginning is None:
        return None
    start = beginning.end()
    entries: list[Entry | PlainEntry] = []
    end = start - 1  # at a bracket or a comma: what stands before an entry
    while text.startswith(_BEFORE_ENTRY, end):
        entry, end = _plain(text, end + 1) or _any(text, end + 1)
        entries.append(entry)
    rest = text[end:] if entries else text[start:]
    if not rest.startswith("]") or _AMBIGUOUS.search(rest):
        return None
    return CutDocument(parse(text[:start] + rest), entries)


def _plain(text: str, start: int) -> tuple[PlainEntry, int] | None:
    """Return a plain entry that reaches to the next one, and its end; if what looks like the next one is none, None.

    Only what begins like one is tried: the search for the next one then never goes the same way twice.
    """
    if not text.startswith(_EXCHANGE, start):
        return None
    end = text.find(_NEXT_EXCHANGE, start) + 1
    own = text[start:end]
    entry = plain_entry(own) if own else None
    if entry is None:
        return None
    entry.made[entry_text] = own
    return entry, end


def _any(text: str, start: int) -> tuple[Entry, int]:
    """Return the entry's model and its end.

    It is made before the next entry is parsed: while the plain values of one entry live, and not of all, the garbage
    collector has little to look through.
    """
    value, end = parse_from(text, start, MAX_DEPTH - _LEVELS_AROUND_ENTRY)
    entry = validated_entry(value)
    entry.made[entry_text] = text[start:end]
    return entry, end
