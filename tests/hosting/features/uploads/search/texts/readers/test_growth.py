"""What reading and cutting a file costs grows with it: twice the input costs at most three times as much."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest

from hosting.features.uploads.search.texts.chunking import chunked
from hosting.features.uploads.search.texts.limits import Order, TextLimits, TextPiece
from hosting.features.uploads.search.texts.readers.documents import document_pieces
from hosting.features.uploads.search.texts.readers.html import html_pieces
from hosting.features.uploads.search.texts.readers.pdf import pdf_pieces
from hosting.features.uploads.search.texts.readers.plain import csv_pieces, markdown_pieces
from hosting.features.uploads.search.texts.readers.sheets import sheet_pieces
from hosting.features.uploads.search.texts.readers.slides import slide_pieces
from tests.support.growth import MOST_GROWTH, growth
from tests.support.office_files import docx, paragraph, pdf, pptx, rows_xml, slide_xml, xlsx

pytestmark = pytest.mark.slow
STEP = 64
"""Elements for each of a size: with ten thousand of them, a square is seen beside what each one costs."""
LARGEST = 1 << 14
ORDER = Order("", "", TextLimits(pages=1 << 30))
Reader = Callable[[BinaryIO, Order], Iterator[TextPiece]]

FILES: dict[str, tuple[Reader, Callable[[int], bytes]]] = {
    "headings": (markdown_pieces, lambda size: b"# a\n" * size),
    "fences": (markdown_pieces, lambda size: b"```\n~~~\n" * size),
    "a line": (markdown_pieces, lambda size: b"# a " * size),
    "hashes": (markdown_pieces, lambda size: b"#" * size),
    "commas": (csv_pieces, lambda size: b"," * size),
    "blanks": (csv_pieces, lambda size: b" " * size),
    "zeros": (csv_pieces, lambda size: b"a\0" * size),
    "not utf-8": (csv_pieces, lambda size: b"\xe9 " * size),
    "nested tags": (html_pieces, lambda size: b"<div>" * size),
    "headings of tags": (html_pieces, lambda size: b"<h1>" * size),
    "open comments": (html_pieces, lambda size: b"<!--" * size),
    "cells": (html_pieces, lambda size: b"<td>a" * size),
    "references": (html_pieces, lambda size: b"&amp;" * size),
    "paragraphs": (document_pieces, lambda size: docx(paragraph("a") * size)),
    "nested paragraphs": (document_pieces, lambda size: docx("<w:p>" * size + "</w:p>" * size)),
    "nested cells": (document_pieces, lambda size: docx("<w:tc>" * size + "</w:tc>" * size)),
    "attributes": (document_pieces, lambda size: docx("<w:p " + "".join(f'a{n}="" ' for n in range(size)) + "/>")),
    "slides": (slide_pieces, lambda size: pptx([slide_xml("a", ["b"])] * (size // 16))),
    "shapes": (slide_pieces, lambda size: pptx([slide_xml("a", ["b"] * size)])),
    "rows": (sheet_pieces, lambda size: xlsx({"a": rows_xml([["a", 1]] * size)})),
    "pages": (pdf_pieces, lambda size: pdf(["a"] * (size // 16))),
}


@pytest.mark.parametrize("name", FILES)
def test_reading_a_file_grows_with_it(name: str) -> None:
    reader, made = FILES[name]

    def read(content: bytes) -> int:
        return sum(1 for _ in reader(io.BytesIO(content), ORDER))

    assert growth(lambda size: made(STEP * size), read, LARGEST) <= MOST_GROWTH


@pytest.mark.parametrize("text", ["word ", "x", "中", "。", ".", "\n", " ", "a\n\n", "é", "1"])
def test_cutting_a_text_grows_with_it(text: str) -> None:
    def pieces(size: int) -> list[TextPiece]:
        return [TextPiece(text * 4096)] * (size // 4096) or [TextPiece(text * size)]

    def cut(given: list[TextPiece]) -> int:
        return sum(1 for _ in chunked(given))

    assert growth(lambda size: pieces(STEP * size), cut, LARGEST) <= MOST_GROWTH
