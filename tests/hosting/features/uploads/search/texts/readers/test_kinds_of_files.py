"""What each kind of file gives: its text, and where in the file each piece of it stands."""

from __future__ import annotations

import pytest

from hosting.features.uploads.search.texts.limits import TextLimits, TextPiece
from hosting.features.uploads.search.texts.refusals import UnreadableFileError
from tests.support.office_files import docx, paragraph, pdf, pptx, relations, rows_xml, slide_xml, xlsx
from tests.support.texts import read_pieces, read_text

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Grüße, мир, 世界"),
        ("utf-8-sig", "Grüße"),
        ("utf-16", "Grüße, мир, 世界"),
        ("utf-16-le", "Two lines\nwithout a mark"),
        ("utf-16-be", "这是一个测试文件。\n今天天气很好。"),
        ("utf-32", "Grüße"),
        ("cp1252", "Schöne Grüße über die Straße, schrieb er ihr früh am Morgen aus München."),
        ("cp1251", "Привет мир, как дела сегодня? Это текст на русском языке."),
        ("shift_jis", "日本語のテキストです。今日は良い天気です。"),
    ],
)
async def test_a_text_is_read_in_the_encoding_that_it_has(encoding: str, text: str) -> None:
    assert await read_text(text.encode(encoding), "a.txt") == text


async def test_a_text_is_read_in_the_encoding_that_its_sender_names() -> None:
    assert await read_text("ђурђевак".encode("iso8859-5"), "a.txt", "text/plain; charset=ISO-8859-5") == "ђурђевак"


async def test_markdown_stands_under_its_headings() -> None:
    """As it is written; a line of a fenced block is none."""
    text = "Before\n\n# One\n\n```\n# none\n```\n## Two ##\nlast\n"

    assert await read_pieces(text.encode(), "a.md") == [
        TextPiece("Before\n\n"),
        TextPiece("# One\n\n```\n# none\n```\n", label="One"),
        TextPiece("## Two ##\nlast\n", label="Two"),
    ]


async def test_a_csv_file_is_labelled_by_its_columns() -> None:
    """On each piece, so that a row in the middle still has them."""
    rows = "name;price\n" + "apple;1\n" * 9000
    pieces = await read_pieces(rows.encode(), "a.csv")

    assert "".join(piece.text for piece in pieces) == rows
    assert {piece.label for piece in pieces} == {"name;price"}
    assert len(pieces) > 1


async def test_html_gives_what_is_shown() -> None:
    page = b"""<!doctype html><title>Prices</title><style>p {}</style><script>x()</script>
    <h1>Our  <b>prices</b></h1>
    <p>All of<br>them<p>Second<table><tr><th>Name<th>Price<tr><td>Apple<td>1</table><h2>Terms</h2><pre>a
      b</pre><template>hidden</template><!-- no -->"""

    assert await read_pieces(page, "a", "application/octet-stream") == [
        TextPiece("Prices\n\n"),
        TextPiece("Our prices\n\nAll of\nthem\n\nSecond\n\nName | Price | \nApple | 1 | \n\n", label="Our prices"),
        TextPiece("Terms\n\na\n      b\n\n", label="Terms"),
    ]


async def test_html_names_its_own_encoding() -> None:
    page = '<meta charset="iso-8859-5"><p>ђурђевак'.encode("iso8859-5")

    assert (await read_text(page, "a.html")).strip() == "ђурђевак"


async def test_a_pdf_has_pages_and_bookmarks() -> None:
    assert await read_pieces(pdf(["Hello there", "", "Third page"], {0: "Start", 2: "End"})) == [
        TextPiece("Hello there\n\n", 1, "Start"),
        TextPiece("Third page\n\n", 3, "End"),
    ]


async def test_a_document_stands_under_its_headings() -> None:
    """By the built-in name of their styles, in each language of Word; its notes follow."""
    table = f"<w:tbl><w:tr><w:tc>{paragraph('A')}</w:tc><w:tc>{paragraph('B')}</w:tc></w:tr></w:tbl>"
    body = paragraph("Before") + paragraph("Kapitel", "berschrift1") + paragraph("Text & more") + table
    notes = paragraph("A note").join(('<w:footnotes xmlns:w="w">', "</w:footnotes>"))

    assert await read_pieces(docx(body, {"word/notes.xml": notes})) == [
        TextPiece("Before\n\n"),
        TextPiece("Kapitel\n\nText & more\n\nA | B | \n\n", label="Kapitel"),
        TextPiece("A note\n\n"),
    ]


async def test_a_documents_text_for_older_programs_is_not_read_twice() -> None:
    both = "<Choice><w:r><w:t>box</w:t></w:r></Choice><Fallback><w:r><w:t>box</w:t></w:r></Fallback>"

    assert await read_text(docx(f"<w:p>{both}</w:p>")) == "box\n\n"


async def test_a_presentation_has_slides_in_the_order_shown() -> None:
    slides = [slide_xml("First", ["point"]), slide_xml("Second", ["other", "last"])]
    notes = {
        "ppt/slides/_rels/slide1000.xml.rels": relations({"n": ("notesSlide", "../n.xml")}),
        "ppt/n.xml": '<n xmlns:a="a"><a:p><a:t>Say hello</a:t></a:p></n>',
    }

    assert await read_pieces(pptx(slides, notes)) == [
        TextPiece("First\n\npoint\n\nSay hello\n\n", 1, "First"),
        TextPiece("Second\n\nother\n\nlast\n\n", 2, "Second"),
    ]


async def test_a_workbook_has_sheets_of_rows() -> None:
    """By number and name; whole numbers have no point."""
    sheets = {
        "Prices": rows_xml([["Name", "Price"], ["Apple", 2.5], ["Pear", 3]]),
        "Empty": rows_xml([]),
        "B": rows_xml([["x"]]),
    }

    assert await read_pieces(xlsx(sheets)) == [
        TextPiece("Name | Price\nApple | 2.5\nPear | 3\n\n", 1, "Prices"),
        TextPiece("x\n\n", 3, "B"),
    ]


@pytest.mark.parametrize(
    ("content", "limits", "code"),
    [
        (b"x" * 2000, TextLimits(file_bytes=1999), "file_too_large"),
        (b"x" * 2000, TextLimits(characters=1999), "file_has_too_much_text"),
        (b"x" * 2000, TextLimits(seconds=0.001), "file_takes_too_long"),
        (pdf(["a", "b"]), TextLimits(pages=1), "file_has_too_many_pages"),
        (pptx([slide_xml("a", [])] * 2), TextLimits(pages=1), "file_has_too_many_pages"),
        (xlsx({"a": rows_xml([["x"]]), "b": rows_xml([["y"]])}), TextLimits(pages=1), "file_has_too_many_pages"),
        (docx(paragraph("x" * 2000)), TextLimits(expanded_bytes=1999), "file_expands_too_far"),
    ],
)
async def test_a_file_beyond_a_limit_is_refused_with_its_code(content: bytes, limits: TextLimits, code: str) -> None:
    """Whole or not at all: a part of a file would answer questions wrongly."""
    with pytest.raises(UnreadableFileError) as refused:
        await read_pieces(content, limits=limits)

    assert refused.value.code == code


async def test_long_blanks_are_shortened() -> None:
    assert await read_text(b"a" + b" " * 500 + b"b" + b"\n" * 500 + b"c") == "a b\n\nc"
