"""Files that are made to break what reads them, each built by code, with the error codes that it may end in.

Where several codes stand, it depends on the version of the library that reads it.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import NamedTuple

from hosting.features.uploads.search.texts.limits import TextLimits
from tests.support.office_files import (
    document_xml,
    docx,
    paragraph,
    pdf,
    pdf_objects,
    pdf_pages,
    pptx,
    rows_xml,
    shown,
    xlsx,
    zipped,
)

MEGA = 1 << 20
TEXT = "text"
"""Instead of a code: the file has text."""
LIMITS = TextLimits(expanded_bytes=32 * MEGA, characters=60 * MEGA, memory_bytes=512 * MEGA)
"""Smaller than those of an app, so that small files exceed them."""


class HostileFile(NamedTuple):
    """A file, as its sender calls it, and what becomes of it."""

    name: str
    media_type: str
    made: Callable[[], bytes]
    ends: frozenset[str]


def _file(name: str, made: Callable[[], bytes], *ends: str, media_type: str = "") -> HostileFile:
    return HostileFile(name, media_type, made, frozenset(ends))


def _laughs() -> str:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE x [<!ENTITY l0 "ha">{entities}]>{document_xml(paragraph("x")).replace(">x<", ">&l9;<")}'


def _fetching() -> str:
    declared = '<!DOCTYPE x [<!ENTITY stolen SYSTEM "file:///etc/passwd">]>'
    return declared + document_xml(paragraph("x")).replace(">x<", ">&stolen;<")


def _bomb() -> bytes:
    """Return a few hundred kilobytes that unpack to more than the memory of `LIMITS`."""
    packer = zlib.compressobj(1)
    return b"".join([packer.compress(bytes(MEGA)) for _ in range(600)] + [packer.flush()])


def _document_bomb() -> bytes:
    return docx("", main=document_xml(paragraph("a" * 40 * MEGA)))


def _sheet_bomb() -> bytes:
    return xlsx({"a": rows_xml([["x"]])}, {"xl/sharedStrings.xml": b" " * (40 * MEGA)})


def _corner_cells() -> bytes:
    """Return a sheet of two cells: its first and its last, 17 billion cells apart."""
    sheet = rows_xml([]).replace(
        "<sheetData>",
        '<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>',
    )
    return xlsx({"a": sheet})


def _lying_size() -> bytes:
    """Return a document whose zip says that its main part has five bytes."""
    whole = docx(paragraph("hello " * 1000))
    size = len(document_xml(paragraph("hello " * 1000))).to_bytes(4, "little")
    return whole.replace(size, (5).to_bytes(4, "little"))


def _nested() -> bytes:
    inner = docx(paragraph("inner"))
    for _ in range(30):
        inner = zipped({"again.zip": inner})
    return inner


def _page_loop() -> bytes:
    objects = pdf_pages(["x"])
    objects[2] = "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"
    return pdf_objects(objects)


def _form_loop() -> bytes:
    objects = pdf_pages(["x"])
    drawn = b"/X0 Do"
    objects[11] = (
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X0 11 0 R >> >> /Length %d >>\n"
        b"stream\n%s\nendstream" % (len(drawn), drawn)
    )
    objects[10] = str(objects[10]).replace("/Font", "/XObject << /X0 11 0 R >> /Font")
    return pdf_objects(objects)


def _deep_page_tree() -> bytes:
    objects: dict[int, str | bytes] = {1: "<< /Type /Catalog /Pages 2 0 R >>"}
    for number in range(2, 50_000):
        objects[number] = f"<< /Type /Pages /Kids [{number + 1} 0 R] /Count 1 >>"
    return pdf_objects(objects)


def _declared_gigabyte() -> bytes:
    objects = pdf_pages(["x"])
    objects[11] = shown("declared", 1 << 30)
    return pdf_objects(objects)


def _deflated_page() -> bytes:
    objects = pdf_pages(["x"])
    packed = _bomb()
    objects[11] = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed)
    return pdf_objects(objects)


def _locked() -> bytes:
    """Return a PDF whose password nobody has: its keys are of another one."""
    keys = f"/O ({'a' * 32}) /U ({'b' * 32})"
    encrypted = f"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 {keys} >>"
    return pdf_objects(pdf_pages(["secret"]), f"/Root 1 0 R {encrypted} /ID [(0123456789abcdef) (0123456789abcdef)]")


def _noise(start: bytes) -> bytes:
    return start + random.Random(7).randbytes(MEGA)


def _locked_zip() -> bytes:
    """Return a document whose parts say that they are encrypted."""
    whole = bytearray(docx(paragraph("secret")))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = whole.find(mark)
        while place >= 0:
            whole[place + offset] |= 1
            place = whole.find(mark, place + 1)
    return bytes(whole)


HOSTILE = (
    _file("empty.txt", lambda: b"", "file_empty"),
    _file("blank.txt", lambda: b" \n" * 1000, "file_has_no_text"),
    _file("laughs.docx", lambda: docx("", main=_laughs()), "file_has_forbidden_xml"),
    _file("fetching.docx", lambda: docx("", main=_fetching()), "file_has_forbidden_xml"),
    _file("laughs.pptx", lambda: pptx([_laughs()]), "file_has_forbidden_xml"),
    _file("laughs.xlsx", lambda: xlsx({"a": _laughs()}), "file_damaged", "file_has_no_text"),
    _file("bomb.docx", _document_bomb, "file_expands_too_far"),
    _file("bomb.xlsx", _sheet_bomb, "file_expands_too_far"),
    _file("corners.xlsx", _corner_cells, "file_takes_too_much_memory", TEXT),
    _file("lying.docx", _lying_size, "file_damaged"),
    _file("nested.docx", _nested, "file_kind_not_read"),
    _file("cut.docx", lambda: docx(paragraph("hello"))[:-40], "file_damaged"),
    _file("deep.docx", lambda: docx("<w:p>" * 100_000 + "</w:p>" * 100_000), "file_has_no_text"),
    _file("locked.docx", _locked_zip, "file_encrypted"),
    _file("old.doc", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(5000), "file_encrypted"),
    _file("noise.zip", lambda: _noise(b"PK\x03\x04"), "file_damaged"),
    _file("noise.pdf", lambda: _noise(b"%PDF-1.7\n"), "file_damaged"),
    _file("cut.pdf", lambda: pdf(["hello"] * 20)[:900], "file_damaged", "file_has_no_text", TEXT),
    _file("locked.pdf", _locked, "file_encrypted"),
    _file("page-loop.pdf", _page_loop, "file_damaged", "file_has_no_text"),
    _file("form-loop.pdf", _form_loop, "file_has_no_text"),
    _file("deep-tree.pdf", _deep_page_tree, "file_damaged", "file_has_no_text", "file_has_too_many_pages"),
    _file("declared.pdf", _declared_gigabyte, TEXT),
    _file("deflated.pdf", _deflated_page, "file_has_no_text", "file_takes_too_much_memory", "file_damaged"),
    _file("ten-thousand.pdf", lambda: pdf(f"Page {n}" for n in range(10_000)), TEXT),
    _file("deep.html", lambda: b"<div>" * 100_000 + b"deep", TEXT),
    _file("comments.html", lambda: b"<!--" * 100_000 + b"deep", "file_has_no_text"),
    _file("attributes.html", lambda: b"<a x=" * 100_000, "file_has_no_text"),
    _file("one-line.csv", lambda: b"1234567,89;" * (50 * MEGA // 11), TEXT),
    _file("open-quote.csv", lambda: b'a,b\n"' + b"x,\n" * MEGA, TEXT),
    _file("wide.txt", lambda: ("Ein Text ohne Marke.\n" * 100).encode("utf-16-be"), TEXT),
    _file("halves.txt", lambda: b"half of a letter \xe2\x82" * 3, TEXT),
    _file("surrogates.txt", lambda: b"\xff\xfe" + b"a\0\x00\xd8" * 100, TEXT),
    _file("../../etc/passwd", lambda: b"A name with a path.", TEXT),
    _file("C:\\..\\con.md\0.exe", lambda: b"Another one.", TEXT),
    _file("x" * 5000, lambda: b"A long name.", TEXT),
    _file("report.pdf", lambda: b"It is plain text.", TEXT, media_type="application/pdf"),
    _file("notes.txt", lambda: pdf(["It is a PDF."]), TEXT, media_type="text/plain"),
    _file("picture.txt", lambda: _noise(b"\x89PNG\r\n\x1a\n"), "file_kind_not_read", media_type="text/plain"),
    _file("codec.txt", lambda: b"caf\xe9 " * 100, TEXT, media_type="text/plain; charset=punycode"),
)
