"""PDF, by PDFium: the text of each page, under the last bookmark before it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium

from hosting.features.uploads.search.texts.limits import MOST_LABEL, Order, TextPiece
from hosting.features.uploads.search.texts.refusals import (
    DAMAGED,
    ENCRYPTED,
    TOO_MANY_PAGES,
    UnreadableFileError,
)

_MOST_BOOKMARKS = 20_000
_HYPHEN = "\ufffe"
"""What PDFium writes for the hyphen of a word that goes on in the next line."""


def pdf_pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    """Give a piece for each page that has text; a page that is damaged alone has none."""
    document = _opened(file)
    if len(document) > order.limits.pages:
        raise UnreadableFileError.of(TOO_MANY_PAGES)
    labels = _labels(document)
    label, damaged = "", 0
    for index in range(len(document)):
        label = labels.get(index, label)
        try:
            text = _text(document, index)
        except pypdfium2.PdfiumError:
            damaged += 1
            continue
        if text.strip():
            yield TextPiece(f"{text.rstrip()}\n\n", index + 1, label)
    if damaged == len(document):
        raise UnreadableFileError.of(DAMAGED)


def _opened(file: BinaryIO) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        has_password = error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        raise UnreadableFileError.of(ENCRYPTED if has_password else DAMAGED) from None


def _text(document: pypdfium2.PdfDocument, index: int) -> str:
    page = document[index]
    try:
        words = page.get_textpage()
        try:
            text: str = words.get_text_bounded()
        finally:
            words.close()
    finally:
        page.close()
    text = text.replace("\r\n", "\n")
    return text.replace(f"{_HYPHEN}\n", "").replace(_HYPHEN, "")


def _labels(document: pypdfium2.PdfDocument) -> dict[int, str]:
    """Return the title of the last bookmark of each page that has one."""
    labels: dict[int, str] = {}
    try:
        for bookmark in islice(document.get_toc(max_depth=8), _MOST_BOOKMARKS):
            place = bookmark.get_dest()
            index = None if place is None else place.get_index()
            if index is not None:
                labels[index] = bookmark.get_title().strip()[:MOST_LABEL]
    except pypdfium2.PdfiumError:
        return labels
    return labels
