"""local.settings.json.template as its readers see it: what is set there, and what is commented out by groups."""

from __future__ import annotations

import json
import re
from pathlib import Path

TEMPLATE = Path(__file__).parents[2] / "local.settings.json.template"
COMMENT = re.compile(r"^[ \t]*// ?", re.MULTILINE)
_COMMENTED = re.compile(r'^ *// ("\w+": ".*"),$', re.MULTILINE)


def template_values() -> dict[str, str]:
    """Return the settings with their values, those that are commented out among them."""
    return {**set_values(), **commented_values(TEMPLATE.read_text(encoding="utf-8"))}


def set_values() -> dict[str, str]:
    """Return the settings that the file sets as it stands."""
    text = TEMPLATE.read_text(encoding="utf-8")
    values: dict[str, str] = json.loads("\n".join(line for line in text.splitlines() if not COMMENT.match(line)))[
        "Values"
    ]
    return values


def commented_values(text: str) -> dict[str, str]:
    """Return what would be set without the comments' signs."""
    values: dict[str, str] = json.loads("{" + ",".join(_COMMENTED.findall(text)) + "}")
    return values
