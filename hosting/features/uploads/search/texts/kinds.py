"""What kind of file it is: by its bytes, and among texts by its name and media type, which may lie."""

from __future__ import annotations

from typing import BinaryIO

from hosting.features.uploads.search.texts.readers.packages import main_part, opened
from hosting.features.uploads.search.texts.refusals import ENCRYPTED, NOT_READ, UnreadableFileError

PDF, ZIP, TEXT = "pdf", "zip", "text"
"""The forms that a file may have. Its first bytes show which."""
DOCX, PPTX, XLSX = "docx", "pptx", "xlsx"
PLAIN, MARKDOWN, HTML, CSV = "plain", "markdown", "html", "csv"

_HEAD_BYTES = 4096
_PDF_BYTES = 1024
"""Where readers of PDF look for its mark."""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Old Office formats, and new ones with a password."""
_OFFICE = {"word": DOCX, "ppt": PPTX, "xl": XLSX}
_SUFFIXES = {
    "md": MARKDOWN,
    "markdown": MARKDOWN,
    "htm": HTML,
    "html": HTML,
    "xhtml": HTML,
    "csv": CSV,
    "tsv": CSV,
}
_MEDIA_TYPES = {
    "text/markdown": MARKDOWN,
    "text/x-markdown": MARKDOWN,
    "text/html": HTML,
    "application/xhtml+xml": HTML,
    "text/csv": CSV,
    "text/tab-separated-values": CSV,
}
_HTML_STARTS = (b"<!doctype html", b"<html")
_BLANKS = b"\xef\xbb\xbf \t\r\n"


def form_of(file: BinaryIO) -> str:
    """Return the form; raise `UnreadableFileError` for one that is not read. The file stands at its start again."""
    head = _head(file)
    if head.startswith(_OLE):
        raise UnreadableFileError.of(ENCRYPTED)
    if b"%PDF-" in head[:_PDF_BYTES]:
        return PDF
    return ZIP if head.startswith(_ZIP) else TEXT


def kind_of(form: str, file: BinaryIO, name: str, media_type: str) -> str:
    """Return the kind of a file of that form; raise `UnreadableFileError` for a zip that is no Office file."""
    if form == PDF:
        return PDF
    if form == TEXT:
        return _text_kind(_head(file), name, media_type)
    with opened(file) as package:
        kind = _OFFICE.get(main_part(package).partition("/")[0])
    file.seek(0)
    if kind is None:
        raise UnreadableFileError.of(NOT_READ)
    return kind


def _head(file: BinaryIO) -> bytes:
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    return head


def _text_kind(head: bytes, name: str, media_type: str) -> str:
    suffix = name.rpartition(".")[2].lower()
    declared = _SUFFIXES.get(suffix) or _MEDIA_TYPES.get(media_type.partition(";")[0].strip().lower())
    if declared is None and head.lstrip(_BLANKS).lower().startswith(_HTML_STARTS):
        return HTML
    return declared or PLAIN
