"""PPTX: the text of each slide and of its notes, in the order shown, under the slide's title."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from hosting.features.uploads.search.texts.limits import MOST_LABEL, Order, TextPiece
from hosting.features.uploads.search.texts.readers.packages import (
    RELATION_ID,
    Attributes,
    Handlers,
    Unpacking,
    main_part,
    opened,
    read_xml,
    related,
)
from hosting.features.uploads.search.texts.refusals import TOO_MANY_PAGES, UnreadableFileError

_TITLES = frozenset(("title", "ctrTitle"))
_NUMBERS = frozenset(("sldNum", "dt", "ftr", "sldImg"))
"""Placeholders that every slide repeats."""


def slide_pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    """Give a piece for each slide that has text."""
    unpacking = Unpacking(order.limits.expanded_bytes)
    with opened(file) as package:
        slides = _slides(package, unpacking)
        if len(slides) > order.limits.pages:
            raise UnreadableFileError.of(TOO_MANY_PAGES)
        for number, path in enumerate(slides, 1):
            slide = _shapes(package, path, unpacking)
            notes = [other for kind, other in related(package, path, unpacking).values() if kind == "notesSlide"]
            texts = [slide.text, *(_shapes(package, other, unpacking).text for other in notes)]
            text = "\n\n".join(filter(None, texts))
            if text:
                yield TextPiece(f"{text}\n\n", number, slide.title)


def _slides(package: zipfile.ZipFile, unpacking: Unpacking) -> list[str]:
    """Return the paths of the slides, in their order."""
    main = main_part(package)
    paths = related(package, main, unpacking)
    slides: list[str] = []

    def start(name: str, attributes: Attributes) -> None:
        if name == "sldId":
            slides.append(attributes.get(RELATION_ID, ""))

    for _ in read_xml(package, main, Handlers(start), unpacking):
        pass
    return [paths[relation][1] for relation in slides if relation in paths]


def _shapes(package: zipfile.ZipFile, path: str, unpacking: Unpacking) -> _Shapes:
    shapes = _Shapes()
    for _ in read_xml(package, path, Handlers(shapes.start, shapes.end, shapes.characters), unpacking):
        pass
    return shapes


class _Shapes:
    """The text of a slide's shapes, as its elements come."""

    def __init__(self) -> None:
        self.title = ""
        self._lines: list[str] = []
        self._paragraph: list[str] = []
        self._placeholder = ""
        self._in_text = False
        self._cells = 0

    @property
    def text(self) -> str:
        return "".join(self._lines).strip()

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "ph":
            self._placeholder = attributes.get("type", "")
        elif name == "t":
            self._in_text = self._placeholder not in _NUMBERS
        elif name == "br":
            self._paragraph.append("\n")
        elif name == "tc":
            self._cells += 1

    def characters(self, text: str) -> None:
        if self._in_text:
            self._paragraph.append(text)

    def end(self, name: str) -> None:
        if name == "t":
            self._in_text = False
        elif name == "p":
            text = "".join(self._paragraph)
            self._paragraph.clear()
            if text.strip():
                self._lines.append(text if self._cells else f"{text}\n")
                if self._placeholder in _TITLES:
                    self.title = f"{self.title} {' '.join(text.split())}".strip()[:MOST_LABEL]
        elif name == "tc":
            self._cells -= 1
            self._lines.append(" | ")
        elif name in ("tr", "sp"):
            self._placeholder = ""
            self._lines.append("\n")
