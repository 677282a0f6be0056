"""DOCX: the paragraphs of the text and of its notes, under their headings. Read as a stream: no tree is built."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from hosting.features.uploads.search.texts.limits import MOST_LABEL, MOST_PIECE, Order, TextPiece
from hosting.features.uploads.search.texts.readers.packages import (
    Attributes,
    Handlers,
    Unpacking,
    main_part,
    opened,
    read_xml,
    related,
)
from hosting.features.uploads.search.texts.refusals import DAMAGED, UnreadableFileError

_NOTES = ("footnotes", "endnotes")
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_HEADINGS = ("heading ", "title")
"""How the names of built-in styles begin, in each language of the program."""
_BODY_LEVEL = "9"


def document_pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    """Give a piece for each heading. DOCX has no pages before it is printed."""
    unpacking = Unpacking(order.limits.expanded_bytes)
    with opened(file) as package:
        main = main_part(package)
        if main not in package.namelist():
            raise UnreadableFileError.of(DAMAGED)
        others = related(package, main, unpacking)
        headings = _heading_styles(package, dict(others.values()).get("styles", ""), unpacking)
        notes = [path for kind, path in others.values() if kind in _NOTES]
        for path in (main, *notes):
            text = _Text(headings)
            for _ in read_xml(package, path, Handlers(text.start, text.end, text.characters), unpacking):
                yield from text.pieces()
            yield from text.rest()


def _heading_styles(package: zipfile.ZipFile, path: str, unpacking: Unpacking) -> frozenset[str]:
    """Return the ids of the styles that are headings."""
    headings: set[str] = set()
    style = ""

    def start(name: str, attributes: Attributes) -> None:
        nonlocal style
        if name == "style":
            style = attributes.get("styleId", "")
        elif _is_heading(name, attributes.get("val", "")):
            headings.add(style)

    for _ in read_xml(package, path, Handlers(start), unpacking):
        pass
    return frozenset(headings)


def _is_heading(name: str, value: str) -> bool:
    return (name == "name" and value.lower().startswith(_HEADINGS)) or (name == "outlineLvl" and value != _BODY_LEVEL)


class _Text:
    """The text of a part, as its elements come."""

    def __init__(self, headings: frozenset[str]) -> None:
        self._headings = headings
        self._pieces: list[TextPiece] = []
        self._lines: list[str] = []
        self._size = 0
        self._label = ""
        self._paragraph: list[str] = []
        self._is_heading = False
        self._in_text = False
        self._cells = 0
        self._fallbacks = 0

    def pieces(self) -> Iterator[TextPiece]:
        """Give what is whole by now."""
        yield from self._pieces
        self._pieces.clear()

    def rest(self) -> Iterator[TextPiece]:
        """Give all that is left."""
        self._flush()
        yield from self.pieces()

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "Fallback":  # the same text once more, for older programs
            self._fallbacks += 1
        elif name == "t":
            self._in_text = not self._fallbacks
        elif name == "pStyle":
            self._is_heading |= attributes.get("val", "") in self._headings
        elif name == "outlineLvl":
            self._is_heading |= attributes.get("val", "") != _BODY_LEVEL
        elif name == "tc":
            self._cells += 1
        elif name in _MARKS and not self._fallbacks:
            self._paragraph.append(_MARKS[name])

    def characters(self, text: str) -> None:
        if self._in_text:
            self._paragraph.append(text)

    def end(self, name: str) -> None:
        if name == "Fallback":
            self._fallbacks -= 1
        elif name == "t":
            self._in_text = False
        elif name == "p":
            self._end_paragraph()
        elif name == "tc":
            self._cells -= 1
            self._add(" | ")
        elif name in ("tr", "tbl"):
            self._add("\n")

    def _end_paragraph(self) -> None:
        text = "".join(self._paragraph)
        is_heading = self._is_heading and bool(text.strip())
        self._paragraph, self._is_heading = [], False
        if is_heading:
            self._flush()
            self._label = " ".join(text.split())[:MOST_LABEL]
        if text.strip():
            self._add(text if self._cells else f"{text}\n\n")
        if self._size > MOST_PIECE // 2:
            self._flush()

    def _add(self, text: str) -> None:
        self._lines.append(text)
        self._size += len(text)

    def _flush(self) -> None:
        text = "".join(self._lines)
        if text.strip():
            self._pieces.append(TextPiece(text, label=self._label))
        self._lines, self._size = [], 0
