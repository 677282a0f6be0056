"""Plain text, Markdown and CSV, as they are written: in which encoding, and under which headings."""

from __future__ import annotations

import codecs
import contextlib
import io
import re
from collections.abc import Iterable, Iterator
from encodings.aliases import aliases
from typing import BinaryIO

from charset_normalizer import from_bytes

from hosting.features.uploads.search.texts.limits import MOST_LABEL, MOST_PIECE, Order, TextPiece
from hosting.features.uploads.search.texts.refusals import NOT_READ, UnreadableFileError

_SAMPLE_BYTES = 1 << 16
_BLOCK_BYTES = 1 << 20
_BLOCK = MOST_PIECE // 2
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_CHARSET = re.compile(r"charset=\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_KNOWN_CHARSETS = (
    "utf",
    "iso",
    "latin",
    "windows",
    "cp",
    "koi8",
    "shift",
    "euc",
    "gb",
    "big5",
    "mac",
    "tis",
    "us-ascii",
)
"""Of the codecs that Python has, those of texts: some others are no encodings, and some take a square of time."""
_GUESSED = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp866", "cp874"),
    *("iso8859_2", "iso8859_5", "iso8859_7", "iso8859_15", "koi8_r", "koi8_u"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
"""The encodings that people's texts still have, where neither a mark nor a media type says it."""
_MOST_CONTROLS = 0.05
_CONTROLS = frozenset([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_ATX = re.compile(r" {0,3}#{1,6}[ \t]+(?P<heading>.*?)[ \t#]*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def load_encodings() -> None:
    """Import each encoding that Python has: a sealed process can import none any more."""
    for name in {*aliases.values(), *_GUESSED}:
        with contextlib.suppress(LookupError):  # one of another system
            codecs.lookup(name)


def plain_pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    """Give the text as it stands."""
    return (TextPiece(text) for text in text_blocks(file, order.media_type))


def csv_pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    """Give the text as it stands; its first line, which names the columns, is the label of all the rest.

    Nothing is parsed: no line is too long, and no quote without its end swallows the file.
    """
    label: str | None = None
    for text in text_blocks(file, order.media_type):
        if label is None:
            label = text.partition("\n")[0].strip()[:MOST_LABEL]
        yield TextPiece(text, label=label)


def markdown_pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    """Give the text as it stands, with the heading above each part of it; a `#` in a fenced block is none."""
    lines: list[str] = []
    label, fence, size = "", "", 0
    for line in _lines(text_blocks(file, order.media_type)):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        heading = None if fence or mark else _ATX.match(line.rstrip("\n")[: 2 * MOST_LABEL])
        if lines and (heading or size + len(line) > MOST_PIECE):
            yield TextPiece("".join(lines), label=label)
            lines, size = [], 0
        if heading:
            label = heading["heading"][:MOST_LABEL]
        lines.append(line)
        size += len(line)
    if lines:
        yield TextPiece("".join(lines), label=label)


def text_blocks(file: BinaryIO, media_type: str) -> Iterator[str]:
    """Give the file's characters in blocks, cut behind a line or a blank where there is one."""
    stream = io.TextIOWrapper(file, encoding=encoding_of(file, media_type), errors="replace", newline=None)
    rest = ""
    while block := stream.read(_BLOCK):
        is_last = len(block) < _BLOCK
        block = rest + block
        cut = max(block.rfind("\n"), block.rfind(" ")) + 1
        if is_last or cut <= len(block) // 2:
            cut = len(block)
        rest = block[cut:]
        yield block[:cut]
    if rest:
        yield rest


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from text.splitlines(keepends=True)


def encoding_of(file: BinaryIO, media_type: str) -> str:
    """Return the encoding: by its mark, else the one that all of the bytes are valid in, else the likeliest.

    Raise `UnreadableFileError` for bytes that are no text. The file stands at its start again.
    """
    sample = file.read(_SAMPLE_BYTES)
    file.seek(0)
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample:
        return _wide_encoding(sample)
    if sum(map(_CONTROLS.__contains__, sample)) > _MOST_CONTROLS * len(sample):
        raise UnreadableFileError.of(NOT_READ)
    offset = _first_not_utf8(file)
    if offset is None:
        return "utf-8"
    declared = _CHARSET.search(media_type)
    if declared and _is_charset(declared[1]):
        return declared[1]
    return _likeliest(file, offset)


def _first_not_utf8(file: BinaryIO) -> int | None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    try:
        while block := file.read(_BLOCK_BYTES):
            decoder.decode(block)
            offset += len(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return offset + error.start
    finally:
        file.seek(0)
    return None


def _is_charset(name: str) -> bool:
    try:
        return name.lower().startswith(_KNOWN_CHARSETS) and bool(codecs.lookup(name))
    except LookupError:
        return False


def _likeliest(file: BinaryIO, offset: int) -> str:
    file.seek(max(0, offset - 1024))
    sample = file.read(_SAMPLE_BYTES)
    file.seek(0)
    guess = from_bytes(sample, cp_isolation=list(_GUESSED)).best()
    return "cp1252" if guess is None else guess.encoding


def _wide_encoding(sample: bytes) -> str:
    """Return the encoding of a text that has zero bytes and no mark.

    The letters of a text are of few blocks of 256 characters; in the wrong order of bytes they are of many.
    """
    texts = [(_valid(sample, encoding), encoding) for encoding in _WIDE]
    spread = [(len({ord(letter) >> 8 for letter in text}), encoding) for text, encoding in texts if _is_text(text)]
    if not spread:
        raise UnreadableFileError.of(NOT_READ)
    return min(spread)[1]


def _valid(sample: bytes, encoding: str) -> str:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        return decoder.decode(sample)
    except UnicodeDecodeError:
        return ""


def _is_text(text: str) -> bool:
    odd = sum(not (letter.isprintable() or letter in "\t\r\n\f") for letter in text)
    return bool(text) and odd <= _MOST_CONTROLS * len(text)
