"""XLSX, by calamine: each sheet's rows as lines, their cells parted by a bar. Formulas give the value last computed."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum

from hosting.features.uploads.search.texts.limits import MOST_LABEL, MOST_PIECE, Order, TextLimits, TextPiece
from hosting.features.uploads.search.texts.readers.packages import opened
from hosting.features.uploads.search.texts.refusals import (
    DAMAGED,
    ENCRYPTED,
    EXPANDS,
    TOO_MANY_PAGES,
    UnreadableFileError,
)

Value = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta


def sheet_pieces(file: BinaryIO, order: Order) -> Iterator[TextPiece]:
    """Give the rows of each sheet that has cells, under its name."""
    with opened(file) as package:
        if sum(part.file_size for part in package.infolist()) > order.limits.expanded_bytes:
            raise UnreadableFileError.of(EXPANDS)
    file.seek(0)
    try:
        yield from _pieces(CalamineWorkbook.from_filelike(file), order.limits)
    except PasswordError:
        raise UnreadableFileError.of(ENCRYPTED) from None
    except (CalamineError, OSError, ValueError):
        raise UnreadableFileError.of(DAMAGED) from None


def _pieces(book: CalamineWorkbook, limits: TextLimits) -> Iterator[TextPiece]:
    if len(book.sheets_metadata) > limits.pages:
        raise UnreadableFileError.of(TOO_MANY_PAGES)
    for index, sheet in enumerate(book.sheets_metadata):
        if sheet.typ == SheetTypeEnum.WorkSheet:
            cells = book.get_sheet_by_index(index)
            for text in _joined(map(_line, cells.iter_rows())) if cells.height else ():
                yield TextPiece(text, index + 1, sheet.name[:MOST_LABEL])


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Give the lines in pieces, and a blank line after the last."""
    piece: list[str] = []
    size = 0
    for line in lines:
        if line:
            piece.append(line + "\n")
            size += len(line)
        if size > MOST_PIECE // 2:
            yield "".join(piece)
            piece, size = [], 0
    if piece:
        yield "".join(piece) + "\n"


def _line(row: Iterable[Value]) -> str:
    return " | ".join(_shown(value) for value in row).rstrip(" |")


def _shown(value: Value) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value).replace("\n", " ")
