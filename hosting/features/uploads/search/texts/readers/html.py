"""HTML, by libxml2 as a stream of tags: the text that is shown, and the headings above it.

No tree is built: the cost grows with the file, however deep its elements stand, and a browser's tree takes a square.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from lxml import etree

from hosting.features.uploads.search.texts.limits import MOST_LABEL, MOST_PIECE, Order, TextPiece
from hosting.features.uploads.search.texts.readers.plain import text_blocks

_HIDDEN = frozenset(("script", "style", "template", "noscript", "iframe", "object", "svg", "math"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_CELLS = frozenset(("td", "th"))
_PARAGRAPHS = _HEADINGS | {"title", "p", "div", "section", "article", "table", "ul", "ol", "pre", "blockquote"}
_LINES = frozenset(("br", "hr", "tr", "li", "dt", "dd", "option", "header", "footer", "nav", "aside", "main", "form"))
_LINES |= {"figure", "figcaption", "caption", "address", "details", "summary", "fieldset", "legend", "body"}
_BLANKS = re.compile(r"\s+")
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_META_BYTES = 1024
"""Where browsers look for the encoding."""


def html_pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    """Give the shown text, in a piece for each heading."""
    page = _Page()
    target: Any = page  # the types of lxml ask for methods that it does not
    parser = etree.HTMLParser(target=target, huge_tree=True, no_network=True)
    for text in text_blocks(file, _media_type(file, order.media_type)):
        parser.feed(text)
        yield from page.pieces()
    parser.close()
    page.flush()
    yield from page.pieces()


def _media_type(file: BinaryIO, media_type: str) -> str:
    """Return the media type with the encoding that the page names itself."""
    head = file.read(_META_BYTES)
    file.seek(0)
    declared = _META_CHARSET.search(head)
    if declared is None or "charset=" in media_type.lower():
        return media_type
    return f"text/html; charset={declared[1].decode()}"


class _Page:
    """The text so far, as its tags come. libxml2 gives an end for each start."""

    def __init__(self) -> None:
        self._pieces: list[TextPiece] = []
        self._parts: list[str] = []
        self._size = 0
        self._label = ""
        self._heading: list[str] | None = None
        self._hidden = 0
        self._pre = 0

    def pieces(self) -> Iterator[TextPiece]:
        """Give what is whole by now."""
        yield from self._pieces
        self._pieces.clear()

    def flush(self) -> None:
        """Make a piece of what there is since the last one."""
        text = "".join(self._parts)
        if text.strip():
            self._pieces.append(TextPiece(text, label=self._label))
        self._parts, self._size = [], 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._hidden += tag in _HIDDEN
        self._pre += tag == "pre"
        self._break(tag)
        if tag in _HEADINGS:
            self.flush()
            self._heading, self._label = [], ""

    def end(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN
        self._pre -= tag == "pre"
        if tag in _HEADINGS and self._heading is not None:
            self._label = _BLANKS.sub(" ", "".join(self._heading)).strip()[:MOST_LABEL]
            self._heading = None
        if tag in _CELLS:
            self._add(" | ")
        self._break(tag)

    def data(self, text: str) -> None:
        if self._hidden:
            return
        if self._heading is not None:
            self._heading.append(text)
        if not self._pre:
            text = _BLANKS.sub(" ", text)
            if not self._parts or self._parts[-1][-1] in (" ", "\n"):
                text = text.lstrip(" ")
        if text:
            self._add(text)

    def close(self) -> None:
        """Nothing: what is left is flushed by the reader."""

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size > MOST_PIECE // 2:
            self.flush()

    def _break(self, tag: str) -> None:
        """Begin a line or a paragraph, if the text does not stand at the beginning of one."""
        if self._parts and tag in _PARAGRAPHS | _LINES:
            last = "".join(self._parts[-2:])
            if tag in _PARAGRAPHS and not last.endswith("\n\n"):
                self._add("\n" if last.endswith("\n") else "\n\n")
            elif not last.endswith("\n"):
                self._add("\n")
