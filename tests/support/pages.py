"""What a page shows: its parts by their headings, and the code in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def part(text: str, heading: str) -> str:
    """Return what stands under the heading, with the parts below it, up to the next of its level."""
    level = heading.partition(" ")[0]
    found = re.search(rf"^{re.escape(heading)}$\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[1]


def code(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
