"""Text for a person who decides by it: invisible characters, and those that turn other text, are written out."""

from __future__ import annotations

import json
import re
from typing import Any

_UNSEEN = (
    (0x00, 0x08),  # controls, but tabs and line ends
    (0x0B, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x600, 0x605),
    (0x61C, 0x61C),
    (0x6DD, 0x6DD),
    (0x70F, 0x70F),
    (0x890, 0x891),
    (0x8E2, 0x8E2),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),  # of no width, and marks of a direction
    (0x2028, 0x202E),  # ends of lines and paragraphs, and overrides of the direction
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags, and selectors of variants
)
"""The controls, formats, separators and surrogates of Unicode, and the characters that fonts leave out."""
_PATTERN = re.compile("[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _UNSEEN) + "]")


def _escaped(unseen: str) -> str:
    return f"\\u{ord(unseen):04x}" if unseen == "\x7f" else json.dumps(unseen)[1:-1]


def visible(text: str) -> str:
    """Return the text with each character that is not seen as its JSON escape: of a JSON text, the same JSON."""
    return _PATTERN.sub(lambda unseen: _escaped(unseen[0]), text)


def visible_line(text: str) -> str:
    """Return the same for a text of one line, such as a name: its tabs and line ends are written out too."""
    return visible(text).replace("\t", "\\t").replace("\n", "\\n")


def visible_json(value: Any) -> str:
    """Return a value as the JSON that a person decides by."""
    return visible(json.dumps(value, ensure_ascii=False))
