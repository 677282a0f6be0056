"""What the text of a file may cost, and the pieces that it comes in."""

from __future__ import annotations

from msgspec import Struct

MOST_PIECE = 1 << 16
"""Characters of a piece."""
MOST_LABEL = 200
"""Characters of a label: a longer heading is cut."""


class TextLimits(Struct, frozen=True):
    """The most that the text of one file costs; beyond any of them the file is refused."""

    file_bytes: int = 512 << 20
    expanded_bytes: int = 512 << 20
    """Of all that is unpacked from a file that is a zip: DOCX, PPTX and XLSX are."""
    characters: int = 16_000_000
    """The chunks of a file are indexed at once, with their vectors: of so many characters some hundred MB of memory."""
    pages: int = 20_000
    """Pages of a PDF, slides or sheets."""
    seconds: float = 180
    """By the clock, from the start of the process; the time that the reader of the pieces takes counts too."""
    cpu_seconds: int = 120
    """Of the processor. Windows counts none: there the clock alone ends the process."""
    memory_bytes: int = 1 << 30


class TextPiece(Struct, frozen=True, tag="piece"):
    """The next part of a file's text, as it follows the one before."""

    text: str
    """At most `MOST_PIECE` characters. Lines end with a line feed alone."""
    page: int | None = None
    """The page of a PDF, the slide or the sheet: from 1."""
    label: str = ""
    """The heading above it, the name of the sheet, or the first line of a CSV file."""


class RefusedFile(Struct, frozen=True, tag="refused"):
    """The child's last frame for a file that it could not read."""

    code: str


class Whole(Struct, frozen=True, tag="whole"):
    """The child's last frame when all of the text is out."""


class Order(Struct, frozen=True):
    """What the child has to do; the file itself is its standard input."""

    name: str
    media_type: str
    limits: TextLimits
