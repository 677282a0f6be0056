"""The text of a stored document, cut where its entries are, so that entries which do not change are not written again.

Documents in the form that `write` gives (and .NET's writer too) begin with the version and the history; their entries'
texts are found while they are parsed, at no cost. Any other JSON text is parsed whole, and its entries have no texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from state.json_text import MAX_DEPTH, parse, parse_from

_BEGINNING: Final = re.compile(r'\{"schemaVersion":"[0-9.]+","data":\{"conversationHistory":\[')
# What must not be in the rest of the text: a second history or data, whose value would count, not the first one's.
_AMBIGUOUS: Final = re.compile(r'"(data|conversationHistory)"|\\u')
_BEFORE_ENTRY: Final = ("[{", ",{")
_LEVELS_AROUND_ENTRY: Final = 3


@dataclass(frozen=True)
class DocumentText:
    """A parsed document. Where it was cut, its history is empty in `value`, and here with the text of each entry."""

    value: Any
    entries: list[Any] = field(default_factory=list)
    entry_texts: list[str] = field(default_factory=list)


def parse_document(text: str) -> DocumentText:
    """Return the document's value and its entries' texts. Raises what `json_text.parse` raises."""
    beginning = _BEGINNING.match(text)
    return (beginning and _parse_cut(text, beginning.end())) or DocumentText(parse(text))


def _parse_cut(text: str, start: int) -> DocumentText | None:
    """Parse entry by entry; None when the text is not in the expected form after all."""
    entries: list[Any] = []
    texts: list[str] = []
    end = start - 1  # at a bracket or a comma: what stands before an entry
    while text.startswith(_BEFORE_ENTRY, end):
        entry, next_end = parse_from(text, end + 1, MAX_DEPTH - _LEVELS_AROUND_ENTRY)
        entries.append(entry)
        texts.append(text[end + 1 : next_end])
        end = next_end
    rest = text[end:] if entries else text[start:]
    if not rest.startswith("]") or _AMBIGUOUS.search(rest):
        return None
    return DocumentText(parse(text[:start] + rest), entries, texts)
