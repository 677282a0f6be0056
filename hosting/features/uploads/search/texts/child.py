"""The process that reads one hostile file: its standard input. It writes frames, a JSON value in a line each.

The parent starts it by `python -m`, with the order as its only argument. It trusts nothing that it reads, and the
parent trusts nothing that it writes.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import BinaryIO

from msgspec import json

from hosting.features.uploads.search.texts import confinement, kinds, readers
from hosting.features.uploads.search.texts.limits import MOST_PIECE, Order, RefusedFile, TextPiece, Whole
from hosting.features.uploads.search.texts.refusals import (
    NO_TEXT,
    TOO_MUCH_MEMORY,
    TOO_MUCH_TEXT,
    UnreadableFileError,
)

_MODULES = {kinds.PDF: ("pdf",), kinds.ZIP: ("documents", "slides", "sheets"), kinds.TEXT: ("plain", "html")}
"""What a file of each form may be read with. It is imported before a byte behind the first ones is looked at."""
_READERS = {
    kinds.PDF: ("pdf", "pdf_pieces"),
    kinds.DOCX: ("documents", "document_pieces"),
    kinds.PPTX: ("slides", "slide_pieces"),
    kinds.XLSX: ("sheets", "sheet_pieces"),
    kinds.HTML: ("html", "html_pieces"),
    kinds.PLAIN: ("plain", "plain_pieces"),
    kinds.MARKDOWN: ("plain", "markdown_pieces"),
    kinds.CSV: ("plain", "csv_pieces"),
}
_ENCODINGS = ("cp437", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig")
"""Of names in a zip and of titles in a PDF. Python imports an encoding at its first use, which is behind the seal."""
_DROPPED = dict.fromkeys([*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0xFEFF, 0xFFFE, 0xFFFF])
"""Controls, marks of the order of bytes, and what is no character."""
_BLANKS = re.compile(r"\s{64,}")
"""As many as no text needs. Shortened, so that blanks alone make no chunk long."""


def main() -> None:
    """Read the file and write its text, or why it has none."""
    order = json.decode(sys.argv[1], type=Order)
    confinement.limit(order.limits)
    frames = sys.stdout.buffer
    try:
        for piece in _pieces(sys.stdin.buffer, order):
            frames.write(json.encode(piece) + b"\n")
        end: RefusedFile | Whole = Whole()
    except UnreadableFileError as error:
        end = RefusedFile(error.code)
    except MemoryError:
        end = RefusedFile(TOO_MUCH_MEMORY)
    frames.write(json.encode(end) + b"\n")
    frames.flush()


def _pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    form = kinds.form_of(file)
    modules = {name: import_module(f"{readers.__name__}.{name}") for name in _MODULES[form]}
    for encoding in _ENCODINGS:
        codecs.lookup(encoding)
    if "plain" in modules:
        modules["plain"].load_encodings()
    confinement.seal()
    module, reader = _READERS[kinds.kind_of(form, file, order.name, order.media_type)]
    yield from _cleaned(getattr(modules[module], reader)(file, order), order.limits.characters)


def _cleaned(pieces: Iterator[TextPiece], most_characters: int) -> Iterator[TextPiece]:
    """Give the pieces as text that can be stored anywhere; raise `UnreadableFileError` for none and for too much."""
    left, has_text = most_characters, False
    for piece in pieces:
        text = _clean(piece.text)
        left -= len(text)
        if left < 0:
            raise UnreadableFileError.of(TOO_MUCH_TEXT)
        has_text = has_text or bool(text.strip())
        for start in range(0, len(text), MOST_PIECE):
            yield TextPiece(text[start : start + MOST_PIECE], piece.page, _clean(piece.label))
    if not has_text:
        raise UnreadableFileError.of(NO_TEXT)


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_DROPPED)
    text = _BLANKS.sub(lambda run: "\n\n" if "\n" in run[0] else " ", text)
    return text.encode("utf-8", "replace").decode()


if __name__ == "__main__":
    main()
